"""Standard input and standard error. Without click: see `without_click`."""

import sys

from liza.errors import Refused
from liza.text import printable


def read_bytes(source: str, hint: str, most: int = -1) -> bytes:
    """A file, or standard input for `-`: all of it, or the first `most` bytes; `Refused` where it cannot be read."""
    try:
        if source == "-":
            return sys.stdin.buffer.read(most)
        with open(source, "rb") as file:
            return file.read(most)
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}", hint=hint, file=source) from None


def read_text(source: str, hint: str) -> str:
    """The same as text; bytes that are not UTF-8 stay visible as escapes."""
    return read_bytes(source, hint).decode(errors="backslashreplace")


def warn(text: str, hint: str | None = None) -> None:
    """A warning beside what is printed for a program, and how to fix it."""
    print(f"liza: warning: {printable(text)}", file=sys.stderr)
    if hint:
        print(f"  hint: {printable(hint)}", file=sys.stderr)
