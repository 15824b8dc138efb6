"""The one way to open what is under `.liza/`. Agents can write there, so nothing found there is trusted.

A link, a FIFO, a device or a second name of another file, planted at a name that liza uses, would have liza write
where the agent cannot, or wait for ever. So every file is opened without following a link and without waiting, and is
used only if it is a regular file with one name and an expected owner; folders on the way are not links either, and are
held open, so that swapping one during the call changes nothing. The hot path imports this: standard library only.
"""

import errno
import os
import stat
import time

from liza.store.locate import FOLDER

_ODD_KIND = "it is not a regular file"
_PATIENCE = 0.25  # seconds; another reader has a lease on the file for less than a thousandth of one
_POLL = 0.002
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class UnsafeFile(OSError):
    """What has the name of a file of liza's is something else. The errno has the kind: ELOOP a link, EISDIR a folder,
    EINVAL another kind, EMLINK a file with a second name, EPERM of another user, EXDEV a link out of the repository."""


class Folder:
    """A folder of the blackboard, held open: work goes on in this one, whatever takes its place meanwhile.

    Up to the `.liza` folder (or `anchor`) the path may lead over links, which a person chose; behind it, it may not.
    To open files in it needs no permission to list it; `listed` is for who lists it or has it written to the disk.
    """

    def __init__(self, path: str, anchor: str | None = None, *, listed: bool = False) -> None:
        self.path = path
        top, parts = _split(path, anchor)
        fd = os.open(top, _flags(listed and not parts))
        try:
            top_owner = os.fstat(fd).st_uid
            for number, part in enumerate(parts, 1):
                inner = _enter(fd, part, path, listed and number == len(parts))
                os.close(fd)
                fd = inner
            self._mode = (status := os.fstat(fd)).st_mode
            self._owners = {top_owner, status.st_uid, os.geteuid(), 0}
        except BaseException:
            os.close(fd)
            raise
        self.fd = fd

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def open(self, name: str, flags: int = os.O_RDONLY, *, single_link: bool = True, mode: int = 0o666) -> int:
        """A descriptor of a file in this folder. `single_link` refuses a file that has a second name anywhere."""
        path = os.path.join(self.path, name)
        try:
            if not stat.S_ISREG(kind := os.stat(name, dir_fd=self.fd, follow_symlinks=False).st_mode):
                raise _odd(kind, path)  # before it is opened: opening some devices does something
        except FileNotFoundError:
            if not flags & os.O_CREAT:
                raise
        fd = self._open(name, flags, mode, path)
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise _odd(status.st_mode, path)
            if single_link and status.st_nlink > 1:
                raise UnsafeFile(errno.EMLINK, "it has a second name elsewhere (a hard link)", path)
            if not self._expects(status.st_uid):
                raise UnsafeFile(errno.EPERM, f"it belongs to user {status.st_uid}, who has no write access here", path)
            if flags & os.O_TRUNC:
                os.ftruncate(fd, 0)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _open(self, name: str, flags: int, mode: int, path: str) -> int:
        started = time.monotonic()
        while True:
            try:
                return os.open(name, flags & ~os.O_TRUNC | _FLAGS, mode & 0o666, dir_fd=self.fd)
            except (
                BlockingIOError
            ):  # another process has a lease on it, as liza takes to see whether it is being written
                if time.monotonic() - started > _PATIENCE:
                    raise
                time.sleep(_POLL)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise _odd(stat.S_IFLNK, path) from None
                if error.errno == errno.ENXIO:
                    raise UnsafeFile(errno.EINVAL, _ODD_KIND, path) from None
                raise

    def _expects(self, uid: int) -> bool:
        """Whether a file of that user can be here: the directory's mode decides who else may put files in it."""
        return bool(self._mode & (stat.S_IWGRP | stat.S_IWOTH)) or uid in self._owners

    def write_atomically(self, name: str, raw: bytes, *, durable: bool = True) -> None:
        """Write a file whole or not at all; whatever had the name before is gone, and was not opened."""
        draft = draft_name(name)
        try:
            fd = self.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                write_all(fd, raw)
                if durable:
                    os.fsync(fd)
            finally:
                os.close(fd)
            os.rename(draft, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except BaseException:
            self.remove(draft)
            raise

    def remove(self, name: str) -> None:
        try:  # noqa: SIM105 - contextlib takes longer to import than a gate has
            os.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            pass


def open_fd(path: str, flags: int = os.O_RDONLY, *, single_link: bool = True, mode: int = 0o666) -> int:
    """A descriptor of one file; also an opener for open()."""
    folder, name = os.path.split(path)
    with Folder(folder) as held:
        return held.open(name, flags, single_link=single_link, mode=mode)


def read(path: str, most: int = -1) -> bytes:
    with open(path, "rb", opener=open_fd) as file:
        return file.read(most)


def write_atomically(path: str, raw: bytes, *, durable: bool = True) -> None:
    """Write a file whole or not at all, and for good if `durable`."""
    folder, name = os.path.split(path)
    with Folder(folder, listed=durable) as held:
        held.write_atomically(name, raw, durable=durable)
        if durable:
            os.fsync(held.fd)


def remove(path: str) -> None:
    """Take a file away, if it is there; never one in a folder that a link leads to."""
    folder, name = os.path.split(path)
    with Folder(folder) as held:
        held.remove(name)


def make_folder(path: str) -> None:
    """A folder in that of the blackboard. Never that one itself: if it was deleted since, it stays deleted."""
    above, name = os.path.split(path)
    with Folder(above) as held:
        try:
            os.mkdir(name, dir_fd=held.fd)
        except FileExistsError:
            os.close(_enter(held.fd, name, path))


def make_folders(*paths: str) -> None:
    """Folders one inside the other, the outer one in that of the blackboard."""
    for path in paths:
        make_folder(path)


def draft_name(name: str, ending: str = "new") -> str:
    """A name that cannot be predicted; the process is in it, so that drafts of dead ones are known."""
    return f".{name}.{os.getpid()}-{int.from_bytes(os.urandom(8))}.{ending}"


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # the number may come from a name that an agent chose
        return False
    except OSError:
        return True
    return True


def write_all(fd: int, raw: bytes) -> None:
    view = memoryview(raw)
    while view:
        view = view[os.write(fd, view) :]


def open_resolved(path: str) -> int:
    """Like `open_fd`, for reading a file that may be a link inside the repository."""
    found = resolve_link(path)
    if found == path:
        return open_fd(path)
    with Folder(os.path.dirname(found), anchor=_repository(path)) as held:
        return held.open(os.path.basename(found))


def read_resolved(path: str, most: int = -1) -> bytes:
    """The same, read."""
    with open(path, "rb", opener=lambda name, flags: open_resolved(name)) as file:
        return file.read(most)


def resolve_link(path: str) -> str:
    """Where a file is that may be a link: a person may keep state.yaml elsewhere, but in the same repository."""
    try:
        if not stat.S_ISLNK(os.lstat(path).st_mode):
            return path
    except OSError:
        return path
    found, top = os.path.realpath(path), _repository(path)
    inside = found.removeprefix(top.rstrip("/") + "/")
    if inside == found or ".git" in inside.split("/"):
        raise UnsafeFile(errno.EXDEV, "it is a link that leads out of the repository", path)
    return found


def _repository(path: str) -> str:
    """The git repository around a blackboard, else the folder that has it, without links."""
    top, _ = _split(os.path.dirname(os.path.abspath(path)), None)
    project = os.path.realpath(os.path.dirname(top) if os.path.basename(top) == FOLDER else top)
    folder, owner = project, os.stat(project).st_uid
    while os.path.dirname(folder) != folder:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder if os.stat(folder).st_uid == owner else project
        folder = os.path.dirname(folder)
    return project


def open_in_place(path: str, flags: int) -> int:
    """An opener for files of the working tree as they are: no link is followed, and nothing is waited for."""
    return os.open(path, flags | _FLAGS)


def open_regular(path: str, flags: int) -> int:
    """An opener for files that people name, which may be links: only it never blocks, as a FIFO would."""
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise UnsafeFile(errno.EINVAL, _ODD_KIND, path)
    return fd


def _flags(listed: bool) -> int:
    return (os.O_RDONLY if listed else getattr(os, "O_PATH", os.O_RDONLY)) | os.O_DIRECTORY | os.O_CLOEXEC


def _split(folder: str, anchor: str | None) -> tuple[str, list[str]]:
    if anchor is not None:
        rest = os.path.relpath(folder, anchor)
        return anchor, [] if rest == "." else rest.split("/")
    parts = folder.split("/")
    if FOLDER not in parts:  # named from inside: `--root .`
        parts = os.path.abspath(folder).split("/")
        if FOLDER not in parts:
            return folder or ".", []
    at = len(parts) - parts[::-1].index(FOLDER)
    return "/".join(parts[:at]), [part for part in parts[at:] if part not in ("", ".")]


def _enter(fd: int, name: str, path: str, listed: bool = False) -> int:
    try:
        return os.open(name, _flags(listed) | os.O_NOFOLLOW, dir_fd=fd)
    except NotADirectoryError:
        kind = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind):
            raise _odd(kind, path) from None
        raise


def _odd(kind: int, path: str) -> UnsafeFile:
    if stat.S_ISLNK(kind):
        return UnsafeFile(errno.ELOOP, "it is a link", path)
    if stat.S_ISDIR(kind):
        return UnsafeFile(errno.EISDIR, "it is a folder", path)
    return UnsafeFile(errno.EINVAL, _ODD_KIND, path)
