"""The one walker over what a file holds: a table says what is expected, the walker reports what differs from it.

A table has a mapping's fields, each with its kind or with a table of its own, a list or a mapping of records. Unknown
fields of a record are kept and ignored; where `closed` is set, as in files that only people write, they are errors.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from liza.model import MAPPINGS, Fault, Path
from liza.schema.kinds import Kind, OneOf
from liza.text import suggestion, value_text

Faults = Iterator[Fault]
Check = Callable[[Mapping[str, Any], Path], Faults]


# --- tables ---------------------------------------------------------------------------------------------------------


class Table(NamedTuple):
    fields: "Mapping[str, Shape]" = MappingProxyType({})
    required: tuple[str, ...] = ()
    closed: bool = False  # unknown fields are errors
    nulls: bool = True  # a field that is null counts as absent, unless it is required
    check: Check | None = None  # what no table can express; called for every mapping
    past: tuple[str, ...] = ()  # times of what has happened: `times.py` reports those in the future


class Each(NamedTuple):
    """A list of records; `suspects` finds those that need more than one look, by their place."""

    table: Table = Table()
    suspects: Callable[[Sequence[Any]], Iterable[int]] | None = None


class Named(NamedTuple):
    table: Table = Table()


class Records(NamedTuple):
    """Records as a list, or as a mapping of names to records."""

    table: Table = Table()


Shape: TypeAlias = Kind | Table | Each | Named | Records


def walk(value: Any, path: Path, shape: Shape) -> Faults:
    if isinstance(shape, Table):
        yield from _mapping(value, path, shape)
    elif isinstance(shape, Each) or (isinstance(shape, Records) and not isinstance(value, MAPPINGS)):
        yield from _list(value, path, shape)
    elif isinstance(shape, Named | Records):
        if not isinstance(value, MAPPINGS):
            yield unexpected(path, "a mapping of names", value)
            return
        for name, record in value.items():
            yield from _record(record, (*path, name), shape.table)
    elif (wanted := shape(value)) is not None:
        hint = shape.hint(value) if isinstance(shape, OneOf) else None
        yield unexpected(path, wanted, value, hint)


def unexpected(path: Path, wanted: str, value: Any, hint: str | None = None) -> Fault:
    """`count: expected a number, got 'x'`, at its path."""
    name = f"{path[-1]}: " if path and isinstance(path[-1], str) else ""
    return Fault(path, f"{name}expected {wanted}, got {value_text(value)}", hint)


def unknown(path: Path, known: tuple[str, ...]) -> Fault:
    """The last key of the path is not known."""
    return Fault(path, f"unknown key {value_text(path[-1])}", suggestion(path[-1], known, "known"))


def _mapping(value: Any, path: Path, table: Table) -> Faults:
    if not isinstance(value, MAPPINGS):
        yield unexpected(path, "a mapping", value)
        return
    if table.closed:
        for name in value:
            if name not in table.fields:
                yield unknown((*path, name), tuple(table.fields))
    for name, shape in table.fields.items():
        required = name in table.required
        if required or value.get(name) is not None or (not table.nulls and name in value):
            yield from field(value, path, name, shape, required=required or not table.nulls)
    if table.check is not None:
        yield from table.check(value, path)


def field(record: Mapping[str, Any], path: Path, name: str, shape: Shape, *, required: bool = True) -> Faults:
    """Everything that is wrong with one field of a record."""
    value, where = record.get(name), (*path, name)
    if value is not None or (required and name in record):
        yield from walk(value, where, shape)
    elif required:
        hint = shape.hint(None) if isinstance(shape, OneOf) else None
        yield Fault(where, f"{name} is missing: expected {_wanted(shape)}", hint)


def _wanted(shape: Shape) -> str | None:
    if isinstance(shape, Table | Named):
        return "a mapping"
    return "a list" if isinstance(shape, Each | Records) else shape(None)


def _list(value: Any, path: Path, shape: Each | Records) -> Faults:
    if not isinstance(value, list):
        yield unexpected(path, "a list", value, f"begin each record of {path[-1]} with '- '")
        return
    suspects = shape.suspects if isinstance(shape, Each) else None
    for index in range(len(value)) if suspects is None else suspects(value):
        yield from _record(value[index], (*path, index), shape.table)


def _record(record: Any, path: Path, table: Table) -> Faults:
    if not isinstance(record, MAPPINGS):
        yield unexpected(path, "a record with fields", record)
        return
    if "<<" in record and not table.closed:
        yield Fault((*path, "<<"), "'<<' (YAML merge) is not supported here", "list the fields", "warning")
    yield from _mapping(record, path, table)
