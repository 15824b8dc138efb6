"""Bytes on the disk: replaced whole, and never over a version that nobody looked at.

Programs that do not take the lock may write at any moment. A rename would silently throw away what one of them put
there since we read, so the new file is *exchanged* with the old one in a single step (`renameat2(RENAME_EXCHANGE)`),
and what came out is looked at: if it is not what we read, or somebody still has it open for writing, it is put back
and the caller starts over from the newer version.
"""

import errno
import os
import re
import stat
import time
import zlib
from contextlib import suppress
from typing import NamedTuple

from liza.blackboard import filesystem
from liza.blackboard.versions import Identity, Reading, has_writer, identity
from liza.errors import LizaError, Refused

_POLL = 0.002


class Changed(Exception):
    """The file is no longer the version that was read; nothing was replaced."""


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
