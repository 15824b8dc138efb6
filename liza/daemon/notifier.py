"""Telling people what happens: on the terminal, in `alerts.log`, by messages; each thing once, also across a restart.

What has been told is kept in `.liza/watch.json`, and is there before a message leaves: at most once, whatever happens.
Agents can write that file: what is not as liza left it there is not believed, and a message may come twice.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from liza.daemon.alarms import Alarms, Cause, Told
from liza.daemon.background import Log
from liza.daemon.health import Health
from liza.daemon.lease import Lease
from liza.daemon.seal import BROKEN, Seal
from liza.errors import LizaError
from liza.model import format_time
from liza.notify.message import Message
from liza.notify.sender import Sender
from liza.notify.targets import read_targets
from liza.store.daemon_process import read_watch_facts
from liza.store.paths import Paths
from liza.text import one_line

_MARKS = 200  # trips whose messages are remembered
_LONG = 500  # characters of anything that is told: some of it is text that agents wrote
_AT_ONCE = 10  # alarms of one look that a message lists; a board that is in trouble must not send a hundred messages


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
    BACKEND = "backend"
    ALARM = "alarm"
    OVER = "over"
    STOPPED = "stopped"


_WORTH_A_MESSAGE = (Kind.TRIPPED, Kind.RESOLVED, Kind.ALARM, Kind.DEGRADED, Kind.RECOVERED)
_WORTH_A_LINE = (*_WORTH_A_MESSAGE, Kind.OVER)  # in alerts.log


class Happening(NamedTuple):
    """Something to tell, on one line, and printable."""

    at: datetime
    kind: Kind
    text: str


class News(NamedTuple):
    """Something to tell that a look has found; with a trip id, people get one message of it, ever."""

    kind: Kind
    text: str
    trip_id: str | None = None
    todo: str = ""  # for those who get a message, and are not looking


class Telling:
    """Holds what people have been told, and what stands and is told until it is over."""

    def __init__(
        self,
        paths: Paths,
        lease: Lease,
        tell: Callable[[Happening], None],
        clock: Callable[[], datetime],
        about_us: Callable[[], dict[str, Any]],
    ) -> None:
        self._paths = paths
        self._lease = lease
        self._tell = tell
        self._clock = clock
        self._about_us = about_us  # what `watch.json` says of the process and its work
        self.health = Health()
        self._alarms = Alarms()
        self._causes: dict[str, list[Cause]] = {}  # by where they were seen
        self._alerts = alerts_log(paths.alerts)
        self._sender = Sender(self.outcome)
        self._places: list[str] | None = None  # whom we tell, by name; None: nobody knows yet
        self._unsent: dict[str, str] = {}  # what did not reach people, by the place where they should have found it
        self._seal = Seal(paths)
        self._marks: list[str] = []  # trips that people were told of, or at least were to be

    def remember(self) -> None:
        """What the daemon before us had told already."""
        facts = read_watch_facts(self._paths)
        confirmed = self._seal.confirms(facts)
        if not confirmed:
            self.stands("watch.json", [Cause("watch_json", "", BROKEN)] if confirmed is False else [])
            return
        self._alarms.load(facts.get("alarms"))
        self.health.load(facts.get("errors"))
        marks, places = facts.get("notified"), facts.get("places")
        self._marks = [str(mark) for mark in marks] if isinstance(marks, list) else []
        known = isinstance(places, list) and all(isinstance(place, str) for place in places)
        self._places = [one_line(place, _LONG) for place in places] if known and places is not None else None

    @property
    def standing(self) -> dict[str, Told]:
        """The alarms that people know of and that are not over."""
        return self._alarms.standing

    def write_down(self, health: str | None = None) -> None:
        """Say in `watch.json` how we do, if that has changed."""
        kept = {
            "errors": self.health.dump(),
            "alarms": self._alarms.dump(),
            "places": self._places,
            "notified": self._marks,
        }
        self.outcome("what was told", self._seal.set(kept))
        self._lease.tell(
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

    def tell(self, kind: Kind, text: str, trip_id: str | None = None, todo: str = "") -> None:
        """Tell of something: here, and what people should know also where they will find it, with what to do."""
        self._tell_all(kind, [text], trip_id, todo)

    def _tell_all(self, kind: Kind, texts: list[str], trip_id: str | None = None, todo: str = "") -> None:
        """Tell of several things at once: each on its own line, all in one message."""
        at = self._clock()
        lines = [one_line(text, _LONG) for text in texts]
        for line in lines:
            with suppress(OSError):  # a terminal or a reader that is gone is no reason to tell nobody else
                self._tell(Happening(at, kind, line))
        if trip_id is not None and kind in _WORTH_A_MESSAGE:
            if self.was_told(kind, trip_id):
                return
            self._marks = [*self._marks[-_MARKS:], _mark(kind, trip_id)]
            self.write_down()  # marked before it is sent: at most once, whatever happens in between
        for line in lines if kind in _WORTH_A_LINE else ():
            self.outcome("alerts.log", self._alerts.write(f"{format_time(at)}  {kind:<9}  {line}"))
        if lines and kind in _WORTH_A_MESSAGE:
            self._sender.send(self._message(at, kind, lines, trip_id, todo))

    def _message(self, at: datetime, kind: Kind, lines: list[str], trip_id: str | None, todo: str) -> Message:
        name = one_line(os.path.basename(self._project))
        what = str(kind) if len(lines) == 1 else f"{len(lines)} {kind}s"
        more = [f"and {len(lines) - _AT_ONCE} more: see .liza/alerts.log"] if len(lines) > _AT_ONCE else []
        text = "\n".join((*lines[:_AT_ONCE], *more, *([todo] if todo else [])))
        return Message(str(kind), f"liza: {what} in {name}", text, format_time(at), self._project, trip_id)

    def was_told(self, kind: Kind, trip_id: str) -> bool:
        return _mark(kind, trip_id) in self._marks

    def set_targets(self, notify: Any, config: Any) -> None:
        """Whom to tell from now on, as rules.yaml and the blackboard have it.

        Agents can write both: whoever is no longer told hears of that, and so do those who are from now on.
        """
        places, faults = read_targets(notify, config, self._project)
        files = {"notify": "rules.yaml", "config": "state.yaml"}
        texts = [f"{files[str(fault.path[0])]}: {fault.message}" for fault in faults]
        self.stands("notify", [Cause("notify", text, text) for text in texts])
        before, names = self._sender.targets, [one_line(place.name, _LONG) for place in places]
        if set(before) == set(places) and self._places == names:
            return
        known, self._places = self._places, names
        self._sender.set_targets([*before, *places])
        if known is not None and (known != names or before):  # before the first look, only the names are known
            self.tell(Kind.ALARM, _change_of_places(known, names))
        self._sender.set_targets(places)

    def outcome(self, place: str, why: str | None) -> None:
        """Why people were not told at a place, or None if they were. Also from other threads; the next tick tells."""
        if why is not None:
            self._unsent[one_line(place, _LONG)] = why
        else:
            self._unsent.pop(one_line(place, _LONG), None)

    @property
    def _project(self) -> str:
        return os.path.dirname(os.path.abspath(self._paths.folder))

    # --- for as long as it stands -----------------------------------------------------------------------------------

    def stands(self, origin: str, causes: Iterable[Cause]) -> None:
        """All that is worth an alarm where `origin` looks; what was there before and is not among it is over."""
        self._causes[origin] = list(causes)

    def has_looked(self, origin: str) -> bool:
        return origin in self._causes

    def tell_alarms(self, now: datetime) -> None:
        """Tell of each cause once for as long as it stands, and once when it is over."""
        found, over = self._alarms.update([each for some in self._causes.values() for each in some], now)
        self._tell_all(Kind.ALARM, found)
        self._tell_all(Kind.OVER, [f"{text} (over)" for text in over])

    def failed(self, what: str, error: LizaError, now: datetime) -> None:
        """`what` cannot be read or done. A save is not always done at once, so it is told only if it lasts."""
        self.health.failed(what, error, now)

    def works(self, what: str) -> None:
        """It can be."""
        self.health.works(what)

    def tell_errors(self, now: datetime) -> None:
        """Tell of what has not worked for a while, and of what does again."""
        found, over = self.health.update(now)
        self._tell_all(Kind.DEGRADED, found)
        self._tell_all(Kind.RECOVERED, [f"it works again; it was: {text}" for text in over])


def alerts_log(path: str) -> Log:
    """The lines for people; however many there are, those about trips stay."""
    return Log(path, keeps=_is_about_a_trip)


def _is_about_a_trip(line: str) -> bool:
    """Whether a line of alerts.log is one that people must find there however much else was written since."""
    return line[22:31].strip() in (Kind.TRIPPED, Kind.RESOLVED)


def _mark(kind: Kind, trip_id: str) -> str:
    return f"{kind} {trip_id}"


def _change_of_places(before: list[str], after: list[str]) -> str:
    gone, new = ([name for name in one if name not in other] for one, other in ((before, after), (after, before)))
    parts = [f"no longer {', '.join(gone)}"] if gone else []
    parts += [f"now also {', '.join(new)}"] if new else []
    return f"whom to tell was changed: {'; '.join(parts) or 'another address of the same host'}"
