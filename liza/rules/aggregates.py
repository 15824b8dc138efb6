"""The number that a count, streak, share or sum comes to, for each group of records, with the records behind it."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import takewhile
from math import fsum, inf
from typing import TYPE_CHECKING, Any, NamedTuple

from liza.model import Record
from liza.rules.fields import LARGEST, Context, Texts, are_strings, lookup, passes, values
from liza.rules.operators import OPERATORS
from liza.rules.syntax_tree import Aggregate, Distinct, Field, Grouping, Metric, is_number
from liza.text import text_of

if TYPE_CHECKING:
    from liza.rules.conditions import Condition

Key = tuple[Any, ...]
NO_GROUP: Key = ("no group",)


class Groups(NamedTuple):
    """Records by group. An entry is a record and the text that put it into its group; a group is a list of places among
    the entries, because of a thousand groups only few are looked at more closely."""

    places: Mapping[Key, Sequence[int]]
    records: Sequence[Record]
    texts: Sequence[str]  # none where nothing is grouped

    def records_of(self, key: Key) -> list[Record]:
        return [self.records[place] for place in self.places.get(key, ())]

    def texts_of(self, key: Key) -> list[str]:
        return [self.texts[place] for place in self.places.get(key, ())] if self.texts else []


class Counts:
    """The numbers of one aggregate by group, with the records behind each."""

    def __init__(
        self,
        grouped: bool,
        groups: Groups,
        numbers: Mapping[Key, float | None],
        measured: Mapping[Key, Sequence[Record]] | None = None,
        is_number: bool = False,
    ) -> None:
        self.grouped = grouped
        self.groups = groups
        self.numbers = numbers
        self.measured = measured  # the records behind each number, if not all of its group
        self.is_number = is_number  # which is acknowledged at its value, whatever records it is made of

    def value(self, key: Key) -> float | None:
        if self.grouped and key == NO_GROUP:
            return None
        return self.numbers.get(key if self.grouped else (), 0.0)

    def values(self, keys: Sequence[Key]) -> list[float]:
        """`value` for each key; what is absent counts as 0."""
        if not self.grouped:
            return [self.value(()) or 0.0] * len(keys)
        return [self.numbers.get(key) or 0.0 for key in keys]

    def evidence(self, key: Key) -> Sequence[Record]:
        key = key if self.grouped else ()
        return self.groups.records_of(key) if self.measured is None else self.measured.get(key, ())

    def texts(self, key: Key) -> Sequence[str]:
        return self.groups.texts_of(key)

    def label(self, key: Key) -> str | None:
        """What a group is called; made on demand, since only few of a thousand groups are shown."""
        if key not in self.groups.places:
            return None
        common = _most_common(self.groups.texts_of(key))
        return " / ".join((*key[:-1], common)) if common and len(key) > 1 else common or " / ".join(key[:-1])


def count(aggregate: Aggregate | Metric, context: Context, condition: "Condition") -> Counts:
    if isinstance(aggregate, Metric):
        return Counts(False, _NO_RECORDS, {(): _metric(aggregate, context.sections)}, is_number=True)
    if aggregate.kind == "sum":
        context = context.whole
    if aggregate.grouped:
        groups = _partition(aggregate, context, condition)
    else:
        records = context.select(aggregate)
        groups = Groups({(): range(len(records))}, records, ())
    if aggregate.kind == "count" and aggregate.within is None and aggregate.distinct is None:
        return Counts(aggregate.grouped, groups, {key: float(len(places)) for key, places in groups.places.items()})
    numbers: dict[Key, float | None] = {}
    measured: dict[Key, Sequence[Record]] = {}
    for key in groups.places:
        numbers[key], measured[key] = _measure(aggregate, groups.records_of(key), context, condition)
    return Counts(aggregate.grouped, groups, numbers, measured, is_number(aggregate))


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

Numbers = Mapping[str, Any]  # the group of each text
_NO_RECORDS = Groups({(): ()}, (), ())


def _partition(aggregate: Aggregate, context: Context, condition: "Condition") -> Groups:
    """The groups of an aggregate."""
    parts = context.partition(aggregate)
    found: dict[Key, Sequence[int]] = {}
    entries: list[Record] = []
    texts: list[str] = []
    if aggregate.grouping is None:
        for per, records in parts.items():
            found[(*per, "")] = range(len(entries), len(entries) + len(records))
            entries += records
        return Groups(found, entries, [""] * len(entries))
    grouping, selected = aggregate.grouping, context.select(aggregate)
    everything = context.texts(selected, grouping.field)
    numbers = _numbers(_distinct(everything), aggregate, grouping, context, condition)
    of = {record.key: value for record, value in zip(selected, everything, strict=True)} if aggregate.per else {}
    divide = _streaks if aggregate.kind == "streak" else _groups
    for per, records in parts.items():
        values = [of[record.key] for record in records] if aggregate.per else everything
        for group, places in divide(records, values, numbers, entries, texts).items():
            found[(*per, group)] = places
    return Groups(found, entries, texts)


def _most_common(texts: Sequence[str]) -> str:
    """The text that occurs most often; of several, the first alphabetically; "" if there is none."""
    if len(texts) <= 1 or texts.count(texts[0]) == len(texts):
        return texts[0] if texts else ""
    counted = Counter(texts)
    return min(counted, key=lambda text: (-counted[text], text))


def _groups(
    records: Sequence[Record], values: Sequence[Texts], numbers: Numbers, entries: list[Record], texts: list[str]
) -> Mapping[Any, Sequence[int]]:
    """The places of each group, behind the entries that are there already."""
    start = len(entries)
    if are_strings(values):  # nearly always: as many entries as records
        entries += records
        texts += values
    else:
        for record, value in zip(records, values, strict=True):
            for text in _several((value,) if isinstance(value, str) else value, numbers).values():
                entries.append(record)
                texts.append(text)
    found: defaultdict[Any, list[int]] = defaultdict(list)
    for place, group in enumerate(map(numbers.get, texts[start:]), start):
        found[group].append(place)
    found.pop(None, None)
    return found


def _streaks(
    records: Sequence[Record], values: Sequence[Texts], numbers: Numbers, entries: list[Record], texts: list[str]
) -> Mapping[Any, Sequence[int]]:
    """Only groups of the newest record can have a streak, which ends at the first record of another group."""
    members = [_several((value,) if isinstance(value, str) else value, numbers) for value in values]
    found: dict[Any, Sequence[int]] = {}
    for group in members[-1]:
        last = len(list(takewhile(lambda groups: group in groups, reversed(members))))  # noqa: B023
        found[group] = range(len(entries), len(entries) + last)
        entries += records[-last:]
        texts += [groups[group] for groups in members[-last:]]
    return found


def _several(texts: Sequence[str], numbers: Numbers) -> dict[Any, str]:
    """The groups of a record, each with a text of it: none if it lacks the field, several if the value is a list."""
    return {numbers[text]: text for text in texts if text in numbers}


def _numbers(
    distinct: set[str], aggregate: Aggregate, grouping: Grouping, context: Context, condition: "Condition"
) -> Numbers:
    """The group of each text."""
    if context.exact or (len(distinct) <= 1 and len(condition.grouped) == 1):  # nothing to compare
        return {text: text for text in distinct}
    if grouping.similarity is None:
        from liza.rules.same import same_key  # here, because many checks have no text to compare

        return dict(zip(distinct, map(same_key, distinct), strict=True))
    # Over the union of the records of all aggregates that share the grouping, so that each has the same groups.
    for other in condition.grouped:
        if other is not aggregate:
            distinct |= _distinct(context.texts(context.select(other), grouping.field))
    return context.similar(grouping, distinct)


def _distinct(values: Sequence[Texts]) -> set[str]:
    """All texts that are not blank: such a one belongs to no group."""
    if are_strings(values):
        return set(filter(str.strip, values))
    return {text for value in values for text in ((value,) if isinstance(value, str) else value) if text.strip()}
