"""The records that a rule looks at: a stream of the blackboard, and of it what is recent enough to count."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from liza.model import SKEW, Record, Snapshot, format_time, is_future, mappings_in, parse_duration, parse_time
from liza.rules.derived import DERIVED
from liza.rules.fields import Context
from liza.scope_names import ON_BOARD
from liza.text import plural

# Streams that are lists inside the records of a section: the section, the list, and what its owner is called there.
_NESTED = {each.stream: (each.section, each.stream, each.scope) for each in ON_BOARD}
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_WINDOWED = ("anomalies", "log", "usage")
_BEFORE = 1000  # of the records before a window, the last ones that are looked at


def stream_records(snapshot: Snapshot, name: str) -> tuple[Record, ...]:
    """The records of one kind, in the order of the file."""
    if name in snapshot.derived:
        return tuple(snapshot.derived[name])
    if name in DERIVED:
        return DERIVED[name](snapshot)
    if name not in _NESTED:
        return snapshot.records(name)
    section, inner, owner = _NESTED[name]
    found: list[Record] = []
    for record in snapshot.records(section):
        label = record.fields.get("id") or record.fields.get(f"{owner}_id") or record.fields.get("name") or record.key
        for entry in mappings_in(record.fields.get(inner)):
            found.append(Record(name, len(found), {owner: label, **entry}))
    return tuple(found)


class Window:
    """The records that are recent enough to count."""

    def __init__(
        self, text: str, snapshot: Snapshot, now: datetime, streams: Mapping[str, Sequence[Record]], exact: bool
    ) -> None:
        self.text = text
        self.start = _start(text, snapshot, now)
        self.ignored: datetime | None = None
        if self.start is not None and is_future(self.start, now):
            self.start, self.ignored = None, self.start
        self.timeless = 0
        self.added: list[Record] = []  # since the last time
        self.early: list[datetime] = []  # from the future, as it looked when they came
        self.late = 0  # dated before the sprint began, and entered after it had
        self.before: list[Record] = []  # the last of the anomalies that are too old to count
        self.matched_before: dict[str, bool] = {}  # by rule: whether it would match these
        self._begun: set[str] = set()  # streams in which a record of the sprint was seen
        last = int(text.split()[1]) if text.startswith("last ") else None
        self.streams: dict[str, Sequence[Record]] = {}
        for name, records in streams.items():
            if name not in _WINDOWED:
                self.streams[name] = records
            elif last is not None:
                self.streams[name] = records[-last:]
            else:
                self.streams[name] = self.recent(records, now)
        self.context = Context(self.streams, snapshot.sections, now, exact)

    @property
    def is_fixed(self) -> bool:
        """Whether time alone takes nothing out of it."""
        return self.text in ("current_sprint", "all")

    def recent(self, records: Sequence[Record], now: datetime) -> list[Record]:
        kept: list[Record] = []
        before: list[Record] = []
        start, tomorrow = self.start or _EARLIEST, _tomorrow(now)
        if _all_between(records, start, tomorrow):  # nearly always
            self._begun.update(record.stream for record in records[:1])
            return list(records)
        begun = False
        for record in records:
            moment = parse_time(record.fields.get("timestamp"))
            if moment is None:
                self.timeless += 1
            elif start <= moment <= tomorrow:
                kept.append(record)
                begun = True
                continue
            elif moment < start:
                if begun:
                    self._begun.add(record.stream)
                # The list only grows at its end: what is behind a record of this sprint is of this sprint.
                if not self._is_late(record.stream, moment):
                    before.append(record)
                    continue
                self.late += 1
            else:
                self.early.append(moment)
            kept.append(record)
        if begun:
            self._begun.add(records[0].stream)
        if before and before[0].stream == "anomalies" and self.text == "current_sprint":
            self.before, self.matched_before = [*self.before, *before][-_BEFORE:], {}
        return kept

    def _is_late(self, stream: str, moment: datetime) -> bool:
        """Whether a record was entered long after the time that it names."""
        if stream not in self._begun or self.start is None or self.text != "current_sprint":
            return False
        return self.start - moment > SKEW

    def extend(self, records: Sequence[Record], now: datetime) -> None:
        """Anomalies were added."""
        self.added = self.recent(records, now)
        if "anomalies" in self.streams:
            self.streams["anomalies"] = [*self.streams["anomalies"], *self.added]
        self.context.extend("anomalies", self.added, now)

    def alarms(self) -> Iterator[str]:
        """By what records could have been kept from counting."""
        if self.ignored is not None:
            yield f"the window {self.text} begins in the future, at {format_time(self.ignored)}: all records count"
        if self.late:
            yield f"{plural(self.late, 'record')} dated before the sprint and recorded after it began: counted"

    def warnings(self, now: datetime) -> Iterator[str]:
        """What is odd about the times of the records."""
        if self.timeless:
            yield f"{plural(self.timeless, 'record')} without a usable timestamp: counted anyway"
        tomorrow = _tomorrow(now)
        early = sum(moment > tomorrow for moment in self.early)
        if early:
            yield f"{plural(early, 'record')} from the future: counted anyway"


def _all_between(records: Sequence[Record], start: datetime, end: datetime) -> bool:
    """Whether all records have a time with a zone and it lies between two others: asked of all at once, in half the
    time. False also where it takes a closer look."""
    try:
        moments = list(map(datetime.fromisoformat, [record.fields["timestamp"] for record in records]))
        return not moments or (start <= min(moments) and max(moments) <= end)
    except (LookupError, TypeError, ValueError):
        return False


def _tomorrow(now: datetime) -> datetime:
    return min(now, datetime.max.replace(tzinfo=UTC) - timedelta(days=2)) + timedelta(days=1)


def _start(text: str, snapshot: Snapshot, now: datetime) -> datetime | None:
    if text == "current_sprint":
        sprint = snapshot.sections.get("sprint")
        timeline = sprint.get("timeline") if isinstance(sprint, Mapping) else None
        return parse_time(timeline.get("started")) if isinstance(timeline, Mapping) else None
    seconds = parse_duration(text)
    try:
        return None if seconds is None else now - timedelta(seconds=seconds)
    except OverflowError:
        return None  # longer than the calendar: everything
