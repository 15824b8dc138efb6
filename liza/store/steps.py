"""The steps of each session, one JSON object a line, in `.liza/steps/SESSION.jsonl`.

A file only grows at its end. Once it is large it is renamed to `SESSION.N.older.jsonl` and a new one is started; all of
them together are what the session did. `SESSION.ingested.jsonl` has what a person took from a transcript: a session
that has no other file is one that ended. What is old, or more than the disk is to hold, is deleted: whole files, the
oldest first (`keep_steps` in rules.yaml sets how long and how much; the defaults are in `schema/rules_yaml.py`). Steps
say what agents did and saw, so they are readable by their owner alone and never in git.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from liza.errors import Unreadable, Unwritable
from liza.store import files, spool
from liza.store.paths import Paths
from liza.text import file_name

VERSION = 1
ENDING = ".jsonl"
OLDER = ".older.jsonl"
INGESTED = ".ingested.jsonl"
ROTATED = 8 << 20  # bytes of one file
TAIL = 1 << 18  # bytes at the end of a session's files that are read to go on where the last daemon ended
_NEWEST = 1 << 16  # bytes of a file in which its newest lines are looked for

_STRING = rb'(?:[^"\\]|\\.)*'
# The beginning of a step as `append_lines` writes it: nothing else is read of an old one.
_STEP = re.compile(
    rb'\{"v": \d+, "time": "(?P<time>%b)", "session": "(?P<session>%b)"(?:, "parent": "(?P<parent>%b)")?'
    rb'(?:, "client": "%b")?(?:, "id": "(?P<id>%b)")?, "tool": ' % ((_STRING,) * 5)
)
_EVENT = re.compile(rb'"event": "([a-z]{1,20}-[a-z]{1,20}-[A-Za-z0-9]{6,40})"')  # inside a text the quotes are escaped
_ID = re.compile(rb'"id": "([^"\\]{1,200})"')


def append_lines(paths: Paths, session: str, lines: Sequence[Mapping[str, Any]], *, ingested: bool = False) -> None:
    """Append lines, all or none; `Unwritable` if that fails. What is no file of ours is put aside first."""
    name = step_file(session) if not ingested else step_file(session).removesuffix(ENDING) + INGESTED
    dumped = (json.dumps({"v": VERSION, **line}, ensure_ascii=False) for line in lines)
    raw = b"".join(line.encode(errors="replace") + b"\n" for line in dumped)
    try:
        if not os.path.isdir(paths.steps):
            files.make_folder(paths.steps)
        with files.Folder(paths.steps, listed=True) as folder:
            try:
                fd = _open_current(folder, name)
            except (files.UnsafeFile, PermissionError):
                spool.put_aside(paths, paths.steps, name)
                fd = _open_current(folder, name)
            try:
                _append(fd, raw)
            finally:
                os.close(fd)
    except OSError as error:
        message, hint = f"steps cannot be stored: {error.strerror}", f"make room on the disk, or look at {paths.steps}"
        raise Unwritable(message, hint=hint, file=os.path.join(paths.steps, name)) from None


def _append(fd: int, raw: bytes) -> None:
    """Append to a file. A line that a killed process left half done is ended first; readers skip it."""
    size = os.fstat(fd).st_size
    try:
        if size and os.pread(fd, 1, size - 1) != b"\n":
            raw = b"\n" + raw
        files.write_all(fd, raw)
    except OSError:
        with suppress(OSError):  # only with the lock: another process may have appended since
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(fd, size)
        raise


def _open_current(folder: files.Folder, name: str) -> int:
    """The file that lines are appended to, locked against others that do so; a large one is put aside before."""
    while True:
        fd = folder.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode=0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return fd  # another process appends, or an agent holds the lock: nothing waits for it
        with suppress(FileNotFoundError):
            if os.fstat(fd).st_ino == os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_ino:
                if os.fstat(fd).st_size < ROTATED or name.endswith(INGESTED):
                    return fd
                os.rename(name, _older_name(folder, name), src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        os.close(fd)


def _older_name(folder: files.Folder, name: str) -> str:
    numbers = [_number(each) for each in os.listdir(folder.fd) if each.endswith(OLDER) and current_name(each) == name]
    return f"{name.removesuffix(ENDING)}.{max(numbers, default=0) + 1}{OLDER}"


def current_name(name: str) -> str:
    """The name of the file that a session's steps are appended to, of one that may have been put aside."""
    return name.split(".", 1)[0] + ENDING  # names of sessions as files have no dot


def _number(name: str) -> int:
    number = name.removesuffix(OLDER).rpartition(".")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else 0


@lru_cache(maxsize=10_000)  # asked for each line
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
    raw, inode = _read(paths, name, start)
    whole = raw[: raw.rfind(b"\n") + 1]
    lines, broken = _parsed(whole.splitlines())
    return Read(lines, start + len(whole), inode, broken)


class Past(NamedTuple):
    """What a session's files have: the newest lines, and of those before them only what must not be forgotten."""

    lines: tuple[Mapping[str, Any], ...] = ()  # the oldest first
    events: tuple[str, ...] = ()  # names of the events that the lines before were made of
    end: int = 0  # of the last file
    inode: int = 0


def read_past(paths: Paths, names: Sequence[str], marked: bytes, most: int | None = None) -> Past:
    """The last bytes of these files together, the oldest first, and of what is before them the lines with a mark."""
    sizes = [_size(paths, name) for name in names]
    skipped = sum(sizes) - (TAIL if most is None else most)
    found, events = Past(), list[str]()
    for name, size in zip(names, sizes, strict=True):
        start = min(max(skipped, 0), size)
        skipped -= size
        raw, inode = _read(paths, name, 0)
        start = raw.rfind(b"\n", 0, start) + 1 if start < size else start
        end = raw.rfind(b"\n") + 1
        lines = _before(raw[:start], marked) + _parsed(raw[start:end].splitlines())[0]
        events += [each.decode() for each in _EVENT.findall(raw, 0, start)]
        found = Past((*found.lines, *lines), tuple(events), end, inode)
    return found


def _before(raw: bytes, marked: bytes) -> tuple[Mapping[str, Any], ...]:
    """The lines with a mark as they are; of each step only whose it is, its time, and the id of its call."""
    found: list[Mapping[str, Any] | None] = []
    for line in raw.splitlines():
        if marked in line:
            found.append(_parse(line))
        elif (step := _STEP.match(line)) is not None:
            found.append({name: _parse_text(text) for name, text in step.groupdict().items() if text is not None})
    return tuple(each for each in found if each is not None)


def _parse_text(raw: bytes) -> str:
    """A string of JSON without its quotes."""
    return str(json.loads(b'"%s"' % raw)) if b"\\" in raw else raw.decode(errors="replace")


def read_tail(paths: Paths, session: str) -> tuple[Mapping[str, Any], ...]:
    """The newest lines of a session; one that is cut is left out."""
    name = step_file(session)
    return read_from(paths, name, max(_size(paths, name) - _NEWEST, 0)).lines


def _size(paths: Paths, name: str) -> int:
    with suppress(FileNotFoundError):
        return os.stat(os.path.join(paths.steps, name), follow_symlinks=False).st_size
    return 0


def _read(paths: Paths, name: str, start: int) -> tuple[bytes, int]:
    try:
        with files.Folder(paths.steps) as folder, open(folder.open(name), "rb") as file:
            file.seek(start)
            return file.read(), os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return b"", 0
    except OSError as error:
        raise _unreadable(os.path.join(paths.steps, name), error) from None


def _unreadable(path: str, error: OSError) -> Unreadable:
    message, hint = f"these steps cannot be read: {error.strerror}", f"look at it, and move it away: {path}"
    return Unreadable(message, hint=hint, file=path)


def read_all(paths: Paths, session: str) -> Read:
    """Everything that is kept of a session."""
    found = [read_from(paths, each, 0) for each in _names_of(paths, session)]
    lines = tuple(line for each in found for line in each.lines)
    return Read(lines, broken=sum(each.broken for each in found))


def _names_of(paths: Paths, session: str) -> list[str]:
    """The files of a session, the oldest first."""
    own = step_file(session)
    try:
        with files.Folder(paths.steps, listed=True) as folder:
            return in_order([n for n in os.listdir(folder.fd) if n.endswith(ENDING) and current_name(n) == own])
    except FileNotFoundError:
        return []


class Entered(NamedTuple):
    """Names of events and ids of calls that are in the files of a session."""

    events: frozenset[bytes] = frozenset()
    ids: frozenset[bytes] = frozenset()


def read_entered(paths: Paths, session: str) -> Entered:
    """What is in the files of a session, without their lines: they may be large."""
    events, ids = set[bytes](), set[bytes]()
    for name in _names_of(paths, session):
        with suppress(FileNotFoundError), open(os.path.join(paths.steps, name), "rb", opener=files.open_fd) as file:
            for line in file:
                events.update(_EVENT.findall(line))
                ids.update(_ID.findall(line))
    return Entered(frozenset(events), frozenset(ids))


def in_order(names: Sequence[str]) -> list[str]:
    """The names of one session's files, the oldest first."""
    return sorted(names, key=lambda name: (not name.endswith(INGESTED), not name.endswith(OLDER), _number(name)))


def is_ingested(names: Iterable[str]) -> bool:
    """Whether these are the files of a session of which only a transcript is known that a person has ingested."""
    return all(name.endswith(INGESTED) for name in names)


def _parsed(raw: Sequence[bytes]) -> tuple[tuple[Mapping[str, Any], ...], int]:
    """The lines that are ours, and how many are not."""
    parsed = [_parse(line) for line in raw if line.strip()]
    lines = tuple(line for line in parsed if line is not None)
    return lines, len(parsed) - len(lines)


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


def list_files(paths: Paths) -> list[Kept]:
    """The files of all sessions, the one that was written last at the end."""
    try:
        with files.Folder(paths.steps, listed=True) as folder:
            return sorted(_stats(folder.fd), key=lambda each: (each.ns, each.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(paths.steps, error) from None


def _stats(fd: int) -> Iterator[Kept]:
    with os.scandir(fd) as entries:
        for entry in entries:
            if entry.name.endswith(ENDING):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    yield Kept(entry.name, status.st_size, status.st_mtime_ns, status.st_ino)


def prune(paths: Paths, *, days: float, most_bytes: int) -> list[str]:
    """Delete files that are too old, and the oldest while all together are too large. Returns their names."""
    kept = list_files(paths)
    limit = time.time_ns() - int(days * 86_400e9)
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
                with suppress(OSError):  # a folder, for example
                    folder.remove(name)
    return gone
