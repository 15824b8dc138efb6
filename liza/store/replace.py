"""Bytes on the disk: replaced whole, and never over a version that was not looked at.

Programs that do not take the lock may write at any moment. A rename would silently throw away what one of them put
there since we read, so the new file is *exchanged* with the old one in a single step (`renameat2(RENAME_EXCHANGE)`),
and what came out is checked: if it is not what we read, or another program still has it open for writing, it is put
back and the caller starts over from the newer version.
"""

import errno
import os
import re
import stat
import time
import zlib
from contextlib import suppress
from typing import NamedTuple

from liza.errors import LizaError, Refused, Unwritable
from liza.store import files, filesystem, read_limits
from liza.store.versions import Identity, Reading, has_writer, identity

_POLL = 0.002
_MOST_STUCK = 20  # leftovers that are named in a report
_COPIES = 20  # versions of one undoing that are kept


class Changed(Exception):
    """The file is no longer the version that was read; nothing was replaced."""


def replace(path: str, seen: Reading, raw: bytes) -> None:
    """Put `raw` in place of the version that was seen, durably; `Changed` if that is no longer the one there.

    The caller holds the blackboard's lock. At every moment the file is one whole version; a crash leaves at most a
    file that `sweep` takes away. `Refused` promises that the file is as it was.
    """
    path = _resolved(path)  # a symlinked state.yaml stays a symlink
    folder, name = os.path.split(path)
    fresh = os.path.join(folder, files.draft_name(name))
    swap = os.path.join(folder, f".{name}.{_label(raw)}-{_label(seen.raw)}-{os.urandom(8).hex()}.swap")
    try:
        ours = _write_new(fresh, path, raw)
        os.rename(fresh, swap)
        # Check again before the exchange: put back after it, the newer version would be gone for a moment, and a
        # program that reads just then saves an older one over it. What remains is the time between these two calls.
        if identity(os.stat(path)) != seen.identity and _version(path).raw != seen.raw:
            raise Changed
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
            f"written, but the disk did not confirm it: {error.strerror}", hint="check that disk for errors", file=path
        ) from None
    finally:
        with suppress(OSError):
            _unlink(swap)  # or the next write sweeps it away


class NotDurable(LizaError, OSError):
    """The new version is in place, but the disk did not confirm that it will still be there after a power cut."""


def _inspect(swap: str, path: str, seen: Reading, ours: "Version") -> None:
    """Look at what came out of an exchange; `Changed`, and everything as it was, if that version had not been read."""
    try:
        if _version(swap).raw == seen.raw and not has_writer(swap):
            return
    except FileNotFoundError:
        return  # swept away by a second holder of the lock, whose file had been deleted: it was what we had read
    except OSError as error:
        _put_back(swap, path, ours)
        raise _refused(path, error) from None
    _put_back(swap, path, ours)
    raise Changed


def _resolved(path: str) -> str:
    try:
        return files.resolve_link(path)
    except OSError as error:
        raise _refused(path, error) from None


def _write_new(fresh: str, path: str, raw: bytes) -> int:
    """A finished copy on the disk with the owner and mode of the file it will replace; its inode number."""
    fd = files.open_fd(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=0o600)
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise Changed
        files.write_all(fd, raw)
        if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
            _keep_owner(fd, status)
        # Never more: a setuid bit that an agent gave its file would be one of the present writer.
        os.fchmod(fd, status.st_mode & 0o666)
        written = os.fstat(fd)
        # Readers take a file whose last change is later than its last byte for one that was moved into place whole.
        # Clocks of file systems tick too coarsely for that to be so by itself.
        os.utime(fd, ns=(written.st_atime_ns, written.st_mtime_ns - 1))
        os.fsync(fd)
        return written.st_ino
    finally:
        os.close(fd)


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
    try:
        fd = files.open_fd(path, single_link=False)
    except files.UnsafeFile:
        return Version(os.lstat(path).st_ino, None)
    try:
        status = os.fstat(fd)
        if read_limits.is_too_large(status.st_size, path):
            return Version(status.st_ino, None)
        with open(fd, "rb", buffering=0, closefd=False) as file:
            return Version(status.st_ino, file.readall())
    finally:
        os.close(fd)


def _put_back(swap: str, path: str, ours: Version) -> None:
    """Undo an exchange that displaced a version that was not looked at.

    Each step puts back what the last one took out. If what comes out then is not exactly what we had put there, or
    a program is writing to it, that is a still newer version, and goes back next.

    A program that read our draft meanwhile, and saves what it made of it, replaces a version that it never saw. So
    each one that was taken out is left behind in a copy, too, for `sweep` to keep.
    """
    placed = ours
    taken_out: list[bytes] = []
    try:
        while True:
            returning = _version(swap)
            taken_out += [returning.raw] if returning.raw is not None else []
            try:
                filesystem.exchange(swap, path)
            except FileNotFoundError:
                os.rename(swap, path)  # what we had put there was deleted
                break
            if _version(swap) == placed:
                if not has_writer(swap):
                    _unlink(swap)
                    break
                time.sleep(_POLL)
            placed = returning
    except OSError as error:
        hint = f"look at {os.path.basename(swap)} beside it: one of the two is the newest version"
        raise NotDurable(f"a write could not be undone: {error.strerror}", hint=hint, file=path) from None
    for raw in taken_out[-_COPIES:]:
        with suppress(OSError):  # a full disk: what was put back is still in place
            _leave_behind(path, raw)


def _leave_behind(path: str, raw: bytes) -> None:
    folder, name = os.path.split(path)
    fd = files.open_fd(
        os.path.join(folder, f".{name}.{os.urandom(8).hex()}.swap"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=0o600
    )
    try:
        files.write_all(fd, raw)
    finally:
        os.close(fd)


def sweep(path: str, backups: str, stuck: list[str] | None = None) -> list[str]:
    """Take away what an interrupted `replace` left behind. Returns where a version was rescued to, if any was.

    The caller holds the blackboard's lock, so no other process is in the middle of a `replace`. What cannot be removed
    (an agent can plant a folder by such a name) is skipped: why, and what to do, is added to `stuck`.
    """
    path = _resolved(path)
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
        try:
            if entry.endswith(".new") or _is_ours_or_base(left, entry[len(name) + 2 : -len(".swap")]):
                _unlink(left)
            else:
                rescued.append(_rescue(left, backups, name))
        except FileNotFoundError:
            continue  # another process removed it
        except OSError as error:
            if stuck is not None:
                stuck.append(_stuck(left, error))
    if stuck is not None and (more := len(stuck) - _MOST_STUCK) > 0:
        stuck[_MOST_STUCK:] = [f"{folder}: {more:,} more such files; to see them: ls -A {folder}"]
    return rescued


def _rescue(left: str, backups: str, name: str) -> str:
    """Keep a version that was not looked at, whatever kind of file it is."""
    files.make_folder(backups)
    kept = f"{name}.rescued-{time.time_ns()}"
    with files.Folder(backups) as folder:
        try:
            os.rename(left, kept, dst_dir_fd=folder.fd)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            folder.write_atomically(kept, files.read(left))  # a symlinked state.yaml is on another file system
            os.unlink(left)
    return os.path.join(backups, kept)


def _stuck(left: str, error: OSError) -> str:
    from shlex import quote

    why = f"left from an interrupted write, and cannot be removed: {error.strerror}"
    return f"{left}: {why}; to fix: rm -rf {quote(left)}"


def has_leftovers(path: str) -> bool:
    """Whether there is anything for `sweep` to take away, or a `replace` under way."""
    try:
        folder, name = os.path.split(files.resolve_link(path))
        return any(entry.startswith(f".{name}.") and entry.endswith((".new", ".swap")) for entry in os.listdir(folder))
    except OSError:
        return False


def sweep_drafts(folder: str) -> None:
    """Take away what an interrupted `put` left in a folder. Drafts of processes that still run are left to them."""
    with suppress(OSError), files.Folder(folder, listed=True) as held:
        for entry in os.listdir(held.fd):
            draft = re.fullmatch(r"\..+\.(\d+)-\d+\.new", entry)
            if draft is not None and not files.is_alive(int(draft[1])):
                with suppress(OSError):  # a folder with such a name
                    held.remove(entry)


def _is_ours_or_base(left: str, label: str) -> bool:
    """Whether a file that stayed behind is our own draft or the version it was made from: both are superseded."""
    raw = _version(left).raw
    return raw is not None and _label(raw) in label.split("-") and not has_writer(left)


def _label(raw: bytes) -> str:
    """Enough to distinguish versions of one file in the name of a draft."""
    return f"{zlib.crc32(raw):08x}{len(raw):x}"


def sync_folder(path: str) -> None:
    with files.Folder(os.path.dirname(path), listed=True) as folder:
        os.fsync(folder.fd)


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _refused(path: str, error: OSError) -> Refused:
    hints = {
        errno.ENOSPC: "free some disk space, then run the command again",
        errno.EDQUOT: "free some of your quota, then run the command again",
        errno.EACCES: f"fix the permissions of {os.path.dirname(path)}",
        errno.EPERM: "the file belongs to a group that you are not in: ask its owner to change that",
        errno.EROFS: "the file system is read-only: mount it for writing",
    }
    hint = hints.get(error.errno or 0, f"check the disk that holds {os.path.dirname(path)}")
    return Unwritable(f"cannot write it: {error.strerror or error}; unchanged", hint=hint, file=path)
