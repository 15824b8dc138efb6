"""Records with a name in a section of `state.yaml`: one loop, one claim, one slice.

People write such a section as a mapping by name or as a list of records with an id; both are read, and each is written
back in the form it has.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from liza.errors import Unreadable
from liza.model import MAPPINGS
from liza.text import text_of


class Scope(NamedTuple):
    """A kind of records with names: `loop`, and the section that holds them."""

    name: str
    section: str


class Event(NamedTuple):
    """Something that happened to one scope, for the log and for people."""

    scope: str  # loop, claim, slice
    name: str
    kind: str  # a word of the protocol: opened, closed, probing, completed, ...
    text: str
    task: str | None = None


class Settled(NamedTuple):
    """What a section is to be (the same object where nothing changes), what happened, and what leaves it, by name."""

    section: Any
    events: tuple[Event, ...] = ()
    archived: tuple[tuple[str, tuple[Mapping[str, Any], ...]], ...] = ()


def named(section: Any, scope: str) -> Iterator[tuple[int | str, str, Any]]:
    """Each record of a section: where it is, what it is called, and what stands there."""
    if isinstance(section, MAPPINGS):
        for key, record in section.items():
            yield key, text_of(key), record
    elif isinstance(section, list | tuple):
        for index, record in enumerate(section):
            yield index, _label(record, scope), record
    elif section is not None:
        raise Unreadable(f"{scope}s does not hold records", hint="see: liza validate")


def _label(record: Any, scope: str) -> str:
    if not isinstance(record, MAPPINGS):
        return ""
    names = (record.get(key) for key in ("id", f"{scope}_id", "name"))
    return next((text_of(name) for name in names if name is not None), "")


def find(section: Any, name: str, scope: str) -> tuple[int | str, Mapping[str, Any]] | None:
    """The record by that name; None if there is none. `Unreadable` where something else stands in its place."""
    for where, label, record in named(section, scope):
        if not isinstance(record, MAPPINGS):
            if label == name or not isinstance(section, MAPPINGS):
                raise Unreadable(f"{scope} {name or where} is not a record", hint="see: liza validate")
        elif label == name:
            return where, record
    return None


def put(section: Any, name: str, record: Mapping[str, Any], scope: str) -> Any:
    """The section with that record in it, in the form that it has; a new section is a mapping by name."""
    there = find(section, name, scope)
    if isinstance(section, list | tuple):
        entries = list(section)
        if there is None:
            return [*entries, {"id": name, **record}]
        entries[int(there[0])] = dict(record)
        return entries
    return {**(section or {}), (name if there is None else there[0]): dict(record)}


def each(section: Any, scope: str, change: Callable[[str, Mapping[str, Any]], Mapping[str, Any]]) -> Any:
    """The section with every usable record changed; what is no record stays as it is."""
    for where, label, record in list(named(section, scope)):
        if label and isinstance(record, MAPPINGS):
            new = change(label, record)
            if new != record:
                section = section.copy()
                section[where] = dict(new)
    return section
