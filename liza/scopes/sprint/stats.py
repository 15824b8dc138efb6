"""What became of the trips in the breaker's history: false alarms, time to the decision, what tripped again."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any, NamedTuple

from liza.model import parse_time
from liza.rules.acknowledged import is_trip
from liza.schema.severities import FALSE_ALARM
from liza.scopes.history import section as sections


class Again(NamedTuple):
    """A rule that tripped again after a decision on it."""

    rule: str
    trip_id: str | None
    timestamp: str
    after: timedelta  # since that decision
    resolution: str
    resolved_by: str


class RuleStats(NamedTuple):
    """The trips of one rule."""

    rule: str
    trips: int
    also_matched: int  # trips of other rules in which this one matched too
    open: int
    causes: Mapping[str, int]  # as people named them with --cause
    decisions: Sequence[timedelta]  # from the trip to the decision
    again: Sequence[Again]

    @property
    def false_alarms(self) -> int:
        return self.causes.get(FALSE_ALARM, 0)

    @property
    def median(self) -> timedelta | None:
        return timedelta(seconds=median(each.total_seconds() for each in self.decisions)) if self.decisions else None

    @property
    def longest(self) -> timedelta | None:
        return max(self.decisions, default=None)


def stats_of(section: Any, now: datetime) -> list[RuleStats]:
    """The statistics of every rule in the history of a `circuit_breaker` section; most trips first."""
    history = sections.history_of(sections.reconcile(section, now).section)
    trips = [entry for entry in history if is_trip(entry)]
    names = dict.fromkeys(name for entry in trips for name in _rules(entry))
    found = [_of_rule(name, trips) for name in names]
    return sorted(found, key=lambda each: (-each.trips, -each.also_matched, each.rule))


def _rules(entry: Mapping[str, Any]) -> list[str]:
    return [str(entry.get("pattern")), *sections.also_matched(entry)]


def _of_rule(name: str, trips: Sequence[Mapping[str, Any]]) -> RuleStats:
    own = [entry for entry in trips if entry.get("pattern") == name]
    spans = [_between(entry.get("timestamp"), entry.get("resolved_at")) for entry in own]
    return RuleStats(
        name,
        trips=len(own),
        also_matched=sum(name in sections.also_matched(entry) for entry in trips),
        open=sum(entry.get("resolved_at") is None for entry in own),
        causes=Counter(str(entry["cause"]) for entry in own if entry.get("cause") is not None),
        decisions=[span for span in spans if span is not None],
        again=_again(name, [entry for entry in trips if name in _rules(entry)]),
    )


def _again(name: str, trips: Sequence[Mapping[str, Any]]) -> list[Again]:
    """Each trip of a rule that came after a decision on it, with the last such decision."""
    found = []
    for place, entry in enumerate(trips):
        earlier = [
            (span, other)
            for other in trips[:place]
            if (span := _between(other.get("resolved_at"), entry.get("timestamp"))) is not None
        ]
        if earlier:
            span, other = min(earlier, key=lambda pair: pair[0])
            texts = (str(other.get("resolution") or ""), sections.whose(other))
            trip = entry.get("trip_id")
            found.append(Again(name, str(trip) if trip else None, str(entry.get("timestamp")), span, *texts))
    return found


def _between(start: Any, end: Any) -> timedelta | None:
    """None where either is no time, or they are in the wrong order."""
    first, last = parse_time(start), parse_time(end)
    return last - first if first is not None and last is not None and last >= first else None
