"""Play back events: when would each rule have tripped, with a check after every record?

It calls `evaluate`, and the same functions as on a real blackboard update the breaker's section, so a playback shows
what would really happen. Most rules only count, and a count that was reached stays reached; for these a binary search
finds the moment, so that a long sprint takes seconds and not hours.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from liza.model import Match, Record, Rule, Silence, Silenced, Snapshot, Verdict, format_time
from liza.rules.evaluate import Compiled, RuleSet, evaluate
from liza.rules.fields import Context
from liza.rules.fingerprints import merge_evidence
from liza.rules.silences import read_silences
from liza.schema.actions import Action
from liza.scopes.engine import derived
from liza.scopes.history import section as sections
from liza.scopes.history.new_evidence import evidence_of, trip_id_of
from liza.scopes.sessions.step_window import step_records

RECORD, RESOLVE, SET, CHECK = "record", "resolve", "set", "check"


class Event(NamedTuple):
    at: datetime
    kind: str  # RECORD, RESOLVE, SET or CHECK
    stream: str = "anomalies"  # of a record
    fields: Mapping[str, Any] = {}  # of a record; for SET, the new content of sections
    text: str = ""  # of a resolution
    by: str = ""
    key: int | str = 0  # the place of a record on its blackboard


class Joined(NamedTuple):
    """A rule that matched while the trip of another was open."""

    at: datetime
    match: Match


class Trip(NamedTuple):
    at: datetime
    match: Match
    trip_id: str
    event: Event  # that caused it
    joined: tuple[Joined, ...]
    resolution: Event | None

    @property
    def rule(self) -> Rule:
        return self.match.rule


class Played(NamedTuple):
    trips: tuple[Trip, ...]
    observed: tuple[Joined, ...]  # the first match of each rule that only observes
    silenced: tuple[Silenced, ...]
    end: Callable[[], Verdict]

    @property
    def last(self) -> Verdict:
        """The verdict after the last event; computed on demand."""
        return self.end()


def play(rules: RuleSet, board: Mapping[str, Any], events: Sequence[Event]) -> Played:
    """Put the events on a blackboard in order of time, and evaluate after each."""
    return _Playback(rules, board, sorted(events, key=lambda event: event.at)).run()


class _Playback:
    def __init__(self, rules: RuleSet, board: Mapping[str, Any], events: Sequence[Event]) -> None:
        self.rules = rules
        self.events = events
        self.breaker: Any = board.get("circuit_breaker")
        self.breakers = [(0, self.breaker)]  # its value from each event on
        self.base = board
        self.memo: dict[Any, Any] = {}
        self.records = {
            name: [(i, e.fields, e.key) for i, e in enumerate(events) if e.kind == RECORD and e.stream == name]
            for name in ("anomalies", "log", "steps")
        }
        self.seen_steps: dict[int, tuple[Record, ...]] = {}  # by number of steps: every rule asks again
        self.sets = [(i, event.fields) for i, event in enumerate(events) if event.kind == SET]
        written = [board.get("silences"), *(fields.get("silences") for _, fields in self.sets)]
        self.silences: list[Silence] = []
        for entry in (each for section in written for each in read_silences(section)):
            if entry.silence is not None and entry.silence not in self.silences:
                self.silences.append(entry.silence)
        self.ordered = all(
            [key for _, _, key in found] == sorted(key for _, _, key in found) for found in self.records.values()
        )
        # Where records can disappear from the view of rules: counting starts over after each.
        breaks = {i for i, _ in self.sets} | set(self._ends_of_silences())
        self.breaks = sorted(breaks | {0, len(events)})

    def _ends_of_silences(self) -> Iterator[int]:
        for silence in self.silences:
            for moment in (silence.created, silence.until):
                yield bisect_left(self.events, moment, key=lambda event: event.at)

    # --- the blackboard at a moment ---------------------------------------------------------------------------------

    def snapshot(self, index: int) -> Snapshot:
        """The blackboard after an event."""
        current = dict(self.base)
        for i, fields in self.sets:
            current |= fields if i <= index else {}
        before = {name: self._seen(found, index) for name, found in self.records.items()}
        current["anomalies"] = [*(current.get("anomalies") or ()), *before["anomalies"]]
        current["circuit_breaker"] = self.breaker
        streams = derived(None, current, self.rules, {})
        if self.records["steps"]:
            number = len(before["steps"])
            if number not in self.seen_steps:
                self.seen_steps[number] = step_records(before["steps"])
            streams = {**streams, "steps": self.seen_steps[number]}
        return Snapshot(b"", {}, current, (), before["log"], streams)

    def _seen(self, found: Sequence[tuple[int, Any, int | str]], index: int) -> list[Any]:
        """The records written by then, in the order of the file."""
        seen = found[: bisect_left(found, index + 1, key=lambda each: each[0])]
        return [fields for _, fields, _ in (seen if self.ordered else sorted(seen, key=lambda each: each[2]))]

    def evaluate_at(self, index: int, *only: Compiled) -> Verdict:
        rules = self.rules._replace(rules=only, disabled=()) if only else self.rules
        return evaluate(rules, self.snapshot(index), self.events[index].at, self.memo)

    def matches(self, index: int, *rules: Compiled) -> set[str]:
        """The names of these rules that match after an event."""
        found = self.evaluate_at(index, *rules)
        return {match.rule.name for match in (*found.matches, *found.observed)}

    # --- the first moment -------------------------------------------------------------------------------------------

    def firsts(self, rules: Sequence[Compiled], start: int) -> dict[str, int]:
        """The first event from `start` on after which each rule matches; rules that never match are missing."""
        found: dict[str, int] = {}
        growing = [each for each in rules if self._only_grows(each)]
        for low, high in self._stretches(start, len(self.events)):
            left = [each for each in growing if each.rule.name not in found]
            reached = self.matches(high - 1, *left) if left else set()
            found |= {each.rule.name: self._search(each, low, high) for each in left if each.rule.name in reached}
        for each in rules:
            if each not in growing:
                index = self._first(each, start)
                found |= {each.rule.name: index} if index is not None else {}
        return found

    def _first(self, rule: Compiled, start: int) -> int | None:
        """The first event after which a rule matches that must be evaluated at each; its numbers may recover."""
        before = self.breaker
        try:
            for index in self._relevant(rule, start, len(self.events)):
                verdict = self.evaluate_at(index, rule)
                if verdict.matches or verdict.observed:
                    return index
                self._follow_numbers(verdict)
            return None
        finally:
            self.breaker = before

    def _follow_numbers(self, verdict: Verdict) -> None:
        """Update the acknowledged numbers, as a check without a match does."""
        if verdict.recovered:
            self.breaker = sections.follow_numbers(self.breaker, verdict.recovered, {})

    def _search(self, rule: Compiled, low: int, high: int) -> int:
        """The first event in [low, high) at which a rule matches that matches at the end."""
        return low + bisect_left(range(low, high - 1), True, key=lambda index: bool(self.matches(index, rule)))

    def _only_grows(self, rule: Compiled) -> bool:
        """Whether a rule that matches once also matches after all later events."""
        window = rule.rule.window or self.rules.window
        return window in ("current_sprint", "all") and self._only_counts(rule)

    def _only_counts(self, rule: Compiled) -> bool:
        """Whether a rule only counts; a silence can end a match, by a text that joins its group to a silenced one."""
        if "steps" in rule.condition.streams:  # a later step changes what an earlier one counts as
            return False
        return rule.condition.is_monotone and all(silence.rule != rule.rule.name for silence in self.silences)

    def _stretches(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        marks = [start, *(mark for mark in self.breaks if start < mark < end), end]
        yield from ((low, high) for low, high in pairwise(marks) if low < high)

    def _relevant(self, rule: Compiled, start: int, end: int) -> Iterator[int]:
        """The events that can cause a match; any event, for a rule that does not only count."""
        counts = self._only_counts(rule) and rule.rule.rearm == "fresh"
        context = Context({}, {}, self.events[start].at) if start < end else None
        for index in range(start, end):
            event = self.events[index]
            if counts and context is not None and event.kind == RECORD and index > start and index not in self.breaks:
                record = Record(event.stream, event.key, event.fields)
                if not rule.condition.counts(record, context):
                    continue
            yield index

    # --- trips ------------------------------------------------------------------------------------------------------

    def run(self) -> Played:
        trips: list[Trip] = []
        acting = [
            each for each in self.rules.rules if each.rule.mode == "act" and each.rule.action == Action.CHECKPOINT
        ]
        start: int | None = self._after_open_trip()
        while start is not None and start < len(self.events):
            moments = self.firsts(acting, start)
            if not moments:
                break
            first = min(moments.values())
            numbers = [each for each in acting if each.condition.has_numbers]
            for index in range(start, first) if numbers else ():
                self._follow_numbers(self.evaluate_at(index, *numbers))
            trip, start = self._trip(first, moments, acting)
            trips.append(trip)
            self.breakers.append((len(self.events) if start is None else start, self.breaker))
        observing = [each for each in self.rules.rules if each not in acting]
        return Played(tuple(trips), tuple(self._observed(observing)), tuple(self._silenced()), cache(self._end))

    def _after_open_trip(self) -> int | None:
        """The event that resolves a trip which was open from the beginning."""
        if sections.open_trigger(self.breaker) is None:
            return 0
        closed = next((i for i, event in enumerate(self.events) if event.kind == RESOLVE), None)
        if closed is not None:
            decision = self.events[closed]
            self.breaker = sections.resolved(self.breaker, decision.text, decision.by, decision.at)
            self.breakers.append((closed, self.breaker))
        return closed

    def _trip(self, index: int, moments: Mapping[str, int], acting: Sequence[Compiled]) -> tuple[Trip, int | None]:
        """The trip at an event, and the event that resolves it, after which rules can trip again."""
        event = self.events[index]
        verdict = self.evaluate_at(index, *(each for each in acting if moments.get(each.rule.name) == index))
        match = verdict.matches[0]
        name = match.rule.name
        identity = trip_id_of(match, self.breaker)
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
                joined += [Joined(self.events[at].at, found) for found in self.evaluate_at(at, each).matches[:1]]
        joined.sort(key=lambda each: each.at)
        if closed == len(self.events):
            self.breaker = sections.tripped(self.breaker, trigger, evidence_of(verdict.matches), event.at)
            return Trip(event.at, match, identity, event, tuple(joined), None), None
        resolution = self.events[closed]
        others = [each.match.rule.name for each in joined]
        trigger |= {"also_matched": others} if others else {}
        evidence = evidence_of(verdict.matches)
        for moment, rules in self._while_open(index, closed, matching):
            for rule, found in evidence_of(self.evaluate_at(moment, *rules).matches).items():
                evidence[rule] = merge_evidence(evidence.get(rule, ""), found)
        section = sections.tripped(self.breaker, trigger, evidence, event.at)
        self.breaker = sections.resolved(section, resolution.text, resolution.by, resolution.at)
        return Trip(event.at, match, identity, event, tuple(joined), resolution), closed

    def _while_open(
        self, index: int, closed: int, matching: Sequence[Compiled]
    ) -> Iterator[tuple[int, Sequence[Compiled]]]:
        """When to collect more evidence of an open trip: at its end, and after every event if it can disappear."""
        fleeting = [each for each in matching if not self._only_grows(each)]
        ends = {high - 1 for _, high in self._stretches(index + 1, closed)}
        for moment in range(index + 1, closed):
            if moment in ends:
                yield moment, matching
            elif fleeting:
                yield moment, fleeting

    def _observed(self, observing: Sequence[Compiled]) -> Iterator[Joined]:
        moments = self.firsts(observing, 0) if observing else {}
        for each in observing:
            if each.rule.name in moments:
                index = moments[each.rule.name]
                yield Joined(self.events[index].at, self.evaluate_at(index, each).observed[0])

    def _silenced(self) -> Iterator[Silenced]:
        """The matches that each silence hid when it ended."""
        now = self.breaker
        for silence in self.silences:
            last = bisect_left(self.events, silence.until, key=lambda event: event.at) - 1
            if last >= 0 and silence.in_force(self.events[last].at):
                self.breaker = [breaker for start, breaker in self.breakers if start <= last][-1]
                found = self.evaluate_at(last).silenced
                yield from (each for each in found if each.silence == silence)
        self.breaker = now

    def _end(self) -> Verdict:
        if self.events:
            return self.evaluate_at(len(self.events) - 1)
        return evaluate(self.rules, Snapshot(b"", {}, self.base, ()), datetime.max.replace(tzinfo=UTC))
