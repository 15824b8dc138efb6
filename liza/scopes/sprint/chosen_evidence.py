"""The evidence of a trip by hand: the pattern and the records that a person chose, whatever the rule counts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import WrongUsage
from liza.model import Match, Record, Rule, Snapshot
from liza.rules.conditions import BadRule, Condition
from liza.rules.evaluate import Compiled, RuleSet, evaluate
from liza.rules.fields import Context
from liza.rules.fingerprints import fingerprint, parse_evidence
from liza.rules.syntax_tree import Aggregate, BadCondition
from liza.rules.windows import stream_records
from liza.scopes.history import section as sections
from liza.scopes.rules_file import find_rule
from liza.scopes.sprint.manual_status import matches_of

_PLACE = re.compile(r"(?:(\w+)\[)?(\d+)\]?")
_HINT = "like 'anomalies[3]' or 'type=retry_loop, error_pattern =~ \"timeout\"'; see: liza rules explain RULE --missed"


class Choice(NamedTuple):
    """What a person chose with `liza trip`."""

    pattern: str | None = None
    selectors: Sequence[str] = ()  # a place like anomalies[3], or the filters of a count
    severity: str | None = None
    by: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether no rule and no record was chosen."""
        return self.pattern is None and not self.selectors


def chosen_matches(choice: Choice, snapshot: Snapshot, rules: RuleSet, now: datetime) -> tuple[Match, ...]:
    """The match that a person sees; without selectors, what the rule counts so far, be it too little."""
    compiled = find_rule(rules, choice.pattern, rules.all) if choice.pattern is not None else None
    if choice.selectors:
        records = [each for selector in choice.selectors for each in _selected(selector, snapshot, now, rules.exact)]
        return (_match(compiled, {(each.stream, each.key): each for each in records}.values()),)
    if compiled is None:
        return ()
    only = rules._replace(rules=(compiled,), disabled=(), alarms=())
    return matches_of(compiled.rule.name, evaluate(only, snapshot, now), only)


def recorded_matches(evidence: Mapping[str, Any], snapshot: Snapshot, rules: RuleSet) -> list[Match]:
    """The records on the blackboard that are the evidence of an open trip, for each of these rules."""
    found = []
    known = {each.rule.name: each for each in rules.all}
    for name, text in evidence.items():
        compiled = known.get(name)
        streams = compiled.condition.streams if compiled is not None else {"anomalies"}
        prints = set(parse_evidence(str(text)).prints)
        listed = (record for stream in sorted(streams) for record in stream_records(snapshot, stream))
        records = [record for record in listed if fingerprint(record) in prints] if prints else []
        if records and (compiled is not None or name == sections.MANUAL):
            found.append(_match(compiled, records))
    return found


def _match(compiled: Compiled | None, evidence: Iterable[Record]) -> Match:
    records = tuple(evidence)
    if compiled is None:
        rule = Rule(sections.MANUAL, "", description="records chosen by a person")
        return Match(rule, len(records), 1, None, (), records, records)
    fields = tuple(map(str, compiled.condition.fields))
    return Match(compiled.rule, len(records), compiled.condition.threshold, None, fields, records, records)


def _selected(selector: str, snapshot: Snapshot, now: datetime, exact: bool) -> Sequence[Record]:
    place = _PLACE.fullmatch(selector.strip())
    if place is not None:
        records = stream_records(snapshot, place[1] or "anomalies")
        found: Sequence[Record] = [record for record in records if str(record.key) == str(int(place[2]))]
    else:
        aggregate = _filters(selector)
        streams = {aggregate.stream: stream_records(snapshot, aggregate.stream)}
        found = Context(streams, snapshot.sections, now, exact).select(aggregate)
    if not found:
        raise WrongUsage(f"--evidence {selector}: no such record on the blackboard", hint=_HINT)
    return found


def _filters(selector: str) -> Aggregate:
    """What a count of the records would be, in the language of the rules."""
    from liza.rules.language import parse

    if not selector.strip():
        raise WrongUsage("--evidence is empty", hint=_HINT)
    try:
        condition = Condition(parse(f"count({selector}) >= 1"), {})
    except (BadCondition, BadRule) as error:
        raise WrongUsage(f"--evidence {selector}: {error}", hint=_HINT) from None
    aggregates = condition.aggregates
    if len(aggregates) != 1 or not isinstance(aggregates[0], Aggregate) or condition.grouped:
        raise WrongUsage(f"--evidence {selector}: expected filters only", hint=_HINT)
    return aggregates[0]
