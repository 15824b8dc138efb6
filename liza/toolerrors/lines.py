"""Readers of single lines: the patterns of the table, lines of logs, and what a compiler prints above an arrow."""

import re

from liza.toolerrors.findings import (
    AROUND,
    COUNT,
    LINE,
    LOGGED,
    ROOT,
    Found,
    Lines,
    Read,
    compiled,
    continued,
    in_arrow,
    in_frames,
    place,
)
from liza.toolerrors.patterns import NONE, Pattern
from liza.toolerrors.traces import is_message, placed

_FAR = 200  # lines between a file's name and a linter's message
_CONTINUED = ("cmake", "webpack")  # on the next line
_LEVEL = (
    r"(?:\S{1,80} (?:\S{1,80} ){0,2}?)?[\[(|<]?"
    r"(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN|WARNING(?!: DATA RACE)|ERROR|FATAL|CRITICAL|SEVERE)"
    r"[\])|>]?[:\s-]+(?P<message>.*)"
)
_SMALL = r"[\[(](?P<level>debug|info|notice|warn|warning|error|fatal)[\])][:\s-]+(?P<message>.*)"
_LOGFMT = r".{0,200}\b(?:level|lvl|severity)=\"?(?P<level>\w+)\"? .*?(?P<message>\b(?:msg|message)=.*)"
_QUIET = ("TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING")
_BAD = ("ERROR", "FATAL", "CRITICAL", "SEVERE")
_NOISE_OF_MAVEN = (
    "To see the full", "Re-run Maven", "For more information", "After correcting", "COMPILATION ERROR", "Some problems",
    "The build could", "The project ", "Please refer", "There are test", "Failures:", "Errors:", "symbol:", "location:",
    "Help ", "ERROR] ",
)  # fmt: skip
_THROWN = r"\s*thrown in (?P<file>\S+) on line (?P<line>\d+)$"
_BELOW = r"\s+(?P<file>[^\s:]+):(?P<line>\d+):\d+:$"


def single(pattern: Pattern, lines: Lines, at: int) -> Read:
    """Match one pattern with one line; a line that is not an error is consumed before the patterns that follow."""
    line = lines[at][:LINE]
    found = compiled(pattern.regex).match(line)
    if found is None:
        return None
    if pattern.rank == NONE:
        return [], at + 1
    groups = found.groupdict()
    if "message" in groups and not is_message(groups["message"]):
        return None
    is_continued = pattern.name in _CONTINUED
    text = continued(lines, at, always=True) if is_continued else (groups.get("text") or line).strip()
    return [Found(pattern.rank, text, _where(pattern, found, lines, at), groups.get("test"))], at + 1


def _where(pattern: Pattern, found: re.Match[str], lines: Lines, at: int) -> str | None:
    """The place that the line names, or else one that is printed near it."""
    if pattern.name == "eslint":
        above = reversed(lines[max(at - _FAR, 0) : at])
        file = next((line for line in above if line and not line[0].isspace()), None)
        return f"{file}:{found['line']}" if file else None
    if found.groupdict().get("file"):
        return place(found)
    if pattern.name == "php":  # below a message of several lines
        below = (compiled(_THROWN).match(line[:LINE]) for line in lines[at + 1 : at + _FAR])
        return next((place(each) for each in below if each), None)
    return in_arrow(lines, at + 1) or (in_frames(lines, at + 1) if pattern.name == "error" else None)


def is_quiet(line: str, timed: bool) -> bool:
    """Whether a line is a log line below the level of an error."""
    found = _level(line, timed)
    return found is not None and found["level"].upper() in _QUIET


def logged(lines: Lines, at: int, timed: bool = False) -> Read:
    """A line of a log at the level of an error."""
    line = lines[at][:LINE]
    found = _level(line, timed)
    if found is None or found["level"].upper() not in _BAD:
        return None
    message = found["message"].lstrip("[(")
    if message.startswith("Failed to execute goal"):
        return [Found(AROUND, line)], at + 1
    if not message[:1].isalpha() or message.startswith(_NOISE_OF_MAVEN) or not is_message(message):
        return [], at + 1
    for below in lines[at + 1 : at + 3]:  # esbuild
        if where := compiled(_BELOW).match(below[:LINE]):
            return [Found(ROOT, line, place(where))], at + 1
    if read := placed([message], 0):
        return [each._replace(rank=LOGGED) for each in read[0]], at + 1
    is_repeated = message.startswith("Tests run:") or line.startswith("[ERROR]   ")
    return [Found(COUNT if is_repeated else LOGGED, line.strip())], at + 1


def _level(line: str, timed: bool) -> re.Match[str] | None:
    """The level of a log line. Without a time before it the level must come first."""
    found = compiled(_LEVEL).match(line) if any(level in line for level in (*_QUIET, *_BAD)) else None
    found = found or (compiled(_SMALL).match(line) if line[:1] in ("[", "(") else None)
    if found and not timed and found.start("level") > 1:
        found = None
    return found or (compiled(_LOGFMT).match(line) if "l=" in line or "y=" in line else None)


def arrow(lines: Lines, at: int) -> Read:
    """The message above ` --> src/main.rs:3:5`, a form that rustc, ruff, vite and others share."""
    above = lines[at - 1].strip() if at else ""
    where = in_arrow(lines, at)
    if where is None or not above.lstrip("[")[:1].isalpha() or above.startswith(("warning", "note", "help", "info")):
        return None
    return [Found(ROOT, above, where)], at + 1


def biome(lines: Lines, at: int) -> Read:
    """`src/app.js:2:7 lint/style/useConst  FIXABLE  ━━━` above the message, which a × marks as an error."""
    found = compiled(r"(?P<file>[^\s:]+):(?P<line>\d+):\d+ (?P<rule>\S+) .*━").match(lines[at][:LINE])
    message = next((line.strip() for line in lines[at + 1 : at + 4] if line.strip()), "")
    if found is None or not message.startswith(("×", "✖")):
        return None
    return [Found(ROOT, f"{found['rule']} - {message[1:].strip()}", place(found))], at + 1
