"""A human's decision: recorded first, then the agents continue."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused, Unreadable
from liza.model import Origin, Problem, format_time
from liza.schema.severities import CAUSES
from liza.scopes.history import section as sections
from liza.scopes.history.archives import archive_name
from liza.scopes.history.evidence_files import with_kept
from liza.scopes.history.origin import origin_of
from liza.scopes.rules_file import rules_in_force
from liza.scopes.sprint import report
from liza.scopes.sprint.act import check_sprint
from liza.scopes.sprint.evaluate import FollowUpFailed
from liza.scopes.sprint.failed_steps import attempt
from liza.scopes.sprint.lost_trip import lost_trigger
from liza.scopes.sprint.report_files import report_decision
from liza.scopes.sprint.trip_log import is_logged, log_command, log_decision
from liza.store import alerts, checkpoint, edit
from liza.store.board import Board
from liza.store.document import Document
from liza.text import person_name, suggestion, value_text


class Resolution(NamedTuple):
    trigger: Mapping[str, Any] | None  # what was resolved; None if nothing was open
    left: checkpoint.Checkpoint | None  # a CHECKPOINT that is still there
    finished: bool = False  # steps left over from an earlier resolution, or from one by hand, are done now
    earlier: Mapping[str, Any] | None = None  # the last decision, where another one was faster and this one is none


class _Decision(NamedTuple):
    text: str
    by: str
    cause: str | None  # a severity or false_alarm
    terminal: bool


def resolve(
    board: Board, text: str, by: str, now: datetime, *, cause: str | None = None, terminal: bool = True
) -> Resolution:
    """Close the open trip with a message; `Refused` if it is empty, names no person, or the cause is unknown.

    Without a terminal it may have been an agent that cleared its environment: that is entered, and alarmed.
    """
    if not text.strip():
        hint = "liza resolve -m '...'"
        raise Refused("a resolution needs a message: what was decided", hint=hint)
    by = person_name(by)
    if not by:
        raise Refused("a resolution needs the name of the person who decided", hint="liza resolve -m '...' --by NAME")
    if cause is not None and cause not in CAUSES:
        raise Refused(f"unknown cause {value_text(cause)}", hint=suggestion(cause, CAUSES))
    board.sweep()
    with suppress(Unreadable):  # in the middle of a save; what is read below, under the lock, decides
        if lost_trigger(board, board.read().data.get("circuit_breaker")) is not None:
            _enter_lost(board, now)
    decided = board.change(lambda document: _commit(board, document, _Decision(text.strip(), by, cause, terminal), now))
    if decided.trigger is not None:
        decision = {"resolution": text.strip(), "resolved_at": format_time(now), "resolved_by": by}
        decision |= {"cause": cause} if cause is not None else {}
        entry = {**decided.trigger, **decision, "origin": Origin.COMMAND}
        if not terminal:
            alerts.append_alerts(board.paths, [("alarm", sections.without_terminal_text(entry))], now)
        follow_up(board, entry, now)
        return Resolution(decided.trigger, checkpoint.read(board.paths.checkpoint))
    earlier = None if decided.completed is not None else _last_decision(board, decided.section)
    finished = decided.completed
    if finished is None and earlier is not None and _is_unfinished(board, earlier):
        finished = earlier
    if finished is not None:
        follow_up(board, finished, now)
    return Resolution(None, checkpoint.read(board.paths.checkpoint), finished is not None, earlier)


class _Decided(NamedTuple):
    """What a decision was entered for: the open trip, or one that was closed by hand without a text, or neither."""

    section: Mapping[str, Any]
    trigger: Mapping[str, Any] | None = None
    completed: Mapping[str, Any] | None = None


def _commit(board: Board, document: Document, decision: _Decision, now: datetime) -> tuple[bytes, _Decided]:
    section = sections.reconcile(document.data.get("circuit_breaker"), now).section
    trigger = sections.open_trigger(section)
    decided = _Decided(section)
    if trigger is not None:
        section = sections.resolved(section, *decision[:2], now, cause=decision.cause, terminal=decision.terminal)
        _log_command(board, section, dict(trigger), now)
        decided = _Decided(section, trigger=dict(trigger))
    elif (late := sections.completed(section, *decision[:3])) is not None:
        section, entry = late
        _log_command(board, section, entry, now)
        decided = _Decided(section, completed={**entry, "origin": Origin.COMMAND})
    elif "circuit_breaker" not in document.data:
        return document.raw, decided
    return edit.replace_section(document, "circuit_breaker", section), decided


def _log_command(board: Board, section: Any, trip: Mapping[str, Any], now: datetime) -> None:
    entry = sections.decision_on(with_kept(board, section), trip)
    if entry is not None and origin_of(board, section, entry) is not Origin.COMMAND:
        log_command(board, entry, now)


def _enter_lost(board: Board, now: datetime) -> None:
    """A trip that is not on the blackboard is entered before it is resolved, so that the decision has its place."""
    rules, broken = rules_in_force(board.paths.rules)
    try:
        check_sprint(board, rules, now, record_check=broken is None)
    except FollowUpFailed as error:
        if lost_trigger(board, board.read().data.get("circuit_breaker")) is None:
            return  # what else failed of it fails again with the decision, or is of no consequence any more
        cause = error.problems[1]
        hint = (
            f"{cause.hint}; then run the same command again" if cause.hint else "fix it and run the same command again"
        )
        text = f"the decision was not recorded, because the trip cannot be recorded: {cause.message}"
        raise Refused(text, hint=hint, file=cause.file, line=cause.line, column=cause.column) from None


def _last_decision(board: Board, section: Any) -> Mapping[str, Any] | None:
    """The last trip that is resolved, as the history has it; what its resolution has left undone was interrupted.

    A CHECKPOINT of another trip stays: perhaps an old copy was saved over it, and only a check can decide that.
    """
    section = with_kept(board, section)
    for entry in reversed(sections.history_of(section)):
        if isinstance(entry, Mapping) and entry.get("trip_id") and entry.get("resolved_at") is not None:
            return {**entry, "origin": origin_of(board, section, entry)}
    return None


def _is_unfinished(board: Board, entry: Mapping[str, Any]) -> bool:
    trip = str(entry["trip_id"])
    there = checkpoint.read(board.paths.checkpoint)
    archived = os.path.join(board.paths.reports, archive_name(entry))
    return (
        (there is not None and there.trip_id == trip)
        or (report.is_about(archived, trip) and not report.is_about(archived, trip, decided=True))
        or not is_logged(board, "resolved", entry)
    )


def follow_up(board: Board, entry: Mapping[str, Any], now: datetime) -> None:
    """What follows from a decision that is on the blackboard. A step that fails keeps no other one from being done."""
    failed: list[LizaError] = []
    trip = str(entry["trip_id"]) if entry.get("trip_id") else None
    if trip is not None:
        report_decision(board, entry, failed)
    attempt(failed, lambda: checkpoint.remove(board.paths.checkpoint, trip))
    log_decision(board, entry, now, failed)
    if failed:
        text = "the decision is recorded, but some follow-up steps failed"
        first = Problem(text, board.paths.state, hint="fix what follows, then run the same command again")
        raise checkpoint.Unfinished(
            text, file=board.paths.state, problems=[first, *(each.as_problem() for each in failed)]
        )
