"""The one thread that decides: it waits for a change, evaluates it, acts, and reports what happened.

Nothing here is kept that a restart would miss: what counts is on the blackboard.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any, NamedTuple

from liza.check import trip_shipped
from liza.clients.caller import drop_variables
from liza.daemon import causes, escalation, events, scopes
from liza.daemon.causes import Ages
from liza.daemon.health import GRACE, STILL
from liza.daemon.lease import FolderGone, Lease, Taken
from liza.daemon.notifier import Event, EventKind, Notifier
from liza.daemon.watcher import Changes, versions
from liza.errors import LizaError, LockTimeout, Refused
from liza.model import format_time
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.memo import new_memo
from liza.rules.silences import read_silences
from liza.schema.snapshot import take_snapshot
from liza.scopes import inbox
from liza.scopes.rules_file import overrun, rules_in_force
from liza.scopes.sprint import checkpoint, degraded
from liza.scopes.sprint.act import act
from liza.scopes.sprint.evaluate import Check, evaluate_board, snapshot_of
from liza.scopes.sprint.follow_up import keep_decision
from liza.scopes.sprint.open_trip import HALT_RESTORED
from liza.scopes.sprint.trip import Halted, Outdated, tidy
from liza.store.board import BeingWritten, Board
from liza.store.daemon_process import process_start
from liza.store.document import Document
from liza.store.follow import only_adds
from liza.store.paths import Paths

REFRESH = 60.0  # seconds between two entries of last_check
AGING = 10.0  # seconds between two looks at what changes by time alone
RETRY = 2.0
_TRIES = 3  # at a blackboard that changes while it is acted on, before other things have their turn


class Options(NamedTuple):
    """How to watch."""

    interval: float = 1.0  # seconds; a change without an event is acted on after that long
    poll: bool = False
    observe: bool = False  # evaluate and report, never halt


class Watcher:
    """Watches one blackboard."""

    def __init__(
        self,
        paths: Paths,
        options: Options,
        on_event: Callable[[Event], None],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        looked: Callable[[], None] = lambda: None,
    ) -> None:
        self.paths = paths
        self.options = options
        self.clock = clock
        self.looked = looked  # called after each look, also one that found nothing
        self.board = Board(paths, waits=False)
        self.lease = Lease(paths)
        self.changes = Changes(paths, poll=options.poll)
        self.notifier = Notifier(paths, self.lease, on_event, clock, self._about_us)
        self.backend = self.changes.backend
        self.started = clock()
        self.stopping = False
        self.reload = True
        self.waiting = False
        self.rules: RuleSet | None = None
        self.shipped = RuleSet(())  # those of them that are not a blackboard's own
        self.shipped_memo: dict[Any, Any] = new_memo()
        self.document: Document | None = None
        self.found: Check | None = None
        self.written: datetime | None = None  # since when somebody has had the blackboard open for writing
        self.open: scopes.Open = {}  # trips of narrower scopes
        self.checks = 0
        self.seen: dict[str, Any] = {}
        self.memo: dict[Any, Any] = new_memo()
        self.entered: datetime | None = None
        self.foreign = False  # somebody else has changed the blackboard since it was last entered that it was checked
        self.due: datetime | None = None
        self.aged: datetime | None = None
        self.ages = Ages()
        self.ticked = clock()
        self.decided: list[Mapping[str, Any]] = []  # what is to be logged when nobody holds the lock
        self.waited = False  # the last look has entered records that waited: they are not evaluated yet
        self.restored: dict[str, int] = {}  # what was missing beside the open trip, and how often it was made again
        self.unchecked = False  # whether the records are in order: looked at when there is time

    # --- living -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Watch until somebody says stop."""
        drop_variables(os.environ)  # it works for everybody, also where an agent started it
        while not self.stopping and not self._takes():
            self._wait_for_the_folder()
        if self.stopping:
            self.lease.release()
            return
        try:
            self.notifier.remember()
            self._tidy()
            self.changes.start()
            self.backend = self.changes.backend
            self.notifier.save_facts()  # which process it is that holds the lock, before anybody relies on it
            self.notifier.report(
                EventKind.STARTED, f"watching {self.paths.folder} by {self.backend}, process {os.getpid()}"
            )
            while not self.stopping:
                self.tick()
                self.looked()
                _load_what_a_trip_needs()
                self.changes.wait(self._patience())
        finally:
            self.notifier.stop()
            self.notifier.report(EventKind.STOPPED, "watching no longer")
            self.notifier.save_facts("stopped")
            self.changes.stop()
            self.lease.release()

    def once(self) -> None:
        """One look, and what follows from it."""
        self.lease.take()
        try:
            self.notifier.remember()
            self._tidy()
            self.tick()
            while self.waited or (self.found is None and self._waits_for_a_writer(self.ticked)):
                self.waited = False
                self.tick()
            if self.board.is_behind or (self.found is not None and self.found.failed):
                self.board.waits = True  # people know by now; nothing comes after this look, so it waits
                self.due = self.ticked
                self.tick()
        finally:
            self.notifier.stop()
            self.notifier.save_facts("stopped")
            self.lease.release()

    def _tidy(self) -> None:
        try:
            tidy(self.board)
        except Exception as error:  # noqa: BLE001 - what is in the folder keeps nobody from watching it
            self.notifier.failed("liza", LizaError(f"a bug in liza: {type(error).__name__}: {error}"), self.clock())

    def stop(self) -> None:
        """From a signal handler: finish what is in hand, then end."""
        self.stopping = True
        self.changes.wake()

    def renew(self) -> None:
        """From a signal handler: read the rules again."""
        self.reload = True
        self.changes.wake()

    def _takes(self, *patience: float) -> bool:
        """Become the daemon of this blackboard, if there is one now."""
        if not os.path.isdir(self.paths.folder):
            return False
        with suppress(FolderGone):
            self.lease.take(*patience)
        return self.lease.is_held

    def _wait_for_the_folder(self) -> None:
        if not self.waiting:
            self.waiting = True
            self.lease.announce_waiting()
            self.notifier.report(EventKind.WAITING, f"there is no {self.paths.folder} yet")
        self.looked()
        self.changes.wait(self.options.interval)

    def _patience(self) -> float:
        # Who only polls looks twice a tick: what is found must still settle and be judged before the tick is over.
        longest = self.options.interval / (1 if self.changes.listens else 2)
        wanted = longest if self.due is None else max((self.due - self.clock()).total_seconds(), 0.01)
        return min(wanted, longest)

    def _about_us(self) -> dict[str, Any]:
        identity = self.seen.get(self.paths.state)
        return {
            "pid": os.getpid(),
            "process_start": process_start(os.getpid()),
            "started": format_time(self.started),
            "interval": self.options.interval,
            "backend": self.changes.backend,
            "observe": self.options.observe,
            "last_check": format_time(self.found.verdict.checked_at) if self.found else None,
            "checks": self.checks,
            "seen": identity.mtime_ns if identity is not None else None,
        }

    # --- one look ---------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Look whether anything has changed, and judge it if so."""
        if not self.lease.is_held and not self._takes_again():
            self._wait_for_the_folder()
            return
        self.waiting = False
        self.lease.beat()
        if self.backend != self.changes.backend:
            self.backend = self.changes.backend
            self.notifier.report(EventKind.BACKEND, f"watching by {self.backend} from now on")
        now = self.clock()
        if now < self.ticked:
            self._clock_was_set_back(now)
        self.ticked = now
        try:
            self._look_if_due(now)
            self._log_decisions(now)
            if not os.path.isdir(self.paths.folder):
                return  # what was not found in a folder that was deleted meanwhile is nothing to be alarmed about
            self._look_for_alarms(now)
            self.notifier.works("liza")
        except Exception as error:  # noqa: BLE001 - a bug of ours, and a breaker that is gone breaks nothing
            # It is reported, and tried again, with nothing that it may have come from.
            self.notifier.failed("liza", LizaError(f"a bug in liza: {type(error).__name__}: {error}"), now)
            self.document, self.memo, self.shipped_memo = None, new_memo(), new_memo()
            self._at(now, RETRY)
        while self.lease.moved:
            aside = os.path.relpath(self.lease.moved.pop(), self.paths.folder)
            self.notifier.report(EventKind.ALARM, f"watch.lock was not a regular file; it was moved to .liza/{aside}")
        while self.board.rescued:
            kept = self.board.rescued.pop()
            self.notifier.report(
                EventKind.ALARM, f"a version of state.yaml that another program wrote was kept in {kept}"
            )
        self.notifier.report_errors(now)
        self._see_to_degraded(now)
        self.notifier.save_facts()

    def _takes_again(self) -> bool:
        """After the lock is no longer ours: the folder was deleted, or somebody put something else in its place.

        Only another daemon ends this one, and only a folder that is gone makes it wait. Without the lock it goes on.
        """
        self.lease.drop()
        if not os.path.isdir(self.paths.folder):
            return False
        try:
            is_held = self._takes(0.0)
        except Refused as error:
            if isinstance(error, Taken) and error.is_daemon:
                raise
            self.notifier.failed("watch.lock", error, self.clock())
            return True
        self.notifier.works("watch.lock")
        if is_held:
            self.seen, self.found, self.document, self.open = {}, None, None, {}  # perhaps as another blackboard
        return is_held

    def _look_if_due(self, now: datetime) -> None:
        there = versions(self.paths)
        if self.reload or there[self.paths.rules] != self.seen.get(self.paths.rules):
            self._reload(now)
        timed_out = self.due is not None and now >= self.due
        if there != self.seen or timed_out or self._lacks_paperwork(there):
            if there != self.seen:
                self.changes.hear_of(there[self.paths.state])
                there = versions(self.paths)  # what happened meanwhile has woken us already
            self.seen = there
            self.due = None
            self._look(now)
        elif self.unchecked and self.document is not None and not self.changes.is_stirred:
            self.unchecked = False
            self.notifier.set_active("problems", causes.of_problems(take_snapshot(self.document, now=now)))

    def _lacks_paperwork(self, there: Mapping[str, Any]) -> bool:
        """What was made again and removed once more between two looks seems not to have changed."""
        if self.options.observe or self.found is None or self.found.trigger is None or self.due is not None:
            return False
        return there[self.paths.checkpoint] is None or there[self.paths.report] is None

    def _reload(self, now: datetime) -> None:
        self.reload = False
        first = self.rules is None
        rules, broken = rules_in_force(self.paths.rules)
        if broken is None or self.rules is None:
            self.rules, self.memo = rules, new_memo()
            self.shipped, self.shipped_memo = rules.shipped(), new_memo()
        if broken is not None:
            self.notifier.failed("rules", broken, now)  # the last good ones stay in force
            return
        self.notifier.works("rules")
        if not first:
            self.notifier.report(EventKind.RELOADED, f"{len(self.rules.rules)} rules in force")
        self.notifier.set_active("rules", causes.of_changes(self.rules))

    def _look(self, now: datetime) -> None:
        for _ in range(_TRIES):
            with suppress(Outdated):
                self._evaluate(now)
                return
        self._at(now, 0.0)

    def _evaluate(self, now: datetime) -> None:
        assert self.rules is not None
        try:
            document = self._read(now)
            tripped = self._trip_shipped(document, now)
            if tripped:
                document = self.board.read(document)
            if self.rules.budget is not None:
                self.rules.budget.overruns.clear()
            found = evaluate_board(self.board, document, self.rules, now, self.memo)
        except LizaError as error:
            self.notifier.failed("blackboard", error, now)
            self._at(now, 0.0 if self._waits_for_a_writer(now) else GRACE)
            return
        self.foreign = self.foreign or _is_foreign(self.document, document)
        before, self.document = self.found, document
        self.checks += 1
        self.found = self._act(found, document, now)
        if tripped:
            self.found = self.found._replace(tripped=self.found.trigger is not None)
        self.notifier.set_targets(self.rules.notify, document.data.get("config"))
        self._report_overruns(now)
        self.unchecked = self.notifier.has_looked("problems")
        if not self.unchecked:  # the first look: what was reported before must not seem to be over
            self.notifier.set_active("problems", causes.of_problems(take_snapshot(document, now=now)))
        self.aged = None
        self._report_changes(before, self.found, now)
        self._see_to_scopes(document, now)
        self._enter_waiting(now)
        self._see_to_time(now)

    def _trip_shipped(self, document: Document, now: datetime) -> bool:
        """Put into effect what the shipped rules find before own ones are asked, which may take long."""
        assert self.rules is not None
        if self.options.observe:
            return False
        with suppress(Halted):  # what could not be done is tried again, and reported, by what follows
            return trip_shipped(self.board, self.rules, self.shipped, document, now, self.shipped_memo) is not None
        return True

    def _report_overruns(self, now: datetime) -> None:
        error = overrun(self.rules, self.paths.rules) if self.rules is not None else None
        if error is None:
            self.notifier.works("own rules")
        else:
            self.notifier.failed("own rules", error, now)

    def _see_to_degraded(self, now: datetime) -> None:
        """`on_degraded: halt`, once something has not worked for a while."""
        if self.options.observe or (self.found is None and not self.notifier.health.errors):
            return
        lasting = [each for each in self.notifier.health.errors.values() if (now - each.since).total_seconds() >= GRACE]
        if lasting or not self.notifier.health.errors:
            with suppress(LizaError):  # tried again at the next tick
                said = degraded.see_to(self.board, LizaError(lasting[0].text) if lasting else None, now)
                if said is not None:
                    self.notifier.report(EventKind.ALARM, said)

    def _read(self, now: datetime) -> Document:
        """The blackboard, and no half of a save; but whoever keeps it open for ever does not keep us from judging."""
        whole = self.changes.moved_into_place()
        try:
            document = self.board.read(self.document, whole=whole, patient=True)
        except BeingWritten as error:
            self.written = min(self.written or now, now)
            if self._waits_for_a_writer(now):
                raise
            if (now - self.written).total_seconds() >= STILL:
                return self.board.read(None, whole=whole)  # whatever it has lost: this is how somebody left it
            document = self.board.read(self.document, whole=whole)
            if not only_adds(self.document, document):
                raise error from None  # half a save may stand for long; what is only longer may be judged
            return document
        self.written = None
        return document

    def _waits_for_a_writer(self, now: datetime) -> bool:
        return self.written is not None and (now - self.written).total_seconds() < GRACE

    def _act(self, found: Check, document: Document, now: datetime) -> Check:
        """Put the verdict on the sprint into effect; what could not be done is reported, and tried again."""
        assert self.rules is not None
        enter = self._may_enter(now)
        try:
            if not self.options.observe:
                found = act(self.board, self.rules, found, document, now, enter=enter, waits=False)
            self.notifier.works("blackboard")
        except LizaError as error:
            self._at(now, self.options.interval if _is_for_the_lock(error) else RETRY)
            if isinstance(error, LockTimeout) and not found.is_open:
                return found  # what is only to be written down keeps nobody from being halted meanwhile
            self.notifier.failed("blackboard", error, now)
            if isinstance(error, Halted):
                found = found._replace(trigger=error.trigger, tripped=found.trigger is None, failed=True)
        if enter:
            self.entered, self.foreign = now, False
        elif self.foreign and self.entered is not None:
            self._at(now, REFRESH - (now - self.entered).total_seconds())
        return found

    def _may_enter(self, now: datetime) -> bool:
        """Whether this check is to be entered on the blackboard: after somebody's change, at most once a minute."""
        if self.entered is None:
            self.entered = now
            return False
        return self.foreign and (now - self.entered).total_seconds() >= REFRESH

    def _report_changes(self, before: Check | None, found: Check, now: datetime) -> None:
        # Resolved while nobody watched, or since the last look, and tripped again.
        unseen = before is None or (before.trigger is not None and found.trigger is not None)
        absence = events.of_absence(found, self.notifier.was_reported) if unseen else ()
        for each in (*absence, *events.of_check(before, found, observe=self.options.observe)):
            entry = events.entry_of(found, each.trip_id) if each.kind is EventKind.RESOLVED else None
            self.decided += [entry] if entry is not None and not self.options.observe else []
            self._log_decisions(now)
            self.notifier.report(*each)
        halt = checkpoint.read(self.paths.checkpoint)
        self.notifier.set_active("halt", causes.about_the_halt(halt, found.trigger))
        self._count_restored(halt, found)
        self.notifier.set_active("restored", causes.of_restored(self.restored))
        self.notifier.set_active("claims", causes.of_verdict(found.verdict))
        self.notifier.set_active("own alarms", causes.of_rules(found.verdict))

    def _count_restored(self, halt: checkpoint.Checkpoint | None, found: Check) -> None:
        if found.trigger is None:
            self.restored = {}
        elif halt is not None and halt.is_restored:  # perhaps by another check, or before a restart
            self.restored.setdefault(HALT_RESTORED, 0)
        for text in found.restored:
            self.restored[text] = self.restored.get(text, 0) + 1

    def _log_decisions(self, now: datetime) -> None:
        """Whoever decides by hand does not write the log."""
        self.board.catch_up()
        while self.decided:
            failed = keep_decision(self.board, self.decided[0], now, waits=False)
            if any(isinstance(error, LockTimeout) for error in failed):
                return  # at the next tick
            for error in failed:
                self.notifier.report(
                    EventKind.ALARM, f"a decision could not be recorded: {error.file}: {error.message}"
                )
            del self.decided[0]

    def _see_to_scopes(self, document: Document, now: datetime) -> None:
        """The narrower scopes come after the sprint's: a halt of everybody waits for none of them."""
        assert self.rules is not None
        try:
            now_open = scopes.open_trips(self.board, self.rules, document, now, self.options.observe, self.open)
        except LizaError as error:
            self.notifier.failed("scopes", error, now)
            self._at(now, self.options.interval if _is_for_the_lock(error) else RETRY)
            return
        self.notifier.works("scopes")
        for each in events.of_scopes(self.open, now_open):
            self.notifier.report(*each)
        self.open = now_open

    def _enter_waiting(self, now: datetime) -> None:
        """Records that wait in the inbox are entered after what is known was acted on; the next look sees them."""
        if self.options.observe:
            return
        try:
            found = inbox.enter_waiting(self.board, waits=False)
        except LizaError:
            self._at(now, RETRY)  # a lock that is held is nothing to report: `status` says what waits
            return
        self.waited = found.records > 0
        self.notifier.set_active("inbox", causes.of_inbox(found.problems))

    def _look_for_alarms(self, now: datetime) -> None:
        """What changes by time alone is checked now and then; what is active is reported each time it is due."""
        if self.document is None or self.rules is None:
            return
        if self.aged is None or (now - self.aged).total_seconds() >= AGING or now < self.aged:
            self.aged = now
            snapshot = snapshot_of(self.board, self.document, self.rules, check=False)
            self.board.sweep()
            self.notifier.set_active("leftovers", causes.of_leftovers(self.board.stuck))
            self.notifier.set_active("files", causes.of_files(self.paths, snapshot, self.ages, now))
            self.notifier.set_active("alarms", causes.of_rules(evaluate(self.rules.only_alarms(), snapshot, now)))
            self.notifier.set_active("scopes", scopes.causes(self.board, snapshot, self.rules, now))
            self.notifier.set_active("decisions", causes.of_decisions(self.document.data.get("circuit_breaker"), now))
            self.notifier.set_active("silences", causes.of_silences(self.document.data.get("silences"), now))
            trigger, since = self.found.trigger if self.found else None, self.ages.since(self.paths.checkpoint, now)
            self.notifier.outcome("ESCALATION", escalation.see_to(self.paths, since, trigger, snapshot, now))
        self.notifier.report_alarms(now)

    # --- when to look again -----------------------------------------------------------------------------------------

    def _at(self, now: datetime, seconds: float) -> None:
        """Look again after so long, or sooner."""
        moment = now + timedelta(seconds=max(seconds, 0.0))
        self.due = moment if self.due is None else min(self.due, moment)

    def _clock_was_set_back(self, now: datetime) -> None:
        """Nothing is to wait until the clock is again where it was."""
        self.aged = None
        self.due = now if self.due is not None else None
        self.entered = min(self.entered, now) if self.entered is not None else None

    def _see_to_time(self, now: datetime) -> None:
        """Some things change by time alone: a silence ends, a lease expires."""
        assert self.rules is not None
        assert self.document is not None
        if any(each.condition.depends_on_age for each in self.rules.rules):
            self._at(now, AGING)
        for entry in read_silences(self.document.data.get("silences")):
            if entry.silence is not None and entry.in_force(now):
                self._at(now, (entry.silence.until - now).total_seconds())


def _is_for_the_lock(error: LizaError) -> bool:
    """Whether somebody else's lock is all that is in the way: it is tried again at the next tick."""
    return isinstance(error, LockTimeout) or (isinstance(error, Halted) and error.is_for_the_lock)


def _load_what_a_trip_needs() -> None:
    """Before there is one: an upgrade in the night, or no file left to open, must not keep it from its paperwork."""
    for name in ("jinja2.sandbox", "rapidfuzz.distance"):
        import_module(name)


def _is_foreign(before: Document | None, after: Document) -> bool:
    """Whether somebody else changed the blackboard: something outside the breaker's own section is different."""
    if before is None:
        return False
    names = {*before.data, *after.data} - {"circuit_breaker"}
    return any(before.data.get(name) != after.data.get(name) for name in names)
