"""From the document on disk to the facts that rules evaluate."""

from collections.abc import Iterable
from datetime import datetime
from types import MappingProxyType

from liza.model import Fault, Problem, Snapshot, Span
from liza.store.document import Document, NotCuttable


def take_snapshot(document: Document, *, check: bool = True, now: datetime | None = None) -> Snapshot:
    """The document as a snapshot. With `check`, what is wrong with its records is among the problems; with `now`, also
    the times that are in the future."""
    if not check:
        return Snapshot(document.raw, {}, MappingProxyType(document.data), ())
    from liza.schema import state, times  # no verdict waits for the tables

    ahead = times.check(document.data, now) if now is not None else ()
    problems = locate_faults(document, (*state.check(document.data), *ahead))
    try:
        spans = {name: Span(part.start, part.end) for name, part in document.sections.items()}
    except NotCuttable as error:
        spans = {}
        note = f"{error.why}, so liza cannot write it"
        problems += (Problem(note, document.file, error.line, error.column, error.hint, "warning"),)
    return Snapshot(document.raw, MappingProxyType(spans), MappingProxyType(document.data), problems)


def locate_faults(document: Document, faults: Iterable[Fault]) -> tuple[Problem, ...]:
    """Faults with line and column, in the order of the file."""
    problems = []
    for fault in faults:
        line, column = document.locate(fault.path) or (None, None)
        problems.append(Problem(fault.message, document.file, line, column, fault.hint, fault.level))
    return tuple(sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0)))
