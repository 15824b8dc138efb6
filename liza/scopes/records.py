"""Records with a name in a section of `state.yaml`: one loop, one claim, one slice.

People write such a section as a mapping by name or as a list of records with an id. Both are read, and each is written
back in the form it has.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from liza.errors import Refused, Unreadable
from liza.model import MAPPINGS, list_in, mappings_in
from liza.text import file_name, text_of, value_text

Archived = tuple[Mapping[str, Any], ...]  # entries that leave the blackboard


class Section(NamedTuple):
    """A section of named records: what one of them is called, what it must have, and what is kept of it."""

    scope: str  # loop
    name: str  # loops
    list_command: str  # lists the names that there are
    while_unusable: str = ""  # what holds for a record until a person has corrected it
    example: str = ""  # of a name
    longest: int = 100  # characters of a name
    is_strict: bool = False  # a name has no outer blanks and no leading dash
    is_unique: bool = False  # two records of one name are an error, not the first of them
    lists: tuple[str, ...] = ()  # fields that are lists
    wanted_status: Callable[[Mapping[str, Any]], str | None] = lambda record: None  # instead of one that is unusable
    leaves: str = ""  # what of a record leaves the blackboard, for a file in `runs/`
    may_be_lost: bool = False  # it also changes if that file cannot be written
    file_of: Callable[[str], str] = file_name  # what the files about a record are called, without their endings

    def unusable_fields(self, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Each field without which a record cannot be evaluated, and what is expected there."""
        yield from ((field, "a list") for field in self.lists if not isinstance(record.get(field), list | None))
        if (expected := self.wanted_status(record)) is not None:
            yield "status", expected


def named_records(section: Any, scope: str) -> Iterator[tuple[int | str, str, Any]]:
    """Each record of a section: its key or index, its name ("" without one), and its value, which may be anything."""
    if isinstance(section, MAPPINGS):
        for key, record in section.items():
            yield key, text_of(key), record
    elif isinstance(section, list | tuple):
        for index, record in enumerate(section):
            yield index, _label(record, scope), record
    elif section is not None:
        raise Unreadable(
            f"{scope}s: expected a mapping or a list of records, got {value_text(section)}", hint=_VALIDATE
        )


_VALIDATE = "see: liza validate"


def _label(record: Any, scope: str) -> str:
    if not isinstance(record, MAPPINGS):
        return ""
    names = (record.get(key) for key in ("id", f"{scope}_id", "name"))
    return next((text_of(name) for name in names if name is not None), "")


def find_record(section: Any, name: str, scope: str) -> tuple[int | str, Mapping[str, Any]] | None:
    """The record with that name and its key or index; None if there is none.

    `Unreadable` where something that is not a record is in its place.
    """
    for where, label, record in named_records(section, scope):
        if not isinstance(record, MAPPINGS):
            if label == name or not isinstance(section, MAPPINGS):
                message = f"{scope} {name or where}: expected a record with fields, got {value_text(record)}"
                raise Unreadable(message, hint=_VALIDATE)
        elif label == name:
            return where, record
    return None


def put_record(section: Any, name: str, record: Mapping[str, Any], scope: str) -> Any:
    """The section with that record in it, in the form that it has; a new section is a mapping by name."""
    found = find_record(section, name, scope)
    if isinstance(section, list | tuple):
        entries = list(section)
        if found is None:
            return [*entries, {"id": name, **record}]
        entries[int(found[0])] = dict(record)
        return entries
    return {**(section or {}), (name if found is None else found[0]): dict(record)}


def usable_records(section: Any, scope: str) -> Iterator[tuple[int | str, str, Mapping[str, Any]]]:
    """Every record that has a name, with its key or index; other values are left out."""
    for where, label, record in named_records(section, scope):
        if label and isinstance(record, MAPPINGS):
            yield where, label, record


def replace_records(section: Any, new: Mapping[int | str, Mapping[str, Any]]) -> Any:
    """The section with these records, by key or index, in place of its own; the same object if none differs."""
    changed = {where: dict(record) for where, record in new.items() if record != section[where]}
    if not changed:
        return section
    result = section.copy()
    for where, record in changed.items():
        result[where] = record
    return result


def check_name(section: Section, name: str) -> None:
    """`Refused` where a record cannot have that name."""
    is_odd = section.is_strict and (name != name.strip() or name.startswith("-"))
    if not name.strip() or not name.isprintable() or len(name) > section.longest or is_odd:
        hint = f"a name on one line of at most {section.longest} characters, like {section.example}"
        raise Refused(f"invalid {section.scope} name {value_text(name)}", hint=hint)


# --- fields of a record ---------------------------------------------------------------------------------------------


def current_trip(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The trip that stopped a record, until the decision on it moves it to the history."""
    trip = record.get("current_trip")
    return trip if isinstance(trip, MAPPINGS) and trip else None


def list_of(record: Mapping[str, Any], field: str) -> list[Any]:
    """A copy of a list field; empty where it is absent or not a list."""
    return list(list_in(record.get(field)))


def mappings_of(record: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    return mappings_in(record.get(field))
