"""The facts that everything else speaks of: frozen, without input or output, for every part of liza to import."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes [start, end) of a file."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a file that does not stop it from being read. Line and column count from 1."""

    message: str
    file: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    level: str = "error"  # or "warning": usable as it is, but probably not what was meant


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of a stream, with every field that was written, known or not."""

    stream: str
    key: int | str  # its place in a list section, or its name in a mapping section
    fields: Mapping[str, Any]

    def get(self, field: str) -> Any:
        """A field of the record, else of its `details`; None if it is in neither."""
        if field in self.fields:
            return self.fields[field]
        details = self.fields.get("details")
        return details.get(field) if isinstance(details, Mapping) else None

    @property
    def timestamp(self) -> datetime | None:
        return parse_time(self.fields.get("timestamp"))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A blackboard as it was at one moment, and all that is known to be wrong with it."""

    raw: bytes
    spans: Mapping[str, Span]  # of each section; empty where they cannot be cut, and then liza does not write either
    sections: Mapping[str, Any]
    problems: tuple[Problem, ...]

    def records(self, stream: str) -> tuple[Record, ...]:
        """The usable records of a section that is a list or a mapping of them; a faulty one is among the problems."""
        entries = self.sections.get(stream)
        if isinstance(entries, tuple):
            return tuple(Record(stream, i, entry) for i, entry in enumerate(entries) if isinstance(entry, Mapping))
        if isinstance(entries, Mapping):
            return tuple(Record(stream, str(k), entry) for k, entry in entries.items() if isinstance(entry, Mapping))
        return ()


def frozen(value: Any) -> Any:
    """The same value, with nothing in it that can be changed."""
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return tuple(map(frozen, value))
    return value


def parse_time(value: object) -> datetime | None:
    """An ISO 8601 time as liza reads it: UTC where no zone is given; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
