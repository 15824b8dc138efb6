"""The lines of the log about a trip and the decision on it, each once, even after a crash."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from liza.errors import LizaError
from liza.model import Origin, format_time
from liza.rules.acknowledged import origin_of
from liza.scopes.history import section as sections
from liza.scopes.history.origin import LIZA, RESOLVE, evidence_digest, is_about, is_ours
from liza.scopes.sprint.failed_steps import attempt
from liza.store.board import Board
from liza.store.log import append_entry, append_locked, entries_about
from liza.text import one_line

_DETAIL = 300  # characters


def is_logged(board: Board, action: str, trigger: Mapping[str, Any]) -> bool:
    """Whether the log has that entry already."""
    trip = _name_of(trigger)
    return any(is_ours(entry, action) and is_about(entry, trip) for entry in entries_about(board.paths.log, trip))


def log_trip(board: Board, trigger: Mapping[str, Any], now: datetime, *, blocking: bool = True) -> None:
    """Log that it tripped: by the first process that finds it so, as the one that tripped may have been killed."""
    log_once(board, trigger, "tripped", sections.named(trigger), now, blocking=blocking)


def log_once(
    board: Board,
    trigger: Mapping[str, Any],
    action: str,
    detail: str,
    now: datetime,
    *,
    blocking: bool = True,
    **more: Any,
) -> None:
    """One line a decision: a trip that is taken up again after a crash is not logged twice."""
    trip = _name_of(trigger)
    mark = f"trip {trip}" if trigger.get("trip_id") else f"trip of {trip}"
    text = f"circuit breaker {action}: {one_line(detail, _DETAIL)}, {mark}"
    entry = {"timestamp": format_time(now), "agent": LIZA, "action": action, "trip_id": trip, **more, "detail": text}
    append_entry(board.paths, entry, lambda: is_logged(board, action, trigger), blocking=blocking and board.blocking)


def _name_of(trigger: Mapping[str, Any]) -> str:
    """By what the log knows a trip; one that another tool entered has no id, and is known by its time."""
    return str(trigger.get("trip_id") or trigger.get("timestamp"))


def log_decision(
    board: Board, entry: Mapping[str, Any], now: datetime, failed: list[LizaError], *, blocking: bool = True
) -> None:
    """Into the log, once."""
    if entry.get("trip_id"):
        attempt(failed, lambda: log_trip(board, entry, now, blocking=blocking))  # no check comes after a decision
    resolved = f"{entry.get('pattern') or 'no pattern named'} {sections.how_resolved(entry)}"
    more: dict[str, Any] = {} if origin_of(entry) is Origin.COMMAND else {"edited": True}
    more |= {"evidence": kept} if (kept := evidence_digest(entry)) is not None else {}
    attempt(failed, lambda: log_once(board, entry, "resolved", resolved, now, blocking=blocking, **more))


def log_command(board: Board, entry: Mapping[str, Any], now: datetime) -> None:
    """That a person decides by `liza resolve`; under the lock, and before it is entered: else it is only a claim."""
    trip, at = _name_of(entry), str(entry.get("resolved_at"))
    line = {"timestamp": format_time(now), "agent": str(entry.get("resolved_by")), "action": RESOLVE, "trip_id": trip}
    line |= {"resolved_at": at}
    line |= {"evidence": kept} if (kept := evidence_digest(entry)) is not None else {}
    line["detail"] = f"{one_line(entry.get('pattern'), 100)}: {one_line(entry.get('resolution'), _DETAIL)}, trip {trip}"
    with suppress(LizaError):  # a decision is still entered; the error of a later step reports the log
        append_locked(board.paths, line)
