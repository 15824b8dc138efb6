"""A human's decision: recorded first, then the agents go on."""

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.blackboard import edit
from liza.blackboard.board import Board
from liza.blackboard.document import Document, parse
from liza.breaker import checkpoint, report
from liza.breaker import section as sections
from liza.breaker.paperwork import attempt, is_logged, log_decision, report_decision
from liza.breaker.trip import tidy
from liza.errors import LizaError, Refused
from liza.model import Problem, format_time


class Resolution(NamedTuple):
    """What came of a resolution."""

    trigger: Mapping[str, Any] | None  # what was resolved; None if nothing was open
    left: checkpoint.Checkpoint | None  # a CHECKPOINT that is still there
    finished: bool = False  # what an earlier resolution, or somebody by hand, had left undone is done now
    earlier: Mapping[str, Any] | None = None  # the last decision, where somebody else was faster and this one is none


def resolve(board: Board, text: str, by: str, now: datetime) -> Resolution:
    """Close the open trip with a text; `Refused` if the text is empty, or nobody has decided."""
    if not text.strip():
        hint = "liza resolve -m '...'"
        raise Refused("a resolution needs a text: what was decided, and where it is written down", hint=hint)
    if not by.strip():
        raise Refused("a resolution needs somebody who decided", hint="liza resolve -m '...' --by NAME")
    tidy(board)
    found: list[Mapping[str, Any]] = []
    late: list[Mapping[str, Any]] = []

    def commit(document: Document) -> bytes:
        section, _ = sections.settled(document.data.get("circuit_breaker"), now)
        trigger = sections.open_trigger(section)
        found[:] = [dict(trigger)] if trigger is not None else []
        late.clear()
        if trigger is not None:
            section = sections.resolved(section, text.strip(), by, now)
        elif (done := sections.completed(section, text.strip(), by)) is not None:
            section, entry = done
            late.append(entry)
        if "circuit_breaker" not in document.data and not found and not late:
            return document.raw
        return edit.replace_section(document, "circuit_breaker", section)

    _, raw = board.change(commit)
    if found:
        decision = {"resolution": text.strip(), "resolved_at": format_time(now), "resolved_by": by}
        _paperwork(board, {**found[0], **decision}, now)
        return Resolution(found[0], checkpoint.look(board.paths.checkpoint))
    decided = _decided(board, raw)
    finished = [*late, *(each for each in decided[-1:] if not late and _is_unfinished(board, each))]
    for entry in finished:
        _paperwork(board, entry, now)
    earlier = decided[-1] if decided and not late else None
    return Resolution(None, checkpoint.look(board.paths.checkpoint), bool(finished), earlier)


def _decided(board: Board, raw: bytes) -> list[Mapping[str, Any]]:
    """The trips that are resolved, as the history has them. What the last resolution should have done and has not was
    interrupted; a CHECKPOINT of a trip that is not among them stays: perhaps an old copy was saved over it, and only a
    check can tell."""
    history = sections.history_of(parse(raw, board.paths.state).data.get("circuit_breaker"))
    return [e for e in history if isinstance(e, Mapping) and e.get("trip_id") and e.get("resolved_at") is not None]


def _is_unfinished(board: Board, entry: Mapping[str, Any]) -> bool:
    trip = str(entry["trip_id"])
    there = checkpoint.look(board.paths.checkpoint)
    archived = os.path.join(board.paths.reports, report.archive_name(entry))
    return (
        (there is not None and there.trip_id == trip)
        or (report.is_about(archived, trip) and not report.is_about(archived, trip, decided=True))
        or not is_logged(board, "resolved", entry)
    )


def _paperwork(board: Board, entry: Mapping[str, Any], now: datetime) -> None:
    """What follows from a decision that is on the blackboard. A step that fails keeps no other one from being done."""
    failed: list[LizaError] = []
    trip = str(entry["trip_id"]) if entry.get("trip_id") else None
    if trip is not None:
        report_decision(board, entry, failed)
    attempt(failed, lambda: checkpoint.remove(board.paths.checkpoint, trip))
    log_decision(board, entry, now, failed)
    if failed:
        said = "the decision is entered, but not all that follows from it could be done"
        first = Problem(said, board.paths.state, hint="mend what follows, then run the same command again")
        rest = [Problem(each.message, each.file or "", each.line, each.column, each.hint) for each in failed]
        raise checkpoint.Unfinished(said, file=board.paths.state, problems=[first, *rest])
