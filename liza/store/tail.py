"""A file of lines that another program appends to, read from where the last read ended.

The file is that program's own, outside the blackboard: it is only ever read, and may at any moment be cut off,
replaced, gone, huge, half written, or something else than a file. Memory is bounded by the longest line.
"""

import os
import stat
from typing import BinaryIO

CHUNK = 1 << 20  # bytes that are read at once
LONGEST = 16 << 20  # bytes of one line; a longer one is skipped
TAIL = 1 << 20  # bytes at the end of a file that was not read before
HEAD = 1 << 18


class NotOurs(OSError):
    """No regular file, or one of another user."""


def open_own(path: str, *, is_named: bool = False) -> BinaryIO:
    """A regular file of this user, open for reading. It is not waited for, and a link is not followed, unless a person
    has named the file: then it may be a link, and another user's.
    """
    status = os.stat(path, follow_symlinks=is_named)
    if not _is_usable(status, is_named):  # before it is opened: opening some devices does something
        raise NotOurs(0, "not a regular file of this user", path)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | (0 if is_named else os.O_NOFOLLOW)
    fd = os.open(path, flags)
    if not _is_usable(os.fstat(fd), is_named):
        os.close(fd)
        raise NotOurs(0, "not a regular file of this user", path)
    return open(fd, "rb", buffering=0)


def _is_usable(status: os.stat_result, is_named: bool) -> bool:
    return stat.S_ISREG(status.st_mode) and (is_named or status.st_uid == os.geteuid())


def read_head(path: str) -> list[bytes]:
    """The first whole lines of a file."""
    with open_own(path) as file:
        raw = file.read(HEAD) or b""
    return raw[: raw.rfind(b"\n") + 1].splitlines()


class GrowingFile:
    """One such file, and how far it was read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.start = self.end = 0  # of what was read
        self.is_new = True  # the next lines come from another file than those before, or from the middle of it
        self.has_more = False
        self._inode = 0
        self._is_skipping = False  # the rest of a line that is too long

    def read(self) -> list[bytes]:
        """The whole lines that were added since; of a file that was not read before the last ones."""
        with open_own(self.path) as file:
            status = os.fstat(file.fileno())
            self.is_new = status.st_ino != self._inode or status.st_size < self.end
            if self.is_new:
                self._inode = status.st_ino
                self.start = self.end = max(status.st_size - TAIL, 0)
                self._is_skipping = self.end > 0
            before = self.end
            raw = self._next(file)
        self.has_more = before < self.end < status.st_size
        return raw.splitlines()

    def _next(self, file: BinaryIO) -> bytes:
        """Whole lines, and the end of what was read moved behind them."""
        file.seek(self.end)
        raw = file.read(CHUNK)
        if self._is_skipping:
            cut = raw.find(b"\n") + 1
            self.end += cut or len(raw)
            self._is_skipping = not cut
            raw = raw[cut:] if cut else b""
        while raw and b"\n" not in raw and len(raw) < LONGEST and (piece := file.read(CHUNK)):
            raw += piece
        whole = raw[: raw.rfind(b"\n") + 1]
        self._is_skipping |= not whole and len(raw) >= LONGEST
        self.end += len(raw) if self._is_skipping and raw else len(whole)
        return whole
