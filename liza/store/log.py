"""`log.yaml`: a list of entries that only ever grows at its end. What an entry may hold is in `schema/log.py`.

An entry is appended in one write, without reading what is before the last one. That last entry must be whole: another
one behind a half-written one would turn both into an entry that no program wrote.
"""

import errno
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from liza.errors import Refused, Unreadable
from liza.model import mappings_in
from liza.store import emit, files, read_limits, replace, versions
from liza.store.compare import identical
from liza.store.document import parse_log
from liza.store.lock import Lock
from liza.store.parser import BOM, BadYaml, decode, load
from liza.store.paths import Paths
from liza.store.spans import column_of, first_token

_TAIL = 1 << 16
_HEAD = 1 << 14


def append_entry(
    paths: Paths,
    entry: Mapping[str, Any],
    unless: Callable[[], bool] = lambda: False,
    *,
    blocking: bool = True,
    stuck: list[str] | None = None,
) -> None:
    """Put one entry at the end of the log, durably; `Refused` if the log does not end with a whole entry.

    `unless` looks whether the entry is there already. Without waiting, `LockTimeout` is raised at once where another
    process holds the lock. `stuck` is for what an interrupted write left and cannot be removed.
    """
    if unless():
        return  # what is there stays there, and needs no lock
    with Lock(paths.lock, None if blocking else 0.0):
        if not unless():
            append_locked(paths, entry, stuck)


def append_locked(paths: Paths, entry: Mapping[str, Any], stuck: list[str] | None = None) -> None:
    """The same for a caller that holds the lock."""
    replace.sweep(paths.log, paths.backups, stuck)
    while not _append_behind_last(paths.log, entry):
        try:
            _fill_brackets(paths.log, entry)
            return
        except replace.Changed:
            continue


def has_text(file: str, text: str) -> bool:
    try:
        return text.encode() in _whole(file)
    except (OSError, Unreadable):
        return False  # not there yet, or not to be read: then the append reports why


def _whole(file: str) -> bytes:
    with open(file, "rb", opener=files.open_fd) as log:
        read_limits.check_size(os.fstat(log.fileno()).st_size, file)
        return log.read()


def entries_with(file: str, words: Iterable[str]) -> list[Mapping[str, Any]]:
    """The entries that have one of these words in them; only those are parsed, a half-written one is left out."""
    try:
        raw = _whole(file)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}", hint=f"see: ls -la {file}", file=file) from None
    found: dict[tuple[int, int], Mapping[str, Any]] = {}
    for word in words:
        _search(raw, 0, word, found, most=float("inf"))
    return [found[place] for place in sorted(found)]


def entries_about(file: str, word: str) -> list[Mapping[str, Any]]:
    """The same for one word; none where the log cannot be read: then the append reports why."""
    try:
        return entries_with(file, (word,))
    except Unreadable:
        return []


class _Searched:
    """How far a log was searched, and what was found there."""

    def __init__(self) -> None:
        self.inode = (0, 0)
        self.end = 0  # where the last entry begins: it may have been half written
        self.anchor = b""  # what is before that; where it is another, the log was rewritten
        self.found: dict[str, dict[tuple[int, int], Mapping[str, Any]]] = {}


_searched: dict[str, _Searched] = {}
_ANCHOR = 256
_MOST = 100  # entries of one word that are parsed: any program can write a word ten thousand times


def entries_by_word(file: str, words: Iterable[str]) -> dict[str, list[Mapping[str, Any]]]:
    """For each word the entries that have it in them. The log only grows at its end, so a repeated caller has
    only what is new searched."""
    known = _searched.setdefault(file, _Searched())
    wanted = set(words)
    try:
        with open(file, "rb", opener=files.open_fd) as log:
            status = os.fstat(log.fileno())
            log.seek(max(known.end - _ANCHOR, 0))
            if (status.st_dev, status.st_ino) != known.inode or log.read(min(known.end, _ANCHOR)) != known.anchor:
                known.end, known.found = 0, {}
            known.inode = (status.st_dev, status.st_ino)
            start = known.end if wanted <= known.found.keys() else 0
            log.seek(start)
            raw = log.read()
            for word in wanted:
                _search(raw, start, word, known.found.setdefault(word, {}))
            known.end = max(start + raw.rfind(b"\n-") + 1, start)
            log.seek(max(known.end - _ANCHOR, 0))
            known.anchor = log.read(min(known.end, _ANCHOR))
    except OSError:
        _searched.pop(file, None)
        return {word: [] for word in wanted}
    return {word: list(known.found[word].values()) for word in wanted}


def _search(
    raw: bytes, offset: int, word: str, found: dict[tuple[int, int], Mapping[str, Any]], most: float = _MOST
) -> None:
    at = raw.find(word.encode())
    while at != -1 and len(found) < most:
        first, end = _around(raw, at)
        found |= {(offset + first, i): entry for i, entry in enumerate(_entries(raw[first:end]))}
        at = raw.find(word.encode(), end)


def _around(raw: bytes, at: int) -> tuple[int, int]:
    """Where the entry around a place begins and ends: at a dash in the column of the first one, else the whole log."""
    first = re.search(rb"^([ \t]*)-[ \t]", raw, re.MULTILINE)
    if first is None:
        return 0, len(raw)
    dash = b"\n" + first[1] + b"-"
    begin, end = raw.rfind(dash, 0, at), raw.find(dash, at)
    return (begin + 1 if begin != -1 else first.start()), (end + 1 if end != -1 else len(raw))


def _entries(part: bytes) -> list[Mapping[str, Any]]:
    try:
        entries = load(decode(part))
    except BadYaml:
        return []  # half written
    return mappings_in(entries)


def _append_behind_last(file: str, entry: Mapping[str, Any]) -> bool:
    """Append in place; False if the log is a list in brackets, to which nothing can be appended in place."""
    try:
        fd = files.open_fd(file, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    except files.UnsafeFile as error:
        hint = f"move it away: mv {file} {file}.odd"
        raise Refused(str(error.strerror), hint=hint, file=file) from None
    except OSError as error:
        raise Refused(f"cannot be opened: {error.strerror}", hint=f"see: ls -la {file}", file=file) from None
    try:
        status = os.fstat(fd)
        read_limits.check_size(status.st_size, file)
        tail, column = _last_entry(fd, status.st_size, file)
        if tail is None:
            return False
        newline = "\r\n" if b"\r\n" in tail else "\n"
        added = "" if tail.endswith(b"\n") or not tail else "\n"
        added += " " * column + _text(entry, column) + "\n"
        _prove(fd, file, tail, added, entry)
        _append(fd, status.st_size, added.replace("\n", newline).encode(), file)
        return True
    except OSError as error:
        if isinstance(error, replace.NotDurable):
            raise
        raise Refused(f"cannot be read: {error.strerror}", hint="check that disk for errors", file=file) from None
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


def _prove(fd: int, file: str, tail: bytes, added: str, entry: Mapping[str, Any]) -> None:
    """The last entry and the new one, read together, are these two and nothing else."""
    try:
        before = load(decode(tail)) or []
        if isinstance(before, list) and identical(load(decode(tail) + added), [*before, dict(entry)]):
            return
        why = "its end is not the end of a list"
    except BadYaml as error:
        why = error.message
    raw = os.pread(fd, os.fstat(fd).st_size, 0)
    raise Refused(
        f"the last entry is incomplete ({why}); nothing was added",
        hint="fix or remove the unfinished lines at its end, then run the command again",
        file=file,
        line=raw.count(b"\n", 0, len(raw) - len(tail)) + 1,
        column=1,
    )


def _append(fd: int, size: int, text: bytes, file: str) -> None:
    """One write, so that the entry of a program that appends at the same moment without the lock stays in one piece."""
    try:
        written = os.write(fd, text)
        if written != len(text):
            if (
                os.fstat(fd).st_size == size + written
            ):  # else another entry was appended since, and a cut would remove it
                os.ftruncate(fd, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise Refused(f"nothing could be added: {error.strerror}", hint="free some disk space", file=file) from None
    try:
        os.fsync(fd)
        if size == 0:
            replace.sync_folder(file)
    except OSError as error:
        message = f"an entry was added, but the disk did not confirm it: {error.strerror}"
        raise replace.NotDurable(message, hint="check that disk for errors", file=file) from None


def _fill_brackets(file: str, entry: Mapping[str, Any]) -> None:
    """The log is a list in brackets. An empty one becomes a list with one entry; any other was written by hand."""
    seen = versions.read_stable(file)
    empty = re.search(rb"^\[\s*\]", seen.raw, re.MULTILINE)
    if empty is not None and not parse_log(seen.raw, file).data:
        raw = seen.raw[: empty.start()] + seen.raw[empty.end() :].lstrip(b" \t\r\n")
        raw += b"" if not raw or raw.endswith(b"\n") else b"\n"
        raw += _text(entry, 0).encode() + b"\n"
        try:
            if identical(parse_log(raw, file).data, [dict(entry)]):
                replace.replace(file, seen, raw)
                return
        except Unreadable:
            pass  # something else stood there
    hint = "write it as a list with one '- ' per entry"
    raise Refused("it is a list in brackets, to which no entry can be appended", hint=hint, file=file)
