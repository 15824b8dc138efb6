"""A condition with its params filled in, ready to be evaluated over the records of a blackboard.

A condition that groups is evaluated for each group on its own, and every group that satisfies it is one match with its
own evidence. Nothing here reads a file or a clock.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from liza.model import VALUE, Number, Record
from liza.rules.aggregates import NO_GROUP, Counts, Key, count
from liza.rules.fields import Context
from liza.rules.fingerprints import digest
from liza.rules.operators import OPERATORS
from liza.rules.syntax_tree import Aggregate, All, Comparison, Field, Node, Not, Param, is_number

Compare = Callable[[Comparison], bool | None]
_NEAREST = 10  # groups that are as near to the threshold as any other: ten thousand of one record each may be
_OPPOSITE = {">=": "<", ">": "<=", "<": ">=", "<=": ">", "=": "="}


class BadRule(ValueError):
    """The condition parses, but has no meaning."""


class Outcome(NamedTuple):
    """The result of a condition for one group, or for all records where it does not group."""

    satisfied: bool
    value: float  # of the comparison that held, else of the first
    threshold: float
    key: str | None  # the label of the group
    source: tuple[Key, tuple[Counts, ...]]  # its evidence, read on demand: only few of a thousand groups need it
    numbers: tuple[Number, ...] = ()  # that satisfied it

    @property
    def evidence(self) -> tuple[Record, ...]:
        """The records behind it, in their order."""
        return self._records(self.source[1])

    @property
    def counted(self) -> tuple[Record, ...]:
        """Those behind it that count by themselves: not those of a sum, which is acknowledged at its value."""
        return self._records(tuple(each for each in self.source[1] if not each.is_number))

    def _records(self, counts: tuple[Counts, ...]) -> tuple[Record, ...]:
        key = self.source[0]
        found = [records for each in counts if (records := each.evidence(key))]
        if len(found) == 1 and isinstance(found[0][0].key, int):
            return tuple(found[0])  # already in list order
        seen = {(record.stream, record.key): record for records in found for record in records}
        return tuple(sorted(seen.values(), key=_place))

    @property
    def text_counts(self) -> Counter[str]:
        """The texts that put its records into the group, and how often each occurs."""
        key, counts = self.source
        return Counter(text for each in counts for text in each.texts(key))

    @property
    def texts(self) -> set[str]:
        """The texts that put its records into the group."""
        return set(self.text_counts)


class Condition:
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
        """The number that the first comparison compares with."""
        return self.number(self.comparisons[0].threshold)

    @property
    def names(self) -> list[str]:
        """The params that it has, each once; `params` has those of the other rules of its file, too."""
        distinct = [each.distinct.value for each in self.aggregates if isinstance(each, Aggregate) and each.distinct]
        found = (*(each.threshold for each in self.comparisons), *distinct)
        return list(dict.fromkeys(each.name for each in found if isinstance(each, Param)))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields that group the evidence, which a report shows."""
        for each in self.grouped:
            return (each.grouping.field,) if each.grouping else each.per
        return ()

    def is_per(self, field: str) -> bool:
        """Whether it groups by this field."""
        return any(each.paths == ((field,),) for aggregate in self.grouped for each in aggregate.per)

    @cached_property
    def is_monotone(self) -> bool:
        """Whether a further record can never make it stop holding: only counts with a lower bound."""
        return all(_is_monotone(each) for each in self.comparisons) and not _has_not(self.tree)

    @cached_property
    def is_antitone(self) -> bool:
        """Whether a missing record can never make it stop holding: only upper bounds."""
        return all(operator not in (">=", ">") for _, operator in _effective_comparisons(self.tree))

    @cached_property
    def has_numbers(self) -> bool:
        """Whether it can hold without a record that is new: by a metric, a sum, or an upper bound."""
        return any(
            operator not in (">=", ">") or _numbers(comparison) or self.number(comparison.threshold) <= 0
            for comparison, operator in _effective_comparisons(self.tree)
        )

    @cached_property
    def depends_on_age(self) -> bool:
        """Whether the passing of time alone can make it hold."""
        aggregates = [each for each in self.aggregates if isinstance(each, Aggregate)]
        return any(each.age for aggregate in aggregates for each in (*aggregate.where, *aggregate.filters))

    def counts(self, record: Record, context: Context) -> bool:
        """Whether any of its aggregates selects a record."""
        return any(isinstance(each, Aggregate) and context.is_selected(record, each) for each in self.aggregates)

    def number(self, value: float | Param) -> float:
        return self.params[value.name] if isinstance(value, Param) else value

    def outcomes(self, context: Context) -> list[Outcome]:
        """One outcome per group, the highest value first; exactly one where the condition does not group."""
        counts = self._counts(context)
        return self._sorted(self._keys(counts), counts)

    def decisive_outcomes(self, context: Context) -> list[Outcome]:
        """The outcomes that a verdict is made of: those that are satisfied, and the highest of the others."""
        counts = self._counts(context)
        keys = self._keys(counts)
        if len(keys) > 1 and not any(map(is_number, self.aggregates)):
            values = _values(self.comparisons[0], keys, counts)
            held = self._satisfied(keys, values, counts)
            others = [(value, key) for key, value in zip(keys, values, strict=True) if key not in held]
            highest = max((value for value, _ in others), default=0)
            nearest = [key for value, key in others if value == highest]
            keys = [*held, *nearest[:_NEAREST]]  # the first in the file
        return self._sorted(keys, counts)

    def _counts(self, context: Context) -> dict[int, Counts]:
        # Keyed by identity: `a=1` and `a=true` are equal in Python, but not in a rule.
        return {id(each): count(each, context, self) for each in self.aggregates}

    def _keys(self, counts: Mapping[int, Counts]) -> list[Key]:
        """The groups; where it does not group, one key for all."""
        if not self.grouped:
            return [()]
        return list(dict.fromkeys(key for each in self.grouped for key in counts[id(each)].groups.places))

    def _sorted(self, keys: Sequence[Key], counts: Mapping[int, Counts]) -> list[Outcome]:
        found = [self._outcome(key, counts) for key in keys]
        if not self.grouped:
            return found
        if not any(each.satisfied for each in found):
            ungrouped = self._outcome(NO_GROUP, counts)  # an OR may hold by its ungrouped side alone
            found += [ungrouped] if ungrouped.satisfied else []
        return sorted(found, key=lambda each: (-each.satisfied, -each.value, each.key or ""))

    def _label(self, key: Key, counts: Mapping[int, Counts]) -> str | None:
        """What a group is called."""
        for each in self.grouped:
            name = counts[id(each)].label(key)
            if name is not None:
                return name
        return None

    def _satisfied(self, keys: Sequence[Key], values: Sequence[float], counts: Mapping[int, Counts]) -> dict[Key, None]:
        """The groups that the condition holds for; `values` are those of the first comparison."""
        if isinstance(self.tree, Comparison):
            holds, threshold = OPERATORS[self.tree.operator], self.number(self.tree.threshold)
            return {key: None for key, value in zip(keys, values, strict=True) if holds(value, threshold)}
        return {key: None for key in keys if _holds(self.tree, lambda c: self._compare(c, key, counts), []) is True}  # noqa: B023

    def _outcome(self, key: Key, counts: Mapping[int, Counts]) -> Outcome:
        held: list[Comparison] = []
        satisfied = _holds(self.tree, lambda each: self._compare(each, key, counts), held) is True
        decisive = held if satisfied else self.comparisons
        shown = decisive[0] if decisive else self.comparisons[0]
        sources = tuple([counts[id(term)] for comparison in decisive for term in comparison.terms])
        (value,) = _values(shown, [key], counts)
        label = self._label(key, counts)
        threshold = self.number(shown.threshold)
        numbers = self._numbers(key, counts, value) if satisfied and self.has_numbers else ()
        return Outcome(satisfied, value, threshold, label, (key, sources), numbers)

    def is_known(self, outcome: Outcome) -> bool:
        """Whether every metric is present: nothing follows from an absent one."""
        return all(counts.value(outcome.source[0]) is not None for counts in outcome.source[1])

    def _numbers(self, key: Key, counts: Mapping[int, Counts], value: float) -> tuple[Number, ...]:
        """The metrics and sums that make it hold; where there is none and it does not group, what it counted."""
        held = list(_effective_comparisons(self.tree, lambda each: self._compare(each, key, counts)))
        found = []
        for comparison, operator in held:
            if name := _numbers(comparison):
                total = sum(counts[id(term)].value(key) or 0.0 for term in comparison.terms if is_number(term))
                name = self._name(name, comparison, key)
                found.append(Number(name, total, operator, self.number(comparison.threshold)))
        if not found and not self.grouped and held:
            found.append(Number(VALUE, value, held[0][1], self.number(held[0][0].threshold)))
        return tuple(dict.fromkeys(found))

    def _name(self, name: str, comparison: Comparison, key: Key) -> str:
        """The name of a number in the history: of each sum and group its own, without white space."""
        if not any(isinstance(term, Aggregate) and is_number(term) for term in comparison.terms):
            return name
        alike = [each for each in self.comparisons if _numbers(each) == name]
        if len(alike) > 1:
            name += f"#{next(place for place, each in enumerate(alike, 1) if each is comparison)}"
        return f"{name}[{digest(repr(key))[:12]}]" if self.grouped else name

    def _compare(self, comparison: Comparison, key: Key, counts: Mapping[int, Counts]) -> bool | None:
        """None if undecidable: an absent metric, or a grouped count without a group."""
        total = 0.0
        for term in comparison.terms:
            number = counts[id(term)].value(key)
            if number is None:
                return None
            total += number
        return OPERATORS[comparison.operator](total, self.number(comparison.threshold))


def _place(record: Record) -> tuple[str, str, str]:
    """In the order of their lists: the tenth step of a session, `coder:10`, comes after its ninth."""
    owner, _, place = str(record.key).rpartition(":")
    return record.stream, owner, place.zfill(12)


def _holds(node: Node, compare: Compare, held: list[Comparison]) -> bool | None:
    """Whether a condition holds, None if undecidable; `held` receives the comparisons that make it hold."""
    if isinstance(node, Comparison):
        verdict = compare(node)
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
    decisive = not isinstance(node, All)  # a true part decides an OR, a false part an AND
    if decisive in verdicts:
        return decisive
    return None if None in verdicts else not decisive


def _effective_comparisons(
    node: Node, compare: Compare | None = None, wanted: bool = True
) -> Iterator[tuple[Comparison, str]]:
    """The comparisons that make a condition hold, or without `compare` all that could.

    Each comes with its effective operator, which is the opposite under a NOT.
    """
    if isinstance(node, Comparison):
        if compare is None or compare(node) is wanted:
            yield node, node.operator if wanted else _OPPOSITE[node.operator]
    elif isinstance(node, Not):
        yield from _effective_comparisons(node.part, compare, not wanted)
    else:
        for part in node.parts:
            if compare is None or _holds(part, compare, []) is wanted:
                yield from _effective_comparisons(part, compare, wanted)


def _values(comparison: Comparison, keys: Sequence[Key], counts: Mapping[int, Counts]) -> list[float]:
    """The number that a comparison has for each group; what is absent counts as 0."""
    columns = [counts[id(term)].values(keys) for term in comparison.terms]
    return [sum(row) for row in zip(*columns, strict=True)]


def _numbers(comparison: Comparison) -> str:
    """The metrics and sums of a comparison; empty if it has none."""
    terms = [term for term in comparison.terms if is_number(term)]
    return "+".join(f"sum({term.summed})" if isinstance(term, Aggregate) else ".".join(term.path) for term in terms)


# --- validation -----------------------------------------------------------------------------------------------------


def _comparisons(node: Node) -> Iterator[Comparison]:
    if isinstance(node, Comparison):
        yield node
    elif isinstance(node, Not):
        yield from _comparisons(node.part)
    else:
        for part in node.parts:
            yield from _comparisons(part)


def _is_monotone(comparison: Comparison) -> bool:
    return comparison.operator in (">=", ">") and all(
        isinstance(term, Aggregate)
        and term.kind == "count"
        and term.within is None  # the densest span may move
        and (term.distinct is None or term.distinct.operator in (">=", ">"))
        and term.stream in ("anomalies", "log")
        and not any(each.age for each in (*term.where, *term.filters))
        for term in comparison.terms
    )


def _is_similar(aggregate: Aggregate) -> bool:
    return aggregate.grouping is not None and aggregate.grouping.similarity is not None


def _has_not(node: Node) -> bool:
    return isinstance(node, Not) or any(map(_has_not, getattr(node, "parts", ())))


def _check(condition: Condition, params: Mapping[str, float]) -> None:
    if len({(each.grouping, each.per) for each in condition.grouped}) > 1:
        raise BadRule("all grouped aggregates of a condition must have the same grouping (same, similar, per)")
    if len({is_number(each) for each in condition.grouped}) > 1 and any(map(_is_similar, condition.grouped)):
        # A sum is made of all records, a count only of those that are new: similar texts may group differently there.
        raise BadRule("a sum with similar(...) cannot be combined with another aggregate; use same(...) or per(...)")
    for name in condition.names:
        if name not in params:
            raise BadRule(f"the param ${name} has no value; set it under params:")
    _check_not(condition.tree, under=False)


def _check_not(node: Node, under: bool) -> None:
    if isinstance(node, Comparison):
        if under and any(isinstance(term, Aggregate) and term.grouped for term in node.terms):
            raise BadRule("NOT cannot be applied to a grouped aggregate")
    elif isinstance(node, Not):
        _check_not(node.part, under=True)
    else:
        for part in node.parts:
            _check_not(part, under)
