"""The blackboard's lock: flock(2) on `.liza/state.yaml.lock`, the same that a shell script takes with flock(1).

The file is never unlinked: a process that waits on the old file and one that opens a new file would both hold "the"
lock. Soft locks (a file whose existence is the lock) are never used instead, because flock(1) does not see them.
"""

import fcntl
import os
import time
from types import TracebackType

from liza.errors import LockTimeout, Refused, Unwritable
from liza.store.files import open_fd

DEFAULT_TIMEOUT = 10.0
# A waiter that polls competes with shell scripts that sleep inside flock(2) and are woken first, so it polls fast.
_POLL = 0.002

_held: set[int] = set()


class Lock:
    """Held inside `with`. Other threads and processes wait; a child process does not inherit it."""

    def __init__(self, path: str, timeout: float | None = None) -> None:
        self.path = path
        self.timeout = timeout if timeout is not None else _timeout_setting()
        self._fd: int | None = None

    def __enter__(self) -> "Lock":
        try:
            self._fd = _wait(self.path, self.timeout)
        except OSError as error:
            if isinstance(error, LockTimeout):
                raise
            raise Unwritable(
                f"the lock cannot be taken: {error.strerror or error}",
                hint="the blackboard's folder must be writable and on a file system with flock(2)",
                file=self.path,
            ) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._fd is not None:
            _held.discard(self._fd)
            os.close(self._fd)
        self._fd = None


def _timeout_setting() -> float:
    text = os.environ.get("LIZA_LOCK_TIMEOUT", "")
    try:
        seconds = float(text) if text else DEFAULT_TIMEOUT
        if not 0 <= seconds < 1e9:
            raise ValueError
        return seconds
    except ValueError:
        raise Refused(
            f"LIZA_LOCK_TIMEOUT is {text!r}, not a number of seconds", hint="unset LIZA_LOCK_TIMEOUT"
        ) from None


def _take(path: str) -> int | None:
    """The lock if it is free, which it nearly always is."""
    while True:
        # A second name does no harm here: nothing is ever written to it, and copies of folders made by links have one.
        fd = open_fd(path, os.O_RDWR | os.O_CREAT, single_link=False)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                _held.add(fd)
                return fd
        except BlockingIOError:
            os.close(fd)
            return None
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # the lock file was deleted between the two calls: what we hold is no longer the lock


def _wait(path: str, timeout: float) -> int:
    started = time.monotonic()
    while (fd := _take(path)) is None:
        if time.monotonic() - started > timeout:
            raise _timed_out(path, timeout)
        time.sleep(_POLL)
    return fd


def _timed_out(path: str, timeout: float) -> LockTimeout:
    from liza.text import shell_quoted

    pid = _keeper(path)
    who = "another process" if pid is None else f"process {pid} ({command_of(pid)})"
    look = f"ps -fp {pid}" if pid is not None else f"fuser -v {shell_quoted(path)}"
    end = f"; to end it: kill {pid}" if pid is not None else ""
    return LockTimeout(
        f"{who} has held the lock for {timeout:g} s" if timeout else f"{who} holds the lock",
        hint=f"see what it does with: {look}{end}   (wait longer with LIZA_LOCK_TIMEOUT=60)",
        file=path,
        holder=pid,
    )


def is_locked(path: str) -> bool:
    """Whether the lock is held at this moment, by trying to take it; a file that cannot be opened is not held.

    It is taken as one of several, for no longer than the call: one reader must not keep another from looking.
    """
    try:
        fd = open_fd(path, single_link=False)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def holder(path: str) -> int | None:
    """The process that holds the lock, where the kernel reports it."""
    try:
        stat = os.stat(path)
        wanted = f"{os.major(stat.st_dev):02x}:{os.minor(stat.st_dev):02x}:{stat.st_ino}"
        with open("/proc/locks", encoding="ascii") as locks:
            for line in locks:
                words = line.split()
                if words[1] == "FLOCK" and words[5] == wanted and int(words[4]) > 0:
                    return int(words[4])
    except (OSError, ValueError, IndexError):
        pass  # no /proc here: the message has "another process" instead
    return None


def _keeper(path: str) -> int | None:
    """The process that keeps the lock now.

    The one that took it may have ended: what inherited the open file, as children of a shell do, holds it.
    """
    taker = holder(path)
    if taker is None or _holds(taker, path):
        return taker
    try:
        others = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return taker
    return next((pid for pid in others if pid != os.getpid() and _holds(pid, path)), taker)


def _holds(pid: int, path: str) -> bool:
    """Whether a process has the file open in the way that the lock belongs to; no, where that cannot be found out."""
    try:
        wanted = os.stat(path)
        for name in os.listdir(f"/proc/{pid}/fd"):
            if os.path.samestat(os.stat(f"/proc/{pid}/fd/{name}"), wanted):
                with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as info:
                    if any(line.startswith("lock:") and "FLOCK" in line for line in info):
                        return True
    except (OSError, ValueError):
        pass
    return False


def command_of(pid: int) -> str:
    """What a process is called, as `ps` would say it."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as comm:
            return comm.read().strip() or "?"
    except OSError:
        return "it has ended since"


def _close_in_child() -> None:
    # flock belongs to the open file, which fork(2) shares: a child that outlives its parent would keep the lock.
    for fd in _held:
        os.close(fd)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)
