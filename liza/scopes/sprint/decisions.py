"""Decisions that are in state.yaml and not in the log yet: made by hand, or by a command that was killed.

The next check completes them, even after another pattern has tripped: each goes into its archived report and the log.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from liza.errors import LizaError, LockTimeout, location
from liza.model import Origin
from liza.rules.acknowledged import origin_of, same_trip
from liza.scopes.history import evidence_files
from liza.scopes.history import section as sections
from liza.scopes.history.archives import archive_name
from liza.scopes.history.origin import is_about, is_ours, with_origins
from liza.scopes.sprint import report
from liza.scopes.sprint.evaluate import Check
from liza.scopes.sprint.report_files import report_decision
from liza.scopes.sprint.trip_log import log_decision
from liza.store.board import Board
from liza.store.log import entries_by_word

_MOST = 5  # trips that are looked at, the newest: earlier checks have looked at the others


class DecisionLog:
    """The decisions to write into their reports and the log, in order; what has to wait for the lock stays in it."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._waiting: list[Mapping[str, Any]] = []

    def add(self, entry: Mapping[str, Any]) -> None:
        self._waiting.append(entry)

    def add_unlogged(self, found: Check, now: datetime) -> None:
        """Add what the log lacks, after a check."""
        self._waiting += unlogged(self._board, found, now)

    def write(self, now: datetime) -> list[str]:
        """Write all of them; why that failed. Where another process holds the lock, a later call continues."""
        failed: list[str] = []
        while self._waiting:
            entry = self._waiting[0]
            errors = _keep_decision(self._board, entry, now, blocking=self._board.blocking)
            is_locked = any(isinstance(error, LockTimeout) for error in errors)
            if self._board.blocking or not is_locked:
                failed += [_not_recorded(entry, error) for error in errors]
            if is_locked:
                break
            del self._waiting[0]
        return failed


def _not_recorded(entry: Mapping[str, Any], error: LizaError) -> str:
    where = location(error.file, error.line, error.column)
    return f"the decision on {entry.get('pattern')} is not recorded everywhere: {where}{error.message}"


def unlogged(board: Board, found: Check, now: datetime) -> list[Mapping[str, Any]]:
    """The decisions that the log lacks, as state.yaml has them now, the oldest first.

    It is read only after a trip, or if the check saw such a decision: most checks pay for no more than the end of the
    log.
    """
    seen = found.snapshot.sections.get("circuit_breaker")
    if not found.tripped and not any(_lacking(board, sections.reconcile(seen, now).section)):
        return []
    try:
        section = board.read().data.get("circuit_breaker")
    except LizaError:
        return []  # in the middle of a save: the next check does it
    if sections.reconcile(section, now).section != section:
        return []  # not in liza's form yet: the next check enters it, and the time with it
    return list(_lacking(board, with_origins(board, evidence_files.with_kept(board, section))))


def _lacking(board: Board, section: Any) -> Iterator[Mapping[str, Any]]:
    trips = [entry for entry in sections.history_of(section) if sections.is_trip(entry) and entry.get("trip_id")]
    decided = [entry for entry in trips[-_MOST:] if _is_decided(section, entry, is_last=entry is trips[-1])]
    lines = entries_by_word(board.paths.log, [str(entry["trip_id"]) for entry in decided]) if decided else {}
    for entry in decided:
        trip = str(entry["trip_id"])
        known = [line for line in lines[trip] if is_about(line, trip)]
        # The log of an earlier trip may have been moved away since: its report shows that it was completed.
        is_old = not known and entry is not trips[-1] and _is_in_report(board, entry)
        if not is_old and not any(is_ours(line, "resolved") for line in known):
            yield entry


def _is_decided(section: Any, entry: Mapping[str, Any], *, is_last: bool) -> bool:
    """Whether a decision is complete and can be confirmed; an alarm reports an entry that no trip of ours explains.

    The last trip may get its text later, by `liza resolve`. On the open trip a person enters the decision first, and
    then sets the status.
    """
    if entry.get("resolved_at") is None or (is_last and not entry.get("resolution")):
        return False
    trigger = sections.open_trigger(section)
    is_open = trigger is not None and same_trip(entry, trigger)
    return not is_open and origin_of(entry) not in (Origin.UNKNOWN, Origin.CHANGED)


def _is_in_report(board: Board, entry: Mapping[str, Any]) -> bool:
    archived = os.path.join(board.paths.reports, archive_name(entry))
    return report.is_about(archived, str(entry["trip_id"]), decided=True)


def _keep_decision(board: Board, entry: Mapping[str, Any], now: datetime, *, blocking: bool = True) -> list[LizaError]:
    """Record the decision on a trip in its report and the log; the steps that failed are returned."""
    failed: list[LizaError] = []
    if entry.get("trip_id") and entry.get("resolution"):  # one without a text is only logged, until the text comes
        report_decision(board, entry, failed)
    log_decision(board, entry, now, failed, blocking=blocking)  # last: its line marks all of it as done
    return failed
