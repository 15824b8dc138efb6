"""The naive playback: every rule is evaluated after every event, and nothing is skipped.

The breaker's section is updated here step by step, with the breaker's own functions.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from liza.model import Match, Silenced, Snapshot, Verdict, format_time
from liza.replay.playback import RECORD, RESOLVE, SET, Event, Joined, Played
from liza.rules.acknowledged import has_new_evidence
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.fingerprints import merge_evidence
from liza.scopes.history import section as sections
from liza.scopes.history.new_evidence import evidence_of, new_records, trip_id_of


class Result(NamedTuple):
    """A playback as values that can be compared and read."""

    trips: list[Any]
    observed: dict[str, Any]
    silenced: list[Any]


class _Open(NamedTuple):
    """A trip that waits for a resolution."""

    event: Event
    match: Match
    trip_id: str
    joined: dict[str, Joined]


def result_of(played: Played) -> Result:
    """The result of `play`."""
    trips = [_trip(each.event, each.match, each.trip_id, each.joined, each.resolution) for each in played.trips]
    observed = {each.match.rule.name: (each.at, _match(each.match)) for each in played.observed}
    assert len(observed) == len(played.observed), "a rule was observed twice"
    return Result(trips, observed, _silenced(played.silenced))


def naive(rules: RuleSet, board: Mapping[str, Any], events: Sequence[Event]) -> Result:
    """The same, found by evaluating after every event."""
    sections_now = dict(board)
    records: dict[str, list[Any]] = {"anomalies": [], "log": []}
    breaker = board.get("circuit_breaker")
    trips: list[Any] = []
    observed: dict[str, Joined] = {}
    verdicts: list[Verdict] = []
    active: _Open | None = None
    for event in sorted(events, key=lambda each: each.at):
        if event.kind == RECORD:
            records[event.stream].append(event.fields)
        elif event.kind == SET:
            sections_now |= event.fields
        elif event.kind == RESOLVE and active is not None:
            breaker = sections.resolved(breaker, event.text, event.by, event.at)
            trips.append(_trip(*active[:3], tuple(active.joined.values()), event))
            active = None
        listed = [*(sections_now.get("anomalies") or ()), *records["anomalies"]]
        whole = {**sections_now, "anomalies": listed, "circuit_breaker": breaker}
        verdict = evaluate(rules, Snapshot(b"", {}, whole, (), records["log"]), event.at)
        verdicts.append(verdict)
        for match in verdict.observed:
            observed.setdefault(match.rule.name, Joined(event.at, match))
        if active is None and verdict.matches:
            active, breaker = _tripped(verdict, breaker, event)
        elif active is not None:
            for match in verdict.matches:
                if match.rule.name != active.match.rule.name:
                    active.joined.setdefault(match.rule.name, Joined(event.at, match))
            breaker = _looked_at(verdict, breaker)
    if active is not None:
        trips.append(_trip(*active[:3], tuple(active.joined.values()), None))
    return Result(
        trips,
        {name: (each.at, _match(each.match)) for name, each in observed.items()},
        _silenced(_at_their_ends(verdicts)),
    )


def _tripped(verdict: Verdict, breaker: Any, event: Event) -> tuple[_Open, Any]:
    match = verdict.matches[0]
    name = match.rule.name
    identity = trip_id_of(match, breaker)
    others: dict[str, Joined] = {}
    for other in verdict.matches:
        if other.rule.name != name:
            others.setdefault(other.rule.name, Joined(event.at, other))
    trigger = {
        "timestamp": format_time(event.at),
        "pattern": name,
        "severity": match.rule.severity,
        "trip_id": identity,
        "also_matched": list(others),
    }
    section = sections.tripped(breaker, trigger, evidence_of(verdict.matches), event.at)
    return _Open(event, match, identity, others), section


def _looked_at(verdict: Verdict, breaker: Any) -> Any:
    """A check that finds the breaker open adds the evidence that the trip did not have."""
    trigger = sections.open_trigger(breaker)
    assert trigger is not None
    place = sections.entry_of(breaker, trigger)
    assert place is not None
    known = sections.history_of(breaker)[place]["evidence"]
    found = evidence_of(verdict.matches)
    more = {
        name: merge_evidence(known.get(name, ""), found[name])
        for name, behind in new_records(verdict.matches).items()
        if has_new_evidence({"evidence": known}, name, behind)
    }
    if not more:
        return sections.looked_at(breaker, verdict.checked_at)
    names = dict.fromkeys([*sections.also_matched(trigger), *more])
    names.pop(str(trigger["pattern"]), None)
    trigger = {**trigger, "also_matched": list(names)}
    return sections.tripped(breaker, trigger, {**known, **more}, verdict.checked_at)


def _at_their_ends(verdicts: Sequence[Verdict]) -> list[Silenced]:
    """The matches that each silence still held back at the last event before it ended."""
    last: dict[Any, list[Silenced]] = {}
    for number, verdict in enumerate(verdicts):
        for each in verdict.silenced:
            silence = each.silence
            later = [other for other in verdicts[number + 1 :] if other.checked_at < silence.until]
            if not later:
                last.setdefault(repr(silence), []).append(each)
    return [each for found in last.values() for each in found]


def _trip(
    event: Event, match: Match, identity: str, joined: Sequence[Joined], resolution: Event | None
) -> dict[str, Any]:
    return {
        "at": event.at,
        "event": event,
        "match": _match(match),
        "trip_id": identity,
        "joined": {each.match.rule.name: (each.at, _match(each.match)) for each in joined},
        "resolution": resolution,
    }


def _match(match: Match) -> tuple[Any, ...]:
    behind = [(record.stream, record.key) for record in match.evidence]
    return match.rule.name, match.value, match.threshold, match.key, behind, [record.key for record in match.new]


def _silenced(found: Sequence[Silenced]) -> list[Any]:
    return sorted((each.silence.id, _match(each.match)) for each in found)
