"""Clocks that disagree: this machine's, the file system's, and those of the agents."""

import os
import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

import liza
from liza.doctor.filesystem import probe
from liza.doctor.finding import Finding, Level
from liza.errors import LizaError
from liza.model import Path, file_time, format_time, parse_time
from liza.store.board import Board
from liza.store.document import Document, parse_log
from liza.store.paths import Paths
from liza.store.versions import read_stable

# Fields with the time at which something happened. Others (a lease, the end of a silence) are meant to lie ahead.
PAST = frozenset(
    ("timestamp", "time", "at", "created", "started", "opened_at", "last_check", "resolved_at", "heartbeat", "updated")
)
_TOLERATED = timedelta(seconds=60)  # between the clocks of two machines
_COARSE = timedelta(seconds=2)  # what file systems round to
_NTP = "timedatectl set-ntp true"


def clock(paths: Paths, now: datetime) -> Iterator[Finding]:
    found = [*_of_machine(paths, now), *_of_files(paths, now)]
    documents = list(_documents(paths))
    found += _on_board(documents, now)
    known = "; nothing on the blackboard is from the future" if documents else ""
    yield from found or [Finding("clock", Level.OK, f"{format_time(now)}{known}")]


def _of_machine(paths: Paths, now: datetime) -> Iterator[Finding]:
    installed = file_time(os.stat(liza.__file__).st_mtime)
    if now < installed - timedelta(days=1):
        text = f"the clock shows {format_time(now)}, before liza was installed here ({format_time(installed)})"
        yield Finding("clock", Level.ERROR, text, _NTP)
    started = time.monotonic()
    try:
        made = file_time(probe(paths.folder).mtime)
    except OSError:
        return  # reported by the filesystem check
    took = timedelta(seconds=time.monotonic() - started)
    if not now - _COARSE <= made <= now + took + _COARSE:
        text = f"a file created at {format_time(now)} has the time {format_time(made)} on the file system"
        yield Finding("clock", Level.ERROR, text, f"{_NTP}   (here, and on the machine that serves {paths.folder})")


def _of_files(paths: Paths, now: datetime) -> Iterator[Finding]:
    """A file from the future is never old enough to be read at once, and a heartbeat from there never stops."""
    for path in (paths.state, paths.log, paths.watch_lock, paths.checkpoint):
        try:
            changed = file_time(os.lstat(path).st_mtime)
        except OSError:
            continue
        if changed > now + _COARSE:
            text = f"its time is {format_time(changed)}, which is in the future: the clock was set back, or is wrong"
            yield Finding("clock", Level.WARNING, text, f"if the clock is right: touch {path}", path)


def _on_board(documents: Iterable[Document], now: datetime) -> Iterator[Finding]:
    for document in documents:
        late = [(path, time) for path, time in _times(document.data) if time > now + _TOLERATED]
        if late:
            path, time = max(late, key=lambda each: each[1])
            line, column = document.locate(path) or (None, None)
            count = f"{len(late)} times are" if len(late) > 1 else "a time is"
            text = f"{count} in the future, the last {_named(path)} {format_time(time)}"
            hint = "set the clock of the agent that wrote it, then correct the line"
            yield Finding("clock", Level.WARNING, text, hint, document.file, line, column)


def _documents(paths: Paths) -> Iterator[Document]:
    """What can be read; other checks report what cannot."""
    try:
        yield Board(paths).read()
        yield parse_log(read_stable(paths.log).raw, paths.log)
    except LizaError:
        return


def _times(data: Any) -> Iterator[tuple[Path, datetime]]:
    waiting: list[tuple[Path, Any]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inner:
            if isinstance(each, dict | list):
                waiting.append(((*path, key), each))
            elif key in PAST and (time := parse_time(each)) is not None:
                yield (*path, key), time


def _named(path: Path) -> str:
    """`anomalies[3].timestamp`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")
