"""Reports what a check of the sprint changes: trips, decisions, and what was missing beside an open trip."""

from datetime import datetime

from liza.check import Check, decision_log
from liza.daemon import alarm_causes, events
from liza.daemon.notifier import EventKind, Notifier
from liza.store import checkpoint
from liza.store.board import Board


class Decisions:
    """Remembers the decisions to log when the lock is free, and what was restored how often."""

    def __init__(self, board: Board, notifier: Notifier, *, observe: bool) -> None:
        self._board = board
        self._notifier = notifier
        self._observe = observe
        self._log = decision_log(board)
        self._is_caught_up = False
        self._restored: dict[str, int] = {}  # what was missing beside the open trip, and how often it was made again

    def report(self, before: Check | None, found: Check, now: datetime) -> None:
        """The events between two checks, each decision logged first; then what lasts, as alarms."""
        # Resolved while no daemon ran, or since the last look, and tripped again.
        unseen = before is None or (before.trigger is not None and found.trigger is not None)
        missed = events.of_missed_decisions(found, self._notifier.was_reported) if unseen else ()
        for each in (*missed, *events.of_check(before, found, observe=self._observe)):
            entry = events.entry_of(found, each.trip_id) if each.kind is EventKind.RESOLVED else None
            if entry is not None and not self._observe:
                self._log.add(entry)
            self.log(now)
            self._notifier.report(*each)
        if not (self._is_caught_up or self._observe or found.error):
            self._is_caught_up = True  # what was decided before the daemon first saw it, and is not in the log
            self._log.add_unlogged(found, now)
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
        for text in self._log.write(now):
            self._notifier.report(EventKind.ALARM, text)

    def _count_restored(self, halt: checkpoint.Checkpoint | None, found: Check) -> None:
        if found.trigger is None:
            self._restored = {}
        elif halt is not None and halt.is_restored:  # perhaps by another check, or before a restart
            self._restored.setdefault(checkpoint.HALT_RESTORED, 0)
        for text in found.restored:
            self._restored[text] = self._restored.get(text, 0) + 1
