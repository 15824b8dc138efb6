"""Putting one record on the blackboard: checked first, then appended under the lock."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from liza.blackboard import emit, schema
from liza.blackboard.board import Board
from liza.blackboard.document import Document
from liza.blackboard.edit import append_record
from liza.errors import Refused


class Added(NamedTuple):
    """What was added, at which line of which file (of the log only the end is read), and what is odd about it."""

    record: Mapping[str, Any]
    file: str
    line: int | None
    warnings: tuple[schema.Fault, ...]


class Invalid(Refused):
    """The record lacks something that its pattern needs; all that is wrong is in `faults`."""

    def __init__(self, what: str, faults: Iterable[schema.Fault]) -> None:
        self.faults = tuple(faults)
        reasons = "; ".join(fault.message for fault in self.faults)
        hints = [fault.hint for fault in self.faults if fault.hint]
        super().__init__(f"this {what} was not added: {reasons}", hint="; ".join(dict.fromkeys(hints)) or None)


def add_anomaly(board: Board, record: Mapping[str, Any]) -> Added:
    """Append one anomaly."""
    _writable(record)
    warnings = _checked("anomaly", schema.check_anomaly(record, ()))
    before, after = board.change(lambda document: append_record(document, "anomalies", record))
    return Added(record, board.paths.state, _line_of(record, before, after), warnings)


def add_entry(board: Board, entry: Mapping[str, Any]) -> Added:
    """Append one entry to the log."""
    from liza.blackboard.logfile import append_entry

    warnings = _checked("log entry", schema.check_entry(entry, ()))
    append_entry(board.paths, entry)
    return Added(entry, board.paths.log, None, warnings)


def _writable(record: Mapping[str, Any]) -> None:
    try:
        emit.item(record, 0)
    except (TypeError, RecursionError) as error:
        raise Refused(f"that value cannot be written as YAML: {error}") from None


def _checked(what: str, faults: Iterable[schema.Fault]) -> tuple[schema.Fault, ...]:
    found = tuple(faults)
    errors = [fault for fault in found if fault.level == "error"]
    if errors:
        raise Invalid(what, errors)
    return found


def _line_of(record: Mapping[str, Any], before: Document, after: bytes) -> int:
    """The line on which a record begins that was put at the end of its section."""
    behind = len(before.raw) - before.sections["anomalies"].end if "anomalies" in before.data else 0
    first = emit.item(record, 0).partition("\n")[0].encode()
    at = after.rfind(first, 0, len(after) - behind)
    return after.count(b"\n", 0, at if at >= 0 else len(after) - behind) + 1
