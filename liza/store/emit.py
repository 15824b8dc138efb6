"""Python values to YAML text, in the style people write by hand.

Our own emitter, because what it writes lands in a file that people read and edit: timestamps and words stay plain,
several lines become a literal block, and everything else is double quoted. A plain scalar is written only where every
reader, YAML 1.1 or 1.2, takes it for that same string. (yaml-rs quotes timestamps and squeezes line breaks into one
line; ruamel.yaml takes longer to import than the whole command takes to run.)

Callers prove the result by parsing it back, so a value that has no YAML form is found before anything is written.
"""

from collections.abc import Mapping
from typing import Any

from liza.text import MAX_NUMBER_BITS

# Looked at without regular expressions: compiling two of them takes longer than writing a record.
_HARMLESS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/.@+()-")
_DIGITS = str.maketrans("123456789", "000000000")
# Words that some YAML reader takes for a boolean, null or number.
_RESERVED = ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf")
_ESCAPES = {code: f"\\u{code:04x}" for code in range(32)} | {
    ord(char): escape
    for char, escape in zip('"\\\n\r\t\b\f', ('\\"', "\\\\", "\\n", "\\r", "\\t", "\\b", "\\f"), strict=True)
}
MAX_KEY = 120  # YAML wants an implicit key within 1,024 characters; longer ones are not readable


def block(value: Any, column: int) -> str:
    """What follows `key:` or `-`, whose own column is `column - 2`: a scalar after a space, or indented lines.

    No line break at the end.
    """
    if isinstance(value, Mapping) and value:
        return "\n" + " " * column + mapping(value, column)
    if isinstance(value, list | tuple) and value:
        return "\n" + " " * column + sequence(value, column)
    return " " + scalar(value, column)


def mapping(value: Mapping[str, Any], column: int) -> str:
    """The fields of a mapping, the first where the caller's text ends, the others in `column`."""
    return ("\n" + " " * column).join(field(key, item, column) for key, item in value.items())


def field(key: str, value: Any, column: int) -> str:
    """One `key: value`, its key in `column`."""
    return f"{_key(key)}:{block(value, column + 2)}"


def sequence(value: list[Any] | tuple[Any, ...], column: int) -> str:
    """The items of a sequence, the first where the caller's text ends, the others in `column`."""
    return ("\n" + " " * column).join(item(one, column) for one in value)


def item(value: Any, column: int) -> str:
    """One `- value`, its dash in `column`; a mapping or sequence begins on the dash's line."""
    if isinstance(value, Mapping) and value:
        return "- " + mapping(value, column + 2)
    if isinstance(value, list | tuple) and value:
        return "- " + sequence(value, column + 2)
    return "- " + scalar(value, column + 2)


def flow(value: Any) -> str:
    """The value on one line, for a place inside `[...]` or `{...}`."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and not _is_timestamp(value):
        return _word(value)
    return scalar(value, 0)


def scalar(value: Any, column: int) -> str:
    """A scalar, or an empty collection. `column` is where the lines of a literal block stand."""
    if isinstance(value, str):
        if "\n" in value and _fits_literal(value):
            chomp, lines = ("", value[:-1]) if value.endswith("\n") else ("-", value)
            indent = "\n" + " " * column
            return f"|{chomp}" + "".join(indent + line if line else "\n" for line in lines.split("\n"))
        return value if _is_timestamp(value) else _word(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value.bit_length() > MAX_NUMBER_BITS:
            raise TypeError("a number of thousands of digits")
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    raise TypeError(f"a {type(value).__name__} cannot be written to the blackboard")


def _float(value: float) -> str:
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return text.replace("inf", ".inf").replace("nan", ".nan")
    return text if "." in text else text.replace("e", ".0e")


def _key(key: Any) -> str:
    if not isinstance(key, str) or not key or len(key) > MAX_KEY:
        raise TypeError(f"invalid key {str(key)[:40]!r}: expected a word of at most {MAX_KEY} characters")
    return _word(key)


def _word(text: str) -> str:
    if _is_plain(text) and text.lower() not in _RESERVED:
        return text
    return _quoted(text)


def _is_plain(text: str) -> bool:
    """Whether it is words of harmless characters, one space between two, and begins as a name or a path does."""
    first = text.lstrip("_")[:1]
    begins = (first.isascii() and first.isalpha()) or text.startswith("/")
    return begins and all(words := text.split(" ")) and _HARMLESS.issuperset("".join(words))


def _is_timestamp(text: str) -> bool:
    """Whether it is a time as liza writes it: `2025-01-18T14:30:00Z`, perhaps with a fraction of a second."""
    seconds, point, fraction = text[:-1].partition(".")
    return (
        text[-1:] == "Z"
        and seconds.translate(_DIGITS) == "0000-00-00T00:00:00"
        and (not point or (fraction.isascii() and fraction.isdecimal()))
    )


def _quoted(text: str) -> str:
    """Double quoted and escaped: no control character or bidi mark is raw in the file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TypeError("unpaired surrogate in a string") from None
    # By the characters that there are, not one by one: agents report whole build logs.
    odd = {ord(char): _escape(char) for char in set(text) if not char.isprintable()}
    return f'"{text.translate({**odd, **_ESCAPES})}"'


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _fits_literal(text: str) -> bool:
    """Whether a literal block shows the text as it is. Where its end would be in doubt, quotes are safer."""
    lines = text.split("\n")
    last = lines[-1] or lines[-2]
    return (
        lines[0] != ""
        and not lines[0][0].isspace()
        and last.strip() != ""
        and not last.lstrip().startswith("#")
        and all(line.isprintable() for line in lines)
    )
