"""When records came, trips were open, people decided and silences were in force, within one span of time."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from liza.model import MAPPINGS, format_time, list_in, parse_time
from liza.rules.acknowledged import is_trip, open_trigger
from liza.rules.silences import read_silences
from liza.scopes.history import section as sections
from liza.text import one_line

COLUMNS = 120
DAYS = 14
_LONGEST, _SHORTEST = timedelta(days=1), timedelta(minutes=10)
_MOST = 60  # trips that are drawn, the newest


def timeline_facts(contents: Mapping[str, Any], at: datetime) -> dict[str, Any] | None:
    """The last day with something in it: up to now, or up to its last event if that was long ago."""
    records = [moment for each in list_in(contents.get("anomalies")) if (moment := _moment(each, at)) is not None]
    trips, silences = list(_trips(contents.get("circuit_breaker"), at)), list(_silences(contents.get("silences"), at))
    ends = [until for _, until, _, _ in trips if until is not None]
    moments = [*records, *ends, *(each[0] for each in (*trips, *silences))]
    if not moments:
        return None
    newest = max(moments)
    end = (at if at - newest < _LONGEST else newest) + timedelta(minutes=1)
    end = end.replace(second=0, microsecond=0)  # so that the picture changes once a minute
    start = min(*(each for each in moments if each > end - _LONGEST), end - _SHORTEST)
    width = (end - start) / COLUMNS
    columns = Counter(min(int((each - start) / width), COLUMNS - 1) for each in records if start <= each <= end)
    return {
        "start": format_time(start),
        "end": format_time(end),
        "seconds": (end - start).total_seconds(),
        "columns": COLUMNS,
        "records": {str(column): count for column, count in sorted(columns.items())},
        "trips": [_span(each, start, end) for each in trips if _overlaps(each, start, end)][-_MOST:],
        "silences": [_span(each, start, end) for each in silences if _overlaps(each, start, end)][-_MOST:],
    }


def _moment(record: Any, at: datetime) -> datetime | None:
    found = parse_time(record.get("timestamp")) if isinstance(record, MAPPINGS) else None
    return found if found is not None and found <= at else None


_Event = tuple[datetime, datetime | None, str, str]  # from, until, what, and what was said


def _trips(section: Any, at: datetime) -> Iterator[_Event]:
    history = sections.history_of(sections.reconcile(section, at).section)
    entries = [entry for entry in history if is_trip(entry)]
    trigger = open_trigger(section)
    if trigger is not None and not any(entry.get("trip_id") == trigger.get("trip_id") for entry in entries):
        entries.append(trigger)
    for entry in entries:
        start = parse_time(entry.get("timestamp"))
        if start is not None and start <= at:
            said = entry.get("resolution") or ""
            by = f" ({one_line(sections.whose(entry), 60)})" if said else ""
            yield (
                start,
                parse_time(entry.get("resolved_at")),
                one_line(entry.get("pattern"), 60),
                one_line(said, 160) + by,
            )


def _silences(section: Any, at: datetime) -> Iterator[_Event]:
    for each in read_silences(section):
        if (silence := each.silence) is not None and silence.created <= at:
            yield silence.created, silence.until, one_line(silence.rule, 60), one_line(silence.reason)


def _overlaps(event: _Event, start: datetime, end: datetime) -> bool:
    return event[0] <= end and (event[1] is None or event[1] >= start)


def _span(event: _Event, start: datetime, end: datetime) -> dict[str, Any]:
    """Its part of the picture, from 0 to 1."""
    began, until, what, said = event
    whole = (end - start).total_seconds()
    from_, to = ((min(max(each, start), end) - start).total_seconds() / whole for each in (began, until or end))
    return {
        "from": round(from_, 4),
        "to": round(to, 4),
        "since": format_time(began),
        "until": None if until is None else format_time(until),
        "what": what,
        "said": said,
    }


def trips_by_day(contents: Mapping[str, Any], at: datetime) -> dict[str, list[int]]:
    """Of each rule how often it tripped on each of the last days, today last."""
    found: dict[str, list[int]] = {}
    for start, _, rule, _ in _trips(contents.get("circuit_breaker"), at):
        days = found.setdefault(rule, [0] * DAYS)
        if (age := (at.date() - start.astimezone(at.tzinfo).date()).days) < DAYS:
            days[DAYS - 1 - age] += 1
    return found
