"""The CHECKPOINT file: while it exists, agents stop. One that carries a trip id is ours; any other is a human's."""

import errno
import os
import re
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from liza.blackboard.storage import is_alive
from liza.errors import LizaError, Refused
from liza.halt import mark
from liza.model import file_time

_TRIP = re.compile(rb"^trip: ([0-9a-f]{12})\s*$", re.MULTILINE)
_TIME = re.compile(rb"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\s*$", re.MULTILINE)


class Checkpoint(NamedTuple):
    """What is known of the file that is there, whatever kind of file that is."""

    trip_id: str | None  # None: a human made it
    time: str | None
    mtime: float

    @property
    def since(self) -> datetime:
        return file_time(self.mtime)


def look(path: str) -> Checkpoint | None:
    """The CHECKPOINT, or None if there is nothing by that name, not even a dangling link."""
    head: bytes | None = None
    while head is None:
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        head = _head(path) if stat.S_ISREG(status.st_mode) else b""
    if stat.S_ISREG(status.st_mode) and (trip_id := mark(status)) is not None:
        return Checkpoint(trip_id, None, status.st_ctime)
    trip, time = _TRIP.search(head), _TIME.match(head)
    return Checkpoint(trip[1].decode() if trip else None, time[1].decode() if time else None, status.st_mtime)


def _head(path: str) -> bytes | None:
    """What the file begins with; None if it is gone, or is another one by now."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        return b""  # unreadable: it is there all the same, and that is all that counts
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""
    finally:
        os.close(fd)


def removal(path: str) -> str:
    """The command by which a person takes it away, whatever it is."""
    from shlex import quote

    return f"{'rmdir' if os.path.isdir(path) and not os.path.islink(path) else 'rm'} {quote(path)}"


def make(path: str, trigger: Mapping[str, Any], settled: bool = False) -> None:
    """Halt the agents. Waits for nobody: no lock, and the file appears whole under its name.

    Once the trip is `settled` on the blackboard, the file says the same time as that.

    A human's CHECKPOINT stays as it is: it halts just as well. One that an earlier trip of ours left is replaced.
    """
    there = look(path)
    if there is not None and there.trip_id is None:
        return
    if (
        there is not None
        and there.trip_id == trigger["trip_id"]
        and (not settled or there.time == trigger["timestamp"])
    ):
        return
    text = (
        f"{trigger['timestamp']}\n"
        f"pattern: {trigger['pattern']}\n"
        f"severity: {trigger['severity']}\n"
        f"report: {trigger['report_file']}\n"
        f"trip: {trigger['trip_id']}\n"
        "resume: read the report, decide, then run: liza resolve -m 'what was decided'\n"
    )
    fresh = os.path.join(os.path.dirname(path), f".CHECKPOINT.{os.getpid()}-{time.monotonic_ns()}.new")
    try:
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            os.write(fd, text.encode())
            os.fsync(fd)
        finally:
            os.close(fd)
        _put(fresh, path, replaces=there is not None)
    except OSError as error:
        # A halt is worth more than what is written in it: an empty file stops the agents as well.
        with suppress(OSError):
            _make_empty(path, trigger["trip_id"])
            return
        raise Refused(
            f"the agents could not be halted: {error.strerror}",
            hint=f"stop them yourself, then make room or permission for {path}",
            file=path,
        ) from None
    finally:
        with suppress(OSError):  # never made, or not to be taken away: the next check does that
            os.unlink(fresh)


def _make_empty(path: str, trip_id: str) -> None:
    """Marked with its trip, as `liza.halt` tells."""
    moment = int(trip_id, 16)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if os.fstat(fd).st_size == 0:
            os.utime(fd, ns=(moment, moment))
    finally:
        os.close(fd)


def _put(fresh: str, path: str, replaces: bool) -> None:
    if replaces:
        os.rename(fresh, path)
        return
    try:
        os.link(fresh, path)  # fails if somebody made one meanwhile, which then halts the agents too
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
            raise
        os.rename(fresh, path)  # a file system without hard links


def remove(path: str, trip_id: str | None) -> bool:
    """Let the agents go on, if the CHECKPOINT is the one of that trip; True if there is none of ours any more.

    It is taken aside before it is looked at for the last time: another trip, or a human, may have put theirs in its
    place since, and theirs goes back.
    """
    there = look(path)
    if there is None:
        return True
    if not _is_of(there, trip_id):
        return False
    try:
        return _take_away(path, trip_id)
    except OSError as error:
        raise Unfinished(
            f"the agents are still halted: {error.strerror}",
            hint=f"let them go on yourself: {removal(path)}",
            file=path,
        ) from None


class Unfinished(LizaError, OSError):
    """What was decided is on the blackboard, but not all that follows from it could be done."""


def _take_away(path: str, trip_id: str | None) -> bool:
    aside = os.path.join(os.path.dirname(path), f".CHECKPOINT.{os.getpid()}-{time.monotonic_ns()}.aside")
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return True
    taken = look(aside)
    if taken is not None and not _is_of(taken, trip_id):
        _put_aside_back(aside, path)
        return False
    with suppress(FileNotFoundError):
        os.unlink(aside)
    return True


def _is_of(found: Checkpoint, trip_id: str | None) -> bool:
    return found.trip_id is not None and trip_id in (None, found.trip_id)


def _put_aside_back(aside: str, path: str) -> None:
    """A halt that was taken aside is in force again, unless another has taken its place, which is as good."""
    if look(path) is None:
        os.rename(aside, path)
    else:
        os.unlink(aside)


def sweep(path: str) -> None:
    """Mend what a crash left: a draft goes, a halt that was only taken aside comes back."""
    folder = os.path.dirname(path)
    with suppress(OSError):
        for entry in os.listdir(folder):
            left = re.fullmatch(r"\.CHECKPOINT\.(\d+)-\d+\.aside", entry)
            if left is not None and not is_alive(int(left[1])):
                _put_aside_back(os.path.join(folder, entry), path)
