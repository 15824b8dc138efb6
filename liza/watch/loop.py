"""The one thread that decides: it waits for a change, judges it, acts, and tells what happened.

Nothing here is kept that a restart would miss: what counts is on the blackboard.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from liza.blackboard.board import Board
from liza.blackboard.document import Document
from liza.blackboard.paths import Paths
from liza.blackboard.rulesfile import read_rules
from liza.blackboard.snapshot import take
from liza.blackboard.storage import put
from liza.breaker import checkpoint
from liza.breaker.check import Check, Halted, act, judged, snapshot_of, tidy
from liza.breaker.section import JOINED, history_of
from liza.errors import LizaError, Refused, place
from liza.model import format_time
from liza.notify.sender import Sender
from liza.notify.targets import Message, targets
from liza.rules.evaluate import Recall, RuleSet, evaluate
from liza.rules.silences import entries
from liza.text import printable
from liza.watch import causes
from liza.watch.alarms import Alarms, Cause
from liza.watch.background import Log
from liza.watch.changes import Changes, versions
from liza.watch.lease import Lease, told

GRACE = 2.0  # seconds that a file may be unreadable before anybody is told: a save is not always done at once
REFRESH = 60.0  # seconds between two entries of last_check
AGING = 10.0  # seconds between two looks at what changes by time alone
RETRY = 2.0


class Kind(StrEnum):
    """What can happen."""

    STARTED = "started"
    WAITING = "waiting"
    CHECKED = "checked"
    TRIPPED = "tripped"
    RESOLVED = "resolved"
    DEGRADED = "degraded"
    RECOVERED = "recovered"
    RELOADED = "reloaded"
    ALARM = "alarm"
    OVER = "over"
    STOPPED = "stopped"


_WORTH_A_MESSAGE = (Kind.TRIPPED, Kind.RESOLVED, Kind.ALARM, Kind.DEGRADED, Kind.RECOVERED)


class Happening(NamedTuple):
    """Something to tell."""

    at: datetime
    kind: Kind
    text: str


class Options(NamedTuple):
    """How to watch."""

    interval: float = 1.0  # seconds; a change without an event is seen after that long
    poll: bool = False
    observe: bool = False  # judge and tell, never halt


class Watcher:
    """Watches one blackboard."""

    def __init__(
        self,
        paths: Paths,
        options: Options,
        tell: Callable[[Happening], None],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.paths = paths
        self.options = options
        self.tell_of = tell
        self.clock = clock
        self.board = Board(paths)
        self.lease = Lease(paths)
        self.changes = Changes(paths, poll=options.poll)
        self.started = clock()
        self.stopping = False
        self.reload = True
        self.rules: RuleSet | None = None
        self.document: Document | None = None
        self.found: Check | None = None
        self.checks = 0
        self.errors: dict[str, tuple[datetime, str]] = {}  # what cannot be read -> since when, and why
        self.said: set[str] = set()  # warnings that stand
        self.seen: dict[str, Any] = {}
        self.memo: dict[Any, Any] = {Recall: Recall()}
        self.entered: datetime | None = None
        self.foreign = False  # somebody else has changed the blackboard since it was last entered that it was checked
        self.due: datetime | None = None
        self.waiting = False
        self.alarms = Alarms()
        self.alarm_causes: dict[str, list[Cause]] = {}  # by where they come from
        self.aged: datetime | None = None
        self.sender = Sender(self._not_sent)
        self.not_sent: str | None = None
        self.notified: list[str] = []  # trips that people were told of, or at least were to be
        self.alerts = Log(paths.alerts)
        self.unchecked = False  # whether the records are in order: looked at when there is time
        self.odd: tuple[tuple[str, ...], datetime] = ((), self.started)  # what is odd about the halt, and since when
        self.odd_grace = GRACE

    # --- living -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Watch until somebody says stop."""
        while not os.path.isdir(self.paths.folder) and not self.stopping:
            self._wait_for_the_folder()
        if self.stopping:
            return
        self.lease.take()
        try:
            tidy(self.board)
            self.changes.start()
            self._remember()
            self.tell(Kind.STARTED, f"watching {self.paths.folder} by {self.changes.backend}, process {os.getpid()}")
            while not self.stopping:
                self.tick()
                self.changes.wait(self._patience())
        finally:
            self.changes.stop()
            self.sender.stop()
            self.tell(Kind.STOPPED, "watching no longer")
            self._say_how("stopped")
            self.lease.release()

    def once(self) -> None:
        """One look, and what follows from it."""
        self.odd_grace = 0.0
        self.lease.take()
        try:
            self._remember()
            self.tick()
        finally:
            self.sender.stop()
            self.lease.release()

    def stop(self) -> None:
        """From a signal handler: finish what is in hand, then end."""
        self.stopping = True
        self.changes.wake()

    def renew(self) -> None:
        """From a signal handler: read the rules again."""
        self.reload = True
        self.changes.wake()

    def _wait_for_the_folder(self) -> None:
        if not self.waiting:
            self.waiting = True
            self.tell(Kind.WAITING, f"there is no {self.paths.folder} yet")
        self.changes.wait(self.options.interval)

    def _patience(self) -> float:
        if self.due is None:
            return self.options.interval
        return min(max((self.due - self.clock()).total_seconds(), 0.01), self.options.interval)

    def tell(self, kind: Kind, text: str, trip_id: str | None = None) -> None:
        """Tell of something: here, and what people should know also where they will find it."""
        happening = Happening(self.clock(), kind, text)
        self.tell_of(happening)
        if kind not in _WORTH_A_MESSAGE:
            return
        if trip_id is not None:
            mark = f"{kind} {trip_id}"
            if mark in self.notified:
                return
            self.notified = [*self.notified[-200:], mark]
            self._say_how(self._health())  # marked before it is sent: at most once, whatever happens in between
        self.alerts.write(f"{format_time(happening.at)}  {kind:<9}  {printable(' '.join(text.split()))[:1000]}")
        board = os.path.dirname(os.path.abspath(self.paths.folder))
        title = f"liza: {kind} in {os.path.basename(board)}"
        self.sender.send(Message(str(kind), title, printable(text)[:1000], format_time(happening.at), board, trip_id))

    def _not_sent(self, why: str) -> None:
        self.not_sent = why  # from the sender's thread; it is written down at the next tick

    def _remember(self) -> None:
        """What the daemon before us had told already."""
        facts = told(self.paths)
        self.alarms.load(facts.get("alarms"))
        marks = facts.get("notified")
        self.notified = [str(mark) for mark in marks] if isinstance(marks, list) else []

    def _address(self) -> None:
        """Whom to tell, as rules.yaml and the blackboard have it now."""
        config = self.document.data.get("config") if self.document is not None else None
        block = self.rules.notify if self.rules is not None else {}
        self.sender.targets, wrong = targets(block, config, os.path.dirname(os.path.abspath(self.paths.folder)))
        self.alarm_causes["notify"] = [Cause("notify", text, f"rules.yaml: {text}") for text in wrong]

    # --- one look ---------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Look whether anything has changed, and judge it if so."""
        if not os.path.isdir(self.paths.folder):
            self._wait_for_the_folder()
            self.lease.release()
            return
        self.waiting = False
        if not self.lease.is_held:
            self.lease.release()
            try:
                self.lease.take()  # the folder was deleted and came back
            except Refused:
                if os.path.isdir(self.paths.folder):
                    raise
                return  # or was deleted this very moment
            self.seen, self.found, self.document = {}, None, None  # perhaps as another blackboard
        self.lease.beat()
        now = self.clock()
        there = versions(self.paths)
        if self.reload or there[self.paths.rules] != self.seen.get(self.paths.rules):
            self._reload()
        timed_out = self.due is not None and now >= self.due
        if there != self.seen or timed_out:
            self.seen = there
            self.due = None
            self._look_safely(now)
        elif self.unchecked and self.document is not None:
            self.unchecked = False
            self.alarm_causes["problems"] = list(causes.of_problems(take(self.document)))
        if not os.path.isdir(self.paths.folder):
            return  # what was not found in a folder that was deleted meanwhile is nothing to be alarmed about
        self._tell_errors(now)
        self._tell_alarms(now)
        self._say_how(self._health())

    def _reload(self) -> None:
        self.reload = False
        first = self.rules is None
        try:
            self.rules = read_rules(self.paths.rules)
            self.memo = {Recall: Recall()}
        except LizaError as error:
            self._failed("rules", error)  # the last good ones stay in force
            if first:
                self.rules = read_rules(None)
            return
        self._works("rules")
        if not first:
            self.tell(Kind.RELOADED, f"{len(self.rules.rules)} rules in force")
        self.alarm_causes["rules"] = list(causes.of_changes(self.rules))

    def _look_safely(self, now: datetime) -> None:
        """Whatever is wrong with us must not end the watch: it is told, and tried again."""
        try:
            self._look(now)
        except Exception as error:  # noqa: BLE001 - a bug of ours, and a breaker that is gone breaks nothing
            self._failed("blackboard", LizaError(f"a bug in liza: {type(error).__name__}: {error}"[:300]))
            self.document, self.memo = None, {Recall: Recall()}
            self._at(now, RETRY)

    def _look(self, now: datetime) -> None:
        assert self.rules is not None
        try:
            document = self.board.read(self.document, whole=self.changes.was_moved())
            snapshot = snapshot_of(self.board, document, self.rules, check=False)
            found = judged(snapshot, evaluate(self.rules, snapshot, now, self.memo))
        except LizaError as error:
            self._failed("blackboard", error)
            self._at(now, GRACE)
            return
        self.foreign = self.foreign or _is_foreign(self.document, document)
        before, self.document = self.found, document
        self.checks += 1
        self._address()
        enter = self._may_enter(now)
        try:
            if not self.options.observe:
                found = act(self.board, self.rules, found, document, now, enter=enter)
            self._works("blackboard")
        except Halted as error:
            self._failed("blackboard", error)
            found = found._replace(trigger=error.trigger, tripped=True)
            self._at(now, RETRY)
        except LizaError as error:
            self._failed("blackboard", error)
            self._at(now, RETRY)
        if enter:
            self.entered, self.foreign = now, False
        elif self.foreign and self.entered is not None:
            self._at(now, REFRESH - (now - self.entered).total_seconds())
        self.found = found
        self.unchecked = "problems" in self.alarm_causes
        if not self.unchecked:  # the first look: what was told before must not seem to be over
            self.alarm_causes["problems"] = list(causes.of_problems(take(document)))
        self.aged = None
        self._tell_what_changed(before, found)
        self._see_to_time(now)

    def _may_enter(self, now: datetime) -> bool:
        """Whether this check is to be entered on the blackboard: after somebody's change, at most once a minute."""
        if self.entered is None:
            self.entered = now
            return False
        return self.foreign and (now - self.entered).total_seconds() >= REFRESH

    def _at(self, now: datetime, seconds: float) -> None:
        """Look again after so long, or sooner."""
        moment = now + timedelta(seconds=max(seconds, 0.0))
        self.due = moment if self.due is None else min(self.due, moment)

    def _see_to_time(self, now: datetime) -> None:
        """Some things change by time alone: a silence ends, a lease expires."""
        assert self.rules is not None
        assert self.document is not None
        if any(_asks_for_age(each.condition) for each in self.rules.rules):
            self._at(now, AGING)
        for entry in entries(self.document.data.get("silences")):
            if entry.silence is not None and entry.in_force(now):
                self._at(now, (entry.silence.until - now).total_seconds())

    # --- what is told -----------------------------------------------------------------------------------------------

    def _tell_what_changed(self, before: Check | None, found: Check) -> None:
        was = before.trigger if before is not None else None
        trigger = found.trigger
        if before is None or (was is not None and trigger is not None):
            self._tell_what_was_resolved(found)  # while nobody watched, or since the last look, and tripped again
        if trigger is not None and (was is None or was.get("trip_id") != trigger.get("trip_id")):
            verb = "" if found.tripped else " (found open)"
            what = f"{trigger.get('pattern')} ({trigger.get('severity')}){verb}"
            self.tell(Kind.TRIPPED, what, str(trigger.get("trip_id") or trigger.get("timestamp")))
        elif was is not None and trigger is None:
            self.tell(Kind.RESOLVED, _resolution(found, was), str(was.get("trip_id") or was.get("timestamp")))
        elif self.options.observe and found.verdict.matches and not (before and before.verdict.matches):
            names = ", ".join(dict.fromkeys(match.rule.name for match in found.verdict.matches))
            self.tell(Kind.TRIPPED, f"{names} would trip (only observing)")
        elif before is None or _counts(before) != _counts(found):
            self.tell(Kind.CHECKED, _nearest(found))
        odd = tuple(_about_the_halt(checkpoint.look(self.paths.checkpoint), trigger))
        if odd != self.odd[0]:
            self.odd = (odd, self.clock())
        for note in found.notes:
            if "CHECKPOINT" not in note:  # that stands, and is told for as long as it does
                self.tell(Kind.CHECKED if JOINED in note else Kind.ALARM, note)

    def _tell_what_was_resolved(self, found: Check) -> None:
        """People were told of a trip, and it was resolved while nobody watched."""
        for entry in history_of(found.snapshot.sections.get("circuit_breaker")):
            trip_id = str(entry.get("trip_id")) if isinstance(entry, dict) and entry.get("resolved_at") else None
            told_of = trip_id is not None and f"{Kind.TRIPPED} {trip_id}" in self.notified
            if told_of and f"{Kind.RESOLVED} {trip_id}" not in self.notified:
                self.tell(Kind.RESOLVED, _resolution(found, entry), trip_id)

    def _tell_alarms(self, now: datetime) -> None:
        """Tell of each cause once, for as long as it stands."""
        if self.document is None or self.rules is None:
            return
        # Whoever trips or decides writes the blackboard and CHECKPOINT one after the other, and we may look in between.
        odd, since = self.odd
        if not odd or (now - since).total_seconds() >= self.odd_grace:
            self.alarm_causes["notes"] = [Cause("note", note, note) for note in odd]
        if self.aged is None or (now - self.aged).total_seconds() >= AGING or now < self.aged:
            self.aged = now
            self.alarm_causes["files"] = list(causes.of_files(self.paths, now))
            snapshot = take(self.document, check=False)
            alarming = self.rules.only_alarms()
            self.alarm_causes["alarms"] = list(causes.of_rules(evaluate(alarming, snapshot, now)))
            text = causes.escalation(self.paths, snapshot, now)
            if text is not None and not os.path.lexists(self.paths.escalation):
                with suppress(OSError):
                    put(self.paths.escalation, text.encode())
        found, over = self.alarms.update([each for some in self.alarm_causes.values() for each in some], now)
        for text in found:
            self.tell(Kind.ALARM, text)
        for text in over:
            self.tell(Kind.OVER, text)

    def _failed(self, what: str, error: LizaError) -> None:
        now = self.clock()
        text = place(error.file, error.line, error.column) + error.message
        since, _ = self.errors.get(what, (now, ""))
        self.errors[what] = (since, text)

    def _tell_errors(self, now: datetime) -> None:
        """What cannot be read is told of after a while: a save is not always done at once."""
        for what, (since, text) in self.errors.items():
            if (now - since).total_seconds() >= GRACE and f"{what}: {text}" not in self.said:
                self.tell(Kind.DEGRADED, text)
                self.said.add(f"{what}: {text}")

    def _works(self, what: str) -> None:
        if what in self.errors:
            _, text = self.errors.pop(what)
            if any(note.startswith(f"{what}: ") for note in self.said):
                self.said = {note for note in self.said if not note.startswith(f"{what}: ")}
                self.tell(Kind.RECOVERED, f"it can be read again ({text})")

    def _health(self) -> str:
        return "degraded" if self.errors else "ok"

    def _say_how(self, health: str) -> None:
        checked = format_time(self.found.verdict.checked_at) if self.found else None
        self.lease.tell(
            pid=os.getpid(),
            started=format_time(self.started),
            interval=self.options.interval,
            backend=self.changes.backend,
            observe=self.options.observe,
            health=health,
            last_check=checked,
            checks=self.checks,
            seen=identity.mtime_ns if (identity := self.seen.get(self.paths.state)) is not None else None,
            last_error=next((text for _, text in self.errors.values()), None),
            alarms=self.alarms.dump(),
            notified=self.notified,
            not_sent=self.not_sent,
        )


def _is_foreign(before: Document | None, after: Document) -> bool:
    """Whether somebody else changed the blackboard: something outside the breaker's own section is different."""
    if before is None:
        return False
    names = {*before.data, *after.data} - {"circuit_breaker"}
    return any(before.data.get(name) != after.data.get(name) for name in names)


def _about_the_halt(halt: checkpoint.Checkpoint | None, trigger: Any) -> Iterator[str]:
    """Where the halt and the breaker disagree, and what people may not know."""
    if halt is None and trigger is not None:
        yield "CHECKPOINT was removed by hand while the breaker is open: the agents are not halted"
    elif halt is not None and halt.trip_id is None:
        yield "the agents are halted by a CHECKPOINT that a person made"
    elif halt is not None and trigger is None:
        yield f"the agents are halted by the CHECKPOINT of trip {halt.trip_id}, which is not open: see liza resolve"


def _asks_for_age(condition: Any) -> bool:
    return any(
        each.age
        for aggregate in condition.aggregates
        for each in (*getattr(aggregate, "where", ()), *getattr(aggregate, "filters", ()))
    )


def _resolution(found: Check, trigger: Any) -> str:
    for entry in reversed(history_of(found.snapshot.sections.get("circuit_breaker"))):
        if isinstance(entry, dict) and entry.get("trip_id") == trigger.get("trip_id"):
            return f"{trigger.get('pattern')} by {entry.get('resolved_by') or 'hand'}: {entry.get('resolution') or '?'}"
    return f"{trigger.get('pattern')} by hand"


def _counts(found: Check) -> list[tuple[str, float, str | None]]:
    return [(each.rule.name, each.value, each.key) for each in found.verdict.progress]


def _nearest(found: Check) -> str:
    """How things stand, in a line: the patterns that are on their way."""
    near = [f"{p.rule.name} {p.value:g} of {p.threshold:g}" for p in found.verdict.progress if p.value > 0]
    return ", ".join(near) or "no pattern in sight"
