"""Alarms about what changes by time alone: a lease that has expired, a halt that has waited for hours."""

from datetime import datetime

from liza.check import Check
from liza.daemon import alarm_causes, escalation_page, scope_trips
from liza.daemon.alarm_causes import Ages
from liza.daemon.notifier import Notifier
from liza.rules.evaluate import RuleSet, evaluate
from liza.scopes.snapshot import snapshot_of
from liza.store.board import Board
from liza.store.document import Document

TIMED_ALARMS_EVERY = 10.0  # seconds


class TimedAlarms:
    """Checks every `TIMED_ALARMS_EVERY` seconds; what is active is reported each time it is due."""

    def __init__(self, board: Board, notifier: Notifier) -> None:
        self._board = board
        self._notifier = notifier
        self._ages = Ages()
        self._checked: datetime | None = None

    def check_again(self) -> None:
        """At the next update, however recent the last check is."""
        self._checked = None

    def update(self, document: Document, rules: RuleSet, found: Check | None, now: datetime) -> None:
        if self._checked is None or (now - self._checked).total_seconds() >= TIMED_ALARMS_EVERY or now < self._checked:
            self._checked = now
            self._check(document, rules, found, now)
        self._notifier.report_alarms(now)

    def _check(self, document: Document, rules: RuleSet, found: Check | None, now: datetime) -> None:
        board, set_active, paths = self._board, self._notifier.set_active, self._board.paths
        snapshot = snapshot_of(board, document, rules, check=False, now=now)
        board.sweep()
        set_active("leftovers", alarm_causes.of_leftovers(board.stuck))
        set_active("files", alarm_causes.of_files(paths, snapshot, self._ages, now))
        set_active("alarms", alarm_causes.of_rules(evaluate(rules.only_alarms(), snapshot, now)))
        set_active("scopes", scope_trips.causes(board, snapshot, rules, now))
        set_active("decisions", alarm_causes.of_decisions(document.data.get("circuit_breaker"), now))
        set_active("silences", alarm_causes.of_silences(document.data.get("silences"), now))
        trigger, since = found.trigger if found else None, self._ages.since(paths.checkpoint, now)
        self._notifier.outcome("ESCALATION", escalation_page.update_page(paths, since, trigger, snapshot, now))
