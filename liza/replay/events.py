"""The history of a blackboard as events in order of time: its records, and the decisions of people."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import Record, Snapshot, parse_time
from liza.replay.playback import CHECK, RECORD, RESOLVE, Event
from liza.rules.silences import read_silences
from liza.rules.windows import stream_records
from liza.scopes.history import section as sections


class Recording(NamedTuple):
    """A blackboard split into what was always there and the events that followed."""

    board: Mapping[str, Any]
    events: tuple[Event, ...]
    trips: tuple[Mapping[str, Any], ...]  # in its history
    timeless: int  # records without a usable time, which get that of the one before


def read_recording(snapshot: Snapshot, streams: frozenset[str]) -> Recording:
    """The events of a blackboard that the rules use."""
    board = {name: value for name, value in snapshot.sections.items() if name not in ("anomalies", "circuit_breaker")}
    events: list[Event] = []
    timeless = 0
    for name in ("anomalies", *(("log",) if "log" in streams else ())):
        records = stream_records(snapshot, name)
        moments = [record.timestamp for record in records]
        timeless += moments.count(None)
        last = next((moment for moment in moments if moment is not None), None)
        for record, moment in zip(records, moments, strict=True):
            last = moment or last
            events.append(_record(record, last or datetime.fromisoformat("1970-01-01T00:00:00Z")))
    history = sections.history_of(snapshot.sections.get("circuit_breaker"))
    entries = [entry for entry in history if isinstance(entry, Mapping) and entry.get("pattern")]
    for entry in entries:
        at = parse_time(entry.get("resolved_at"))
        if at is not None:
            text, by = (str(entry.get(name) or "") for name in ("resolution", "resolved_by"))
            events.append(Event(at, RESOLVE, text=text, by=by))
    last = max((event.at for event in events), default=None)
    for each in read_silences(snapshot.sections.get("silences")):
        # What a silence hid counts from its end on, even if nothing else happens then.
        if each.silence is not None and last is not None and each.silence.until <= last:
            events.append(Event(each.silence.until, CHECK))
    events.sort(key=lambda event: event.at)
    return Recording(board, tuple(events), tuple(entries), timeless)


def _record(record: Record, at: datetime) -> Event:
    return Event(at, RECORD, record.stream, record.fields, key=record.key)
