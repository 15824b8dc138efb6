"""A stretch of time played back: when would each rule have tripped, had somebody checked after every record?

The judgement is `evaluate`, and the breaker's section is kept by the same functions as on a real blackboard, so what
is tried here is what happens there. Most rules only count, and a count that was reached stays reached; for these the
moment is found by halving, so that a long sprint takes seconds and not hours.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from liza.breaker import section as sections
from liza.breaker.check import earlier_trips, evidence_of
from liza.model import Match, Record, Rule, Silenced, Snapshot, Verdict, format_time
from liza.rules.acknowledged import trip_id
from liza.rules.conditions import Condition
from liza.rules.evaluate import Compiled, RuleSet, evaluate
from liza.rules.fields import World, passes
from liza.rules.language import Aggregate, Not
from liza.rules.silences import entries

RECORD, RESOLVE, SET, CHECK = "record", "resolve", "set", "check"


class Event(NamedTuple):
    """Something that happened to a blackboard."""

    at: datetime
    kind: str  # RECORD, RESOLVE, SET or CHECK
    stream: str = "anomalies"  # of a record
    fields: Mapping[str, Any] = {}  # of a record; of SET, the sections and what is in them from then on
    text: str = ""  # of a resolution
    by: str = ""
    key: int | str = 0  # where a record stands on the blackboard it is from


class Joined(NamedTuple):
    """A rule that matched while another one's trip was open."""

    at: datetime
    match: Match


class Trip(NamedTuple):
    """A trip as it would have been."""

    at: datetime
    match: Match
    trip_id: str
    event: Event  # that brought it about
    joined: tuple[Joined, ...]
    resolution: Event | None

    @property
    def rule(self) -> Rule:
        return self.match.rule


class Played(NamedTuple):
    """All that would have happened."""

    trips: tuple[Trip, ...]
    observed: tuple[Joined, ...]  # the first match of each rule that only watches
    silenced: tuple[Silenced, ...]
    end: Callable[[], Verdict]

    @property
    def last(self) -> Verdict:
        """How things stand after the last event; found out for those who want to know."""
        return self.end()


def play(rules: RuleSet, board: Mapping[str, Any], events: Sequence[Event]) -> Played:
    """Put the events on a blackboard, one after the other in the order of time, and judge after each."""
    return _Playback(rules, board, sorted(events, key=lambda event: event.at)).run()


class _Playback:
    def __init__(self, rules: RuleSet, board: Mapping[str, Any], events: Sequence[Event]) -> None:
        self.rules = rules
        self.events = events
        self.breaker: Any = board.get("circuit_breaker")
        self.breakers = [(0, self.breaker)]  # what it was from which event on
        self.base = board
        self.memo: dict[Any, Any] = {}
        self.records = {
            name: [(i, event.fields) for i, event in enumerate(events) if event.kind == RECORD and event.stream == name]
            for name in ("anomalies", "log")
        }
        self.sets = [(i, event.fields) for i, event in enumerate(events) if event.kind == SET]
        written = [board.get("silences"), *(fields.get("silences") for _, fields in self.sets)]
        self.silences = [each for section in written for each in entries(section) if each.silence is not None]
        # Where what rules see can become less: counting begins anew behind each.
        breaks = {i for i, _ in self.sets} | set(self._ends_of_silences())
        self.breaks = sorted(breaks | {0, len(events)})

    def _ends_of_silences(self) -> Iterator[int]:
        for entry in self.silences:
            for moment in (entry.silence.created, entry.silence.until) if entry.silence else ():
                yield bisect_left(self.events, moment, key=lambda event: event.at)

    # --- the blackboard at a moment ---------------------------------------------------------------------------------

    def snapshot(self, index: int) -> Snapshot:
        """As it is after an event."""
        current = dict(self.base)
        for i, fields in self.sets:
            current |= fields if i <= index else {}
        before = {
            name: [fields for _, fields in found[: bisect_left(found, index + 1, key=lambda pair: pair[0])]]
            for name, found in self.records.items()
        }
        current["anomalies"] = [*(current.get("anomalies") or ()), *before["anomalies"]]
        current["circuit_breaker"] = self.breaker
        return Snapshot(b"", {}, current, (), before["log"])

    def judge(self, index: int, *only: Compiled) -> Verdict:
        rules = self.rules._replace(rules=only, disabled=()) if only else self.rules
        return evaluate(rules, self.snapshot(index), self.events[index].at, self.memo)

    def matches(self, index: int, *rules: Compiled) -> set[str]:
        """The rules among these that match after an event."""
        found = self.judge(index, *rules)
        return {match.rule.name for match in (*found.matches, *found.observed)}

    # --- the first moment -------------------------------------------------------------------------------------------

    def firsts(self, rules: Sequence[Compiled], start: int) -> dict[str, int]:
        """The first event from `start` on after which each rule matches; a rule that never does is not in it."""
        found: dict[str, int] = {}
        growing = [each for each in rules if self._only_grows(each)]
        for low, high in self._stretches(start, len(self.events)):
            left = [each for each in growing if each.rule.name not in found]
            reached = self.matches(high - 1, *left) if left else set()
            found |= {each.rule.name: self._halved(each, low, high) for each in left if each.rule.name in reached}
        for each in rules:
            if each not in growing:
                candidates = self._telling(each, start, len(self.events))
                index = next((index for index in candidates if self.matches(index, each)), None)
                found |= {each.rule.name: index} if index is not None else {}
        return found

    def _halved(self, rule: Compiled, low: int, high: int) -> int:
        """Where in [low, high) a rule begins to match that matches at its end."""
        return low + bisect_left(range(low, high - 1), True, key=lambda index: bool(self.matches(index, rule)))

    def _only_grows(self, rule: Compiled) -> bool:
        """Whether what a rule has reached it does not lose again by what comes later."""
        return (rule.rule.window or self.rules.window) in ("current_sprint", "all") and _only_counts(rule.condition)

    def _stretches(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        marks = [start, *(mark for mark in self.breaks if start < mark < end), end]
        yield from ((low, high) for low, high in pairwise(marks) if low < high)

    def _telling(self, rule: Compiled, start: int, end: int) -> Iterator[int]:
        """The events that can bring a match about; where a rule asks for few or for none, that is any."""
        counts = _only_counts(rule.condition)
        world = World({}, {}, self.events[start].at) if start < end else None
        for index in range(start, end):
            event = self.events[index]
            if counts and world is not None and event.kind == RECORD and index > start and index not in self.breaks:
                record = Record(event.stream, event.key, event.fields)
                if not any(_is_counted(record, each, world) for each in rule.condition.aggregates):
                    continue
            yield index

    # --- what happens -----------------------------------------------------------------------------------------------

    def run(self) -> Played:
        trips: list[Trip] = []
        acting = [each for each in self.rules.rules if each.rule.mode == "act" and each.rule.action == "CHECKPOINT"]
        start: int | None = 0
        while start is not None and start < len(self.events):
            moments = self.firsts(acting, start)
            if not moments:
                break
            trip, start = self._trip(min(moments.values()), moments, acting)
            trips.append(trip)
            self.breakers.append((len(self.events) if start is None else start, self.breaker))
        observing = [each for each in self.rules.rules if each not in acting]
        return Played(tuple(trips), tuple(self._observed(observing)), tuple(self._silenced()), cache(self._end))

    def _trip(self, index: int, moments: Mapping[str, int], acting: Sequence[Compiled]) -> tuple[Trip, int | None]:
        """The trip at an event, until it is resolved; and the event from which on things can go wrong again."""
        event = self.events[index]
        verdict = self.judge(index, *(each for each in acting if moments.get(each.rule.name) == index))
        match = verdict.matches[0]
        name = match.rule.name
        identity = trip_id(name, match.new, match.threshold, earlier_trips(name, self.breaker))
        trigger: dict[str, Any] = {
            "timestamp": format_time(event.at),
            "pattern": name,
            "severity": match.rule.severity,
            "trip_id": identity,
        }
        closed = next(
            (i for i in range(index + 1, len(self.events)) if self.events[i].kind == RESOLVE), len(self.events)
        )
        matching = [each for each in acting if moments.get(each.rule.name, closed) < closed]
        joined = []
        for each in matching:
            if each.rule.name != name:
                at = moments[each.rule.name]
                joined.append(Joined(self.events[at].at, self.judge(at, each).matches[0]))
        joined.sort(key=lambda each: each.at)
        if closed == len(self.events):
            self.breaker = sections.tripped(self.breaker, trigger, evidence_of(verdict), event.at)
            return Trip(event.at, match, identity, event, tuple(joined), None), None
        resolution = self.events[closed]
        until = self.judge(closed, *matching)
        others = [each.match.rule.name for each in joined]
        trigger |= {"also_matched": others} if others else {}
        evidence = {**evidence_of(verdict), **evidence_of(until)}
        section = sections.tripped(self.breaker, trigger, evidence, event.at)
        self.breaker = sections.resolved(section, resolution.text, resolution.by, resolution.at)
        return Trip(event.at, match, identity, event, tuple(joined), resolution), closed

    def _observed(self, observing: Sequence[Compiled]) -> Iterator[Joined]:
        moments = self.firsts(observing, 0) if observing else {}
        for each in observing:
            if each.rule.name in moments:
                index = moments[each.rule.name]
                yield Joined(self.events[index].at, self.judge(index, each).observed[0])

    def _silenced(self) -> Iterator[Silenced]:
        """What each silence kept from tripping, as it was when the silence ended."""
        now = self.breaker
        for entry in self.silences:
            assert entry.silence is not None
            last = bisect_left(self.events, entry.silence.until, key=lambda event: event.at) - 1
            if last >= 0 and entry.in_force(self.events[last].at):
                self.breaker = [breaker for start, breaker in self.breakers if start <= last][-1]
                found = self.judge(last).silenced
                yield from (each for each in found if each.silence == entry.silence)
        self.breaker = now

    def _end(self) -> Verdict:
        if self.events:
            return self.judge(len(self.events) - 1)
        return evaluate(self.rules, Snapshot(b"", {}, self.base, ()), datetime.max.replace(tzinfo=UTC))


def _only_counts(condition: Condition) -> bool:
    """Whether more records can only ever bring the condition nearer: counts that are to reach a number."""
    return all(
        comparison.operator in (">=", ">")
        and all(
            isinstance(term, Aggregate)
            and term.kind == "count"
            and (term.distinct is None or term.distinct.operator in (">=", ">"))
            and term.stream in ("anomalies", "log")
            and not any(each.age for each in (*term.where, *term.filters))
            for term in comparison.terms
        )
        for comparison in condition.comparisons
    ) and not _has_not(condition.tree)


def _has_not(node: Any) -> bool:
    return isinstance(node, Not) or any(map(_has_not, getattr(node, "parts", ())))


def _is_counted(record: Record, aggregate: Any, world: World) -> bool:
    return (
        isinstance(aggregate, Aggregate)
        and aggregate.stream == record.stream
        and all(passes(record, each, world) for each in (*aggregate.where, *aggregate.filters))
    )
