"""Kinds of values: each is a function that returns what is expected instead of a value, or None where it fits."""

from datetime import datetime
from typing import Any, NamedTuple, Protocol

from liza.model import MAPPINGS
from liza.text import did_you_mean, suggestion


class Kind(Protocol):
    """What every kind is."""

    def __call__(self, value: Any, /) -> str | None: ...


def text(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "a non-empty string"


def string(value: Any) -> str | None:
    return None if isinstance(value, str) else "a string"


def label(value: Any) -> str | None:
    """An id or name; a bare number is one, too, as people write them."""
    is_name = type(value) is int or (isinstance(value, str) and value.strip())
    return None if is_name else "a name"


def natural(value: Any) -> str | None:
    return None if type(value) is int and value >= 0 else "a whole number, 0 or more"


def positive(value: Any) -> str | None:
    return None if type(value) is int and value >= 1 else "a whole number, 1 or more"


def number(value: Any) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    return None if is_number else "a number"


def flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "true or false, without quotes"


def time(value: Any) -> str | None:
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return "an ISO 8601 time like 2025-01-18T14:32:00Z"
    return None


def mapping(value: Any) -> str | None:
    return None if isinstance(value, MAPPINGS) else "a mapping"


def sequence(value: Any) -> str | None:
    return None if isinstance(value, list) else "a list"


def texts(value: Any) -> str | None:
    fits = isinstance(value, list) and all(text(each) is None for each in value)
    return None if fits else "a list of strings"


def anything(value: Any) -> str | None:
    return None


class OneOf(NamedTuple):
    """A kind: one of these words. The hint of a fault names the nearest one."""

    words: tuple[str, ...]
    name: str = "a known word"  # what they are, where there are too many to list

    def __call__(self, value: Any) -> str | None:
        if value in self.words:
            return None
        *others, last = self.words
        return f"{', '.join(others)} or {last}" if self._are_few else self.name

    @property
    def _are_few(self) -> bool:
        return len(self.words) < 5

    def hint(self, value: object) -> str | None:
        """The nearest word, or all of them; None where the message itself lists them."""
        return did_you_mean(value, self.words) if self._are_few else suggestion(value, self.words)
