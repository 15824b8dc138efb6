"""Why a rule matches or not: its groups, the records that do not count, and the near misses."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple

from liza.model import Record, Snapshot, Verdict
from liza.rules.acknowledged import read_acknowledged
from liza.rules.compare import Comparison, near
from liza.rules.conditions import Outcome
from liza.rules.evaluate import Compiled, RuleSet, evaluate
from liza.rules.fields import Context, lookup, passes, values
from liza.rules.syntax_tree import Aggregate, Field, Filter
from liza.rules.windows import Window, stream_records
from liza.text import text_of, value_text


class Group(NamedTuple):
    outcome: Outcome
    texts: tuple[tuple[str, int], ...]  # what its records say, each with how often, the commonest first


class Cause(Enum):
    """Why a record does not count."""

    OTHER_TYPE = auto()
    FILTERED = auto()
    NO_FIELD = auto()
    BEFORE_WINDOW = auto()
    ACKNOWLEDGED = auto()
    TOO_FEW_VALUES = auto()
    TOO_FAR_APART = auto()
    STREAK_ENDED = auto()


class Uncounted(NamedTuple):
    """A record that the rule does not count, and why."""

    record: Record
    cause: Cause
    why: str


class Explanation(NamedTuple):
    """All there is to know about a rule and a blackboard."""

    compiled: Compiled
    window: str
    since: datetime | None
    groups: tuple[Group, ...]
    uncounted: tuple[Uncounted, ...]
    verdict: Verdict
    find_near: Callable[[], tuple[Comparison, ...]]  # takes a while, so it is only computed on request

    @property
    def near(self) -> tuple[Comparison, ...]:
        """Texts that are in different groups and nearly were not."""
        return self.find_near()


def explain(rules: RuleSet, name: str, snapshot: Snapshot, now: datetime) -> Explanation:
    """What a rule sees of a blackboard, and what it does not."""
    compiled = next(each for each in rules.rules if each.rule.name == name)
    only = rules._replace(rules=(compiled,), disabled=(), alarms=())
    streams = {each: stream_records(snapshot, each) for each in only.streams or {"anomalies"}}
    text = compiled.rule.window or rules.window
    window = Window(text, snapshot, now, streams, rules.exact)
    history = read_acknowledged(snapshot.sections.get("circuit_breaker"), now)
    fresh: Mapping[str, Sequence[Record]] = window.streams
    if compiled.rule.rearm == "fresh":
        fresh = {each: history.fresh(name, records) for each, records in window.streams.items()}
    context = Context(fresh, snapshot.sections, now, rules.exact, window.context)
    verdict = evaluate(only, snapshot, now)
    matching = {
        (match.key, _places(match.evidence))
        for match in (*verdict.matches, *verdict.observed, *(each.match for each in verdict.silenced))
    }
    outcomes = [
        each._replace(satisfied=each.satisfied and (each.key, _places(each.evidence)) in matching)
        for each in compiled.condition.outcomes(context)
    ]
    grouped = bool(compiled.condition.grouped)
    groups = tuple(
        Group(each, tuple(sorted(each.text_counts.items(), key=lambda pair: (-pair[1], pair[0]))))
        for each in outcomes
        if each.evidence or each.satisfied or not grouped
    )
    counted = {(record.stream, record.key) for group in groups for record in group.outcome.evidence}
    return Explanation(
        compiled,
        text,
        window.start,
        groups,
        tuple(_uncounted(compiled, streams, window.streams, context, counted)),
        verdict,
        cache(lambda: () if rules.exact else tuple(_near(compiled, groups))),
    )


def _places(records: Sequence[Record]) -> tuple[tuple[str, int | str], ...]:
    return tuple((record.stream, record.key) for record in records)


# --- records that do not count --------------------------------------------------------------------------------------


def _uncounted(
    compiled: Compiled,
    streams: Mapping[str, Sequence[Record]],
    recent: Mapping[str, Sequence[Record]],
    context: Context,
    counted: set[tuple[str, int | str]],
) -> Iterator[Uncounted]:
    aggregates = [each for each in compiled.condition.aggregates if isinstance(each, Aggregate)]
    for name in dict.fromkeys(each.stream for each in aggregates):
        mine = [each for each in aggregates if each.stream == name]
        in_window = {record.key for record in recent[name]}
        still = {record.key for record in context.streams[name]}
        for record in streams[name]:
            if (record.stream, record.key) in counted:
                continue
            failing = min((_why_not(record, each, context) for each in mine), key=lambda found: found[0])[1]
            if failing is not None:
                yield failing
            elif record.key not in in_window:
                yield Uncounted(record, Cause.BEFORE_WINDOW, "before the window")
            elif record.key not in still:
                yield Uncounted(record, Cause.ACKNOWLEDGED, "acknowledged by a resolution")
            else:
                yield Uncounted(record, *_why_not_its_group(mine))


def _why_not(record: Record, aggregate: Aggregate, context: Context) -> tuple[int, Uncounted | None]:
    """How many of a count's conditions a record does not satisfy, and the first of them."""
    failing = [each for each in (*aggregate.where, *aggregate.filters) if not passes(record, each, context)]
    if failing:
        return len(failing) + 1, _failing(record, failing[0])
    wanted = aggregate.grouping.field if aggregate.grouping else None
    absent = [each for each in aggregate.per if not values(lookup(record, each))]
    if wanted is not None and not any(text.strip() for text in context.texts([record], wanted)[0]):
        absent.insert(0, wanted)
    if aggregate.summed is not None and context.number(record, aggregate.summed) is None:
        value = lookup(record, aggregate.summed)
        if value is not None:
            why = f"{aggregate.summed}: expected a number, got {value_text(value, 30)}"
            return 1, Uncounted(record, Cause.FILTERED, why)
        absent.append(aggregate.summed)
    return (1, _without(record, absent[0])) if absent else (0, None)


def _why_not_its_group(aggregates: Sequence[Aggregate]) -> tuple[Cause, str]:
    for each in aggregates:
        if each.distinct is not None:
            return Cause.TOO_FEW_VALUES, f"its group has too few different values of {each.distinct.field}"
        if each.within is not None:
            return Cause.TOO_FAR_APART, "too far from the others in time"
    return Cause.STREAK_ENDED, "a later record ended the streak"


def _failing(record: Record, wanted: Filter) -> Uncounted:
    value = lookup(record, wanted.field)
    if value is None:
        return _without(record, wanted.field)
    why = f"{wanted.field} is {value_text(value, 30)}"
    if wanted.age:
        is_too_new = wanted.operator in (">", ">=") and isinstance(value, str) and value[:1].isdigit()
        why += ": more recent than the rule asks" if is_too_new else ": older than the rule asks, or not a time"
    return Uncounted(record, Cause.OTHER_TYPE if str(wanted.field) == "type" else Cause.FILTERED, why)


def _without(record: Record, wanted: Field) -> Uncounted:
    return Uncounted(record, Cause.NO_FIELD, f"no field {str(wanted).replace('|', ' or ')}")


def _near(compiled: Compiled, groups: Sequence[Group]) -> Iterator[Comparison]:
    grouping = next((each.grouping for each in compiled.condition.grouped if each.grouping is not None), None)
    if grouping is not None and grouping.similarity is not None:
        yield from near([[text for text, _ in each.texts] for each in groups], grouping)


def details(record: Record, fields: Sequence[Any]) -> str:
    """The values of a record in the fields that a rule groups by."""
    return ", ".join(text_of(value) for each in fields for value in values(lookup(record, each)))
