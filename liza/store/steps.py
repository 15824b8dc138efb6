"""The steps of each session, one JSON object a line, in `.liza/steps/SESSION.jsonl`.

A file only grows at its end; one that becomes large is put aside under another name and begun anew. What is old, or
more than the disk is to hold, is deleted: whole files, the oldest first. Steps say what agents did and saw, so they are
readable by their owner alone and never in git.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from liza.store import files
from liza.store.paths import Paths
from liza.text import file_name

VERSION = 1
ENDING = ".jsonl"
OLDER = ".older.jsonl"
ROTATED = 8 << 20  # bytes of one file
TAIL = 1 << 18  # bytes at the end of a file that are read to go on where the last daemon ended


def append_lines(paths: Paths, session: str, lines: Sequence[Mapping[str, Any]]) -> None:
    """Append lines in one write. One that an interrupted write left half done is ended first; readers skip it."""
    if not os.path.isdir(paths.steps):
        files.make_folder(paths.steps)
    name = step_file(session)
    dumped = (json.dumps({"v": VERSION, **line}, ensure_ascii=False) for line in lines)
    raw = b"".join(line.encode(errors="replace") + b"\n" for line in dumped)
    with files.Folder(paths.steps) as folder:
        fd = folder.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode=0o600)
        try:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                raw = b"\n" + raw
            files.write_all(fd, raw)
        finally:
            os.close(fd)
        if size + len(raw) > ROTATED:
            os.rename(name, name.removesuffix(ENDING) + OLDER, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)


def step_file(session: str) -> str:
    """The name of the file of a session; whatever the session is called, it is one in the folder."""
    return file_name(session) + ENDING


# --- reading ----------------------------------------------------------------------------------------------------------


class Read(NamedTuple):
    """Whole lines of a file, the oldest first, and where the next one will begin."""

    lines: tuple[Mapping[str, Any], ...] = ()
    end: int = 0
    inode: int = 0
    broken: int = 0  # lines that are not ours


def read_from(paths: Paths, name: str, start: int) -> Read:
    """What a file has from there on; nothing where it is gone."""
    try:
        with files.Folder(paths.steps) as folder, open(folder.open(name), "rb") as file:
            file.seek(start)
            raw, inode = file.read(), os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return Read()
    whole = raw[: raw.rfind(b"\n") + 1]
    parsed = [_parse(line) for line in whole.splitlines() if line.strip()]
    lines = tuple(line for line in parsed if line is not None)
    return Read(lines, start + len(whole), inode, len(parsed) - len(lines))


def read_tail(paths: Paths, name: str, most: int = TAIL) -> Read:
    """The end of a file; its first line may be cut, and is left out then."""
    try:
        size = os.stat(os.path.join(paths.steps, name), follow_symlinks=False).st_size
    except FileNotFoundError:
        return Read()
    return read_from(paths, name, max(size - most, 0))


def _parse(line: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("v"), int) else None


# --- files ------------------------------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """A file of steps: its size, and when it was last written."""

    name: str
    size: int
    ns: int
    inode: int

    @property
    def is_older(self) -> bool:
        return self.name.endswith(OLDER)


def list_files(paths: Paths) -> list[Kept]:
    """The files of all sessions, the one that was written last at the end."""
    try:
        with files.Folder(paths.steps, listed=True) as folder:
            return sorted(_stats(folder.fd), key=lambda each: (each.ns, each.name))
    except FileNotFoundError:
        return []


def _stats(fd: int) -> Iterator[Kept]:
    with os.scandir(fd) as entries:
        for entry in entries:
            if entry.name.endswith(ENDING):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    yield Kept(entry.name, status.st_size, status.st_mtime_ns, status.st_ino)


def prune(paths: Paths, *, days: float, most_bytes: int, now_ns: int | None = None) -> list[str]:
    """Delete files that are too old, and the oldest while all together are too large. Returns their names."""
    kept = list_files(paths)
    limit = (time.time_ns() if now_ns is None else now_ns) - int(days * 86_400e9)
    total = sum(each.size for each in kept)
    gone: list[str] = []
    for each in kept:
        if each.ns >= limit and total <= most_bytes:
            break
        gone.append(each.name)
        total -= each.size
    if gone:
        with files.Folder(paths.steps) as folder:
            for name in gone:
                folder.remove(name)
    return gone
