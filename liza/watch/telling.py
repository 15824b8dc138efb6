"""Telling people what happens: on the terminal, in `alerts.log`, by messages; each thing once, also across a restart.

What has been told is kept in `.liza/watch.json`, and is there before a message leaves: at most once, whatever happens.
"""

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from liza.blackboard.paths import Paths
from liza.errors import LizaError
from liza.model import format_time
from liza.notify.sender import Sender
from liza.notify.targets import Message, targets
from liza.text import printable
from liza.watch.alarms import Alarms, Cause
from liza.watch.background import Log
from liza.watch.health import Health
from liza.watch.lease import Lease, told

_MARKS = 200  # trips whose messages are remembered


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


class Happening(NamedTuple):
    """Something to tell."""

    at: datetime
    kind: Kind
    text: str


class News(NamedTuple):
    """Something to tell that a look has found; with a trip id, people get one message of it, ever."""

    kind: Kind
    text: str
    trip_id: str | None = None


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
        self._alerts = Log(paths.alerts)
        self._sender = Sender(self._not_sent)
        self._unsent: str | None = None
        self._marks: list[str] = []  # trips that people were told of, or at least were to be

    def remember(self) -> None:
        """What the daemon before us had told already."""
        facts = told(self._paths)
        self._alarms.load(facts.get("alarms"))
        marks = facts.get("notified")
        self._marks = [str(mark) for mark in marks] if isinstance(marks, list) else []

    def write_down(self, health: str | None = None) -> None:
        """Say in `watch.json` how we do, if that has changed."""
        self._lease.tell(
            **self._about_us(),
            health=health or ("degraded" if self.health.errors else "ok"),
            last_error=self.health.last_error,
            alarms=self._alarms.dump(),
            notified=self._marks,
            not_sent=self._unsent,
        )

    def stop(self, patience: float = 3.0) -> None:
        """Give the messages that wait a last chance."""
        self._sender.stop(patience)

    # --- at once ----------------------------------------------------------------------------------------------------

    def tell(self, kind: Kind, text: str, trip_id: str | None = None) -> None:
        """Tell of something: here, and what people should know also where they will find it."""
        happening = Happening(self._clock(), kind, text)
        self._tell(happening)
        if kind not in _WORTH_A_MESSAGE:
            return
        if trip_id is not None:
            if self.was_told(kind, trip_id):
                return
            self._marks = [*self._marks[-_MARKS:], _mark(kind, trip_id)]
            self.write_down()  # marked before it is sent: at most once, whatever happens in between
        self._alerts.write(f"{format_time(happening.at)}  {kind:<9}  {printable(' '.join(text.split()))[:1000]}")
        board = os.path.dirname(os.path.abspath(self._paths.folder))
        title = f"liza: {kind} in {os.path.basename(board)}"
        self._sender.send(Message(str(kind), title, printable(text)[:1000], format_time(happening.at), board, trip_id))

    def was_told(self, kind: Kind, trip_id: str) -> bool:
        return _mark(kind, trip_id) in self._marks

    def address(self, notify: Any, config: Any) -> None:
        """Whom to tell from now on, as rules.yaml and the blackboard have it."""
        folder = os.path.dirname(os.path.abspath(self._paths.folder))
        self._sender.targets, wrong = targets(notify, config, folder)
        self.stands("notify", [Cause("notify", text, f"rules.yaml: {text}") for text in wrong])

    def _not_sent(self, why: str) -> None:
        self._unsent = why  # from the sender's thread; it is written down at the next tick

    # --- for as long as it stands -----------------------------------------------------------------------------------

    def stands(self, origin: str, causes: Iterable[Cause]) -> None:
        """All that is worth an alarm where `origin` looks; what was there before and is not among it is over."""
        self._causes[origin] = list(causes)

    def has_looked(self, origin: str) -> bool:
        return origin in self._causes

    def tell_alarms(self, now: datetime) -> None:
        """Tell of each cause once for as long as it stands, and once when it is over."""
        found, over = self._alarms.update([each for some in self._causes.values() for each in some], now)
        for text in found:
            self.tell(Kind.ALARM, text)
        for text in over:
            self.tell(Kind.OVER, text)

    def failed(self, what: str, error: LizaError) -> None:
        """`what` cannot be read or done. A save is not always done at once, so it is told only if it lasts."""
        self.health.failed(what, error, self._clock())

    def works(self, what: str) -> None:
        """It can; told if people know that it could not."""
        text = self.health.works(what)
        if text is not None:
            self.tell(Kind.RECOVERED, f"it can be read again ({text})")

    def tell_errors(self, now: datetime) -> None:
        for text in self.health.lasting(now):
            self.tell(Kind.DEGRADED, text)


def _mark(kind: Kind, trip_id: str) -> str:
    return f"{kind} {trip_id}"
