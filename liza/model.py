"""The facts that all parts of liza share: immutable, without input or output.

Named tuples, because importing as many frozen dataclasses takes longer than starting Python, on every call of a hook.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import count, repeat
from types import MappingProxyType
from typing import Any, NamedTuple

from liza.text import plural, text_of

# The types of mappings in facts. isinstance() with the abstract Mapping is ten times slower, on a hot path.
MAPPINGS = (dict, MappingProxyType)

FROM_HOST = "from_host"  # the field of a team's record that names the host which sent it
Path = tuple[str | int, ...]  # of a value, from the top of its file
SKEW = timedelta(minutes=5)  # how far the clocks of two machines may differ; a time further ahead is in the future
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def list_in(value: Any) -> Sequence[Any]:
    """A list as it is; anything else holds nothing."""
    return value if isinstance(value, list | tuple) else ()


def one_or_several(value: Any) -> list[Any]:
    """A list as it is; one value need not be in a list, and null is none."""
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]


def mappings_in(value: Any) -> list[Mapping[str, Any]]:
    """The entries of a list that are mappings; other entries are skipped."""
    return [each for each in list_in(value) if isinstance(each, MAPPINGS)]


class Span(NamedTuple):
    """Bytes [start, end) of a file."""

    start: int
    end: int


class Problem(NamedTuple):
    """Something wrong in a file that can still be read. Line and column count from 1."""

    message: str
    file: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    level: str = "error"  # or "warning": usable, but probably not what was meant


class Fault(NamedTuple):
    """What is wrong with a value, and its path from the top of its file; a `Problem` once that is located."""

    path: Path
    message: str
    hint: str | None = None
    level: str = "error"


class Record(NamedTuple):
    """One entry of a stream, with all its fields, known or not."""

    stream: str
    key: int | str  # its place in a list section, or its name in a mapping section
    fields: Mapping[str, Any]

    def get(self, field: str) -> Any:
        """A field of the record, else of its `details`; None if it is in neither."""
        value = self.fields.get(field)
        if value is not None:
            return value
        details = self.fields.get("details")
        return details.get(field) if isinstance(details, MAPPINGS) else None

    @property
    def timestamp(self) -> datetime | None:
        return parse_time(self.fields.get("timestamp"))


class Snapshot(NamedTuple):
    """A blackboard at one moment, and all that is known to be wrong with it.

    The values are the parser's own, not copies: they must not be changed, and the types enforce that.
    """

    raw: bytes
    spans: Mapping[str, Span]  # of each section; empty where they cannot be cut, and then liza does not write the file
    sections: Mapping[str, Any]
    problems: tuple[Problem, ...]
    log: Sequence[Any] = ()  # the entries of log.yaml, where a rule reads them
    derived: Mapping[str, Sequence[Record]] = MappingProxyType({})  # streams with fields that a protocol computes

    def records(self, stream: str) -> tuple[Record, ...]:
        """The usable records of a list or mapping section; faulty ones are among the problems."""
        entries = self.log if stream == "log" else self.sections.get(stream)
        new = tuple.__new__  # Record() itself takes three times as long, and there may be a hundred thousand
        if isinstance(entries, list | tuple):
            if set(map(type, entries)) == {dict}:  # nearly always
                return tuple(map(new, repeat(Record), zip(repeat(stream), count(), entries)))
            named: Iterable[tuple[int | str, Any]] = enumerate(entries)
        elif isinstance(entries, MAPPINGS):
            named = ((str(key), entry) for key, entry in entries.items())
        else:
            return ()
        return tuple([new(Record, (stream, key, entry)) for key, entry in named if isinstance(entry, MAPPINGS)])


class Rule(NamedTuple):
    """What counts as a pattern, and what follows from it."""

    name: str
    condition: str
    severity: str = ""  # empty where the action is only an alarm
    action: str = "CHECKPOINT"
    description: str = ""
    window: str | None = None  # None: that of the pack
    mode: str = "act"  # or "observe": logged, never acts
    # After a resolution, "any_new": one new record is enough to trip again with the old ones; "threshold": a number
    # trips again once it is worse by the threshold.
    rearm: str = "fresh"
    summary: str | None = None
    origin: str = ""  # the pack or file that defines it


class Reason(StrEnum):
    """Why a rule acted or did not act."""

    MATCHED = "matched"
    BELOW = "below its threshold"
    OBSERVED = "matched, but only observed"
    SILENCED = "matched, but silenced"
    DISABLED = "disabled in rules.yaml"
    ACKNOWLEDGED = "only acknowledged evidence"


VALUE = "value"  # the name of a number that is not a metric


class Number(NamedTuple):
    """A number of the blackboard that a rule compared."""

    name: str  # the path of the metric, or VALUE
    value: float
    operator: str
    threshold: float

    def is_worse_than(self, known: float) -> bool:
        """Whether it is further from what the rule allows; for an `=`, any other value counts."""
        if self.operator in (">=", ">"):
            return self.value > known
        return self.value < known if self.operator in ("<=", "<") else self.value != known

    def is_used_up_again(self, known: float) -> bool:
        """Whether it has grown by the threshold since it was known; a value below the threshold never acknowledged it,
        as where a budget was raised since."""
        return known < self.threshold or self.value >= known + self.threshold


class Origin(StrEnum):
    """Where an entry of the breaker's history comes from, as far as liza's own files confirm it."""

    COMMAND = "command"  # a trip of this blackboard, closed by `liza resolve`
    EDITED = "edited"  # a trip of this blackboard, closed by editing state.yaml
    OTHER = "other"  # added by another tool or a person: liza never had such a trip
    UNKNOWN = "unknown"  # claims to be a trip of liza's, but log and archived reports do not have it
    CHANGED = "changed"  # a trip of this blackboard whose entry was changed after the decision


class OutsideDecision(NamedTuple):
    """A decision in the history that was not made by `liza resolve`, and whether it is used."""

    place: int  # in the history
    rule: str
    origin: Origin
    by: str  # the person it names
    records: int = 0  # how many no longer count because of such decisions on this rule
    in_future: bool = False  # dated in the future, so not used

    @property
    def counts(self) -> bool:
        """Whether it is used."""
        return self.origin in (Origin.EDITED, Origin.OTHER) and not self.in_future

    @property
    def text(self) -> str:
        where = f"circuit_breaker.history[{self.place}]"
        names = f"signed {self.by}" if self.by else "unsigned"
        if self.in_future:
            return f"{where}: dated in the future, not used: {self.rule} counts all records"
        if self.origin is Origin.UNKNOWN:
            missing = "no matching trip in log.yaml or .liza/reports/"
            return f"{where}: {missing}, not used: {self.rule} counts all records ({names})"
        if self.origin is Origin.CHANGED:
            return f"{where}: changed after the decision, not used: {self.rule} counts all records ({names})"
        how = "edited by hand" if self.origin is Origin.EDITED else "added by hand, with no trip recorded by liza"
        return f"{where}: {how}, {names}: {plural(self.records, 'record')} not counted for {self.rule} because of it"


class Match(NamedTuple):
    """A rule and the evidence that satisfied it."""

    rule: Rule
    value: float
    threshold: float
    key: str | None
    fields: tuple[str, ...]  # what the evidence was grouped by
    evidence: tuple[Record, ...]
    new: tuple[Record, ...]  # the part of the evidence that is not acknowledged
    numbers: tuple[Number, ...] = ()  # the metrics and sums it compared

    @property
    def tasks(self) -> tuple[str, ...]:
        return tasks_of(self.evidence)


class Silence(NamedTuple):
    """Matches of a rule that stop no agent until a given time."""

    id: str
    rule: str
    match: Mapping[str, str]  # fields and their required values; empty: every match of the rule
    created: datetime
    until: datetime
    reason: str
    by: str

    def in_force(self, now: datetime) -> bool:
        return self.created <= now < self.until


class Silenced(NamedTuple):
    """A match that would have tripped, and the silence that prevents it."""

    match: Match
    silence: Silence


class Group(NamedTuple):
    """One group of records of a rule: one that matched, or one that is as near to the threshold as any other."""

    key: str | None
    value: float
    tasks: tuple[str, ...]
    matched: bool


class Progress(NamedTuple):
    """How near a rule is to its threshold: its fullest group, and all that matched or are as near."""

    rule: Rule
    reason: Reason
    value: float
    threshold: float
    key: str | None
    tasks: tuple[str, ...]
    evidence: tuple[Record, ...] = ()  # below the threshold: the records counted so far
    groups: tuple[Group, ...] = ()


class Verdict(NamedTuple):
    """All matches of one check; none is OK."""

    checked_at: datetime
    window: str
    matches: tuple[Match, ...]
    observed: tuple[Match, ...]
    silenced: tuple[Silenced, ...]
    progress: tuple[Progress, ...]
    considered: int
    acknowledged: int
    outside_window: int
    unusable: tuple[tuple[Record, str], ...]
    warnings: tuple[str, ...]
    claims: tuple[OutsideDecision, ...] = ()  # decisions not made by `liza resolve`, where they matter
    alarms: tuple[str, ...] = ()  # warnings about records that do not count, or seem not to
    recovered: tuple[str, ...] = ()  # rules acknowledged at a number that is back in range
    unvalued: Mapping[str, tuple[Number, ...]] = MappingProxyType({})  # rules acknowledged before values were kept


def tasks_of(records: tuple[Record, ...]) -> tuple[str, ...]:
    """The tasks that records name, each once, in order."""
    tasks: list[Any] = [fields.get("task") for _, _, fields in records]
    if set(map(type, tasks)) != {str}:  # few
        tasks = [text_of(task) for record in records if (task := record.get("task")) is not None]
    return tuple(dict.fromkeys(tasks))


def parse_time(value: object) -> datetime | None:
    """An ISO 8601 time as liza reads it: UTC where no zone is given; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        if time.tzinfo is UTC:
            return time
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):  # the latter at either end of the calendar
        return None


def is_future(moment: datetime, now: datetime) -> bool:
    """Whether a time lies further ahead than the clocks of two machines may differ."""
    return moment - now > SKEW


def parse_duration(text: str) -> float | None:
    """`30m`, `2h`, `7d` in seconds; None if it is not a duration."""
    text = text.strip()
    unit = "ms" if text.endswith("ms") else text[-1:]
    number = text.removesuffix(unit)
    whole, dot, part = number.partition(".")
    is_number = whole.isdecimal() and (not dot or part.isdecimal())
    return float(number) * _SECONDS[unit] if unit in _SECONDS and is_number else None


def span_text(length: timedelta) -> str:
    """A length of time as people say it: 45 s, 12 min, 3 h 20 min, 2 d 4 h."""
    seconds = max(int(length.total_seconds()), 0)
    for size, unit, small, sub in ((86400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if seconds >= size:
            rest = seconds % size // small
            return f"{seconds // size} {unit}" + (f" {rest} {sub}" if rest else "")
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"


def file_time(seconds: float) -> datetime:
    """The time of a file; a number beyond the calendar gives the end of the calendar."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)


def format_time(moment: datetime) -> str:
    """A time as liza writes it: UTC, to the second, with a Z."""
    return f"{moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()}Z"


def is_trip_id(value: object) -> bool:
    return isinstance(value, str) and len(value) == 12 and all(char in "0123456789abcdef" for char in value)
