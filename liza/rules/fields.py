"""Fields of records: lookup and tests. A value of the wrong type is reported as unusable."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import chain, product
from math import prod
from typing import Any, TypeGuard

from liza.model import MAPPINGS, Record, parse_time
from liza.rules.groups import Groups
from liza.rules.operators import OPERATORS
from liza.rules.syntax_tree import Aggregate, Field, Filter, Grouping
from liza.rules.time_limit import TooCostly, unlimited
from liza.text import text_of, value_text

LARGEST = 1e300  # of a number that is compared
Texts = str | Sequence[str]  # of one record
Index = defaultdict[Any, list[int]]  # the places of the records of each type
_TYPE = Field((("type",),))
_SEARCHED = 10_000  # characters of a text that a regular expression sees
_COMBINATIONS = 10_000  # of one record's values in the fields of a `per`


class Context:
    """The records, sections and time that a condition is evaluated with."""

    def __init__(
        self, streams: Mapping[str, Sequence[Record]], sections: Mapping[str, Any], now: datetime, exact: bool = False,
        whole: "Context | None" = None,
    ) -> None:  # fmt: skip
        self.streams = streams
        self.sections = sections
        self.now = now
        self.exact = exact
        self.whole = self if whole is None else whole  # with the acknowledged records, too: what a sum is made of
        self.spend: Callable[[], None] = unlimited  # raises once a rule has taken too long
        self.overruns: list[str] = []  # messages: what was compared less closely than it should have been
        self.unusable: dict[tuple[str, int | str], str] = {}  # record -> what is wrong with it
        self._types: dict[str, Index | None] = {}  # by stream
        self._selected: dict[int, tuple[Aggregate, list[Record]]] = {}
        self._per: dict[tuple[str, tuple[Field, ...]], dict[int | str, list[tuple[str, ...]]]] = {}
        self._partitions: dict[tuple[str, tuple[Field, ...]], dict[tuple[str, ...], list[Record]]] = {}
        self._groups: dict[Grouping, tuple[Groups, dict[str, int]]] = {}

    def select(self, aggregate: Aggregate) -> Sequence[Record]:
        """The records an aggregate is made of: for a count those that pass its filters, else all that pass `where`."""
        if id(aggregate) not in self._selected:
            filters = _filters(aggregate)
            records = self._of_type(aggregate.stream, filters[0]) if filters else None
            if records is not None:
                filters = filters[1:]
            else:
                records = self.streams.get(aggregate.stream, ())
            for each in filters:
                self.spend()
                pairs = zip(records, column(records, each.field), strict=True)
                records = [record for record, value in pairs if _passes(record, value, each, self)]
            self._selected[id(aggregate)] = (aggregate, list(records))
        return self._selected[id(aggregate)][1]

    def is_selected(self, record: Record, aggregate: Aggregate) -> bool:
        return aggregate.stream == record.stream and all(passes(record, each, self) for each in _filters(aggregate))

    def extend(self, stream: str, records: Sequence[Record], now: datetime) -> None:
        """Take in records that were added to a stream, and keep what is cached of the others."""
        self.now = now
        self._partitions = {}
        index = self._types.get(stream)
        if index is not None and stream in self.streams:
            self._types[stream] = _index(records, len(self.streams[stream]) - len(records), index)
        for aggregate, found in list(self._selected.values()):
            if any(each.age for each in _filters(aggregate)):
                del self._selected[id(aggregate)]  # time has passed
            elif aggregate.stream == stream:
                found += [record for record in records if self.is_selected(record, aggregate)]

    def similar(self, grouping: Grouping, texts: set[str]) -> Mapping[str, int]:
        """The group of each text. Texts that are grouped already are not grouped again."""
        grouper, numbers = self._groups.get(grouping, (None, {}))
        if grouper is None or not numbers.keys() <= texts:
            grouper, numbers = grouper_of(grouping), {}  # a text that is gone may have joined others
            self._groups[grouping] = (grouper, numbers)
        # Short texts first, so that they are compared closely whatever long texts an agent adds.
        added = sorted(sorted(texts - numbers.keys()), key=len)
        numbers.update(zip(added, grouper.add_all(added, self.spend), strict=True))
        if grouper.coarse:
            why = (
                f"too much text: {grouper.coarse:,} different texts of {grouping.field} were compared for equality only"
            )
            self.overruns.append(why)
        groups = {number: grouper.group(number) for number in set(numbers.values())}
        return {text: groups[number] for text, number in numbers.items()}

    def _of_type(self, stream: str, first: Filter) -> Sequence[Record] | None:
        """The records that pass a filter on the type; None if it is another filter, or if some type is not a string.

        Nearly every rule begins with such a filter, so the types are looked up once for all rules.
        """
        if first.field.paths != (("type",),) or first.operator not in ("=", "in"):
            return None
        records = self.streams.get(stream, ())
        if stream not in self._types:
            self._types[stream] = _index(records, 0, defaultdict(list))
        index = self._types[stream]
        wanted = (first.value,) if first.operator == "=" else first.value
        if index is None or not all(isinstance(value, str) for value in wanted):
            return None
        return [records[place] for place in sorted(chain.from_iterable(index.get(kind, ()) for kind in {*wanted}))]

    def partition(self, aggregate: Aggregate) -> Mapping[tuple[str, ...], Sequence[Record]]:
        """The records of an aggregate by the values of the fields that `per` names."""
        whole = (aggregate.stream, aggregate.per) if not _filters(aggregate) else None
        if whole in self._partitions:
            return self._partitions[whole]
        records = self.select(aggregate)
        found: dict[tuple[str, ...], list[Record]] = {}
        if not aggregate.per:
            found = {(): list(records)} if records else {}
        for record, keys in zip(records, self._keys(aggregate, records), strict=True) if aggregate.per else ():
            for key in keys:
                found.setdefault(key, []).append(record)
        if whole is not None:
            self._partitions[whole] = found  # all rules of a protocol use the same one
        return found

    def _keys(self, aggregate: Aggregate, records: Sequence[Record]) -> list[list[tuple[str, ...]]]:
        """For each record every combination of its values of the fields that `per` names; none where a field is absent,
        because absent never equals absent."""
        known = self._per.setdefault((aggregate.stream, aggregate.per), {})
        for record in records:
            if record.key not in known:
                self.spend()
                columns = [dict.fromkeys(map(text_of, values(lookup(record, each)))) for each in aggregate.per]
                if prod(map(len, columns)) > _COMBINATIONS:
                    sizes = " x ".join(str(len(each)) for each in columns)
                    raise TooCostly(f"per(...) makes {sizes} combinations of one record (limit {_COMBINATIONS:,})")
                known[record.key] = list(product(*columns))
        return [known[record.key] for record in records]

    def texts(self, records: Sequence[Record], wanted: Field) -> Sequence[Texts]:
        """The texts of a grouping field, for each record. A mapping cannot be compared, and is reported as unusable."""
        found = column(records, wanted)
        if are_strings(found):
            return found
        pairs = zip(records, found, strict=True)
        return [each if type(each) is str else self._several(record, each, wanted) for record, each in pairs]

    def _several(self, record: Record, single: Any, wanted: Field) -> Sequence[str]:
        found: list[str] = []
        for value in values(single):
            if isinstance(value, MAPPINGS):
                self.mark_unusable(record, f"{wanted}: expected a string, got a mapping")
            else:
                found.append(value if isinstance(value, str) else value_text(value))
        return found

    def number(self, record: Record, wanted: Field) -> float | None:
        """A number that is summed up; None where it is absent. A value that is none is reported, never taken for 0."""
        value = lookup(record, wanted)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST:
            return float(value)
        if value is not None:
            self.mark_unusable(record, f"{wanted}: expected a number, got {value_text(value)}")
        return None

    def mark_unusable(self, record: Record, why: str) -> None:
        self.unusable[record.stream, record.key] = why


def _filters(aggregate: Aggregate) -> tuple[Filter, ...]:
    """The filters that select records: all of a count's or a sum's; others compare them, and select by `where`."""
    return (*aggregate.where, *aggregate.filters) if aggregate.kind in ("count", "sum") else aggregate.where


def column(records: Sequence[Record], wanted: Field) -> list[Any]:
    """`lookup` for many records at once, which takes a third of the time."""
    if max(map(len, wanted.paths)) > 1:
        return [lookup(record, wanted) for record in records]
    found: list[Any] = []
    for (name,) in wanted.paths:
        those = [
            value
            if (value := fields.get(name)) is not None
            else (details.get(name) if isinstance(details := fields.get("details"), MAPPINGS) else None)
            for _, _, fields in records
        ]
        found = [new if old is None else old for old, new in zip(found, those, strict=True)] if found else those
        if None not in found:
            break
    return found


def are_strings(values: Sequence[Any]) -> TypeGuard[Sequence[str]]:
    """Whether all are, of at least one."""
    return set(map(type, values)) == {str}


def _index(records: Sequence[Record], start: int, index: Index) -> Index | None:
    """The index with the places of these records added, by their type; None if some type is not a string."""
    kinds = column(records, _TYPE)
    if not set(map(type, kinds)) <= {str, type(None)}:
        return None
    for place, kind in enumerate(kinds, start):
        index[kind].append(place)
    return index


def lookup(record: Record, wanted: Field) -> Any:
    """The value of the first path that is present, in the record or else in its details; None if none is."""
    if len(wanted.paths) == 1 == len(wanted.paths[0]):
        return record.get(wanted.paths[0][0])
    for path in wanted.paths:
        for holder in (record.fields, record.fields.get("details")):
            value: Any = holder
            for step in path:
                value = value.get(step) if isinstance(value, MAPPINGS) else None
            if value is not None:
                return value
    return None


def values(value: Any) -> Sequence[Any]:
    """A value as a flat list of single values; empty for an absent one."""
    if isinstance(value, list | tuple):
        if {list, tuple, type(None)}.isdisjoint(map(type, value)):
            return value
        return [single for each in value for single in values(each)]
    return () if value is None else (value,)


def passes(record: Record, wanted: Filter, context: Context) -> bool:
    """Whether a record satisfies a filter. A value of the wrong type does not, and is marked as unusable."""
    return _passes(record, lookup(record, wanted.field), wanted, context)


def _passes(record: Record, value: Any, wanted: Filter, context: Context) -> bool:
    if wanted.operator == "exists":
        return value is not None
    if wanted.age:
        return _passes_age(record, value, wanted, context)
    if wanted.operator == "=" and type(value) is type(wanted.value):
        return bool(value == wanted.value)  # the common case
    if wanted.value is None:
        return wanted.operator in ("=", "!=") and (value is None) == (wanted.operator == "=")
    if value is None:
        return wanted.operator in ("!=", "not in") or (wanted.operator == "in" and None in wanted.value)
    if isinstance(value, list | tuple):
        every = all if wanted.operator in ("!=", "not in") else any
        return every(_passes_value(record, each, wanted, context) for each in values(value))
    return _passes_value(record, value, wanted, context)


def _passes_age(record: Record, value: Any, wanted: Filter, context: Context) -> bool:
    moment = parse_time(value)
    if moment is None:
        if value is not None:
            context.mark_unusable(record, f"{wanted.field}: expected a time, got {value_text(value)}")
        return False
    return OPERATORS[wanted.operator]((context.now - moment).total_seconds(), wanted.value)


def _passes_value(record: Record, value: Any, wanted: Filter, context: Context) -> bool:
    if wanted.operator == "=~":
        if not isinstance(value, str):
            context.mark_unusable(record, f"{wanted.field}: expected a string, got {value_text(value)}")
            return False
        context.spend()
        return wanted.value.search(value[:_SEARCHED]) is not None
    if wanted.operator in ("in", "not in"):
        alike = [each for each in wanted.value if _kind(each) == _kind(value)]
        if not alike and wanted.value:
            context.mark_unusable(record, f"{wanted.field}: expected {_kind(wanted.value[0])}, got {value_text(value)}")
        return (value in alike) == (wanted.operator == "in")
    if _kind(value) != _kind(wanted.value):
        context.mark_unusable(record, f"{wanted.field}: expected {_kind(wanted.value)}, got {value_text(value)}")
        return False
    return OPERATORS[wanted.operator](value, wanted.value)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    return "a number" if isinstance(value, int | float) else "a string" if isinstance(value, str) else "a single value"


def grouper_of(grouping: Grouping) -> Groups:
    """What groups texts as `similar(field)` does, or `similar(field, 0.7)`."""
    similarity = grouping.similarity or 0.0
    if grouping.letters:
        from liza.rules.letters import LetterGrouper

        return LetterGrouper(similarity)
    from liza.rules.similar import Grouper  # takes longer to load than most checks take

    return Grouper(similarity)
