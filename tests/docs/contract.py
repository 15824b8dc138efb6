"""docs/json.md as a contract: its tables, read as the required form of every answer."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from liza.model import parse_time
from tests.docs.pages import ROOT

TEXT = (ROOT / "docs" / "json.md").read_text()
ENVELOPE = ("schema", "command", "status", "problems")
_PLAIN: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "time": lambda value: isinstance(value, str) and value.endswith("Z") and parse_time(value) is not None,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "flag": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "any": lambda value: True,
}


class Section(NamedTuple):
    """The content of one heading: the statuses with their exit codes, and the fields with their types."""

    statuses: Mapping[str, frozenset[int]]
    fields: tuple[tuple[str, str], ...]


class Error(NamedTuple):
    """An answer that is an error, with the fields that it has beside the envelope."""

    status: str
    code: int
    fields: frozenset[str]


def _rows(text: str, header: str) -> list[list[str]]:
    """The cells of the table with this header; no rows if there is none."""
    _, found, rest = text.partition(f"| {header} |")
    table = rest.partition("\n\n")[0].splitlines()[2:] if found else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def _words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _section(text: str) -> Section:
    statuses = {
        status: frozenset(int(code) for code in codes.split(", "))
        for cell, codes, *_ in _rows(text, "status | exit code |")
        for status in _words(cell)
    }
    fields = tuple((name.strip("`"), type_) for name, type_, *_ in _rows(text, "field | type |"))
    return Section(statuses, fields)


def _headings(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        yield title, rest.partition("\n## ")[0]


_COMMANDS, _, _OBJECTS = TEXT.partition("\n## Objects\n")
ENVELOPE_FIELDS = _section(TEXT.partition("\n## The envelope\n")[2].partition("\n## ")[0]).fields
OBJECTS = {title: _section(rest).fields for title, rest in _headings(_OBJECTS)}
SECTIONS = {
    key.replace("`", ""): section
    for title, section in [(title, _section(rest)) for title, rest in _headings(_COMMANDS)]
    for key in title.split(", ")
}
ERRORS = [
    Error(_words(status)[0], int(code), frozenset(_words(fields)))
    for status, code, fields, *_ in _rows(TEXT, "status | exit code | fields |")
]


def command_of(key: str) -> str:
    """The command as the envelope names it: without the part that distinguishes its answers."""
    return " ".join(word for word in key.partition(":")[0].split() if word.islower() and not word.startswith("--"))


def spread(fields: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    """The fields, with `...` expanded to those of its object."""
    for name, type_ in fields:
        if name == "..." and type_ != "object":
            yield from spread(OBJECTS[type_])
        else:
            yield name, type_


class Reader:
    """Checks answers against the contract, and collects the objects that occurred."""

    def __init__(self) -> None:
        self.seen: set[str] = set()  # names of objects
        self.faults: list[str] = []

    def fields(self, where: str, value: Mapping[str, Any], fields: tuple[tuple[str, str], ...]) -> None:
        """Exactly these fields are there, and each has its documented type."""
        known = dict(spread(fields))
        more_is_fine = known.pop("...", None) is not None
        missing, more = known.keys() - value.keys(), value.keys() - known.keys()
        if missing or (more and not more_is_fine):
            self.faults.append(f"{where}: not printed {sorted(missing)}, not documented {sorted(more)}")
        for name in known.keys() & value.keys():
            self.value(f"{where}.{name}", value[name], known[name])

    def value(self, where: str, value: Any, type_: str) -> None:
        if type_.endswith(" or null"):
            if value is not None:
                self.value(where, value, type_.removesuffix(" or null"))
        elif type_.startswith("list of "):
            self._each(where, value, list, type_.removeprefix("list of "), enumerate)
        elif type_.startswith("map of "):
            self._each(where, value, dict, type_.removeprefix("map of "), dict.items)
        elif type_ in _PLAIN:
            if not _PLAIN[type_](value):
                self.faults.append(f"{where}: {value!r} is not {type_}")
        elif not isinstance(value, dict):
            self.faults.append(f"{where}: {value!r} is not a {type_}")
        else:
            self.seen.add(type_)
            self.fields(where, value, OBJECTS[type_])

    def _each(self, where: str, value: Any, kind: type, inner: str, items: Any) -> None:
        if not isinstance(value, kind):
            self.faults.append(f"{where}: {value!r} is not a {kind.__name__}")
            return
        for key, each in items(value):
            self.value(f"{where}[{key}]", each, inner)


def reachable(fields: tuple[tuple[str, str], ...]) -> set[str]:
    """The objects that an answer with these fields may hold."""
    found: set[str] = set()
    for _, type_ in spread(fields):
        name = re.sub(r"^(list|map) of ", "", type_.removesuffix(" or null"))
        if name in OBJECTS:
            found |= {name} | reachable(OBJECTS[name])
    return found
