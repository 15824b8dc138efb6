"""Which version of a file is there, and its bytes: read whole, once no program is writing it.

Any program may write at any moment, with or without the lock, in place or by moving a finished file to its name.
"""

import errno
import fcntl
import os
import time
from typing import NamedTuple

from liza.errors import Unreadable
from liza.store import files, read_limits

YOUNG = 0.25  # seconds; an older file is not in the middle of being saved
QUIET = 0.03  # a file written in place is taken as complete after this long without a change
_PATIENCE = 2.0  # for a file that changes under every read


class Identity(NamedTuple):
    """What distinguishes one version of a file from another without reading it.

    The first three are not enough: programs that copy a file set its time to that of the original, and the inode of a
    replaced file is given away again. The time of the last change of any kind (ctime) cannot be set.
    """

    mtime_ns: int
    ino: int
    size: int
    ctime_ns: int


class Reading(NamedTuple):
    """The bytes of a file, and which version of it they are."""

    raw: bytes
    identity: Identity
    finished: bool = False  # it was moved into place, so no program is writing it
    unstable: bool = False  # a program was still writing it, or had it open to do so, when our patience ended


def identity(status: os.stat_result) -> Identity:
    return Identity(status.st_mtime_ns, status.st_ino, status.st_size, status.st_ctime_ns)


def identity_at(path: str, *, follow: bool = True) -> Identity | None:
    """The version that is there now; None if there is no file."""
    try:
        return identity(os.stat(path, follow_symlinks=follow))
    except OSError:
        return None


def read_stable(
    path: str, *, again: bool = False, whole: Identity | None = None, reject_unstable: bool = False
) -> Reading:
    """The whole file, once it is complete; `Unreadable` where there is no file that can be read.

    A save in place can be read half done, and half a YAML file usually parses. So a young file must stay the same for
    a while, and no program have it open for writing, before it is accepted, unless it was moved into place, which
    happens to finished files only. `again` asks for that of any file: for one that reads like half of what it was.
    `whole` is the version that was seen being moved, where the clock of the file system is too coarse to show it. With
    `reject_unstable`, age proves nothing either: a writer may pause for long, but it has the file open.
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
            complete = not again and (finished or (aged and not (reject_unstable and is_being_written(path))))
            if complete or _stays(path, status):
                return Reading(raw, identity(status), finished)
            if time.monotonic() - started > YOUNG:
                return Reading(raw, identity(status), finished, unstable=True)
        if time.monotonic() - started > _PATIENCE:
            raise Unreadable(
                f"it kept changing for {_PATIENCE:g} s, so no complete version could be read",
                hint="find the program that writes it without pause: fuser -v " + path,
                file=path,
            )


def _read_once(path: str) -> tuple[bytes | None, os.stat_result]:
    fd = files.open_resolved(path)
    try:
        before = os.fstat(fd)
        read_limits.check_size(before.st_size, path)
        with open(fd, "rb", buffering=0, closefd=False) as file:
            raw = file.readall()
        same = identity(before) == identity(os.fstat(fd)) == identity(os.stat(path)) and len(raw) == before.st_size
        return (raw if same else None), before
    finally:
        os.close(fd)


def is_current(path: str, reading: Reading) -> bool:
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
    """Whether a program has the file open for writing, as far as that can be seen."""
    try:
        return has_writer(path)
    except OSError:
        return False  # gone since, or not to be read: the next look reports it


def _unreadable(path: str, error: OSError) -> Unreadable:
    from shlex import quote

    folder, name = os.path.dirname(path) or ".", quote(path)
    shut = not os.access(folder, os.X_OK, effective_ids=True)
    allow = f"chmod u+rwx {quote(folder)}" if shut else f"chmod u+r {name}"
    reasons = {
        errno.ENOENT: ("file not found", "restore it from a backup or from git, or start over with: liza init"),
        errno.EISDIR: ("it is a folder, not a file", f"move the folder away: mv {name} {name}.folder"),
        errno.EACCES: ("no permission to read it", f"fix its permissions: {allow}"),
        errno.EINVAL: ("it is not a regular file", f"move it away: mv {name} {name}.odd"),
        errno.ELOOP: ("it is a link in a loop", f"remove the link: rm {name}"),
        errno.EMLINK: (str(error.strerror), f"give it one name: cp {name} {name}.copy && mv {name}.copy {name}"),
        errno.EXDEV: (str(error.strerror), f'put the file itself there: mv "$(realpath {name})" {name}'),
    }
    message, hint = reasons.get(error.errno or 0, (error.strerror or str(error), f"look at it with: ls -la {name}"))
    return Unreadable(message, hint=hint, file=path)


def has_writer(path: str) -> bool:
    """Whether a program has the file open for writing: one that saves in place would go on writing into a file that
    has lost its name. The kernel grants a read lease only if there is none."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    # What `signal` is made of, and loaded already: importing that one takes as long as a tenth of Python's start.
    from _signal import SIGURG  # type: ignore[import-not-found]

    fd = files.open_resolved(path)
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, SIGURG)  # what a broken lease sends; ignored unless a handler is set
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False
    except OSError as error:
        return error.errno == errno.EAGAIN  # else: no leases here, or not our file; the bytes are still compared
    finally:
        os.close(fd)
