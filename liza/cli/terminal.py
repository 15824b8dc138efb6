"""Printing in colours, as click does it, without click: its import takes longer than a check of a whole blackboard."""

import os
import re
import sys

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
