"""`log.yaml`: a list of entries that only ever grows at its end.

An entry is appended in one write, without reading what is before the last one. That last entry must be whole: another
one behind a half-written one would turn both into something nobody wrote.
"""

import errno
import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from liza.blackboard import emit, storage, versions
from liza.blackboard.document import parse_log
from liza.blackboard.lock import Lock
from liza.blackboard.paths import Paths
from liza.blackboard.reader import BOM, BadYaml, decode, load
from liza.blackboard.spans import column_of, first_token
from liza.blackboard.values import identical
from liza.errors import Refused, Unreadable
from liza.model import MAPPINGS

_TAIL = 1 << 16
_HEAD = 1 << 14


def append_entry(paths: Paths, entry: Mapping[str, Any], unless: Sequence[str] = (), *, waits: bool = True) -> None:
    """Put one entry at the end of the log, durably; `Refused` if the log does not end with a whole entry.

    `unless` are texts of which a line that has them all says that the entry is there already. Who does not wait gets a
    `LockTimeout` at once where somebody holds the lock.
    """
    if unless and has_line(paths.log, unless):
        return  # what is there stays there, and needs no lock
    with Lock(paths.lock, None if waits else 0.0):
        storage.sweep(paths.log, paths.backups)
        if unless and has_line(paths.log, unless):
            return
        while not _append_behind_last(paths.log, entry):
            try:
                _fill_brackets(paths.log, entry)
                return
            except storage.Changed:
                continue


def has_line(file: str, texts: Sequence[str]) -> bool:
    """Whether a line of the log has all of these texts."""
    try:
        with open(file, "rb", opener=versions.regular) as log:
            return any(all(text.encode() in line for text in texts) for line in log)
    except OSError:
        return False  # not there yet, or not to be read: then the append says why


def entries_with(file: str, words: Sequence[str]) -> list[Mapping[str, Any]]:
    """The entries that say one of these words; only those are parsed, and one that is half written is passed over."""
    try:
        with open(file, "rb") as log:
            raw = log.read()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Unreadable(f"it could not be read: {error.strerror}", hint=f"see: ls -la {file}", file=file) from None
    found: list[Mapping[str, Any]] = []
    for part in re.split(rb"\r?\n(?=[ \t]*-[ \t])", raw):
        if any(word.encode() in part for word in words):
            with suppress(BadYaml):
                entries = load(decode(part))
                found += [each for each in entries if isinstance(each, MAPPINGS)] if isinstance(entries, list) else []
    return found


def _append_behind_last(file: str, entry: Mapping[str, Any]) -> bool:
    """Append in place; False if the log is a list in brackets, to which nothing can be appended in place."""
    try:
        fd = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise Refused(f"it could not be opened: {error.strerror}", hint=f"see: ls -la {file}", file=file) from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise Refused("it is not a regular file", hint=f"move it away: mv {file} {file}.odd", file=file)
        tail, column = _last_entry(fd, status.st_size, file)
        if tail is None:
            return False
        newline = "\r\n" if b"\r\n" in tail else "\n"
        added = "" if tail.endswith(b"\n") or not tail else "\n"
        added += " " * column + _text(entry, column) + "\n"
        _prove(file, tail, added, entry)
        _append(fd, status.st_size, added.replace("\n", newline).encode(), file)
        return True
    except OSError as error:
        if isinstance(error, storage.NotDurable):
            raise
        raise Refused(f"it could not be read: {error.strerror}", hint="look after that disk", file=file) from None
    finally:
        os.close(fd)


def _text(entry: Mapping[str, Any], column: int) -> str:
    try:
        return emit.item(entry, column)
    except (TypeError, RecursionError) as error:
        raise Refused(f"that entry cannot be written as YAML: {error}") from None


def _last_entry(fd: int, size: int, file: str) -> tuple[bytes | None, int]:
    """The bytes of the last entry and the column of its dash; None for a list in brackets."""
    first, head = _first_entry(fd, size)
    if first >= len(head):
        return head, 0  # nothing but comments yet
    if head[first : first + 1] == b"[":
        return None, 0
    column = column_of(head, first)
    dash = re.compile(rb"(?:\A|\n)" + b" " * column + rb"(?=-[ \t\r\n])")
    reach = _TAIL
    while True:
        start = max(size - reach, first - column)
        tail = os.pread(fd, size - start, start)
        dashes = [found.end() for found in dash.finditer(tail)]
        if dashes:
            return tail[dashes[-1] - column :], column
        if start == first - column:
            raise Refused("it is not a list of entries", hint="each entry begins with '- timestamp: ...'", file=file)
        reach *= 16


def _first_entry(fd: int, size: int) -> tuple[int, bytes]:
    """Where the first entry begins, and the bytes up to there and beyond; past them if there is none."""
    reach = _HEAD
    while True:
        head = os.pread(fd, min(size, reach), 0)
        first = first_token(head, len(BOM) if head.startswith(BOM) else 0, len(head))
        if marker := re.compile(rb"---[ \t]*(?:#[^\n]*)?\r?\n").match(head, first):
            first = first_token(head, marker.end(), len(head))
        if first + 1 < len(head) or reach >= size:
            return first, head
        reach *= 16


def _prove(file: str, tail: bytes, added: str, entry: Mapping[str, Any]) -> None:
    """The last entry and the new one, read together, are these two and nothing else."""
    try:
        before = load(decode(tail)) or []
        if isinstance(before, list) and identical(load(decode(tail) + added), [*before, dict(entry)]):
            return
        why = "its end is not the end of a list"
    except BadYaml as error:
        why = error.message
    with open(file, "rb") as whole:
        raw = whole.read()
    raise Refused(
        f"its last entry is not whole ({why}); nothing was added",
        hint="mend or remove the unfinished lines at its end, then run the command again",
        file=file,
        line=raw.count(b"\n", 0, len(raw) - len(tail)) + 1,
        column=1,
    )


def _append(fd: int, size: int, text: bytes, file: str) -> None:
    """One write, so that the entry of a program that appends at the same moment without the lock stays in one piece."""
    try:
        written = os.write(fd, text)
        if written != len(text):
            if os.fstat(fd).st_size == size + written:  # else somebody appended since, and a cut would take theirs
                os.ftruncate(fd, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise Refused(f"nothing could be added: {error.strerror}", hint="make room on that disk", file=file) from None
    try:
        os.fsync(fd)
        if size == 0:
            storage.sync_folder(file)
    except OSError as error:
        message = f"an entry was added, but perhaps not for good: {error.strerror}"
        raise storage.NotDurable(message, hint="look after that disk", file=file) from None


def _fill_brackets(file: str, entry: Mapping[str, Any]) -> None:
    """The log is a list in brackets. An empty one becomes a list with one entry; any other is somebody's own."""
    seen = versions.read(file)
    empty = re.search(rb"^\[\s*\]", seen.raw, re.MULTILINE)
    if empty is not None and not parse_log(seen.raw, file).data:
        raw = seen.raw[: empty.start()] + seen.raw[empty.end() :].lstrip(b" \t\r\n")
        raw += b"" if not raw or raw.endswith(b"\n") else b"\n"
        raw += _text(entry, 0).encode() + b"\n"
        try:
            if identical(parse_log(raw, file).data, [dict(entry)]):
                storage.replace(file, seen, raw)
                return
        except Unreadable:
            pass  # something else stood there
    hint = "write it as a list with one '- ' an entry"
    raise Refused("it is a list in brackets, to which no entry can be appended", hint=hint, file=file)
