"""The event log of a loop, `.liza/runs/loops/NAME.log`: one line for each iteration and each change of state."""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime

from liza.model import format_time
from liza.schema.loop_statuses import CLOSED
from liza.scopes.change import path_prefix
from liza.scopes.loops.fields import LOOPS, has_changes, number_or_none
from liza.scopes.loops.settings import Settings
from liza.scopes.transition import Event, Transition
from liza.store.files import make_folders
from liza.store.paths import Paths
from liza.store.rotating_log import RotatingLog
from liza.text import one_line

_WORDS = {"opened": "TRIGGER", "closed": "RESET", "probing": "PROBE", "completed": "COMPLETE"}
_LONGEST = 500  # characters of a line


def log_iteration(paths: Paths, name: str, done: Transition, settings: Settings, now: datetime) -> str | None:
    """Log an iteration and what it led to; why not, if that cannot be done."""
    return _append(paths, name, _lines(done, settings), now)


def log_events(paths: Paths, name: str, events: tuple[Event, ...], now: datetime) -> str | None:
    """Log changes of state; why not, if that cannot be done."""
    return _append(paths, name, _changes(events), now)


def _lines(done: Transition, settings: Settings) -> Iterator[str]:
    if done.before is None:
        yield (
            f"INIT: {CLOSED}, opens after {settings.max_loops_no_progress} loops without progress, "
            f"or {settings.absolute_max_loops} in all"
        )
    entry: Mapping[str, object] = next(reversed((*done.archived, *(done.record.get("iterations") or ()))), {})
    known, count = number_or_none(entry.get("progress")), done.record.get("consecutive_no_progress_loops") or 0
    is_stagnant = count > 0 if known is not None else has_changes(entry) is False
    word = "STAGNATION" if is_stagnant else "LOOP"
    yield f"{word}: {', '.join(_facts(entry, known, count))}"
    yield from _changes(done.events)


def _facts(entry: Mapping[str, object], known: float | None, count: int) -> Iterator[str]:
    yield f"Loop {entry.get('iteration')}"
    yield "progress unknown" if known is None else f"progress {known:g}%"
    if known is not None and count:
        yield f"count {count}"
    if has_changes(entry) is False:
        yield "no file changed"
    if entry.get("outcome"):
        yield str(entry["outcome"])


def _changes(events: tuple[Event, ...]) -> Iterator[str]:
    return (f"{_WORDS.get(each.kind, each.kind.upper())}: {each.text}" for each in events)


def _append(paths: Paths, name: str, lines: Iterator[str], now: datetime) -> str | None:
    path = f"{path_prefix(paths, LOOPS, name)}.log"
    try:
        make_folders(paths.runs, os.path.dirname(path))
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    log = RotatingLog(path)
    failures = [log.write(f"[{format_time(now)}] {one_line(line, _LONGEST)}") for line in lines]
    return next((f"{path} cannot be written: {each}" for each in failures if each), None)
