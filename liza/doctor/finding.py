"""What the doctor has to say of one thing."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from liza.errors import LizaError, Unreadable


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"  # liza does its work; something is worse than it could be
    ERROR = "error"  # something does not work until it is mended
    DEGRADED = "degraded"  # the blackboard cannot be judged
    FIXED = "fixed"  # it was wrong, and --fix has mended it


class Finding(NamedTuple):
    """What was found, and for what is wrong the command or edit that mends it.

    `fix` mends it and says what it did. Only what can harm nobody has one: no byte that somebody wrote is lost by it,
    and no halt is lifted.
    """

    about: str
    level: Level
    message: str
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    fix: Callable[[], str] | None = None


def error_findings(about: str, error: LizaError) -> list[Finding]:
    """An error as findings: what keeps the blackboard from being judged is worse than other errors."""
    level = Level.DEGRADED if isinstance(error, Unreadable) else Level.ERROR
    return [
        Finding(about, level, each.message, each.hint, each.file, each.line, each.column)
        for each in error.problems or (error,)
    ]
