"""An error as it was found in an output, and the places that stack traces and compilers print near it."""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

# The order of errors; `errors` gives the reasons.
ENDED, TEST, ROOT, LOGGED, AROUND, COUNT = range(6)
DETAIL = 6  # of a failing test, whose verdict is elsewhere in the output
LINE = 1_000  # characters of a line that are read


class Found(NamedTuple):
    """An error as it was found: the line, the place, the failing test."""

    rank: int
    text: str
    file: str | None = None
    test: str | None = None


Lines = Sequence[str]
Read = tuple[list[Found], int] | None  # errors and the next line to read; None if the reader does not apply

_ESCAPES = r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?|[@-Z\\^_])"
_SOON = 40  # lines that are searched for a place
_FRAME = r"\s*(?:at (?:async )?(?:.*[( ])?|❯ (?:.* )?)(?P<file>(?:[A-Za-z]:)?[^\s:()\"]+):(?:line )?(?P<line>\d+)"
_GO_FRAME = r"\s+(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$"
_ARROW = r"\s*(?:-->|╭▸|[╭┌]─+\[?) ?(?P<file>[^\s:]+):(?P<line>\d+)"
_NOT_THE_USERS = (
    "site-packages", "dist-packages", "/lib/python", "<frozen", "node_modules", "node:", "/usr/lib/go", "/usr/local/go",
    "/rustc/", ".cargo/registry", "internal/process", "<anonymous>",
)  # fmt: skip
# Frames of Java name a file without its folder; the package before it shows whose code it is.
_NOT_THE_USERS_IN_JAVA = (
    r"\s*at (?:app/+)?(?:(?:java|javax|jdk|sun|kotlin|scala)[./]|org\.(?:junit|opentest4j|gradle|springframework)\b)"
)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use: compiling all of them takes longer than reading most outputs."""
    return re.compile(pattern)


def without_escapes(text: str) -> str:
    """The text as a terminal shows it, without colours, titles and links."""
    return compiled(_ESCAPES).sub("", text)


def place(found: re.Match[str]) -> str:
    """The file and the line of a match, as `file:line`."""
    file = found["file"].removeprefix("file://")
    return f"{file}:{found['line']}" if found["line"] else file


def is_users(file: str) -> bool:
    """Whether a file is the user's own, not one of a language or a library."""
    return not any(each in file for each in _NOT_THE_USERS)


def is_frame(line: str) -> bool:
    """Whether a line is a frame of a Java, JavaScript or similar stack trace."""
    return line[:1].isspace() and line.lstrip().startswith(("at ", "❯ "))


def in_frames(lines: Lines, start: int, stop: int | None = None, libraries: bool = True) -> str | None:
    """The innermost place in the user's own code that a stack trace names, or else the innermost of all."""
    other = None
    for line in lines[start : min(start + _SOON, stop or len(lines))]:
        frame = compiled(_FRAME).match(line[:LINE]) if is_frame(line) else None
        frame = frame or (compiled(_GO_FRAME).match(line[:LINE]) if ".go:" in line[:LINE] else None)
        if frame is None:
            continue
        if is_users(frame["file"]) and not compiled(_NOT_THE_USERS_IN_JAVA).match(line[:LINE]):
            return place(frame)
        other = other or place(frame)
    return other if libraries and other and not other.startswith("node:") else None


def in_arrow(lines: Lines, start: int) -> str | None:
    """The place in the ` --> src/main.rs:3:5` that compilers print below an error."""
    for line in lines[start : start + 3]:
        if found := compiled(_ARROW).match(line[:LINE]):
            return place(found)
    return None


def continued(lines: Lines, at: int, always: bool = False) -> str:
    """A line with its continuation: a message that ends with a colon continues on the next line."""
    text = lines[at][:LINE].strip()
    if always or text.endswith(":"):
        below = next((line.strip() for line in lines[at + 1 : at + 4] if line.strip()), "")
        if below and not below.startswith(("at ", "❯", "File ")):
            return f"{text}{' ' if text.endswith(':') else ' - '}{below[:LINE]}"
    return text
