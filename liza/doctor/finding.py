"""What a check of the doctor found."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from liza.errors import LizaError, Unreadable


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"  # liza works; something could be better
    ERROR = "error"  # something does not work until it is fixed
    DEGRADED = "degraded"  # the blackboard cannot be evaluated
    FIXED = "fixed"  # it was wrong, and --fix has fixed it


class Finding(NamedTuple):
    """What was found, and the command or edit that fixes what is wrong.

    `fix` fixes it and returns what it did. Only harmless fixes have one: no byte that another program wrote is
    lost, and no halt is lifted.
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
    """An error as findings: DEGRADED where the blackboard cannot be evaluated, otherwise an error."""
    level = Level.DEGRADED if isinstance(error, Unreadable) else Level.ERROR
    return [
        Finding(about, level, each.message, each.hint, each.file, each.line, each.column)
        for each in error.problems or (error,)
    ]
