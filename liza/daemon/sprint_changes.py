"""Reports what a check of the sprint changes: trips, decisions, and what was missing beside an open trip."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from liza.check import Check
from liza.daemon import alarm_causes, events
from liza.daemon.notifier import EventKind, Notifier
from liza.errors import LockTimeout
from liza.scopes.sprint.decisions import unlogged
from liza.scopes.sprint.follow_up import keep_decision
from liza.scopes.sprint.open_trip import HALT_RESTORED
from liza.store import checkpoint
from liza.store.board import Board


class Decisions:
    """Remembers the decisions to log when the lock is free, and what was restored how often."""

    def __init__(self, board: Board, notifier: Notifier, *, observe: bool) -> None:
        self._board = board
        self._notifier = notifier
        self._observe = observe
        self._unlogged: list[Mapping[str, Any]] = []
        self._is_caught_up = False
        self._restored: dict[str, int] = {}  # what was missing beside the open trip, and how often it was made again

    def report(self, before: Check | None, found: Check, now: datetime) -> None:
        """The events between two checks, each decision logged first; then what lasts, as alarms."""
        # Resolved while no daemon ran, or since the last look, and tripped again.
        unseen = before is None or (before.trigger is not None and found.trigger is not None)
        missed = events.of_missed_decisions(found, self._notifier.was_reported) if unseen else ()
        for each in (*missed, *events.of_check(before, found, observe=self._observe)):
            entry = events.entry_of(found, each.trip_id) if each.kind is EventKind.RESOLVED else None
            self._unlogged += [entry] if entry is not None and not self._observe else []
            self.log(now)
            self._notifier.report(*each)
        if not (self._is_caught_up or self._observe or found.error):
            self._is_caught_up = True  # what was decided before the daemon first saw it, and is not in the log
            self._unlogged += unlogged(self._board, found, now)
            self.log(now)
        halt = checkpoint.read(self._board.paths.checkpoint)
        self._count_restored(halt, found)
        set_active = self._notifier.set_active
        set_active("halt", alarm_causes.about_the_halt(halt, found.trigger))
        set_active("restored", alarm_causes.of_restored(self._restored))
        set_active("claims", alarm_causes.of_verdict(found.verdict))
        set_active("own alarms", alarm_causes.of_rules(found.verdict))

    def log(self, now: datetime) -> None:
        """Log decisions that were made by hand, as soon as the lock is free."""
        self._board.catch_up()
        while self._unlogged:
            failed = keep_decision(self._board, self._unlogged[0], now, blocking=False)
            if any(isinstance(error, LockTimeout) for error in failed):
                return  # at the next tick
            for error in failed:
                text = f"a decision could not be recorded: {error.file}: {error.message}"
                self._notifier.report(EventKind.ALARM, text)
            del self._unlogged[0]

    def _count_restored(self, halt: checkpoint.Checkpoint | None, found: Check) -> None:
        if found.trigger is None:
            self._restored = {}
        elif halt is not None and halt.is_restored:  # perhaps by another check, or before a restart
            self._restored.setdefault(HALT_RESTORED, 0)
        for text in found.restored:
            self._restored[text] = self._restored.get(text, 0) + 1
