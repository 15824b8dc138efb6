"""The CHECKPOINT file: while it exists, agents stop. One that carries a trip id is ours; any other is a human's."""

import errno
import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused
from liza.halt import marker_trip_id
from liza.model import file_time, format_time
from liza.store import files
from liza.text import one_line

REPORT_FILE = ".liza/circuit_breaker_report.md"
HALT_RESTORED = (
    "CHECKPOINT was missing although the breaker is open: it has been restored; to continue: liza resolve -m '...'"
)
_TRIP = rb"(?m)^trip: ([0-9a-f]{12})\s*$"
_TIME = rb"(?m)\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\s*$"
_FIELD = rb"(?m)^(pattern|severity|message|tripped_by|restored): (.+?)\s*$"
_DEGRADED = rb"(?m)\A[^\n]*\n(degraded|partition): (.+?)\s*$"
_LONG = 2000  # characters of a person's message; what is read of the file holds it


class Checkpoint(NamedTuple):
    """What is known of the file that is there, whatever kind of file that is."""

    trip_id: str | None  # None: a human made it
    time: str | None
    mtime: float
    fields: Mapping[str, str] = MappingProxyType({})  # of the trip, as written, unchecked

    @property
    def is_restored(self) -> bool:
        """It was removed while its trip was open, and liza made it again."""
        return "restored" in self.fields

    @property
    def is_degraded(self) -> bool:
        """It has no trip: the blackboard could not be evaluated, and it is removed as soon as it can be."""
        return "degraded" in self.fields

    @property
    def is_partition(self) -> bool:
        """It has no trip: this host could not reach its team, and it is removed as soon as it can."""
        return "partition" in self.fields

    @property
    def lifts_itself(self) -> bool:
        return self.is_degraded or self.is_partition

    @property
    def since(self) -> datetime:
        return file_time(self.mtime)


def read(path: str) -> Checkpoint | None:
    """The CHECKPOINT, or None if there is nothing by that name, not even a dangling link."""
    head: bytes | None = None
    while head is None:
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        head = _head(path) if stat.S_ISREG(status.st_mode) else b""
    if stat.S_ISREG(status.st_mode) and (trip_id := marker_trip_id(status)) is not None:
        return Checkpoint(trip_id, None, status.st_ctime)
    trip, time = re.search(_TRIP, head), re.match(_TIME, head)
    found = re.finditer(_FIELD, head) if trip else ()
    fields = {each[1].decode(): each[2].decode(errors="replace") for each in found}
    if trip is None and (degraded := re.search(_DEGRADED, head)) is not None:
        fields = {degraded[1].decode(): degraded[2].decode(errors="replace")}
    return Checkpoint(trip[1].decode() if trip else None, time[1].decode() if time else None, status.st_mtime, fields)


def _head(path: str) -> bytes | None:
    """What the file begins with; None if it is gone, or is another one by now."""
    try:
        fd = files.open_fd(path, single_link=False)  # it has two names for a moment when it is made
    except FileNotFoundError:
        return None
    except OSError:
        return b""  # unreadable, but it is there, which is all that counts
    try:
        return os.read(fd, 4 * _LONG + 4096)
    except OSError:
        return b""
    finally:
        os.close(fd)


def removal(path: str) -> str:
    """The command by which a person takes it away, whatever it is."""
    from shlex import quote

    return f"{'rmdir' if os.path.isdir(path) and not os.path.islink(path) else 'rm'} {quote(path)}"


def make(path: str, trigger: Mapping[str, Any], is_committed: bool = False, restored: str | None = None) -> None:
    """Halt the agents. Waits for no lock, and the file appears whole under its name.

    Once the trip `is_committed` on the blackboard, the file has the same time. `restored` is the time at which
    it was found missing while its trip was open: a person who decides by hand has removed theirs already.

    A human's CHECKPOINT stays as it is: it halts just as well. One that an earlier trip of ours left is replaced.
    """
    there = read(path)
    if there is not None and there.trip_id is None and not there.lifts_itself:
        return
    if (
        there is not None
        and there.trip_id == trigger["trip_id"]
        and (not is_committed or there.time == trigger["timestamp"])
    ):
        return
    # One line each, whatever a person wrote: no text may pass for another trip.
    lines = {name: one_line(trigger.get(name) or "unknown", 100) for name in ("timestamp", "pattern", "severity")}
    more = {"message": one_line(trigger.get("message") or "", _LONG)}
    more |= {"tripped_by": one_line(trigger.get("tripped_by") or "", 100), "restored": restored or ""}
    text = (
        f"{lines['timestamp']}\n"
        f"pattern: {lines['pattern']}\n"
        f"severity: {lines['severity']}\n"
        f"report: {one_line(trigger.get('report_file') or REPORT_FILE, 200)}\n"
        f"trip: {trigger['trip_id']}\n"
        "resume: read the report, decide, then run: liza resolve -m 'what was decided'\n"
    ) + "".join(f"{name}: {value}\n" for name, value in more.items() if value)
    try:
        _write(path, text, replaces=there is not None)
    except OSError as error:
        # A halt is worth more than what is written in it: an empty file stops the agents as well.
        with suppress(OSError):
            _make_empty(path, trigger["trip_id"])
            return
        raise _not_halted(path, error) from None


def make_degraded(path: str, why: str, now: datetime) -> None:
    """Halt the agents because the blackboard cannot be evaluated; nothing is done where they are halted already."""
    end = "fix the problem above; the halt ends at the next check that succeeds, for example: liza analyze"
    _make_temporary(path, f"degraded: {one_line(why, _LONG)}", end, now)


def make_partition(path: str, why: str, now: datetime) -> None:
    """The same because the team cannot be reached."""
    end = "the halt ends by itself once the daemon reaches the team's database; see: liza team status"
    _make_temporary(path, f"partition: {one_line(why, _LONG)}", end, now)


def _make_temporary(path: str, why: str, end: str, now: datetime) -> None:
    if read(path) is not None:
        return
    text = f"{format_time(now)}\n{why}\nresume: {end}\n"
    try:
        _write(path, text, replaces=False)
    except OSError as error:
        raise _not_halted(path, error) from None


def lift_degraded(path: str) -> bool:
    """Let the agents continue once the blackboard can be evaluated again; True if they were halted for that."""
    return _lift(path, lambda found: found.is_degraded)


def lift_partition(path: str) -> bool:
    """The same once the team can be reached again."""
    return _lift(path, lambda found: found.is_partition)


def _lift(path: str, is_meant: Callable[[Checkpoint], bool]) -> bool:
    there = read(path)
    if there is None or not is_meant(there):
        return False
    try:
        return _take_away(path, is_meant)
    except OSError as error:
        raise _still_halted(path, error) from None


def _not_halted(path: str, error: OSError) -> Refused:
    return Refused(
        f"the agents could not be halted: {error.strerror}",
        hint=f"stop them yourself, then free disk space or fix the permissions of {path}",
        file=path,
    )


def _write(path: str, text: str, *, replaces: bool) -> None:
    """The file appears whole under its name."""
    fresh = os.path.join(os.path.dirname(path), files.draft_name("CHECKPOINT"))
    try:
        fd = files.open_fd(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            files.write_all(fd, text.encode())
            os.fsync(fd)
        finally:
            os.close(fd)
        _put(fresh, path, replaces=replaces)
    finally:
        with suppress(OSError):  # never made, or not to be taken away: the next check does that
            os.unlink(fresh)


def _make_empty(path: str, trip_id: str) -> None:
    """Marked with its trip, as `liza.halt` reads it."""
    moment = int(trip_id, 16)
    try:
        fd = files.open_fd(path, os.O_WRONLY | os.O_CREAT)
    except files.UnsafeFile:
        return  # whatever it is, it is there, and halts
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
        os.link(fresh, path)  # fails if another one was made meanwhile, which then halts the agents too
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
            raise
        os.rename(fresh, path)  # a file system without hard links


def remove(path: str, trip_id: str | None) -> bool:
    """Let the agents continue, if the CHECKPOINT is the one of that trip; True if there is none of ours any more.

    It is taken aside before it is looked at for the last time: another trip, or a human, may have put theirs in its
    place since, and theirs goes back.
    """
    there = read(path)
    if there is None:
        return True
    if not _is_of(there, trip_id):
        return False
    try:
        return _take_away(path, lambda found: _is_of(found, trip_id))
    except OSError as error:
        raise _still_halted(path, error) from None


def _still_halted(path: str, error: OSError) -> "Unfinished":
    hint = f"let them continue yourself: {removal(path)}"
    return Unfinished(f"the agents are still halted: {error.strerror}", hint=hint, file=path)


class Unfinished(LizaError, OSError):
    """What was decided is on the blackboard, but not all that follows from it could be done."""


def _take_away(path: str, is_meant: Callable[[Checkpoint], bool]) -> bool:
    aside = os.path.join(os.path.dirname(path), files.draft_name("CHECKPOINT", "aside"))
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return True
    taken = read(aside)
    if taken is not None and not is_meant(taken):
        _put_aside_back(aside, path)
        return False
    with suppress(FileNotFoundError):
        os.unlink(aside)
    return True


def _is_of(found: Checkpoint, trip_id: str | None) -> bool:
    return found.trip_id is not None and trip_id in (None, found.trip_id)


def _put_aside_back(aside: str, path: str) -> None:
    """A halt that was taken aside is in force again, unless another has taken its place, which is as good."""
    if read(path) is None:
        os.rename(aside, path)
    else:
        os.unlink(aside)


def sweep(path: str) -> None:
    """Clean up after a crash: a draft goes, a halt that was only taken aside comes back."""
    folder = os.path.dirname(path)
    with suppress(OSError):
        for entry in os.listdir(folder):
            left = re.fullmatch(r"\.CHECKPOINT\.(\d+)-\d+\.aside", entry)
            if left is not None and not files.is_alive(int(left[1])):
                _put_aside_back(os.path.join(folder, entry), path)
