"""Bytes on the disk: read whole, replaced whole, and never over a version that nobody looked at.

Programs that do not take the lock may write at any moment. A rename would silently throw away what one of them put
there since we read, so the new file is *exchanged* with the old one in a single step (`renameat2(RENAME_EXCHANGE)`),
and what came out is looked at: if it is not what we read, or somebody still has it open for writing, it is put back
and the caller starts over from the newer version.
"""

import errno
import fcntl
import os
import re
import stat
import time
import zlib
from contextlib import suppress
from typing import NamedTuple

from liza.blackboard import filesystem
from liza.errors import LizaError, Refused, Unreadable

YOUNG = 0.25  # seconds; an older file is not in the middle of being saved
QUIET = 0.03  # a file written in place has settled after this long without a change
_PATIENCE = 2.0  # for a file that changes under every read

_POLL = 0.002


class Identity(NamedTuple):
    """What tells one version of a file from another without reading it.

    The first three are not enough: programs that copy a file set its time to that of the original, and the inode of a
    replaced file is given away again. The time of the last change of any kind cannot be set by anybody.
    """

    mtime_ns: int
    ino: int
    size: int
    ctime_ns: int


class Reading(NamedTuple):
    """The bytes of a file, and which version of it they are."""

    raw: bytes
    identity: Identity
    finished: bool = False  # it was moved into place, so nobody is in the middle of writing it
    unsettled: bool = False  # somebody was still writing it, or had it open to do so, when our patience ended


class Changed(Exception):
    """The file is no longer the version that was read; nothing was replaced."""


def identity(status: os.stat_result) -> Identity:
    return Identity(status.st_mtime_ns, status.st_ino, status.st_size, status.st_ctime_ns)


# --- reading --------------------------------------------------------------------------------------------------------


def read(path: str, *, again: bool = False, whole: Identity | None = None, patient: bool = False) -> Reading:
    """The whole file, once it has settled; `Unreadable` where there is no file that can be read.

    A save in place is seen half done by whoever reads in that moment, and half a YAML file usually parses. So a young
    file must stay the same for a while, and nobody have it open for writing, before it is believed, unless it was moved
    into place, which happens to finished files only. `again` asks for that of any file: for one that reads like half of
    what it was. `whole` is the version that somebody has seen being moved, where the clock of the file system is too
    coarse to show it. Who is `patient` does not take age for an end either: a writer may stand still for long, but it
    has the file open.
    """
    started = time.monotonic()
    while True:
        try:
            raw, status = _read_once(path)
        except OSError as error:
            if error.errno == errno.ENOENT and time.monotonic() - started < YOUNG:
                time.sleep(QUIET)  # some editors rename the old file away before they write the new one
                continue
            raise _unreadable(path, error) from None
        if raw is not None:
            finished = whole == identity(status) or _moved_into_place(status)
            aged = time.time() - status.st_mtime > YOUNG
            settled = not again and (finished or (aged and not (patient and is_being_written(path))))
            if settled or _stays(path, status):
                return Reading(raw, identity(status), finished)
            if time.monotonic() - started > YOUNG:
                return Reading(raw, identity(status), finished, unsettled=True)
        if time.monotonic() - started > _PATIENCE:
            raise Unreadable(
                f"it kept changing for {_PATIENCE:g} s, so no version of it could be read whole",
                hint="find the program that writes it without pause: fuser -v " + path,
                file=path,
            )


def _read_once(path: str) -> tuple[bytes | None, os.stat_result]:
    # O_NONBLOCK: opening a FIFO that somebody put there must not wait for a writer.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(before.st_mode) else errno.EINVAL, "not a regular file")
        with open(fd, "rb", buffering=0, closefd=False) as file:
            raw = file.readall()
        same = identity(before) == identity(os.fstat(fd)) == identity(os.stat(path)) and len(raw) == before.st_size
        return (raw if same else None), before
    finally:
        os.close(fd)  # not by `open`, which refuses a folder and leaves it open


def regular(path: str, flags: int) -> int:
    """An opener for open(): whatever an agent put in the place of a file, nobody waits at it as at a FIFO."""
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return fd


def is_in_place(path: str, reading: Reading) -> bool:
    """Whether the file is still the version that was read."""
    try:
        return identity(os.stat(path)) == reading.identity
    except OSError:
        return False


def _moved_into_place(status: os.stat_result) -> bool:
    """Whether the file was renamed after its last byte was written: then it was finished before it got its name."""
    return status.st_ctime_ns > status.st_mtime_ns


def _stays(path: str, status: os.stat_result) -> bool:
    time.sleep(QUIET)
    try:
        return identity(os.stat(path)) == identity(status) and not has_writer(path)
    except OSError:
        return False


def is_being_written(path: str) -> bool:
    """Whether anybody has the file open for writing, as far as that can be seen."""
    try:
        return has_writer(path)
    except OSError:
        return False  # gone since, or not to be read: the next look says so


def _unreadable(path: str, error: OSError) -> Unreadable:
    reasons = {
        errno.ENOENT: ("the file is not there", "restore it from a backup or from git, or start anew with: liza init"),
        errno.EISDIR: ("it is a folder, not a file", f"move the folder away: mv {path} {path}.folder"),
        errno.EACCES: ("no permission to read it", f"give yourself permission: chmod u+r {path}"),
        errno.EINVAL: ("it is not a regular file", f"move it away: mv {path} {path}.odd"),
    }
    message, hint = reasons.get(error.errno or 0, (error.strerror or str(error), f"look at it with: ls -la {path}"))
    return Unreadable(message, hint=hint, file=path)


# --- replacing ------------------------------------------------------------------------------------------------------


def replace(path: str, seen: Reading, raw: bytes) -> None:
    """Put `raw` in place of the version that was seen, durably; `Changed` if that is no longer the one there.

    Whoever calls holds the blackboard's lock. At every moment the file is one whole version; a crash leaves at most a
    file that `sweep` takes away. `Refused` promises that the file is as it was.
    """
    path = os.path.realpath(path)  # a symlinked state.yaml stays a symlink
    fresh = _names(path, f"{os.getpid()}-{time.monotonic_ns()}.new")
    swap = _names(path, f"{_label(raw)}-{_label(seen.raw)}.swap")
    try:
        ours = _write_new(fresh, path, raw)
        os.rename(fresh, swap)
        exchanged = filesystem.exchange(swap, path)
    except BaseException as error:
        _unlink(fresh)
        _unlink(swap)
        if isinstance(error, FileNotFoundError):
            raise Changed from None
        if isinstance(error, OSError):
            raise _refused(path, error) from None
        raise
    if not exchanged:
        _check_and_rename(swap, path, seen.identity)
    else:
        _inspect(swap, path, seen, Version(ours, raw))
    try:
        sync_folder(path)
    except OSError as error:
        raise NotDurable(
            f"it was written, but perhaps not for good: {error.strerror}", hint="look after that disk", file=path
        ) from None
    finally:
        with suppress(OSError):
            _unlink(swap)  # or the next write sweeps it away


class NotDurable(LizaError, OSError):
    """The new version is in place, but the disk did not confirm that it will still be there after a power cut."""


def _inspect(swap: str, path: str, seen: Reading, ours: "Version") -> None:
    """Look at what came out of an exchange; `Changed`, and everything as it was, if nobody had seen that."""
    try:
        if _version(swap).raw == seen.raw and not has_writer(swap):
            return
    except FileNotFoundError:
        return  # swept away by a second holder of the lock, whose file somebody had deleted: it was what we had read
    except OSError as error:
        _put_back(swap, path, ours)
        raise _refused(path, error) from None
    _put_back(swap, path, ours)
    raise Changed


def put(path: str, raw: bytes) -> None:
    """Write a file of our own, whole or not at all; what was there before is gone."""
    fresh = _names(path, f"{os.getpid()}-{time.monotonic_ns()}.new")
    try:
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            _write_all(fd, raw)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(fresh, path)
    except BaseException:
        _unlink(fresh)
        raise
    sync_folder(path)


def _names(path: str, ending: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{ending}")


def _write_new(fresh: str, path: str, raw: bytes) -> int:
    """A finished copy on the disk with the owner and mode of the file it will replace; its inode number."""
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        status = os.stat(path)
        _write_all(fd, raw)
        if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
            _keep_owner(fd, status)
        os.fchmod(fd, stat.S_IMODE(status.st_mode))
        written = os.fstat(fd)
        # Readers take a file whose last change is later than its last byte for one that was moved into place whole.
        # Clocks of file systems tick too coarsely for that to be so by itself.
        os.utime(fd, ns=(written.st_atime_ns, written.st_mtime_ns - 1))
        os.fsync(fd)
        return written.st_ino
    finally:
        os.close(fd)


def _write_all(fd: int, raw: bytes) -> None:
    view = memoryview(raw)
    while view:
        view = view[os.write(fd, view) :]


def _keep_owner(fd: int, status: os.stat_result) -> None:
    try:
        os.fchown(fd, status.st_uid, status.st_gid)
    except PermissionError:
        # Only root may give files away. The group decides who else can write, so that one has to be kept.
        os.fchown(fd, -1, status.st_gid)


def _check_and_rename(swap: str, path: str, base: Identity) -> None:
    """The best there is without an exchange. It can lose a version that is written between the two calls."""
    try:
        if identity(os.stat(path)) != base:
            raise Changed
        os.rename(swap, path)
    except BaseException:
        _unlink(swap)
        raise


class Version(NamedTuple):
    """What is under a name. The inode alone would not do: that of a deleted file is given away again."""

    ino: int
    raw: bytes | None  # None: not a file


def _version(path: str) -> Version:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return Version(status.st_ino, None)
        with open(fd, "rb", buffering=0, closefd=False) as file:
            return Version(status.st_ino, file.readall())
    finally:
        os.close(fd)


def has_writer(path: str) -> bool:
    """Whether anybody has the file open for writing: a program that saves in place would go on writing into a file that
    has lost its name. The kernel grants a read lease only if there is none."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    import signal

    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # what a broken lease sends; ignored unless somebody wants it
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False
    except OSError as error:
        return error.errno == errno.EAGAIN  # else: no leases here, or not our file; the bytes are compared all the same
    finally:
        os.close(fd)


def _put_back(swap: str, path: str, ours: Version) -> None:
    """Undo an exchange that displaced a version nobody had looked at.

    Each step puts back what the last one took out. If what comes out then is not exactly what we had put there, or
    somebody is writing to it, that is a still newer version, and goes back next.
    """
    placed = ours
    try:
        while True:
            returning = _version(swap)
            try:
                filesystem.exchange(swap, path)
            except FileNotFoundError:
                os.rename(swap, path)  # somebody deleted what we had put there
                return
            if _version(swap) == placed:
                if not has_writer(swap):
                    _unlink(swap)
                    return
                time.sleep(_POLL)
            placed = returning
    except OSError as error:
        hint = f"look at {os.path.basename(swap)} beside it: one of the two is the newest version"
        raise NotDurable(f"a write could not be undone: {error.strerror}", hint=hint, file=path) from None


def sweep(path: str, backups: str) -> list[str]:
    """Take away what an interrupted `replace` left behind. Returns where a version was rescued to, if any was.

    Whoever calls holds the blackboard's lock, so nobody else is in the middle of a `replace`.
    """
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    rescued: list[str] = []
    try:
        entries = os.listdir(folder)
    except OSError as error:
        raise _refused(path, error) from None
    for entry in entries:
        if not entry.startswith(f".{name}.") or not entry.endswith((".new", ".swap")):
            continue
        left = os.path.join(folder, entry)
        if entry.endswith(".new") or _is_ours_or_base(left, entry[len(name) + 2 : -len(".swap")]):
            _unlink(left)
        else:
            make_folder(backups)
            kept = os.path.join(backups, f"{name}.rescued-{time.time_ns()}")
            try:
                os.rename(left, kept)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                with open(left, "rb") as file:  # a symlinked state.yaml is on another file system
                    put(kept, file.read())
                os.unlink(left)
            rescued.append(kept)
    return rescued


def has_left(path: str) -> bool:
    """Whether there is anything for `sweep` to take away, or a `replace` under way."""
    folder, name = os.path.split(os.path.realpath(path))
    try:
        return any(entry.startswith(f".{name}.") and entry.endswith((".new", ".swap")) for entry in os.listdir(folder))
    except OSError:
        return False


def sweep_drafts(folder: str) -> None:
    """Take away what an interrupted `put` left in a folder. Drafts of processes that still run are left to them."""
    with suppress(OSError):
        for entry in os.listdir(folder):
            draft = re.fullmatch(r"\..+\.(\d+)-\d+\.new", entry)
            if draft is not None and not is_alive(int(draft[1])):
                _unlink(os.path.join(folder, entry))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _is_ours_or_base(left: str, label: str) -> bool:
    """Whether a file that stayed behind is our own draft or the version it was made from: both are superseded."""
    raw = _version(left).raw
    return raw is not None and _label(raw) in label.split("-") and not has_writer(left)


def _label(raw: bytes) -> str:
    """Enough to tell versions of one file apart in the name of a draft."""
    return f"{zlib.crc32(raw):08x}{len(raw):x}"


def make_folder(path: str) -> None:
    """A folder in that of the blackboard. Never that one itself: if somebody has deleted it since, it stays deleted."""
    with suppress(FileExistsError):
        os.mkdir(path)


def make_folders(*paths: str) -> None:
    """Folders one inside the other, the outer one in that of the blackboard."""
    for path in paths:
        make_folder(path)


def sync_folder(path: str) -> None:
    fd = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _refused(path: str, error: OSError) -> Refused:
    hints = {
        errno.ENOSPC: "make room on that disk, then run the command again",
        errno.EDQUOT: "make room in your quota, then run the command again",
        errno.EACCES: f"give yourself permission to write in {os.path.dirname(path)}",
        errno.EPERM: "the file belongs to a group that you are not in: ask its owner to change that",
        errno.EROFS: "the file system is read-only: mount it for writing",
    }
    hint = hints.get(error.errno or 0, f"look after the disk of {os.path.dirname(path)}")
    return Refused(f"it could not be written: {error.strerror or error}; it is as it was", hint=hint, file=path)
