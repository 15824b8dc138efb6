"""Text that agents wrote, made fit to be shown. It may hold escape sequences, bidi marks, or a megabyte."""

from collections.abc import Mapping, Sequence
from typing import Any

LONG = 10_000  # bits of a number that Python refuses to print, because printing it takes very long


def shown(value: Any, limit: int = 60) -> str:
    """A value as it is quoted in a message: on one line, printable, not longer than `limit`."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and value.bit_length() > LONG:
        return "a number of thousands of digits"
    if not isinstance(value, str):
        return "null" if value is None else str(value).lower()
    text = printable(value if len(value) <= limit else value[: limit - 1] + "…")
    return f"'{text}'"


def one_line(value: Any, length: int = 72) -> str:
    """One line of a text that anybody may have written, or of a value where a text is wanted."""
    line = " ".join((value if isinstance(value, str) else shown(value))[: 4 * length + 100].split())
    return printable(line if len(line) <= length else line[: length - 1] + "…")


def name_of_person(text: str) -> str:
    """A name as it is written down: on one line, and no character in it that a terminal or a log would act on."""
    return printable(" ".join(text.split()))


def text_of(value: Any) -> str:
    """A value where a text is wanted: as it is written, and never too long to print."""
    return value if isinstance(value, str) else shown(value)


def quoted(text: str) -> str:
    """A name or a path as it is put into a command that people paste: the one place that does it."""
    from shlex import quote

    return quote(text)


def counted(number: int, noun: str) -> str:
    """`1 record`, `3 records`, `1,200 records`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """The text with every character that does not print written as an escape, so that no terminal acts on it."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    )


def closest(word: object, known: Sequence[str]) -> str | None:
    """The known word that was probably meant."""
    if not isinstance(word, str) or not 1 < len(word) < 60:
        return None
    from difflib import get_close_matches

    found = get_close_matches(word.lower(), [each.lower() for each in known], n=1, cutoff=0.75)
    if found:
        return next(each for each in known if each.lower() == found[0])
    return next((each for each in known if sorted(each.lower()) == sorted(word.lower())), None)  # ADN for AND
