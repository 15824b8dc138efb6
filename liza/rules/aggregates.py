"""The number that a count, streak, share or sum comes to, for each group of records, with the records behind it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from math import fsum, inf
from typing import TYPE_CHECKING, Any

from liza.model import Record
from liza.rules.fields import LARGEST, Context, Texts, lookup, passes, values
from liza.rules.operators import OPERATORS
from liza.rules.syntax_tree import Aggregate, Distinct, Field, Grouping, Metric, is_number
from liza.text import text_of

if TYPE_CHECKING:
    from liza.rules.conditions import Condition

Key = tuple[Any, ...]
NO_GROUP: Key = ("no group",)


class Counts:
    """The numbers of one aggregate by group, with the records behind each."""

    def __init__(
        self, grouped: bool, groups: "Groups", numbers: Mapping[Key, float | None], is_number: bool = False
    ) -> None:
        self.grouped = grouped
        self.groups = groups
        self.numbers = numbers
        self.is_number = is_number  # which is acknowledged at its value, whatever records it is made of

    def value(self, key: Key) -> float | None:
        if self.grouped and key == NO_GROUP:
            return None
        return self.numbers.get(key if self.grouped else (), 0.0)

    def evidence(self, key: Key) -> Sequence[Record]:
        return self.groups.get(key if self.grouped else (), _NOTHING)[1]

    def texts(self, key: Key) -> Sequence[str]:
        return self.groups.get(key, _NOTHING)[2]

    def label(self, key: Key) -> str | None:
        """What a group is called; made on demand, since only few of a thousand groups are shown."""
        if key not in self.groups:
            return None
        per, _, texts = self.groups[key]
        common = _most_common(texts)
        return " / ".join((*per, common) if common else per)


def count(aggregate: Aggregate | Metric, context: Context, condition: "Condition") -> Counts:
    if isinstance(aggregate, Metric):
        return Counts(False, {(): _NOTHING}, {(): _metric(aggregate, context.sections)}, is_number=True)
    if aggregate.kind == "sum":
        context = context.whole
    groups: Groups = {}
    if aggregate.grouped:
        groups = _partition(aggregate, context, condition)
    else:
        groups[()] = ((), context.select(aggregate), ())
    if aggregate.kind == "count" and aggregate.within is None and aggregate.distinct is None:
        return Counts(aggregate.grouped, groups, {key: float(len(found)) for key, (_, found, _) in groups.items()})
    numbers: dict[Key, float | None] = {}
    for key, (per, records, texts) in groups.items():
        numbers[key], found = _measure(aggregate, records, context, condition)
        groups[key] = (per, found, texts)
    return Counts(aggregate.grouped, groups, numbers, is_number(aggregate))


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
    found = records
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

Group = tuple[tuple[str, ...], Sequence[Record], Sequence[str]]  # its values of `per`, its records and their texts
Groups = dict[Key, Group]
Numbers = Mapping[str, Any]  # the group of each text
_NOTHING: Group = ((), (), ())


def _partition(aggregate: Aggregate, context: Context, condition: "Condition") -> Groups:
    """The groups of an aggregate."""
    parts = context.partition(aggregate)
    if aggregate.grouping is None:
        return {(*per, ""): (per, records, [""] * len(records)) for per, records in parts.items()}
    grouping, selected = aggregate.grouping, context.select(aggregate)
    found: Groups = {}
    everything = context.texts(selected, grouping.field)
    numbers = _numbers(_distinct(everything), aggregate, grouping, context, condition)
    of = {record.key: value for record, value in zip(selected, everything, strict=True)} if aggregate.per else {}
    for per, records in parts.items():
        values = [of[record.key] for record in records] if aggregate.per else everything
        for group, chosen, texts in (_streaks if aggregate.kind == "streak" else _groups)(records, values, numbers):
            found[(*per, group)] = (per, chosen, texts)
    return found


def _most_common(texts: Sequence[str]) -> str:
    """The text that occurs most often; of several, the first alphabetically; "" if there is none."""
    if not texts or texts.count(texts[0]) == len(texts):
        return texts[0] if texts else ""
    counted = Counter(texts)
    return min(counted, key=lambda text: (-counted[text], text))


def _groups(
    records: Sequence[Record], values: Sequence[Texts], numbers: Numbers
) -> Iterator[tuple[Any, list[Record], list[str]]]:
    """Each group with its records and the texts that put them there."""
    found: dict[Any, tuple[list[Record], list[str]]] = {}
    for record, value in zip(records, values, strict=True):
        for group, text in ((numbers.get(value), value),) if type(value) is str else _several(value, numbers):
            if group is None:
                continue
            if group not in found:
                found[group] = ([record], [text])
                continue
            chosen, texts = found[group]
            chosen.append(record)
            texts.append(text)
    for group, (chosen, texts) in found.items():
        yield group, chosen, texts


def _streaks(
    records: Sequence[Record], values: Sequence[Texts], numbers: Numbers
) -> Iterator[tuple[Any, list[Record], list[str]]]:
    """Only groups of the newest record can have a streak, which ends at the first record of another group."""
    members = [dict(_several((value,) if isinstance(value, str) else value, numbers)) for value in values]
    for group in members[-1]:
        last = len(list(takewhile(lambda groups: group in groups, reversed(members))))  # noqa: B023
        yield group, list(records[-last:]), [groups[group] for groups in members if group in groups]


def _several(texts: Sequence[str], numbers: Numbers) -> Iterable[tuple[Any, str]]:
    """The groups of a record: none if it lacks the field, several if the value is a list."""
    return {numbers[text]: text for text in texts if text in numbers}.items()


def _numbers(
    distinct: set[str], aggregate: Aggregate, grouping: Grouping, context: Context, condition: "Condition"
) -> Numbers:
    """The group of each text; a blank one has none."""
    if context.exact or (len(distinct) <= 1 and len(condition.grouped) == 1):  # nothing to compare
        return {text: text for text in distinct if text.strip()}
    if grouping.similarity is None:
        from liza.rules.same import same_key  # here, because many checks have no text to compare

        return {text: same_key(text) for text in distinct if text.strip()}
    # Over the union of the records of all aggregates that share the grouping, so that each has the same groups.
    for other in condition.grouped:
        if other is not aggregate:
            distinct |= _distinct(context.texts(context.select(other), grouping.field))
    numbers = context.similar(grouping.field, grouping.similarity, distinct)
    return {text: number for text, number in numbers.items() if text.strip()}


def _distinct(values: Sequence[Texts]) -> set[str]:
    found = {value for value in values if isinstance(value, str)}
    return found.union(*(value for value in values if not isinstance(value, str)))
