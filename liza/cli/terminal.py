"""Printing in colours, as click does it, without click: its import takes longer than a check of a whole blackboard."""

import os
import re
import sys

TYPE_CHECKING = False  # not typing's: see liza.errors
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

_COLOURS = {"red": 31, "green": 32, "yellow": 33}
_STYLE = re.compile("\x1b\\[[0-9;]*m")


def echo(text: str = "", *, err: bool = False) -> None:
    """Print one line, without its colours where NO_COLOR is set or the output is not a terminal."""
    stream = sys.stderr if err else sys.stdout
    line = text + "\n"
    if "\x1b" in line and (os.environ.get("NO_COLOR") or not stream.isatty()):
        line = unstyle(line)
    try:
        stream.write(line)
    except UnicodeEncodeError:  # PYTHONIOENCODING=ascii
        stream.write(line.encode(stream.encoding, "replace").decode(stream.encoding))
    stream.flush()


def style(text: str, fg: str | None = None, *, bold: bool = False) -> str:
    """The text in a colour."""
    colour = f"\x1b[{_COLOURS[fg]}m" if fg is not None else ""
    weight = "\x1b[1m" if bold else ""
    return f"{colour}{weight}{text}\x1b[0m"


def unstyle(text: str) -> str:
    """The text without colours."""
    return _STYLE.sub("", text)


def width_of(text: str) -> int:
    """The columns that a printable text takes, without its colours: a letter of Asia takes two, an accent none."""
    text = unstyle(text)
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def aligned(rows: "Sequence[Sequence[str]]", right: "Container[int]" = ()) -> list[str]:
    """Each row as a line, with its cells below those of the others; a column without any text is left out."""
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        filled = [(at, cell, " " * (widths[at] - width_of(cell))) for at, cell in enumerate(row) if widths[at]]
        lines.append("  ".join(gap + cell if at in right else cell + gap for at, cell, gap in filled).rstrip())
    return lines
