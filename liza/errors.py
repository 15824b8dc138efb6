"""Errors that a person can act on.

Each knows its exit code, says in one line what happened and where, and carries the command or edit that mends it.
Each is also the builtin that a caller of the Python API would already catch.
"""

TYPE_CHECKING = (
    False  # not typing's: `liza gate` starts in little more time than Python itself, and typing is half of it
)
if TYPE_CHECKING:
    from collections.abc import Sequence

    from liza.model import Problem


class LizaError(Exception):
    """An expected failure. Anything else that reaches the command line is a bug in liza."""

    exit_code = 1
    status = "refused"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        problems: "Sequence[Problem]" = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.file = file
        self.line = line
        self.column = column
        self.problems = tuple(problems)  # where there is more than one thing to tell
        self.fields: dict[str, object] = {}  # what else belongs into the JSON answer

    def __str__(self) -> str:
        return f"{location(self.file, self.line, self.column)}{self.message}"


class Refused(LizaError, ValueError):
    """The request cannot be carried out; nothing was changed."""


class Unwritable(Refused):
    """The blackboard cannot be written now, whatever is to be written; what was asked for may be right."""


class WrongUsage(LizaError, ValueError):
    """The command was called in a way that has no meaning."""

    exit_code = 2
    status = "usage"


class NoBlackboard(LizaError, FileNotFoundError):
    """There is no `.liza/` folder where one was looked for."""


class LockTimeout(LizaError, TimeoutError):
    """Somebody else kept the blackboard's lock for longer than we wait."""

    def __init__(self, message: str, *, hint: str, file: str, holder: int | None) -> None:
        super().__init__(message, hint=hint, file=file)
        self.holder = holder


class Unreadable(LizaError, ValueError):
    """A file of the blackboard cannot be understood, so nothing can be judged: DEGRADED, never OK."""

    exit_code = 4
    status = "degraded"


def location(file: str | None, line: int | None, column: int | None) -> str:
    """`state.yaml:12:5: `, as compilers and editors write it; empty when there is no place to name."""
    if file is None:
        return ""
    at = "" if line is None else f":{line}" if column is None else f":{line}:{column}"
    return f"{file}{at}: "
