"""Times in the future: each is an error, since what is dated ahead would cover what has not happened yet."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from liza.model import MAPPINGS, SKEW, Fault, Path, format_time, is_future, parse_time

_HINT = "correct the time, or the clock of the machine that wrote it"
_TRIP = ("timestamp", "resolved_at")


def check(sections: Mapping[str, Any], now: datetime) -> Iterator[Fault]:
    """Every time of a blackboard that lies further ahead than clocks may differ."""
    sprint, breaker = sections.get("sprint"), sections.get("circuit_breaker")
    if isinstance(sprint, Mapping):
        yield from _fields(sprint.get("timeline"), ("sprint", "timeline"), ("started",), now)
    if isinstance(breaker, Mapping):
        yield from _fields(breaker, ("circuit_breaker",), ("last_check",), now)
        yield from _fields(breaker.get("current_trigger"), ("circuit_breaker", "current_trigger"), _TRIP, now)
        yield from _list(breaker.get("history"), ("circuit_breaker", "history"), _TRIP, now)
    yield from _list(sections.get("anomalies"), ("anomalies",), ("timestamp",), now)
    yield from _list(sections.get("silences"), ("silences",), ("created",), now)


def _list(value: Any, path: Path, names: tuple[str, ...], now: datetime) -> Iterator[Fault]:
    latest = format_time(now + SKEW) if now.year < 9999 else "~"
    if not isinstance(value, list):
        return
    # There may be a hundred thousand of them, and as strings most are plainly in the past.
    suspects = {
        index
        for name in names
        for index, record in enumerate(value)
        if isinstance(record, MAPPINGS)
        and (time := record.get(name)) is not None
        and not (type(time) is str and time[-1:] == "Z" and time < latest)
    }
    for index in sorted(suspects):
        yield from _fields(value[index], (*path, index), names, now)


def _fields(record: Any, path: Path, names: tuple[str, ...], now: datetime) -> Iterator[Fault]:
    for name in names if isinstance(record, Mapping) else ():
        moment = parse_time(record.get(name))
        if moment is not None and is_future(moment, now):
            yield Fault((*path, name), f"{name} is in the future: {format_time(moment)}", _HINT)
