"""The daemon: it takes the lease, waits for a change, has it checked, and survives what goes wrong.

Nothing here is kept that a restart would miss: what counts is on the blackboard.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from liza import __version__
from liza.check import Check
from liza.clients.caller import drop_variables
from liza.daemon.changes import Changes
from liza.daemon.checker import Checker
from liza.daemon.notifier import Event, EventKind, Notifier
from liza.daemon.options import Options
from liza.daemon.status import CHECKED_ONCE, STOPPED
from liza.daemon.watch_lock import FolderGone, WatchLock, WatchLockTaken
from liza.errors import LizaError, Refused
from liza.model import format_time
from liza.store.daemon_process import process_start
from liza.store.document import Document
from liza.store.paths import Paths


class Watcher:
    """Watches one blackboard. One thread decides; others only listen and send messages."""

    def __init__(
        self,
        paths: Paths,
        options: Options,
        on_event: Callable[[Event], None],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        after_tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.paths = paths
        self.options = options
        self.clock = clock
        self.after_tick = after_tick  # also after one that found nothing
        self.watch_lock = WatchLock(paths)
        self.changes = Changes(paths, poll=options.poll)
        self.notifier = Notifier(paths, self.watch_lock, on_event, clock, self._about_us)
        self.checker = Checker(paths, self.notifier, self.changes, options)
        self.backend = self.changes.backend
        self.started = self.ticked = clock()
        self.stopping = False
        self.waiting = False

    @property
    def found(self) -> Check | None:
        return self.checker.found

    @property
    def document(self) -> Document | None:
        return self.checker.document

    # --- from the first tick to the last ------------------------------------------------------------------------------

    def run(self) -> None:
        """Watch until `stop`."""
        drop_variables(os.environ)  # it works for everyone, even where an agent started it
        while not self.stopping and not self._take():
            self._wait_for_folder()
        if self.stopping:
            self.watch_lock.release()
            return
        try:
            self._begin()
            self.changes.start()
            self.backend = self.changes.backend
            self.notifier.save_facts()  # which process holds the lock, before anything relies on it
            text = f"watching {self.paths.folder} with {self.backend}, process {os.getpid()}"
            self.notifier.report(EventKind.STARTED, text)
            while not self.stopping:
                self.tick()
                self.after_tick()
                _load_what_a_trip_needs()
                self.changes.wait(self._patience())
        finally:
            self.checker.stop()
            self.notifier.stop()
            self.notifier.report(EventKind.STOPPED, f"no longer watching {self.paths.folder}")
            self.notifier.save_facts(STOPPED)
            self.changes.stop()
            self.watch_lock.release()

    def once(self) -> None:
        self.watch_lock.take()
        try:
            self._begin()
            self.tick()
            while self.checker.has_applied or self.checker.waits_for_writer(self.ticked):
                self.checker.has_applied = False
                self.tick()
            if not self.checker.is_finished:
                self.checker.check_once_more(self.ticked)
                self.tick()
        finally:
            self.notifier.stop()
            self.notifier.save_facts(CHECKED_ONCE)
            self.watch_lock.release()

    def _begin(self) -> None:
        self.notifier.remember()
        try:
            self.checker.board.sweep()
        except Exception as error:  # noqa: BLE001 - whatever is in the folder, it can be watched
            self.notifier.failed("liza", _bug(error), self.clock())

    def stop(self) -> None:
        """From a signal handler: finish what is in hand, then end."""
        self.stopping = True
        self.changes.wake()

    def renew(self) -> None:
        """From a signal handler: read the rules again."""
        self.checker.reload = True
        self.changes.wake()

    def _take(self, *patience: float) -> bool:
        """Become the daemon of this blackboard, if there is one now."""
        if not os.path.isdir(self.paths.folder):
            return False
        with suppress(FolderGone):
            self.watch_lock.take(*patience)
        return self.watch_lock.is_held

    def _take_again(self) -> bool:
        """After we have lost the lock: the folder was deleted, or another file was put in its place.

        Only another daemon ends this one, and only a folder that is gone makes it wait. Without the lock it continues.
        """
        self.watch_lock.drop()
        if not os.path.isdir(self.paths.folder):
            return False
        try:
            is_held = self._take(0.0)
        except Refused as error:
            if isinstance(error, WatchLockTaken) and error.is_daemon:
                raise
            self.notifier.failed("watch.lock", error, self.clock())
            return True
        self.notifier.works("watch.lock")
        if is_held:
            self.checker.forget()
        return is_held

    def _wait_for_folder(self) -> None:
        if not self.waiting:
            self.waiting = True
            self.watch_lock.announce_waiting()
            self.notifier.report(EventKind.WAITING, f"there is no {self.paths.folder} yet")
        self.after_tick()
        self.changes.wait(self.options.interval)

    def _patience(self) -> float:
        # Without events it looks twice a tick: a change must still come to rest and be checked before the tick is over.
        longest = self.options.interval / (1 if self.changes.listens else 2)
        return self.checker.schedule.seconds_left(self.clock(), longest)

    # --- one tick ---------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Look whether anything has changed, and check it if so."""
        if not self.watch_lock.is_held and not self._take_again():
            self._wait_for_folder()
            return
        self.waiting = False
        self.watch_lock.beat()
        if self.backend != self.changes.backend:
            self.backend = self.changes.backend
            self.notifier.report(EventKind.BACKEND, f"now watching with {self.backend}")
        now = self.clock()
        if now < self.ticked:
            self.checker.clock_was_set_back(now)
        self.ticked = now
        try:
            self.checker.update(now)
            if not os.path.isdir(self.paths.folder):
                return  # what is missing in a folder that was deleted meanwhile is not worth an alarm
            self.checker.update_timed_alarms(now)
            self.notifier.works("liza")
        except Exception as error:  # noqa: BLE001 - a bug of ours must not end the breaker
            self.notifier.failed("liza", _bug(error), now)
            self.checker.recover(now)
        self._report_kept_files()
        self.notifier.report_errors(now)
        self.checker.update_degraded(now)
        self.notifier.save_facts()

    def _report_kept_files(self) -> None:
        """What was in the way, or would have been lost, and where it is now."""
        while self.watch_lock.moved:
            aside = os.path.relpath(self.watch_lock.moved.pop(), self.paths.folder)
            self.notifier.report(EventKind.ALARM, f"watch.lock was not a regular file; it was moved to .liza/{aside}")
        while self.checker.board.rescued:
            text = f"a version of state.yaml that another program wrote was kept in {self.checker.board.rescued.pop()}"
            self.notifier.report(EventKind.ALARM, text)

    def _about_us(self) -> dict[str, Any]:
        identity = self.checker.seen.get(self.paths.state)
        return {
            "version": __version__,
            "pid": os.getpid(),
            "process_start": process_start(os.getpid()),
            "started": format_time(self.started),
            "interval": self.options.interval,
            "backend": self.changes.backend,
            "no_events": self.changes.lacks_events,
            "observe": self.options.observe,
            "last_check": format_time(self.found.verdict.checked_at) if self.found else None,
            "checks": self.checker.count,
            "check_seconds": round(self.checker.seconds, 3),
            "seen": identity.mtime_ns if identity is not None else None,
        }


def _bug(error: Exception) -> LizaError:
    return LizaError(f"a bug in liza: {type(error).__name__}: {error}")


def _load_what_a_trip_needs() -> None:
    """Before there is one: an upgrade in the night, or no file left to open, must not keep it from its paperwork."""
    for name in ("jinja2.sandbox", "rapidfuzz.distance"):
        import_module(name)
