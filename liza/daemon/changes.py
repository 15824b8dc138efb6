"""What wakes the daemon. Events are only hints: what counts is whether a file is another version than before.

Events come from watchdog, on the folder and never on a file, because a file that is replaced takes its watch along.
They may be lost, be too many, or stop; so the daemon also polls once a tick, and a lost event costs a tick
and not a halt. Where there are no events at all, that look is all there is, and listening is tried again now and then.
How long it waits is decided in `daemon.py`.
"""

import logging
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from liza.store.filesystem import network_kind
from liza.store.paths import Paths
from liza.store.versions import Identity, identity_at, is_being_written

if TYPE_CHECKING:
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers.api import BaseObserver

PAUSES = (30.0, 300.0, 3600.0)  # seconds before listening is tried again, the last one for ever
BUSY = 1.0  # seconds; who has just written in the folder may well write again
EVENT = 0.02  # seconds in which the event comes for a change that was seen before it, usually after one millisecond
GATHER = 0.1  # seconds from one look at the steps of agents to the next: those of many agents are one look
SILENCE = 5.0  # seconds without an event for our own heartbeat, after which listening has failed


def _polling(why: str) -> str:
    return f"polling ({why})"


AS_ASKED = "as asked for"
POLLED = _polling(AS_ASKED)  # the backend of a daemon that was asked to poll


class Changes:
    """Waits until something may have changed."""

    def __init__(self, paths: Paths, *, poll: bool = False, pauses: Sequence[float] = PAUSES) -> None:
        self.paths = paths
        self.why_polling: str | None = AS_ASKED if poll else None
        self._poll = poll
        self._pauses = pauses
        self._failures = 0  # since it last went well for a while
        self._again = 0.0  # when to try to listen again
        # Not a threading.Event: a signal handler that sets one waits for ever if it interrupted its `wait`.
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._known: Identity | None = None  # the version of state.yaml that the last event was about
        self._moved: Identity | None = None  # the one that was last seen being moved into place
        self._observer: BaseObserver | None = None
        self._threads: list[threading.Thread] = []  # of watchdog
        self._watched: tuple[int, int] | None = None
        self._watched_spool: tuple[int, int] | None = None
        self._has_steps = False  # since the last look at them
        self._looked = float("-inf")
        self._listening = self._heard = 0.0  # since when, and the last event for our heartbeat
        self._beats = 0  # since then
        self._written = float("-inf")  # the last event for anything else

    @property
    def listens(self) -> bool:
        return self._observer is not None

    @property
    def lacks_events(self) -> bool:
        """Whether it polls though it was not asked to."""
        return not self.listens and not self._poll

    @property
    def backend(self) -> str:
        return "inotify" if self.listens else _polling(self.why_polling or "not started")

    def start(self) -> None:
        """Begin to listen; what cannot be listened to is polled."""
        if self._poll or self._observer is not None or time.monotonic() < self._again:
            return
        if not os.path.isdir(self.paths.folder):
            return
        kind = network_kind(self.paths.folder)
        if kind is not None:
            self._give_up(kind)
            return
        others = set(threading.enumerate())
        try:
            self._observer = self._listen()
        except Exception as error:  # noqa: BLE001 - without events, for any reason, the daemon polls
            self._give_up(f"no events: {error}")
            return
        self._threads = [thread for thread in threading.enumerate() if thread not in others]
        self._watched = _folder(self.paths.folder)
        self._listening = self._heard = time.monotonic()
        self._beats = 0
        self.why_polling = None

    def _give_up(self, why: str) -> None:
        """Poll for now. What keeps failing is retried less and less often."""
        self._again = time.monotonic() + self._pauses[min(self._failures, len(self._pauses) - 1)]
        self._failures += 1
        self.why_polling = why

    def _spool_handler(self) -> "FileSystemEventHandler":
        """Wakes the daemon for each event of a client's hook; what is hidden is still being written."""
        from watchdog.events import FileSystemEventHandler

        changes = self

        class SpoolHandler(FileSystemEventHandler):
            def on_any_event(self, event: Any) -> None:
                path = os.fsdecode(event.dest_path or event.src_path)
                is_step = not event.is_directory and not os.path.basename(path).startswith(".")
                if is_step and event.event_type != "deleted":
                    changes._has_steps = True
                    if changes._gathering <= 0:
                        changes.wake()

        return SpoolHandler()

    def _listen(self) -> "BaseObserver":
        from watchdog.events import FileSystemEventHandler
        from watchdog.observers.inotify import InotifyObserver

        logging.getLogger("watchdog").addHandler(logging.NullHandler())  # its failures show in its threads
        changes = self
        names = {os.path.basename(path) for path in self.paths.watched}
        state, heartbeat = os.path.basename(self.paths.state), os.path.basename(self.paths.watch_lock)

        class Handler(FileSystemEventHandler):
            """Wakes the daemon for the files it looks at, and for nothing that it only writes."""

            def on_any_event(self, event: Any) -> None:
                touched = [os.path.basename(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path]
                if heartbeat in touched:
                    changes._heard, changes._beats = time.monotonic(), 0
                else:
                    changes._written = time.monotonic()
                if state in touched:
                    version = identity_at(changes.paths.state)
                    # An event may come late: by now a program may be in the middle of a save in place.
                    if event.event_type == "moved" and not is_being_written(changes.paths.state):
                        changes._moved = version
                    changes._known = version
                if not names.isdisjoint(touched):
                    changes.wake()

        asked = _event_mask()
        observer = InotifyObserver(generate_full_events=True)  # a second half alone counts as a rename, too
        observer.daemon = True
        try:
            # Of a link watchdog would watch the link.
            observer.schedule(Handler(), os.path.realpath(self.paths.folder))
            self._watched_spool = _folder(self.paths.spool)
            if self._watched_spool is not None:
                observer.schedule(self._spool_handler(), self.paths.spool)
            for emitter in observer.emitters:
                setattr(emitter, "get_event_mask_from_filter", lambda: asked)  # noqa: B010 - no method to mypy
            observer.start()
        except BaseException:
            observer.stop()  # or what it has opened so far stays open
            raise
        return observer

    @property
    def is_busy(self) -> bool:
        """Whether something was written in the folder a moment ago."""
        return time.monotonic() - self._written < BUSY

    def moved_into_place(self) -> Identity | None:
        """The version of state.yaml that was last seen being moved to its name, which happens to finished files only.

        A version, not a yes: a later write into that file makes another version of it, with or without an event.
        """
        return self._moved

    def await_event(self, version: Identity | None) -> None:
        """A look may be faster than the event. It is worth waiting for: it may show that the file is whole."""
        end = time.monotonic() + EVENT
        while self.listens and self._known != version and (left := end - time.monotonic()) > 0:
            self._sleep(left)

    def wake(self) -> None:
        """From a signal handler, at whatever moment it comes, or another thread: do not wait any longer."""
        if self._wakes.empty():
            self._wakes.put(None)

    def wait(self, seconds: float) -> None:
        """Wait until something may have changed, or for this time. Between two waits there is one heartbeat."""
        self._beats += 1
        gathering = min(max(self._gathering, 0.0), seconds)
        if not self._sleep(gathering) and not self._has_steps:
            self._sleep(seconds - gathering)
        if self._has_steps:
            self._has_steps, self._looked = False, time.monotonic()
        if self._observer is None:
            self.start()  # the folder may be there by now, or it is time to try again
        elif (_folder(self.paths.folder), _folder(self.paths.spool)) != (self._watched, self._watched_spool):
            self.stop()  # the folder is another one, or gone: listen to the new one
            self._again = 0.0
            self.start()
        elif (why := self._why_no_events()) is not None:
            self.stop()
            if time.monotonic() - self._listening > self._pauses[-1]:
                self._failures = 0
            self._give_up(why)

    @property
    def _gathering(self) -> float:
        """Seconds for which a step does not wake the daemon: the look that comes then takes it with all others."""
        return self._looked + GATHER - time.monotonic()

    def _sleep(self, seconds: float) -> bool:
        """Wait until woken, or for this time; whether woken."""
        try:
            self._wakes.get(timeout=seconds)
        except Empty:
            return False
        with suppress(Empty):
            for _ in range(self._wakes.qsize()):  # they all mean the same, and more may come for ever
                self._wakes.get_nowait()
        return True

    def _why_no_events(self) -> str | None:
        """Threads die unseen, and a queue that is full drops events silently; but our own heartbeat must be heard."""
        if not all(thread.is_alive() for thread in self._threads):
            return "the inotify thread died"
        if self._beats > 3 and time.monotonic() - self._heard > SILENCE:
            return f"no event has come for {SILENCE:g} s"
        return None

    def stop(self) -> None:
        if self._observer is not None:
            observer, self._observer = self._observer, None
            # It waits for its threads, one of which may never end; we have something better to do.
            ending = threading.Thread(target=_end, args=(observer,), name="end of listening", daemon=True)
            ending.start()
            ending.join(0.2)


def _event_mask() -> int:
    """Which events of inotify are asked for."""
    from watchdog.observers.inotify_c import InotifyConstants

    # Not what readers do; and not the first half of a rename, the name that is gone: behind each one watchdog holds
    # all events back until it has seen the second, often for half a second, and we look at every name anyway.
    return (
        InotifyConstants.IN_CREATE
        | InotifyConstants.IN_MODIFY
        | InotifyConstants.IN_CLOSE_WRITE
        | InotifyConstants.IN_ATTRIB
        | InotifyConstants.IN_MOVED_TO
        | InotifyConstants.IN_DELETE
        | InotifyConstants.IN_DELETE_SELF
    )


def _end(observer: "BaseObserver") -> None:
    with suppress(Exception):  # it is on its way out anyway
        observer.stop()
        observer.join()


def versions(paths: Paths) -> dict[str, Identity | None]:
    """Which version of each file is there; None where there is none."""
    found: dict[str, Identity | None] = {}
    for path in paths.watched:
        found[path] = identity_at(path, follow=path != paths.checkpoint)
    return found


def _folder(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
