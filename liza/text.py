"""Making text safe to show: agents write it, so it may hold escape sequences, bidi marks, or a megabyte."""

from collections.abc import Mapping, Sequence
from typing import Any

MAX_NUMBER_BITS = 10_000  # Python refuses to print a larger number, because that takes very long


def value_text(value: Any, limit: int = 60) -> str:
    """A value as a message quotes it: on one line, printable, at most `limit` characters."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
        return "a number of thousands of digits"
    if not isinstance(value, str):
        return "null" if value is None else str(value).lower()
    return f"'{printable(cut(value, limit))}'"


def cut(text: str, length: int) -> str:
    """The text, shortened to `length` characters; an ellipsis shows where it ends early."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def one_line(value: Any, length: int = 72) -> str:
    """An untrusted text, or any other value, on one printable line of at most `length` characters."""
    return printable(cut_line(text_of(value), length))


def cut_line(text: str, length: int) -> str:
    """A text on one line of at most `length` characters. Not made printable: for what is stored, not shown."""
    return cut(" ".join(text[: 4 * length + 100].split()), length)


def number_text(value: float) -> str:
    """A number that is counted or summed up, for people: 3, 0.25, 2100000."""
    return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"


def of_text(value: float, threshold: float) -> str:
    """How near a rule is: `3 of 5`, and beyond its threshold `6 (trips at 5)`."""
    joint = "{} (trips at {})" if value > threshold else "{} of {}"
    return joint.format(number_text(value), number_text(threshold))


def file_name(name: str, safe: str = "-_", longest: int = 80, kept: int = 80) -> str:
    """A name as a file name or part of a git reference: every character but ASCII letters, digits and `safe` escaped.

    One that is longer than `longest` is cut to `kept`, and a digest keeps it different from others.
    """
    raw = name.encode("utf-8", "surrogatepass")
    escaped = "".join(chr(byte) if _is_plain(chr(byte), safe) else f"%{byte:02X}" for byte in raw)
    if len(escaped) <= longest:
        return escaped
    import hashlib

    return f"{escaped[:kept]}-{hashlib.sha256(raw).hexdigest()[:12]}"


def _is_plain(char: str, safe: str) -> bool:
    return char in safe or (char.isascii() and char.isalnum())


def person_name(text: str) -> str:
    """A person's name for the records: on one line, without characters that a terminal or a log would act on."""
    return printable(" ".join(text.split()))


def text_of(value: Any) -> str:
    """A string as it is; any other value as `value_text` shows it."""
    return value if isinstance(value, str) else value_text(value)


def shell_quoted(text: str) -> str:
    """A name or path, quoted for a shell command that people paste."""
    from shlex import quote

    return quote(text)


def plural(number: int, noun: str) -> str:
    """`1 record`, `3 records`, `1,200 records`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def waiting_text(events: int) -> str:
    """`1 hook event waits`, `3 hook events wait`."""
    return f"{plural(events, 'hook event')} {'waits' if events == 1 else 'wait'}"


def some_of(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are: `a, b and 3 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def printable(text: str) -> str:
    """The text with every unprintable character escaped, so that no terminal acts on it."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    )


# What Markdown would act on: a backslash before a sign, marks of emphasis, links, tags and entities.
_MARKUP = (
    r"\\(?=[!-/:-@\[-`{-~]|$)|[`*\[]|\](?=[(\[:])|~(?!/)|<(?=[A-Za-z/!?])|&(?=\w+;)|(?<=&)#"
    r"|(?<!\w)_|_(?!\w)"
)


def escape_markdown(text: str, *, in_table: bool = True) -> str:
    """A text without any markup or control character, which stays readable where it is printed as it is."""
    import re

    return re.sub(rf"{_MARKUP}|\|" if in_table else _MARKUP, r"\\\g<0>", printable(text))


def _closest_match(word: object, known: Sequence[str]) -> str | None:
    if not isinstance(word, str) or not 1 < len(word) < 60:
        return None
    from difflib import get_close_matches

    found = get_close_matches(word.lower(), [each.lower() for each in known], n=1, cutoff=0.75)
    if found:
        return next(each for each in known if each.lower() == found[0])
    return next((each for each in known if sorted(each.lower()) == sorted(word.lower())), None)  # ADN for AND


def did_you_mean(word: object, known: Sequence[str], otherwise: str | None = None) -> str | None:
    """A hint for an unknown word: `did you mean count?`, or `otherwise` where no known word is near."""
    match = _closest_match(word, known)
    return f"did you mean {match}?" if match else otherwise


def escape_angles(text: str) -> str:
    """A text in which nothing is a tag or a mention."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def with_meant(text: str, word: object, known: Sequence[str]) -> str:
    """A text about an unknown word, and behind it the known one that was probably meant."""
    return "; ".join(filter(None, (text, did_you_mean(word, known))))


def suggestion(word: object, known: Sequence[str], otherwise: str = "one of") -> str:
    """The same, or all known words after `otherwise`."""
    return did_you_mean(word, known) or f"{otherwise}: {', '.join(known)}"


def escape_surrogates(text: str) -> str:
    """A text as it can be written down: bytes that are no characters become escapes."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
