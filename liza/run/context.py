"""The page that the next iteration reads: `{context_file}`, in Markdown.

Only facts: the state of the loop, what would stop it, the last errors verbatim, and what was tried. What to do about it
is for the reader.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liza.schema.actions import Action
from liza.scopes.loops.evaluate import Signal
from liza.scopes.loops.record import LoopResult
from liza.text import of_text, plural, printable

ERRORS = 10  # of the last iteration that had any
TRIED = 10  # iterations that are listed
_OPEN = 20  # faults that are listed
_LONGEST = 2000  # characters of a fault


class Tried(NamedTuple):
    """One iteration, as the next ones see it."""

    number: int
    model: str | None
    outcome: str
    files_changed: int | None
    progress: float | None
    claims_done: bool
    evidence: Mapping[str, bool]
    errors: tuple[str, ...]  # verbatim, each with its place
    faults: tuple[str, ...]  # missing evidence
    note: str | None = None


def context(
    number: int,
    task: str | None,
    model: str | None,
    state: LoopResult,
    tried: Sequence[Tried],
    escalated: str | None,
    warning: str | None = None,
) -> str:
    texts = [each for each in (escalated, warning and f"Warning: {warning}") if each]
    return "\n".join(_lines(number, task, model, state, tried, texts)) + "\n"


def _lines(
    number: int, task: str | None, model: str | None, state: LoopResult, tried: Sequence[Tried], texts: Sequence[str]
) -> Iterator[str]:
    yield f"# Iteration {number} of loop {printable(state.name)}"
    yield ""
    yield from (f"- {name}: {printable(value)}" for name, value in (("Task", task), ("Model", model)) if value)
    count = state.loop.get("loop_count") or 0
    yield f"- The breaker of this loop is {state.status} after {plural(count, 'iteration')}."
    yield from (f"- {printable(each)}" for each in texts)
    yield from _levels(state.signals)
    yield from _errors(tried)
    yield from _faults(tried)
    yield from _history(tried)


def _levels(signals: Sequence[Signal]) -> Iterator[str]:
    for each in signals:
        if each.warns:
            yield from ("", f"## {printable(each.text)}", "", "The loop is stopped if it makes no progress.")
    near = [each for each in signals if each.action == Action.OPEN]
    if near:
        yield from ("", "## What would stop this loop", "")
        yield from (f"- {each.rule}: {of_text(each.value, each.threshold)} ({each.text})" for each in near)


def _errors(tried: Sequence[Tried]) -> Iterator[str]:
    last = next((each for each in reversed(tried) if each.errors), None)
    if last is not None:
        yield from ("", f"## Errors of iteration {last.number}", "")
        yield from _verbatim("\n".join(last.errors[:ERRORS]))


def _faults(tried: Sequence[Tried]) -> Iterator[str]:
    faults = tried[-1].faults if tried else ()
    if faults:
        yield from ("", "## Evidence against completion", "")
        for fault in faults[:_OPEN]:
            first, _, rest = fault[:_LONGEST].partition("\n")
            yield f"- {printable(first)}"
            if rest:
                yield from _verbatim(rest)
        if len(faults) > _OPEN:
            yield f"- and {len(faults) - _OPEN} more"


def _history(tried: Sequence[Tried]) -> Iterator[str]:
    if tried:
        yield from ("", "## What was tried", "")
        yield from (f"- Iteration {each.number}{_with(each.model)}: {described(each)}" for each in tried[-TRIED:])


def _with(model: str | None) -> str:
    return f" ({printable(model)})" if model else ""


def described(each: Tried) -> str:
    files = each.files_changed
    parts = [each.outcome]
    parts += [f"{files or 'no'} file{'' if files == 1 else 's'} changed"] if files is not None else []
    parts += [f"progress {each.progress:g}%"] if each.progress is not None else []
    parts += ["claims done"] if each.claims_done else []
    parts += [f"{name} {'passed' if passed else 'failed'}" for name, passed in each.evidence.items()]
    parts += [plural(len(each.errors), "error")] if each.errors else []
    parts += [printable(each.note)] if each.note else []
    return ", ".join(parts)


def _verbatim(text: str) -> list[str]:
    """Program output between fences that are longer than any in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return [fence, *(_shown(line) for line in text[: ERRORS * _LONGEST].splitlines()), fence]


def _shown(line: str) -> str:
    return "\t".join(printable(part) for part in line.split("\t"))


def loaded(value: Mapping[str, Any]) -> Tried:
    """Restore an iteration from a session."""
    lists = {name: tuple(value[name]) for name in ("errors", "faults")}
    return Tried(**{**value, **lists})
