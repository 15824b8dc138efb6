"""`evaluate(rules, snapshot, now)`: the one judgement. One-shot check, daemon, replay and rule tests all call it.

It reads no file, no clock and no environment; everything it knows is in its arguments.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from liza.model import (
    Match,
    Progress,
    Reason,
    Record,
    Rule,
    Silence,
    Silenced,
    Snapshot,
    Verdict,
    format_time,
    parse_time,
    tasks_of,
)
from liza.rules.acknowledged import Acknowledged, acknowledged_by
from liza.rules.conditions import Condition, Outcome
from liza.rules.fields import World
from liza.rules.language import parse_duration

# Streams that are lists inside the records of a section: the section, the list, and what its owner is called there.
_NESTED = {
    "rounds": ("claims", "rounds", "claim"),
    "attempts": ("slices", "attempts", "slice"),
    "iterations": ("loops", "iterations", "loop"),
}
_WINDOWED = ("anomalies", "log")


class Compiled(NamedTuple):
    """A rule ready to be asked."""

    rule: Rule
    condition: Condition


class RuleSet(NamedTuple):
    """The rules in force, in pack order, and how they differ from the shipped ones."""

    rules: tuple[Compiled, ...]
    disabled: tuple[Rule, ...] = ()
    window: str = "current_sprint"
    exact: bool = False
    changes: tuple[str, ...] = ()  # what rules.yaml loosened, changed or disabled, in words

    @property
    def streams(self) -> frozenset[str]:
        """The streams that some rule looks at."""
        return frozenset(stream for compiled in self.rules for stream in compiled.condition.streams)


def evaluate(rules: RuleSet, snapshot: Snapshot, now: datetime, memo: dict[Any, Any] | None = None) -> Verdict:
    """What the rules say of a blackboard at a moment. `memo` is a cache, for those who ask again and again."""
    streams = {name: stream(snapshot, name) for name in rules.streams | {"anomalies"}}
    history = acknowledged_by(snapshot.sections.get("circuit_breaker"), memo)
    silences = _silences(snapshot.sections.get("silences"), now)
    windows: dict[str, Window] = {}
    matches: list[Match] = []
    observed: list[Match] = []
    hushed: list[Silenced] = []
    progress: list[Progress] = []
    unusable: dict[tuple[str, int | str], str] = {}
    dealt_with: set[int | str] = set()
    for compiled in rules.rules:
        text = compiled.rule.window or rules.window
        if text not in windows:
            windows[text] = Window(text, snapshot, now, streams, rules.exact)
        window = windows[text]
        fresh, world = window.streams, window.world
        if history.knows(compiled.rule.name):
            fresh = {name: history.fresh(compiled.rule.name, records) for name, records in window.streams.items()}
            dealt_with |= {r.key for r in window.streams["anomalies"]} - {r.key for r in fresh["anomalies"]}
            if compiled.rule.rearm == "fresh":
                world = World(fresh, snapshot.sections, now, rules.exact)
        outcomes = compiled.condition.outcomes(world)
        unusable |= world.unusable
        pairs = [(_match(compiled, each, fresh), each) for each in outcomes if each.satisfied]
        # Acknowledged records do not trip alone.
        pairs = [(match, outcome) for match, outcome in pairs if match.new or not match.evidence]
        found = [match for match, _ in pairs]
        acting = [
            match
            for match, outcome in pairs
            if not _is_silenced(match, outcome, compiled, silences, rules.exact, hushed)
        ]
        acts = compiled.rule.mode == "act" and compiled.rule.action == "CHECKPOINT"
        (matches if acts else observed).extend(acting)
        progress.append(_progress(compiled, outcomes, found, acting, history))
    window = windows.get(rules.window) or Window(rules.window, snapshot, now, streams, rules.exact)
    records = {(r.stream, r.key): r for each in streams.values() for r in each} if unusable else {}
    return Verdict(
        checked_at=now,
        window=rules.window,
        matches=tuple(matches),
        observed=tuple(observed),
        silenced=tuple(hushed),
        progress=(*progress, *(Progress(rule, Reason.DISABLED, 0, 0, None, ()) for rule in rules.disabled)),
        considered=len(window.streams["anomalies"]),
        acknowledged=len(dealt_with),
        outside_window=len(streams["anomalies"]) - len(window.streams["anomalies"]),
        unusable=tuple((records[where], why) for where, why in unusable.items() if where in records),
        warnings=tuple(dict.fromkeys(warning for each in (window, *windows.values()) for warning in each.warnings)),
    )


def stream(snapshot: Snapshot, name: str) -> tuple[Record, ...]:
    """The records of one kind, in the order of the file."""
    if name not in _NESTED:
        return snapshot.records(name)
    section, inner, owner = _NESTED[name]
    found: list[Record] = []
    for record in snapshot.records(section):
        label = record.fields.get("id") or record.fields.get(f"{owner}_id") or record.fields.get("name") or record.key
        entries = record.fields.get(inner)
        for entry in entries if isinstance(entries, list | tuple) else ():
            if isinstance(entry, Mapping):
                found.append(Record(name, len(found), {owner: label, **entry}))
    return tuple(found)


class Window:
    """The records that are recent enough to count."""

    def __init__(
        self, text: str, snapshot: Snapshot, now: datetime, streams: Mapping[str, Sequence[Record]], exact: bool
    ) -> None:
        self.warnings: list[str] = []
        self.start = _start(text, snapshot, now)
        if self.start is not None and self.start > now:
            self.warnings.append(
                f"the window {text} begins in the future, at {format_time(self.start)}: nothing counts"
            )
        last = int(text.split()[1]) if text.startswith("last ") else None
        self.streams: dict[str, Sequence[Record]] = {}
        for name, records in streams.items():
            if name not in _WINDOWED:
                self.streams[name] = records
            elif last is not None:
                self.streams[name] = records[-last:]
            else:
                self.streams[name] = self.recent(records, now)
        self.world = World(self.streams, snapshot.sections, now, exact)

    def recent(self, records: Sequence[Record], now: datetime) -> Sequence[Record]:
        kept: list[Record] = []
        timeless = early = 0
        tomorrow = min(now, datetime.max.replace(tzinfo=UTC) - timedelta(days=2)) + timedelta(days=1)
        for record in records:
            moment = record.timestamp
            if moment is None:
                timeless += 1
            elif self.start is not None and moment < self.start:
                continue
            elif moment > tomorrow:
                early += 1
            kept.append(record)
        if timeless:
            self.warnings.append(f"{_number(timeless, 'record')} without a usable timestamp: counted all the same")
        if early:
            self.warnings.append(f"{_number(early, 'record')} from the future: counted all the same")
        return kept


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


def _match(compiled: Compiled, outcome: Outcome, fresh: Mapping[str, Sequence[Record]]) -> Match:
    fields = tuple(str(field) for field in compiled.condition.fields)
    new = outcome.evidence
    if compiled.rule.rearm == "any_new":
        unseen = {(name, record.key) for name, records in fresh.items() for record in records}
        new = tuple(record for record in new if (record.stream, record.key) in unseen)
    return Match(compiled.rule, outcome.value, outcome.threshold, outcome.key, fields, outcome.evidence, new)


def _silences(section: Any, now: datetime) -> list[Silence]:
    if not section:
        return []
    from liza.rules.silences import entries  # few blackboards have any

    return [entry.silence for entry in entries(section) if entry.silence is not None and entry.in_force(now)]


def _is_silenced(
    match: Match,
    outcome: Outcome,
    compiled: Compiled,
    silences: Sequence[Silence],
    exact: bool,
    hushed: list[Silenced],
) -> bool:
    if not silences:
        return False
    from liza.rules.silences import silence_of

    silence = silence_of(match, outcome, compiled.condition, silences, exact)
    hushed += [Silenced(match, silence)] if silence is not None else []
    return silence is not None


def _progress(
    compiled: Compiled,
    outcomes: Sequence[Outcome],
    found: Sequence[Match],
    acting: Sequence[Match],
    history: Acknowledged,
) -> Progress:
    rule = compiled.rule
    if found and not acting:
        reason = Reason.SILENCED
    elif found:
        reason = Reason.MATCHED if rule.mode == "act" and rule.action == "CHECKPOINT" else Reason.OBSERVED
    elif history.knows(rule.name) and (any(e.satisfied for e in outcomes) or not any(e.value for e in outcomes)):
        reason = Reason.ACKNOWLEDGED
    else:
        reason = Reason.BELOW
    if not outcomes:
        return Progress(rule, reason, 0, compiled.condition.threshold, None, ())
    if acting:
        best = acting[0]  # not a fuller group that is silenced
        return Progress(rule, reason, best.value, best.threshold, best.key, best.tasks)
    fullest = outcomes[0]
    return Progress(rule, reason, fullest.value, fullest.threshold, fullest.key, tasks_of(fullest.evidence))


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
