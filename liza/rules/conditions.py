"""A condition at work: compiled once, then asked about the records of a blackboard.

A condition that groups is asked for each group on its own, and every group that satisfies it is one match with its own
evidence. Nothing here reads a file or a clock.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

from liza.model import VALUE, Number, Record
from liza.rules.fields import OPERATORS, World, lookup, passes, values
from liza.rules.tree import Aggregate, All, Comparison, Distinct, Field, Grouping, Metric, Node, Not, Param
from liza.text import text_of

Key = tuple[Any, ...]
_NO_GROUP: Key = ("no group",)
_OPPOSITE = {">=": "<", ">": "<=", "<": ">=", "<=": ">", "=": "="}


class BadRule(ValueError):
    """The condition parses, but asks for something that has no meaning."""


class Outcome(NamedTuple):
    """What a condition comes to for one group (or for all records, where it does not group)."""

    satisfied: bool
    value: float  # of the comparison that held, or else of the first
    threshold: float
    key: str | None  # the group as people call it
    behind: tuple[Key, tuple["Counts", ...]]  # where its evidence is; few of a thousand groups are asked for it
    numbers: tuple[Number, ...] = ()  # by which it is satisfied

    @property
    def evidence(self) -> tuple[Record, ...]:
        """The records behind it, in their order."""
        key, counts = self.behind
        if len(counts) == 1 and all(isinstance(record.key, int) for record in counts[0].evidence(key)):
            return tuple(counts[0].evidence(key))  # as they stand in their list
        seen = {(record.stream, record.key): record for each in counts for record in each.evidence(key)}
        return tuple(sorted(seen.values(), key=lambda record: (record.stream, str(record.key).zfill(12))))

    @property
    def said(self) -> Counter[str]:
        """The texts that put its records into the group, each with how often."""
        key, counts = self.behind
        return Counter(text for each in counts for text in each.texts.get(key, ()))

    @property
    def texts(self) -> set[str]:
        """What put its records into the group."""
        return set(self.said)


class Condition:
    """A condition with its params filled in."""

    def __init__(self, tree: Node, params: Mapping[str, float]) -> None:
        self.tree = tree
        self.params = params
        self.comparisons = list(_comparisons(tree))
        self.aggregates = [term for each in self.comparisons for term in each.terms]
        self.grouped = [each for each in self.aggregates if isinstance(each, Aggregate) and each.grouped]
        self.streams = {each.stream for each in self.aggregates if isinstance(each, Aggregate)}
        _check(self, params)

    @property
    def threshold(self) -> float:
        """The number that the first comparison asks for."""
        return self.number(self.comparisons[0].threshold)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields that group the evidence: those a report shows."""
        for each in self.grouped:
            return (each.grouping.field,) if each.grouping else each.per
        return ()

    @cached_property
    def only_counts(self) -> bool:
        """Whether more records can only ever bring it nearer to holding: counts that are to reach a number."""
        return all(_only_counts(each) for each in self.comparisons) and not _has_not(self.tree)

    @cached_property
    def only_falls(self) -> bool:
        """Whether fewer records can only ever bring it nearer to holding: numbers that are to be low."""
        return all(operator not in (">=", ">") for _, operator in _read(self.tree))

    @cached_property
    def has_numbers(self) -> bool:
        """Whether it can hold without a record: by a metric, or by what is missing."""
        return any(
            operator not in (">=", ">") or _metrics(comparison) or self.number(comparison.threshold) <= 0
            for comparison, operator in _read(self.tree)
        )

    @cached_property
    def asks_for_age(self) -> bool:
        """Whether it can come to hold by time alone."""
        looks = [each for each in self.aggregates if isinstance(each, Aggregate)]
        return any(each.age for aggregate in looks for each in (*aggregate.where, *aggregate.filters))

    def counts(self, record: Record, world: World) -> bool:
        """Whether any of its aggregates looks at a record."""
        return any(isinstance(each, Aggregate) and world.is_counted(record, each) for each in self.aggregates)

    def number(self, value: float | Param) -> float:
        return self.params[value.name] if isinstance(value, Param) else value

    def outcomes(self, world: World) -> list[Outcome]:
        """One outcome a group, the fullest first; exactly one where the condition does not group."""
        # By identity: `a=1` and `a=true` are equal to Python, and not to a rule.
        counts = {id(each): _count(each, world, self) for each in self.aggregates}
        if not self.grouped:
            return [self._outcome((), counts)]
        keys = dict.fromkeys(key for each in self.grouped for key in counts[id(each)].found)
        found = [self._outcome(key, counts) for key in keys]
        if not any(each.satisfied for each in found):
            alone = self._outcome(_NO_GROUP, counts)  # an OR may hold by what is not grouped
            found += [alone] if alone.satisfied else []
        return sorted(found, key=lambda each: (-each.satisfied, -each.value, each.key or ""))

    def _outcome(self, key: Key, counts: "Mapping[int, Counts]") -> Outcome:
        held: list[Comparison] = []
        satisfied = _holds(self.tree, lambda each: self._compare(each, key, counts), held) is True
        telling = held if satisfied else self.comparisons
        shown = telling[0] if telling else self.comparisons[0]
        behind = tuple([counts[id(term)] for comparison in telling for term in comparison.terms])
        value = sum([counts[id(term)].value(key) or 0 for term in shown.terms])
        label = next((name for each in self.grouped if (name := counts[id(each)].labels.get(key)) is not None), None)
        threshold = self.number(shown.threshold)
        numbers = self._numbers(key, counts, value) if satisfied and self.has_numbers else ()
        return Outcome(satisfied, value, threshold, label, (key, behind), numbers)

    def is_known(self, outcome: Outcome) -> bool:
        """Whether every metric was there to be compared: an absent one says nothing."""
        return all(counts.value(outcome.behind[0]) is not None for counts in outcome.behind[1])

    def _numbers(self, key: Key, counts: "Mapping[int, Counts]", value: float) -> tuple[Number, ...]:
        """The metrics by which it holds; where there is none and it does not group, what it counted."""
        held = list(_read(self.tree, lambda each: self._compare(each, key, counts)))
        found = []
        for comparison, operator in held:
            if names := _metrics(comparison):
                total = sum(counts[id(term)].value(key) or 0.0 for term in comparison.terms if isinstance(term, Metric))
                found.append(Number("+".join(names), total, operator, self.number(comparison.threshold)))
        if not found and not self.grouped and held:
            found.append(Number(VALUE, value, held[0][1], self.number(held[0][0].threshold)))
        return tuple(dict.fromkeys(found))

    def _compare(self, comparison: Comparison, key: Key, counts: "Mapping[int, Counts]") -> bool | None:
        """None where it cannot be said: a metric that is absent, or a grouped count where there is no group."""
        total = 0.0
        for term in comparison.terms:
            number = counts[id(term)].value(key)
            if number is None:
                return None
            total += number
        return OPERATORS[comparison.operator](total, self.number(comparison.threshold))


def _holds(node: Node, compare: Any, held: list[Comparison]) -> bool | None:
    """Whether a condition holds, with those comparisons that make it so; None is "cannot be said", also behind NOT."""
    if isinstance(node, Comparison):
        verdict: bool | None = compare(node)
        held += [node] if verdict else []
        return verdict
    if isinstance(node, Not):
        inner = _holds(node.part, compare, [])
        return None if inner is None else not inner
    verdicts: list[bool | None] = []
    for part in node.parts:
        mine: list[Comparison] = []
        verdicts.append(_holds(part, compare, mine))
        held += mine if verdicts[-1] else []
    decisive = not isinstance(node, All)  # one that holds decides an OR, one that does not decides an AND
    if decisive in verdicts:
        return decisive
    return None if None in verdicts else not decisive


def _read(
    node: Node, compare: Callable[[Comparison], bool | None] | None = None, wanted: bool = True
) -> Iterator[tuple[Comparison, str]]:
    """The comparisons that make a condition hold (all that could, where nothing is compared), each with what it asks
    for by then: behind a NOT that is the opposite."""
    if isinstance(node, Comparison):
        if compare is None or compare(node) is wanted:
            yield node, node.operator if wanted else _OPPOSITE[node.operator]
    elif isinstance(node, Not):
        yield from _read(node.part, compare, not wanted)
    else:
        for part in node.parts:
            if compare is None or _holds(part, compare, []) is wanted:
                yield from _read(part, compare, wanted)


def _metrics(comparison: Comparison) -> list[str]:
    return [".".join(term.path) for term in comparison.terms if isinstance(term, Metric)]


# --- what a condition may not ask -----------------------------------------------------------------------------------


def _comparisons(node: Node) -> Iterator[Comparison]:
    if isinstance(node, Comparison):
        yield node
    elif isinstance(node, Not):
        yield from _comparisons(node.part)
    else:
        for part in node.parts:
            yield from _comparisons(part)


def _only_counts(comparison: Comparison) -> bool:
    return comparison.operator in (">=", ">") and all(
        isinstance(term, Aggregate)
        and term.kind == "count"
        and term.within is None  # the densest span may move on
        and (term.distinct is None or term.distinct.operator in (">=", ">"))
        and term.stream in ("anomalies", "log")
        and not any(each.age for each in (*term.where, *term.filters))
        for term in comparison.terms
    )


def _has_not(node: Node) -> bool:
    return isinstance(node, Not) or any(map(_has_not, getattr(node, "parts", ())))


def _check(condition: Condition, params: Mapping[str, float]) -> None:
    if len({(each.grouping, each.per) for each in condition.grouped}) > 1:
        raise BadRule("all grouped counts of a condition must share one grouping: the same same/similar and per")
    for comparison in condition.comparisons:
        distinct = [term.distinct for term in comparison.terms if isinstance(term, Aggregate) and term.distinct]
        for value in (comparison.threshold, *(each.value for each in distinct)):
            if isinstance(value, Param) and value.name not in params:
                raise BadRule(f"the param ${value.name} has no value: set it under params")
    _check_not(condition.tree, under=False)


def _check_not(node: Node, under: bool) -> None:
    if isinstance(node, Comparison):
        if under and any(isinstance(term, Aggregate) and term.grouped for term in node.terms):
            raise BadRule("NOT has no meaning over a grouped count: which group would it be about?")
    elif isinstance(node, Not):
        _check_not(node.part, under=True)
    else:
        for part in node.parts:
            _check_not(part, under)


# --- counting -------------------------------------------------------------------------------------------------------


class Counts:
    """The numbers of one aggregate, by group, with the records behind each."""

    def __init__(self, grouped: bool) -> None:
        self.grouped = grouped
        self.found: dict[Key, tuple[float | None, Sequence[Record]]] = {}
        self.labels: dict[Key, str] = {}
        self.texts: dict[Key, Sequence[str]] = {}

    def value(self, key: Key) -> float | None:
        if self.grouped and key == _NO_GROUP:
            return None
        return self.found.get(key if self.grouped else (), (0.0, ()))[0]

    def evidence(self, key: Key) -> Sequence[Record]:
        return self.found.get(key if self.grouped else (), (0.0, ()))[1]


def _count(aggregate: Aggregate | Metric, world: World, condition: Condition) -> Counts:
    if isinstance(aggregate, Metric):
        counts = Counts(False)
        counts.found[()] = (_metric(aggregate, world.sections), ())
        return counts
    counts = Counts(aggregate.grouped)
    groups: Groups = {(): ("", world.counted(aggregate), ())}
    if aggregate.grouped:
        groups = _partition(aggregate, world, condition)
    for key, (label, records, texts) in groups.items():
        counts.labels[key] = label
        counts.texts[key] = texts
        counts.found[key] = _measure(aggregate, records, world, condition)
    return counts


def _metric(metric: Metric, sections: Mapping[str, Any]) -> float | None:
    value: Any = sections
    for step in metric.path:
        value = value.get(step) if isinstance(value, Mapping) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if is_number else None  # which leaves out NaN, too


def _measure(
    aggregate: Aggregate, records: Sequence[Record], world: World, condition: Condition
) -> tuple[float, Sequence[Record]]:
    """The number for one group, and the records behind it."""
    found = list(records)
    if aggregate.kind == "streak":
        start = len(records)
        while start > 0 and all(passes(records[start - 1], each, world) for each in aggregate.filters):
            start -= 1
        found = found[start:]
    elif aggregate.kind == "share":
        for each in aggregate.filters:
            found = [record for record in found if passes(record, each, world)]
    if aggregate.within is not None:
        found = _densest(found, aggregate.within)
    if aggregate.distinct is not None and not _distinct_enough(found, aggregate.distinct, condition):
        return 0.0, ()
    if aggregate.kind == "share":
        return (len(found) / len(records) if records else 0.0), found
    return float(len(found)), found


def _distinct_enough(records: Sequence[Record], distinct: Distinct, condition: Condition) -> bool:
    found = {text_of(value) for record in records for value in values(lookup(record, distinct.field))}
    return OPERATORS[distinct.operator](len(found), condition.number(distinct.value))


def _densest(records: Sequence[Record], seconds: float) -> list[Record]:
    """The most records that some span of that length holds. One without a usable time could be in any, so it is."""
    timed = sorted(((t.timestamp(), i) for i, r in enumerate(records) if (t := r.timestamp) is not None))
    best: tuple[int, int] = (0, 0)
    start = 0
    for end in range(len(timed)):
        while timed[end][0] - timed[start][0] > seconds:
            start += 1
        if end + 1 - start > best[1] - best[0]:
            best = (start, end + 1)
    inside = {index for _, index in timed[best[0] : best[1]]}
    placed = {index for _, index in timed}
    return [record for index, record in enumerate(records) if index in inside or index not in placed]


# --- grouping -------------------------------------------------------------------------------------------------------

Grouped = list[tuple[Record, Mapping[Any, str]]]  # each record with its groups, and the text that puts it there
Groups = dict[Key, tuple[str, Sequence[Record], Sequence[str]]]  # each with its name, its records and what they say


def _partition(aggregate: Aggregate, world: World, condition: Condition) -> Groups:
    """The groups of an aggregate, each with the name people call it by and the texts that made it."""
    parts = world.parted(aggregate)
    if aggregate.grouping is None:
        return {(*per, ""): (" / ".join(per), records, [""] * len(records)) for per, records in parts.items()}
    grouped = {record.key: groups for record, groups in _grouped(aggregate, aggregate.grouping, world, condition)}
    found: Groups = {}
    for per, records in parts.items():
        members = [(record, grouped[record.key]) for record in records]
        for group, chosen, texts_in in (_streaks if aggregate.kind == "streak" else _groups)(members):
            found[(*per, group)] = (" / ".join([*per, _commonest(texts_in)]), chosen, texts_in)
    return found


def _commonest(texts_in: Iterable[str]) -> str:
    """The text that occurs most, the first in the alphabet of those."""
    counted = Counter(texts_in)
    if len(counted) == 1:
        return next(iter(counted))
    return min(counted, key=lambda text: (-counted[text], text))


def _groups(members: Grouped) -> Iterator[tuple[Any, list[Record], list[str]]]:
    """Each group with its members and the texts that put them there."""
    found: dict[Any, tuple[list[Record], list[str]]] = {}
    for record, groups in members:
        for group, text in groups.items():
            chosen, texts_in = found.setdefault(group, ([], []))
            chosen.append(record)
            texts_in.append(text)
    for group, (chosen, texts_in) in found.items():
        yield group, chosen, texts_in


def _streaks(members: Grouped) -> Iterator[tuple[Any, list[Record], list[str]]]:
    """Only the groups of the newest record can have a streak, which ends at a record of another group."""
    for group in members[-1][1]:
        last = [record for record, _ in takewhile(lambda member: group in member[1], reversed(members))]  # noqa: B023
        yield group, last[::-1], [groups[group] for _, groups in members if group in groups]


def _grouped(aggregate: Aggregate, grouping: Grouping, world: World, condition: Condition) -> Grouped:
    """Each record with its groups: none without the field, several if its value is a list."""
    records = world.counted(aggregate)
    written = [(record, world.texts(record, grouping.field)) for record in records]
    distinct = {text for _, found in written for text in found}
    if not distinct:
        return [(record, {}) for record in records]
    if len(distinct) == 1 and len(condition.grouped) == 1:  # it is like itself, which needs no machinery
        return [(record, {text: text for text in found if text.strip()}) for record, found in written]
    from liza.rules.same import same_key  # many checks have no text to compare

    numbers: Mapping[str, Any]
    if world.exact:
        numbers = {text: text for text in distinct}
    elif grouping.similarity is None:
        numbers = {text: same_key(text) for text in distinct}
    else:
        # Over the union of the records of all counts that share the grouping: else a group could differ between them.
        for other in condition.grouped:
            if other is not aggregate:
                distinct |= {text for r in world.counted(other) for text in world.texts(r, grouping.field)}
        numbers = world.similar(grouping.field, grouping.similarity, distinct)
    return [(record, {numbers[text]: text for text in found if text.strip()}) for record, found in written]
