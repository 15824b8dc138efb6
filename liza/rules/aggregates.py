"""The number that a count, streak, share or sum comes to, for each group of records, with the records behind it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from math import fsum, inf
from typing import TYPE_CHECKING, Any

from liza.model import Record
from liza.rules.fields import LARGEST, OPERATORS, Context, lookup, passes, values
from liza.rules.syntax_tree import Aggregate, Distinct, Field, Grouping, Metric, is_number
from liza.text import text_of

if TYPE_CHECKING:
    from liza.rules.conditions import Condition

Key = tuple[Any, ...]
NO_GROUP: Key = ("no group",)


class Counts:
    """The numbers of one aggregate by group, with the records behind each."""

    def __init__(self, grouped: bool, is_number: bool = False) -> None:
        self.grouped = grouped
        self.is_number = is_number  # which is acknowledged at its value, whatever records it is made of
        self.found: dict[Key, tuple[float | None, Sequence[Record]]] = {}
        self.labels: dict[Key, str] = {}
        self.texts: dict[Key, Sequence[str]] = {}

    def value(self, key: Key) -> float | None:
        if self.grouped and key == NO_GROUP:
            return None
        return self.found.get(key if self.grouped else (), (0.0, ()))[0]

    def evidence(self, key: Key) -> Sequence[Record]:
        return self.found.get(key if self.grouped else (), (0.0, ()))[1]


def count(aggregate: Aggregate | Metric, context: Context, condition: "Condition") -> Counts:
    if isinstance(aggregate, Metric):
        counts = Counts(False, is_number=True)
        counts.found[()] = (_metric(aggregate, context.sections), ())
        return counts
    counts = Counts(aggregate.grouped, is_number(aggregate))
    if aggregate.kind == "sum":
        context = context.whole
    groups: Groups = {(): ("", context.select(aggregate), ())}
    if aggregate.grouped:
        groups = _partition(aggregate, context, condition)
    for key, (label, records, texts) in groups.items():
        counts.labels[key] = label
        counts.texts[key] = texts
        counts.found[key] = _measure(aggregate, records, context, condition)
    return counts


def _metric(metric: Metric, sections: Mapping[str, Any]) -> float | None:
    value: Any = sections
    for step in metric.path:
        value = value.get(step) if isinstance(value, Mapping) else None
    is_usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
    return float(value) if is_usable else None  # also without NaN


def _measure(
    aggregate: Aggregate, records: Sequence[Record], context: Context, condition: "Condition"
) -> tuple[float, Sequence[Record]]:
    """The number for one group, and the records behind it."""
    found = list(records)
    if aggregate.kind == "streak":
        start = len(records)
        while start > 0 and all(passes(records[start - 1], each, context) for each in aggregate.filters):
            start -= 1
        found = found[start:]
    elif aggregate.kind == "share":
        for each in aggregate.filters:
            found = [record for record in found if passes(record, each, context)]
    elif aggregate.summed is not None:
        return _sum(aggregate.summed, aggregate, found, context, condition)
    if aggregate.within is not None:
        found = _densest(found, aggregate.within)
    if aggregate.distinct is not None and not _distinct_enough(found, aggregate.distinct, condition):
        return 0.0, ()
    if aggregate.kind == "share":
        return (len(found) / len(records) if records else 0.0), found
    return float(len(found)), found


def _distinct_enough(records: Sequence[Record], distinct: Distinct, condition: "Condition") -> bool:
    found = {text_of(value) for record in records for value in values(lookup(record, distinct.field))}
    return OPERATORS[distinct.operator](len(found), condition.number(distinct.value))


def _sum(
    field: Field, aggregate: Aggregate, records: Sequence[Record], context: Context, condition: "Condition"
) -> tuple[float, Sequence[Record]]:
    """The sum of a field, and the records that have it."""
    numbers = {record.key: number for record in records if (number := context.number(record, field)) is not None}
    found = [record for record in records if record.key in numbers]
    if aggregate.within is not None:
        found = _densest(found, aggregate.within, numbers)
    if aggregate.distinct is not None and not _distinct_enough(found, aggregate.distinct, condition):
        return 0.0, ()
    return fsum(numbers[record.key] for record in found), found


def _densest(
    records: Sequence[Record], seconds: float, weights: Mapping[int | str, float] | None = None
) -> list[Record]:
    """The largest set of records within some span of that length, or the one with the largest sum of their weights.
    One without a usable time counts as in any span."""
    timed = sorted(((t.timestamp(), i) for i, r in enumerate(records) if (t := r.timestamp) is not None))
    best: tuple[int, int] = (0, 0)
    start, weight, most = 0, 0.0, -inf
    of = [1.0 if weights is None else weights[records[index].key] for _, index in timed]
    for end in range(len(timed)):
        weight += of[end]
        while timed[end][0] - timed[start][0] > seconds:
            weight -= of[start]
            start += 1
        if weight > most:
            best, most = (start, end + 1), weight
    inside = {index for _, index in timed[best[0] : best[1]]}
    placed = {index for _, index in timed}
    return [record for index, record in enumerate(records) if index in inside or index not in placed]


# --- grouping -------------------------------------------------------------------------------------------------------

Grouped = list[tuple[Record, Mapping[Any, str]]]  # each record with its groups, and the text that put it there
Groups = dict[Key, tuple[str, Sequence[Record], Sequence[str]]]  # each with its label, its records and their texts


def _partition(aggregate: Aggregate, context: Context, condition: "Condition") -> Groups:
    """The groups of an aggregate, each with its label, its records and the texts that made it."""
    parts = context.partition(aggregate)
    if aggregate.grouping is None:
        return {(*per, ""): (" / ".join(per), records, [""] * len(records)) for per, records in parts.items()}
    grouped = {record.key: groups for record, groups in _grouped(aggregate, aggregate.grouping, context, condition)}
    found: Groups = {}
    for per, records in parts.items():
        members = [(record, grouped[record.key]) for record in records]
        for group, chosen, texts in (_streaks if aggregate.kind == "streak" else _groups)(members):
            found[(*per, group)] = (" / ".join([*per, _most_common(texts)]), chosen, texts)
    return found


def _most_common(texts: Iterable[str]) -> str:
    """The text that occurs most often; of several, the first alphabetically."""
    counted = Counter(texts)
    if len(counted) == 1:
        return next(iter(counted))
    return min(counted, key=lambda text: (-counted[text], text))


def _groups(members: Grouped) -> Iterator[tuple[Any, list[Record], list[str]]]:
    """Each group with its records and the texts that put them there."""
    found: dict[Any, tuple[list[Record], list[str]]] = {}
    for record, groups in members:
        for group, text in groups.items():
            chosen, texts = found.setdefault(group, ([], []))
            chosen.append(record)
            texts.append(text)
    for group, (chosen, texts) in found.items():
        yield group, chosen, texts


def _streaks(members: Grouped) -> Iterator[tuple[Any, list[Record], list[str]]]:
    """Only groups of the newest record can have a streak, which ends at the first record of another group."""
    for group in members[-1][1]:
        last = [record for record, _ in takewhile(lambda member: group in member[1], reversed(members))]  # noqa: B023
        yield group, last[::-1], [groups[group] for _, groups in members if group in groups]


def _grouped(aggregate: Aggregate, grouping: Grouping, context: Context, condition: "Condition") -> Grouped:
    """Each record with its groups: none if it lacks the field, several if the value is a list."""
    records = context.select(aggregate)
    written = [(record, context.texts(record, grouping.field)) for record in records]
    distinct = {text for _, found in written for text in found}
    if not distinct:
        return [(record, {}) for record in records]
    if len(distinct) == 1 and len(condition.grouped) == 1:  # nothing to compare
        return [(record, {text: text for text in found if text.strip()}) for record, found in written]
    from liza.rules.same import same_key  # here, because many checks have no text to compare

    numbers: Mapping[str, Any]
    if context.exact:
        numbers = {text: text for text in distinct}
    elif grouping.similarity is None:
        numbers = {text: same_key(text) for text in distinct}
    else:
        # Over the union of the records of all aggregates that share the grouping, so that each has the same groups.
        for other in condition.grouped:
            if other is not aggregate:
                distinct |= {text for r in context.select(other) for text in context.texts(r, grouping.field)}
        numbers = context.similar(grouping.field, grouping.similarity, distinct)
    return [(record, {numbers[text]: text for text in found if text.strip()}) for record, found in written]
