"""One daemon a blackboard: the process that holds the flock on `.liza/watch.lock`, if `watch.json` names it.

The file is never unlinked. Its mtime is the heartbeat, so that an idle daemon writes no byte; `watch.json` has
its state, and is written when that changes.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import time
from typing import Any

from liza.errors import Refused
from liza.store import files
from liza.store.daemon_process import is_daemon, read_watch_facts
from liza.store.files import write_atomically
from liza.store.lock import command_of, holder
from liza.store.paths import Paths

_PATIENCE = 0.5  # another process may hold the lock for a moment, only to look whether it is taken
_POLL = 0.02
_OFTEN = 100  # times that a daemon moves something aside before it gives up


class WatchLockTaken(Refused):
    """Another process has the lock of the daemon; whether it is one is in `is_daemon`."""

    is_daemon = True


class FolderGone(Refused):
    """The folder was deleted while we were about to watch it."""


class WatchLock:
    """The right to watch a blackboard, until the process ends."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self._fd: int | None = None
        self._waiting: int | None = None  # the lock by which others see that we wait for a blackboard
        self._written: dict[str, Any] = {}
        self._is_wrong = False  # watch.json has health ok, which is no longer so and cannot be corrected
        self.moved: list[str] = []  # where things are that had the name of the lock, for the caller to report

    def take(self, patience: float = _PATIENCE) -> None:
        """Become the daemon of this blackboard; `WatchLockTaken` if there is one, `FolderGone` if there is no folder.

        What has the name of the lock and cannot be one is moved aside: it must not keep the daemon from its work.
        """
        started = time.monotonic()
        while True:
            try:
                fd = files.open_fd(self.paths.watch_lock, os.O_RDWR | os.O_CREAT)
            except (FileNotFoundError, NotADirectoryError):
                raise FolderGone("the folder is gone", file=self.paths.folder) from None
            except OSError as error:
                if isinstance(error, files.UnsafeFile) and self._move_aside():
                    continue
                hint = "the blackboard's folder must be writable: the daemon keeps its lock there"
                raise Refused(
                    f"it cannot be watched: {error.strerror}", hint=hint, file=self.paths.watch_lock
                ) from None
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                if time.monotonic() - started > patience:
                    raise self._taken() from None
                time.sleep(_POLL)
                continue
            if _is_at(fd, self.paths.watch_lock):
                self._fd = fd
                self.beat()
                self._wait_no_longer()
                return
            os.close(fd)  # the file was deleted meanwhile: what we hold is no longer the lock

    def _move_aside(self) -> bool:
        aside = f"{self.paths.watch_lock}.odd-{os.urandom(4).hex()}"
        try:
            os.rename(self.paths.watch_lock, aside)
        except OSError:
            return False
        self.moved.append(aside)
        return len(self.moved) < _OFTEN

    def announce_waiting(self) -> None:
        """Where there is no blackboard yet: show that we wait. `WatchLockTaken` if another process does already."""
        if self._waiting is not None:
            return
        lock = waiting_lock(self.paths)
        with contextlib.suppress(OSError):  # the daemon still waits for it, only unseen
            os.makedirs(os.path.dirname(lock), 0o700, exist_ok=True)
            if os.lstat(os.path.dirname(lock)).st_uid != os.geteuid():
                return  # another user's
            fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                raise self._taken(lock, "waits for") from None
            if _is_at(fd, lock):
                self._waiting = fd
            else:  # its holder has just removed it: what we hold is no longer the lock
                os.close(fd)
                self.announce_waiting()

    def _wait_no_longer(self) -> None:
        if self._waiting is not None:
            lock = waiting_lock(self.paths)
            with contextlib.suppress(OSError):  # removed while it is held; `take` looks for that
                if _is_at(self._waiting, lock):
                    os.unlink(lock)
            os.close(self._waiting)
            self._waiting = None

    def _taken(self, lock: str | None = None, does: str = "watches") -> WatchLockTaken:
        pid = holder(lock or self.paths.watch_lock)
        who = f"process {pid}" if pid is not None else "another process"
        if lock is None and pid is not None and not is_daemon(pid, read_watch_facts(self.paths), self.paths):
            hint = f"see what it is doing: ps -fp {pid}   (end it with: kill {pid})"
            message = f"{who} ({command_of(pid)}) holds the daemon's lock, but is not a known daemon"
            taken = WatchLockTaken(message, hint=hint, file=self.paths.watch_lock)
            taken.is_daemon = False
            return taken
        hint = "see its state with: liza watch --status   (end it with: liza watch --stop)"
        return WatchLockTaken(f"{who} already {does} this blackboard", hint=hint, file=lock or self.paths.watch_lock)

    @property
    def is_held(self) -> bool:
        """Whether the lock we took is still the one that others look at: the folder may have been deleted."""
        return self._fd is not None and _is_at(self._fd, self.paths.watch_lock)

    def beat(self) -> None:
        """Show that we are alive and do our work."""
        if self._fd is not None and not self._is_wrong:
            with contextlib.suppress(OSError):  # the disk went read-only: look anyway
                os.utime(self._fd)

    def write_facts(self, **facts: Any) -> None:
        """Write `watch.json`, if that has changed."""
        if facts != self._written:
            try:
                write_atomically(self.paths.watch_json, (json.dumps(facts, indent=2) + "\n").encode())
                self._written, self._is_wrong = facts, False
            except OSError:  # a full disk must not end the watch; the next change is written
                self._is_wrong = self._written.get("health") == "ok" != facts.get("health")

    def release(self) -> None:
        self._wait_no_longer()
        self.drop()

    def drop(self) -> None:
        """Let go of the blackboard: it was deleted, perhaps to be waited for."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def waiting_lock(paths: Paths) -> str:
    """Among the user's temporary files, since there is no folder of the blackboard yet; empty."""
    user = os.getuid()
    run = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    if os.path.isdir(run):
        return os.path.join(run, "liza", f"waiting-{_digest(paths)}.lock")
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"liza-{user}", f"waiting-{_digest(paths)}.lock")


def own_file(paths: Paths, prefix: str, suffix: str) -> str:
    """A file about a blackboard among the user's own, where no agent is expected to write."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(home, "liza", f"{prefix}-{_digest(paths)}{suffix}")


def _digest(paths: Paths) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(paths.folder))).hexdigest()[:16]


def _is_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except OSError:
        return False
