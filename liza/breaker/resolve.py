"""A human's decision: recorded first, then the agents go on."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from liza.blackboard import edit, storage, versions
from liza.blackboard.board import Board
from liza.blackboard.document import Document, parse
from liza.blackboard.logfile import has_line
from liza.breaker import checkpoint, report
from liza.breaker import section as sections
from liza.breaker.trip import attempt, log_once, log_trip, tidy
from liza.errors import LizaError, Refused
from liza.model import Problem, format_time


class Resolution(NamedTuple):
    """What came of a resolution."""

    trigger: Mapping[str, Any] | None  # what was resolved; None if nothing was open
    left: checkpoint.Checkpoint | None  # a CHECKPOINT that is still there
    finished: bool = False  # what an earlier resolution, or somebody by hand, had left undone is done now


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
        _paperwork(board, found[0], text.strip(), by, format_time(now), now)
        return Resolution(found[0], checkpoint.look(board.paths.checkpoint))
    finished = [_finish(board, entry, now) for entry in late] or _finish_interrupted(board, raw, now)
    return Resolution(None, checkpoint.look(board.paths.checkpoint), finished=bool(finished))


def _finish(board: Board, entry: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
    text, by = str(entry.get("resolution") or ""), str(entry.get("resolved_by") or "by hand")
    _paperwork(board, entry, text, by, str(entry.get("resolved_at") or format_time(now)), now)
    return entry


def _finish_interrupted(board: Board, raw: bytes, now: datetime) -> list[Mapping[str, Any]]:
    """Nothing is open. What the last resolution should have done and has not was interrupted, and is done now."""
    history = sections.history_of(parse(raw, board.paths.state).data.get("circuit_breaker"))
    ours = [e for e in history if isinstance(e, Mapping) and e.get("trip_id") and e.get("resolved_at") is not None]
    # A CHECKPOINT of a trip that is not among them stays: perhaps an old copy was saved over it. Only a check can tell.
    return [_finish(board, entry, now) for entry in ours[-1:] if _is_unfinished(board, entry)]


def _is_unfinished(board: Board, entry: Mapping[str, Any]) -> bool:
    trip = str(entry["trip_id"])
    there = checkpoint.look(board.paths.checkpoint)
    archived = os.path.join(board.paths.reports, report.archive_name(entry))
    return (
        (there is not None and there.trip_id == trip)
        or (report.is_about(archived, trip) and not report.is_about(archived, trip, decided=True))
        or not has_line(board.paths.log, ("circuit breaker resolved", f"trip {trip}"))
    )


def _paperwork(board: Board, trigger: Mapping[str, Any], text: str, by: str, at: str, now: datetime) -> None:
    """What follows from a decision that is on the blackboard. A step that fails keeps no other one from being done."""
    failed: list[LizaError] = []
    trip = str(trigger["trip_id"]) if trigger.get("trip_id") else None
    if trip is not None:
        added = report.decision(trigger, text, by, at)
        archived = os.path.join(board.paths.reports, report.archive_name(trigger))
        _archive_if_missing(board, trip, archived)
        for path in (archived, board.paths.report):
            attempt(failed, partial(_add_decision, path, trip, added))
    attempt(failed, lambda: checkpoint.remove(board.paths.checkpoint, trip))
    if trip is not None:
        attempt(failed, lambda: log_trip(board, trigger, now))  # no check comes after a decision
    attempt(failed, lambda: log_decision(board, trigger, by, now))
    if failed:
        said = "the decision is entered, but not all that follows from it could be done"
        first = Problem(said, board.paths.state, hint="mend what follows, then run the same command again")
        rest = [Problem(each.message, each.file or "", each.line, each.column, each.hint) for each in failed]
        raise checkpoint.Unfinished(said, file=board.paths.state, problems=[first, *rest])


def log_decision(board: Board, trigger: Mapping[str, Any], by: Any, now: datetime, *, waits: bool = True) -> None:
    """One line for a trip that is resolved, whoever is the first to see that it is."""
    log_once(board, trigger, "resolved", f"{trigger.get('pattern')} {sections.decided_by(by)}", now, waits=waits)


def _archive_if_missing(board: Board, trip: str, archived: str) -> None:
    """The report under its own name, where whoever tripped it was killed before that."""
    if os.path.exists(archived) or not report.is_about(board.paths.report, trip):
        return
    with suppress(OSError):  # the page is there all the same
        storage.make_folder(board.paths.reports)
        with open(board.paths.report, "rb", opener=versions.regular) as file:
            storage.put(archived, file.read())


def _add_decision(path: str, trip: str, added: str) -> None:
    try:
        with open(path, "rb", opener=versions.regular) as file:
            raw = file.read()
    except OSError:
        return  # the report was taken away; the decision is on the blackboard
    if trip.encode() in raw and b"\n## Decision\n" not in raw:
        try:
            storage.put(path, raw.rstrip(b"\n") + b"\n" + added.encode())
        except OSError as error:
            said = f"the decision could not be added to the report: {error.strerror}"
            raise checkpoint.Unfinished(said, hint="make room or permission for it", file=path) from None
