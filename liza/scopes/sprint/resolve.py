"""A human's decision: recorded first, then the agents go on."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused, Unreadable
from liza.model import Origin, Problem, format_time
from liza.scopes.sprint import checkpoint, report
from liza.scopes.sprint import section as sections
from liza.scopes.sprint.evidence import with_kept
from liza.scopes.sprint.follow_up import attempt, is_logged, log_command, log_decision, report_decision
from liza.scopes.sprint.origin import origin_of
from liza.scopes.sprint.trip import Halted, lost_trigger, tidy
from liza.store import alerts, edit
from liza.store.board import Board
from liza.store.document import Document, parse
from liza.text import person_name


class Resolution(NamedTuple):
    """What came of a resolution."""

    trigger: Mapping[str, Any] | None  # what was resolved; None if nothing was open
    left: checkpoint.Checkpoint | None  # a CHECKPOINT that is still there
    finished: bool = False  # what an earlier resolution, or somebody by hand, had left undone is done now
    earlier: Mapping[str, Any] | None = None  # the last decision, where somebody else was faster and this one is none


def resolve(board: Board, text: str, by: str, now: datetime, *, terminal: bool = True) -> Resolution:
    """Close the open trip with a text; `Refused` if the text is empty, or nobody has decided.

    Without a terminal it may have been an agent that cleared its environment: that is entered, and alarmed.
    """
    if not text.strip():
        hint = "liza resolve -m '...'"
        raise Refused("a resolution needs a text: what was decided, and where it is written down", hint=hint)
    by = person_name(by)
    if not by:
        raise Refused("a resolution needs somebody who decided", hint="liza resolve -m '...' --by NAME")
    tidy(board)
    with suppress(Unreadable):  # in the middle of a save; what is read below, under the lock, decides
        if lost_trigger(board, board.read().data.get("circuit_breaker")) is not None:
            _enter_lost(board, now)
    found: list[Mapping[str, Any]] = []
    late: list[Mapping[str, Any]] = []

    def commit(document: Document) -> bytes:
        section, _ = sections.settled(document.data.get("circuit_breaker"), now)
        trigger = sections.open_trigger(section)
        found[:] = [dict(trigger)] if trigger is not None else []
        late.clear()
        if trigger is not None:
            section = sections.resolved(section, text.strip(), by, now, terminal=terminal)
            _log_command(board, section, dict(trigger), now)
        elif (done := sections.completed(section, text.strip(), by)) is not None:
            section, entry = done
            late.append({**entry, "origin": Origin.COMMAND})
            _log_command(board, section, entry, now)
        if "circuit_breaker" not in document.data and not found and not late:
            return document.raw
        return edit.replace_section(document, "circuit_breaker", section)

    _, raw = board.change(commit)
    if found:
        decision = {"resolution": text.strip(), "resolved_at": format_time(now), "resolved_by": by}
        decision["origin"] = Origin.COMMAND
        if not terminal:
            alerts.append_alerts(
                board.paths, [("alarm", sections.without_terminal_text({**found[0], **decision}))], now
            )
        _paperwork(board, {**found[0], **decision}, now)
        return Resolution(found[0], checkpoint.look(board.paths.checkpoint))
    decided = _decided(board, raw)
    finished = [*late, *(each for each in decided[-1:] if not late and _is_unfinished(board, each))]
    for entry in finished:
        _paperwork(board, entry, now)
    earlier = decided[-1] if decided and not late else None
    return Resolution(None, checkpoint.look(board.paths.checkpoint), bool(finished), earlier)


def _log_command(board: Board, section: Any, trip: Mapping[str, Any], now: datetime) -> None:
    entry = sections.decision_on(with_kept(board, section), trip)
    if entry is not None and origin_of(board, section, entry) is not Origin.COMMAND:
        log_command(board, entry, now)


def _enter_lost(board: Board, now: datetime) -> None:
    """A trip that is not on the blackboard is entered before it is resolved, so that the decision has its place."""
    from liza.check import check
    from liza.scopes.rules_file import rules_in_force

    rules, broken = rules_in_force(board.paths.rules)
    try:
        check(board, rules, now, enter=broken is None)
    except Halted as error:
        if lost_trigger(board, board.read().data.get("circuit_breaker")) is None:
            return  # what else failed of it fails again with the decision, or is of no consequence any more
        cause = error.problems[1]
        hint = (
            f"{cause.hint}; then run the same command again" if cause.hint else "fix it and run the same command again"
        )
        said = f"the decision was not recorded, because the trip cannot be entered: {cause.message}"
        raise Refused(said, hint=hint, file=cause.file, line=cause.line, column=cause.column) from None


def _decided(board: Board, raw: bytes) -> list[Mapping[str, Any]]:
    """The last trip that is resolved, as the history has it. What the last resolution should have done and has not was
    interrupted; a CHECKPOINT of another trip stays: perhaps an old copy was saved over it, and only a
    check can tell."""
    section = with_kept(board, parse(raw, board.paths.state).data.get("circuit_breaker"))
    decided = [e for e in sections.history_of(section) if isinstance(e, Mapping) and e.get("trip_id")]
    decided = [entry for entry in decided if entry.get("resolved_at") is not None]
    return [{**entry, "origin": origin_of(board, section, entry)} for entry in decided[-1:]]


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
