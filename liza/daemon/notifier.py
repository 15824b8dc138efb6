"""Reports what happens: on the terminal, in `alerts.log`, by messages; each event once, even across a restart.

What was reported is kept in `.liza/watch.json`, and is there before a message leaves: at most once, whatever happens.
Agents can write that file: what differs from what liza wrote is not trusted, and a message may come twice.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from liza.daemon.alarm_reminders import Alarms, Cause, Reported
from liza.daemon.dashboard import read_address
from liza.daemon.health import Health
from liza.daemon.seal import BROKEN, Seal
from liza.daemon.watch_lock import WatchLock
from liza.errors import LizaError
from liza.model import format_time
from liza.notify.message import Message
from liza.notify.sender import Sender
from liza.notify.targets import read_targets
from liza.store.daemon_process import read_watch_facts
from liza.store.paths import Paths
from liza.store.rotating_log import RotatingLog
from liza.text import one_line

_MARKS = 200  # trips whose messages are remembered
_LONG = 500  # characters of anything that is reported: some of it is text that agents wrote
_AT_ONCE = 10  # alarms of one look that a message lists; a board that is in trouble must not send a hundred messages


class EventKind(StrEnum):
    STARTED = "started"
    WAITING = "waiting"
    CHECKED = "checked"
    TRIPPED = "tripped"
    RESOLVED = "resolved"
    DEGRADED = "degraded"
    RECOVERED = "recovered"
    RELOADED = "reloaded"
    BACKEND = "backend"
    ALARM = "alarm"
    OVER = "over"
    STOPPED = "stopped"


_WORTH_A_MESSAGE = (EventKind.TRIPPED, EventKind.RESOLVED, EventKind.ALARM, EventKind.DEGRADED, EventKind.RECOVERED)
_WORTH_A_LINE = (*_WORTH_A_MESSAGE, EventKind.OVER)  # in alerts.log


class Event(NamedTuple):
    """Something that happened, on one line, and printable."""

    at: datetime
    kind: EventKind
    text: str

    @property
    def line(self) -> str:
        return f"{format_time(self.at)}  {self.kind:<9}  {one_line(self.text, 400)}"


class Notice(NamedTuple):
    """Something to report that a check has found; with a trip id, people get one message of it, ever."""

    kind: EventKind
    text: str
    trip_id: str | None = None
    todo: str = ""  # what a person who gets a message should do


class Notifier:
    """Holds what was reported, and what is active and reported until it is over."""

    def __init__(
        self,
        paths: Paths,
        watch_lock: WatchLock,
        on_event: Callable[[Event], None],
        clock: Callable[[], datetime],
        about_us: Callable[[], dict[str, Any]],
    ) -> None:
        self._paths = paths
        self._watch_lock = watch_lock
        self._on_event = on_event
        self._clock = clock
        self._about_us = about_us  # the facts about the process in `watch.json`
        self.health = Health()
        self._alarms = Alarms()
        self._causes: dict[str, list[Cause]] = {}  # by where they were seen
        self._alerts = alerts_log(paths.alerts)
        self._sender = Sender(self.outcome)
        self._places: list[str] | None = None  # the targets by name; None: not known yet
        self._unsent: dict[str, str] = {}  # what did not reach people, by the place where they should have found it
        self._seal = Seal(paths)
        self._marks: list[str] = []  # trips that were reported, or at least were to be

    def remember(self) -> None:
        """Load what the daemon before us had reported."""
        facts = read_watch_facts(self._paths)
        confirmed = self._seal.confirms(facts)
        if not confirmed:
            self.set_active("watch.json", [Cause("watch_json", "", BROKEN)] if confirmed is False else [])
            return
        self._alarms.load(facts.get("alarms"))
        self.health.load(facts.get("errors"))
        marks, places = facts.get("notified"), facts.get("places")
        self._marks = [str(mark) for mark in marks] if isinstance(marks, list) else []
        known = isinstance(places, list) and all(isinstance(place, str) for place in places)
        self._places = [one_line(place, _LONG) for place in places] if known and places is not None else None

    @property
    def active(self) -> dict[str, Reported]:
        """The alarms that people know of and that are not over."""
        return self._alarms.active

    def save_facts(self, health: str | None = None) -> None:
        """Write the state to `watch.json`, if that has changed."""
        kept = {
            "errors": self.health.dump(),
            "alarms": self._alarms.dump(),
            "places": self._places,
            "notified": self._marks,
        }
        self.outcome("what was reported", self._seal.set(kept))
        self._watch_lock.write_facts(
            **self._about_us(),
            health=health or ("degraded" if self.health.errors else "ok"),
            last_error=self.health.last_error,
            **kept,
            not_sent="; ".join(f"{place}: {why}" for place, why in self._unsent.copy().items()) or None,
        )

    def stop(self, patience: float = 3.0) -> None:
        """Give the messages that wait a last chance."""
        self._sender.stop(patience)

    # --- at once ----------------------------------------------------------------------------------------------------

    def report(self, kind: EventKind, text: str, trip_id: str | None = None, todo: str = "") -> None:
        """Report something here; what people should know also in alerts.log and by message, with what to do."""
        self._report_all(kind, [text], trip_id, todo)

    def _report_all(self, kind: EventKind, texts: list[str], trip_id: str | None = None, todo: str = "") -> None:
        """Report several things at once: each on its own line, all in one message."""
        at = self._clock()
        lines = [one_line(text, _LONG) for text in texts]
        for line in lines:
            with suppress(OSError):  # a terminal or a reader that is gone must not keep it from the others
                self._on_event(Event(at, kind, line))
        if trip_id is not None and kind in _WORTH_A_MESSAGE:
            if self.was_reported(kind, trip_id):
                return
            self._marks = [*self._marks[-_MARKS:], _mark(kind, trip_id)]
            self.save_facts()  # marked before it is sent: at most once, whatever happens in between
        for line in lines if kind in _WORTH_A_LINE else ():
            self.outcome("alerts.log", self._alerts.write(f"{format_time(at)}  {kind:<9}  {line}"))
        if lines and kind in _WORTH_A_MESSAGE:
            self._sender.send(self._message(at, kind, lines, trip_id, todo))

    def _message(self, at: datetime, kind: EventKind, lines: list[str], trip_id: str | None, todo: str) -> Message:
        name = one_line(os.path.basename(self._project))
        what = str(kind) if len(lines) == 1 else f"{len(lines)} {kind}s"
        more = [f"and {len(lines) - _AT_ONCE} more: see .liza/alerts.log"] if len(lines) > _AT_ONCE else []
        address = read_address(self._paths)
        where = [f"Dashboard: {address}"] if address is not None else []
        text = "\n".join((*lines[:_AT_ONCE], *more, *([todo] if todo else []), *where))
        return Message(str(kind), f"liza: {what} in {name}", text, format_time(at), self._project, trip_id, address)

    def was_reported(self, kind: EventKind, trip_id: str) -> bool:
        return _mark(kind, trip_id) in self._marks

    def set_targets(self, notify: Any, config: Any) -> None:
        """Whom to notify from now on, as rules.yaml and the blackboard have it.

        Agents can write both: a target that is dropped is notified of that, and so is a new one.
        """
        places, faults = read_targets(notify, config, self._project)
        files = {"notify": "rules.yaml", "config": "state.yaml"}
        texts = [f"{files[str(fault.path[0])]}: {fault.message}" for fault in faults]
        self.set_active("notify", [Cause("notify", text, text) for text in texts])
        before, names = self._sender.targets, [one_line(place.name, _LONG) for place in places]
        if set(before) == set(places) and self._places == names:
            return
        known, self._places = self._places, names
        self._sender.set_targets([*before, *places])
        if known is not None and (known != names or before):  # before the first look, only the names are known
            self.report(EventKind.ALARM, _change_of_places(known, names))
        self._sender.set_targets(places)

    def outcome(self, place: str, why: str | None) -> None:
        """Why a target was not reached, or None if it was. Also from other threads; the next tick reports it."""
        if why is not None:
            self._unsent[one_line(place, _LONG)] = why
        else:
            self._unsent.pop(one_line(place, _LONG), None)

    @property
    def _project(self) -> str:
        return os.path.dirname(os.path.abspath(self._paths.folder))

    # --- for as long as it is active --------------------------------------------------------------------------------

    def set_active(self, origin: str, causes: Iterable[Cause]) -> None:
        """All active causes of one `origin`; an earlier one that is not among them is over."""
        self._causes[origin] = list(causes)

    def has_reported_on(self, origin: str) -> bool:
        return origin in self._causes

    def report_alarms(self, now: datetime) -> None:
        """Report each cause once for as long as it is active, and once when it is over."""
        found, over = self._alarms.update([each for some in self._causes.values() for each in some], now)
        self._report_all(EventKind.ALARM, found)
        self._report_all(EventKind.OVER, over)

    def failed(self, what: str, error: LizaError, now: datetime) -> None:
        """`what` cannot be read or done. A save is not always done at once, so it is reported only if it lasts."""
        self.health.failed(what, error, now)

    def works(self, what: str) -> None:
        self.health.works(what)

    def report_errors(self, now: datetime) -> None:
        """Report what has not worked for a while, and what works again."""
        found, over = self.health.update(now)
        self._report_all(EventKind.DEGRADED, found)
        self._report_all(EventKind.RECOVERED, [f"works again: {text}" for text in over])


def alerts_log(path: str) -> RotatingLog:
    """The lines for people; however many there are, those about trips stay."""
    return RotatingLog(path, keeps=_is_about_a_trip)


def _is_about_a_trip(line: str) -> bool:
    """Whether a line of alerts.log is one that people must find there however much else was written since."""
    return line[22:31].strip() in (EventKind.TRIPPED, EventKind.RESOLVED)


def _mark(kind: EventKind, trip_id: str) -> str:
    return f"{kind} {trip_id}"


def _change_of_places(before: list[str], after: list[str]) -> str:
    gone, new = ([name for name in one if name not in other] for one, other in ((before, after), (after, before)))
    parts = [f"removed {', '.join(gone)}"] if gone else []
    parts += [f"added {', '.join(new)}"] if new else []
    return f"notification targets changed: {'; '.join(parts) or 'another address of the same host'}"
