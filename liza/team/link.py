"""The thread that talks to the team's database. It sends what it is given, and passes on what it reads.

The daemon's one thread decides. It never waits for the network: what this thread reads wakes it, and how long nothing
was heard is a number that it looks at. A statement that hangs is ended by closing its socket.
"""

import os
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import psycopg

from liza.errors import LizaError
from liza.store.team_files import Shared
from liza.team.database import MOST, Database, HostRow, Outgoing, TeamTrip, as_error
from liza.team.settings import Settings

PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)  # seconds before it connects again, the last one for ever
WITHOUT_NOTIFY = 1.0  # seconds between two looks where no notification was ever heard
HOSTS_EVERY = 0.2  # seconds, times the number of hosts: where there are many, each looks at the others less often
HANGS = 15.0  # seconds after which a statement is given up


class Batch(NamedTuple):
    """What was read since the last one was taken."""

    records: tuple[Shared, ...] = ()
    trips: tuple[TeamTrip, ...] = ()
    is_anew: bool = False  # the server does not know what was read before: forget it


class Contact(NamedTuple):
    """How it is with the database."""

    last: float  # monotonic time of the last complete look
    error: LizaError | None = None
    may_resolve: bool | None = None  # None: not known yet
    hosts: tuple[HostRow, ...] = ()
    hears: bool = False
    looks: int = 0  # complete ones


class Link(threading.Thread):
    """Lives as long as the daemon is in this team."""

    def __init__(self, settings: Settings, cursor: tuple[int, str], wake: Callable[[], None]) -> None:
        super().__init__(name="team", daemon=True)
        self.settings = settings
        self._wake = wake
        self._lock = threading.Lock()
        self._batch = Batch()
        self._outgoing, self._facts = Outgoing(), dict[str, Any]()
        self._sent: Outgoing | None = None
        self._seq, self._key = cursor
        self._version = 0
        self._ends = False
        self._began = 0.0  # the look that is going on
        self._database: Database | None = None
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[1], False)
        self.contact = Contact(time.monotonic())

    # --- for the daemon's thread --------------------------------------------------------------------------------------

    def offer(self, outgoing: Outgoing, facts: Mapping[str, Any]) -> None:
        """What this host has for the team from now on; sent at once if it is new."""
        with self._lock:
            is_new = outgoing != self._outgoing or _urgent(facts) != _urgent(self._facts)
            self._outgoing, self._facts = outgoing, dict(facts)
        if is_new:
            self._poke()

    def take(self) -> Batch:
        with self._lock:
            batch, self._batch = self._batch, Batch()
            return batch

    def end_what_hangs(self) -> None:
        """Close the socket of a statement that gets no answer; its thread then connects again."""
        began, database = self._began, self._database
        longest = min(HANGS, max(self.settings.max_silence / 2, 0.5))
        if began and database is not None and time.monotonic() - began > longest:
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(database.connection.fileno())) as held:
                held.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        self._ends = True
        self._poke()
        self.join(2.0)

    def _poke(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._pipe[1], b"!")

    # --- the thread ---------------------------------------------------------------------------------------------------

    def run(self) -> None:
        failures = 0
        while not self._ends:
            try:
                self._serve()
                failures = 0
            except (psycopg.Error, OSError, LizaError) as error:
                looks = self.contact.looks
                failed = error if isinstance(error, LizaError) else as_error(error)
                self.contact = self.contact._replace(error=failed, looks=0)
                failures = 0 if looks else failures + 1
                self._wake()
            finally:
                self._began = 0.0
                database, self._database = self._database, None
                if database is not None:
                    with suppress(psycopg.Error, OSError):
                        database.close()
            if not self._ends:
                self._rest(None, min(PAUSES[min(failures, len(PAUSES) - 1)], self.settings.max_silence / 4))
        for end in self._pipe:
            os.close(end)

    def _serve(self) -> None:
        """From one connection to its end."""
        database = self._database = Database(self.settings)
        self._sent, hears, reported = None, False, tuple[str, ...]()
        beaten = read = float("-inf")
        self.contact = self.contact._replace(may_resolve=database.may_resolve)
        if self._seq and not database.knows(self._seq, self._key):
            with self._lock:
                self._batch = Batch(is_anew=True)
            self._seq, self._version = 0, 0
        while not self._ends:
            self._began = time.monotonic()
            hears = database.heard() or hears
            self._look(database)
            if self._began - beaten >= self._every(hears) * 0.9 or _urgent(self._facts) != reported:
                beaten, reported = self._began, _urgent(self._facts)
                database.beat(self._facts)
                if beaten - read >= HOSTS_EVERY * len(self.contact.hosts):
                    read = beaten
                    self.contact = self.contact._replace(hosts=tuple(database.hosts()))
            self.contact = self.contact._replace(
                last=time.monotonic(), error=None, hears=hears, looks=self.contact.looks + 1
            )
            self._began = 0.0
            if self.contact.looks == 1:
                self._wake()
            if database.heard():  # while it looked: what was read may be from before
                hears = True
            else:
                self._rest(database, self._every(hears))

    def _every(self, hears: bool) -> float:
        """Seconds between two looks that nothing asks for."""
        wanted = self.settings.poll or (15.0 if hears else WITHOUT_NOTIFY)
        return min(wanted, max(self.settings.max_silence / 4, 0.05))

    def _look(self, database: Database) -> None:
        """Send what is new, then read what is new."""
        with self._lock:
            outgoing = self._outgoing
        if outgoing != self._sent:
            database.send(outgoing)
            self._sent = outgoing
        everything: list[Shared] = []
        while True:
            records, trips = database.after(everything[-1].seq if everything else self._seq, self._version)
            everything += records
            if len(records) < MOST:
                break
        if everything or trips:
            self._pass_on(everything, trips)

    def _pass_on(self, records: list[Shared], trips: list[TeamTrip]) -> None:
        with self._lock:
            self._batch = self._batch._replace(
                records=(*self._batch.records, *records), trips=(*self._batch.trips, *trips)
            )
        if records:
            self._seq, self._key = records[-1].seq, records[-1].key
        self._version = max((trip.version for trip in trips), default=self._version)
        self._wake()

    def _rest(self, database: Database | None, seconds: float) -> None:
        """Wait for a notification, for something to send, or for this time."""
        watched = [self._pipe[0], *([database.connection.fileno()] if database is not None else [])]
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._pipe[0] in ready:
            os.read(self._pipe[0], 4096)


def _urgent(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What the other hosts should know of at once; the rest comes with the next heartbeat."""
    return tuple(str(facts.get(name)) for name in ("may_resolve", "health", "stopped", "rules"))
