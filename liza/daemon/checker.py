"""The daemon's checks: when one is due, which rules are in force, and what is reported.

The check itself is `liza.check.Pipeline`. What halts comes first, then what people are notified of; the narrower
scopes and the inbox come after that, and nothing here waits for the lock.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from liza.check import Check, Evaluated, FollowUpFailed, Pipeline, StaleVerdict
from liza.daemon import alarm_causes, events, scope_trips
from liza.daemon.changes import Changes, versions
from liza.daemon.health import GRACE
from liza.daemon.notifier import EventKind, Notifier
from liza.daemon.options import Options
from liza.daemon.reader import Reader
from liza.daemon.schedule import LastCheck, Schedule
from liza.daemon.sprint_changes import Decisions
from liza.daemon.team import TEAM, Team
from liza.daemon.timed_alarms import TIMED_ALARMS_EVERY, TimedAlarms
from liza.errors import LizaError, LockTimeout
from liza.rules.evaluate import RuleSet
from liza.rules.silences import read_silences
from liza.schema.snapshot import take_snapshot
from liza.scopes import degraded, engine, inbox
from liza.scopes.rules_file import overrun, rules_in_force
from liza.store.board import Board
from liza.store.document import Document
from liza.store.paths import Paths

LAST_CHECK_EVERY = 60.0  # seconds between two updates of last_check
RETRY_AFTER = 2.0  # seconds
_TRIES = 3  # of one check if the blackboard keeps changing, before the daemon's other work has its turn


class Checker:
    """Runs checks and reports how each differs from the one before."""

    def __init__(self, paths: Paths, notifier: Notifier, changes: Changes, options: Options) -> None:
        self.paths = paths
        self.board = Board(paths, blocking=False)
        self.schedule = Schedule()
        self.count = 0
        self.seconds = 0.0  # that all checks took
        self.found: Check | None = None  # by the last check
        self.seen: dict[str, Any] = {}  # the version of each file that was checked
        self.has_applied = False  # records were left, or applied from the inbox, that are not evaluated yet
        self.reload = True
        self._interval = options.interval
        self._observe = options.observe
        self._notifier = notifier
        self._changes = changes
        self._reader = Reader(self.board, changes)
        self._timed_alarms = TimedAlarms(self.board, notifier)
        self._decisions = Decisions(self.board, notifier, observe=options.observe)
        self._last_check = LastCheck(LAST_CHECK_EVERY)
        self._pipeline: Pipeline | None = None
        self._sources = engine.sources(paths)
        self._team = Team(self.board, notifier, changes.wake)
        self._begun: set[str] = set()  # sections of sources that had records when the rules were loaded
        self._open: scope_trips.Open = {}  # trips of narrower scopes
        self._validation_pending = False  # the records of this document are validated when there is time

    @property
    def document(self) -> Document | None:
        return self._reader.document

    @property
    def open_scopes(self) -> Mapping[str, str]:
        """The open trips of narrower scopes, as text by an id that begins with the kind of scope."""
        return self._open

    @property
    def rules(self) -> RuleSet:
        """Those that are in force."""
        return self._pipeline.rules if self._pipeline is not None else RuleSet(())

    def update(self, now: datetime) -> None:
        """Check if anything has changed or is due."""
        acts = self._pipeline is not None and not self._observe
        if acts and self._team.update(self.rules, self.document, now):
            self.schedule.check_in(0.0, now)
        self._check_if_due(now)
        if self._update_sources(now):
            self._check_if_due(now)
        self._decisions.log(now)
        self._team.offer(self.document, now)

    def stop(self) -> None:
        self._team.stop()

    def update_timed_alarms(self, now: datetime) -> None:
        """Report what changes by time alone."""
        if self.document is not None and self._pipeline is not None:
            self._timed_alarms.update(self.document, self._pipeline.rules, self.found, now)

    def check_once_more(self, now: datetime) -> None:
        """The last check of `--once`: it may wait for the lock, because nothing comes after it."""
        self.board.blocking = True
        self.schedule.check_in(0.0, now)

    @property
    def is_finished(self) -> bool:
        """Whether the last check has no unfinished follow-up."""
        return not self.board.is_behind and (self.found is None or not self.found.failed)

    def waits_for_writer(self, now: datetime) -> bool:
        return self.found is None and self._reader.waits_for_writer(now)

    def forget(self) -> None:
        """Start over: there may be another blackboard now."""
        self.seen, self.found, self._reader.document, self._open = {}, None, None, {}

    def recover(self, now: datetime) -> None:
        """After a bug in liza: try again with empty caches, which may have caused it."""
        self._reader.document = None
        if self._pipeline is not None:
            self._pipeline.forget()
        self.schedule.check_in(RETRY_AFTER, now)

    def clock_was_set_back(self, now: datetime) -> None:
        self._timed_alarms.check_again()
        self.schedule.restart(now)
        self._last_check.restart(now)

    def update_degraded(self, now: datetime) -> None:
        """Apply `on_degraded: halt` once an error has lasted for the grace period."""
        errors = {what: each for what, each in self._notifier.health.errors.items() if what != TEAM}  # has on_partition
        if self._observe or (self.found is None and not errors):
            return
        lasting = [each for each in errors.values() if (now - each.since).total_seconds() >= GRACE]
        if lasting or not errors:
            with suppress(LizaError):  # tried again at the next tick
                done = degraded.update_halt(self.board, LizaError(lasting[0].text) if lasting else None, now)
                if done is not None:
                    self._notifier.report(EventKind.ALARM, done)

    # --- when to check ----------------------------------------------------------------------------------------------

    def _check_if_due(self, now: datetime) -> None:
        there = versions(self.paths)
        pipeline = self._pipeline
        if pipeline is None or self.reload or there[self.paths.rules] != self.seen.get(self.paths.rules):
            pipeline = self._load_rules(now)
        if there != self.seen or self.schedule.is_due(now) or self._halt_or_report_missing(there):
            if there != self.seen:
                self._changes.await_event(there[self.paths.state])
                # An event of this change has arrived already. The rules stay those that were loaded: a version of
                # rules.yaml that was written meanwhile is for the next look.
                there = versions(self.paths) | {self.paths.rules: there[self.paths.rules]}
            self.seen = there
            self.schedule.clear()
            self._check(pipeline, now)
        elif self._validation_pending and self.document is not None and not self._changes.is_busy:
            self._validate(self.document, now)

    def _halt_or_report_missing(self, there: Mapping[str, Any]) -> bool:
        """A file that was restored and removed again between two checks looks unchanged, so ask for it by name."""
        is_open = self.found is not None and self.found.trigger is not None
        if self._observe or not is_open or self.schedule.due is not None:
            return False
        return there[self.paths.checkpoint] is None or there[self.paths.report] is None

    def _load_rules(self, now: datetime) -> Pipeline:
        """Load the rules. If rules.yaml cannot be used, the last good ones stay active, at first the shipped ones."""
        self.reload = False
        folders = {row.section: os.path.join(self.paths.folder, str(row.folder)) for row, _ in self._sources}
        self._begun = {name for name, folder in folders.items() if os.path.isdir(folder)}
        rules, broken = rules_in_force(self.paths.rules)
        before = self._pipeline
        pipeline = before
        if pipeline is None or broken is None:
            pipeline = Pipeline(self.board, rules, acts=not self._observe, is_daemon=True)
        self._pipeline = pipeline
        if broken is not None:
            self._notifier.failed("rules", broken, now)
            return pipeline
        self._notifier.works("rules")
        if before is not None:
            self._notifier.report(EventKind.RELOADED, rules.counts)
        self._notifier.set_active("rules", alarm_causes.of_changes(rules))
        return pipeline

    def _schedule_aging(self, document: Document, rules: RuleSet, now: datetime) -> None:
        """Some things change by time alone: a silence ends, a lease expires."""
        if any(each.condition.depends_on_age for each in rules.rules):
            self.schedule.check_in(TIMED_ALARMS_EVERY, now)
        for entry in read_silences(document.data.get("silences")):
            if entry.silence is not None and entry.in_force(now):
                self.schedule.check_in((entry.silence.until - now).total_seconds(), now)

    # --- one check --------------------------------------------------------------------------------------------------

    def _check(self, pipeline: Pipeline, now: datetime) -> None:
        began = time.monotonic()
        try:
            for _ in range(_TRIES):
                with suppress(StaleVerdict):
                    self._check_now(pipeline, now)
                    return
            self.schedule.check_in(0.0, now)
        finally:
            self.seconds += time.monotonic() - began

    def _check_now(self, pipeline: Pipeline, now: datetime) -> None:
        try:
            evaluated = pipeline.evaluate(self._reader.read(now), now)
        except LizaError as error:
            self._notifier.failed("blackboard", error, now)
            self.schedule.check_in(0.0 if self._reader.waits_for_writer(now) else GRACE, now)
            return
        before, document = self.found, evaluated.document
        self._last_check.note_change(self._reader.is_foreign(document))
        self._reader.document = document
        self.count += 1
        self.found = self._act(pipeline, evaluated, now)
        self._notifier.set_targets(pipeline.rules.notify, document.data.get("config"))
        self._report_overruns(pipeline.rules, now)
        self._validation_pending = self._notifier.has_reported_on("problems")
        if not self._validation_pending:  # the first check: what was reported before must not seem to be over
            self._validate(document, now)
        self._timed_alarms.check_again()
        self._decisions.report(before, self.found, now)
        self._update_scopes(pipeline.rules, document, now)
        self._restore_halts(document)
        self._apply_waiting(now)
        self._schedule_aging(document, pipeline.rules, now)

    def _act(self, pipeline: Pipeline, evaluated: Evaluated, now: datetime) -> Check:
        """Put the verdict on the sprint into effect; a failure is reported and retried."""
        record_check = self._last_check.is_due(now)
        found = pipeline.act(evaluated, now, record_check=record_check)
        if found.error is None:
            self._notifier.works("blackboard")
        else:
            self._retry(found.error, now)
            if isinstance(found.error, LockTimeout) and not found.is_open:
                return found  # only something to write down, so it is not a failure
            self._notifier.failed("blackboard", found.error, now)
        if record_check:
            self._last_check.set_recorded(now)
        elif (left := self._last_check.seconds_left(now)) is not None:
            self.schedule.check_in(left, now)
        return found

    def _validate(self, document: Document, now: datetime) -> None:
        self._validation_pending = False
        self._notifier.set_active("problems", alarm_causes.of_problems(take_snapshot(document, now=now)))

    def _report_overruns(self, rules: RuleSet, now: datetime) -> None:
        error = overrun(rules, self.paths.rules)
        if error is None:
            self._notifier.works("custom rules")
        else:
            self._notifier.failed("custom rules", error, now)

    def _update_scopes(self, rules: RuleSet, document: Document, now: datetime) -> None:
        """The narrower scopes come after the sprint's: a halt of everyone waits for none of them."""
        try:
            now_open = scope_trips.open_trips(self.board, rules, document, now, self._observe, self._open)
        except LizaError as error:
            self._notifier.failed("scopes", error, now)
            self._retry(error, now)
            return
        self._notifier.works("scopes")
        for each in events.of_scopes(self._open, now_open):
            self._notifier.report(*each)
        self._open = now_open

    def _update_sources(self, now: datetime) -> bool:
        """Poll the sources of records that no command writes, and stop whom they concern.

        True if new records came in: the sprint is then evaluated again, because its rules may read them.
        """
        if self._observe or self.document is None or self._pipeline is None:
            return False
        is_new, rules = False, self._pipeline.rules
        for row, source in self._sources:
            try:
                polled = source.poll(self.board, self.document, rules, now)
            except LizaError as error:
                self._notifier.failed(row.section, error, now)
                self._retry(error, now)
                continue
            if polled.error is None:
                self._notifier.works(row.section)
            else:
                self._notifier.failed(row.section, polled.error, now)
                self._retry(polled.error, now)
            self._notifier.set_active(row.section, alarm_causes.of_inbox(polled.problems))
            for text in polled.notes:
                self._notifier.report(EventKind.CHECKED, text)
            if polled.is_late or polled.has_more:
                self.schedule.check_in(self._interval if polled.is_late else 0.0, now)
            if polled.is_new and row.section not in self._begun:
                self.reload = True  # the first of these records brings the rules about them into force
            is_new |= polled.is_new
            self.has_applied |= polled.has_more
        if is_new:
            self.schedule.check_in(0.0, now)
        return is_new

    def _restore_halts(self, document: Document) -> None:
        """Restore missing halt files of narrower scopes: stopped means halted."""
        with suppress(OSError, LizaError):  # the next check tries again
            for text in () if self._observe else engine.restore(self.paths, document.data):
                self._notifier.report(EventKind.ALARM, text)

    def _apply_waiting(self, now: datetime) -> None:
        """Apply records from the inbox, after the verdict is in effect; the next check evaluates them."""
        if self._observe:
            return
        try:
            found = inbox.apply_waiting(self.board, blocking=False, seconds=inbox.SECONDS)
        except LizaError:
            self.schedule.check_in(RETRY_AFTER, now)  # a lock that is held is not reported: `status` shows what waits
            return
        self.has_applied |= found.records > 0
        if found.has_more:
            self.schedule.check_in(0.0, now)  # new records are evaluated before the others are applied
        else:
            self._notifier.set_active("inbox", alarm_causes.of_inbox(found.problems))

    def _retry(self, error: LizaError, now: datetime) -> None:
        """Retry, at the next tick if only another program's lock was in the way."""
        is_for_the_lock = isinstance(error, LockTimeout) or (
            isinstance(error, FollowUpFailed) and error.is_for_the_lock
        )
        self.schedule.check_in(self._interval if is_for_the_lock else RETRY_AFTER, now)
