"""Errors that a person can act on.

Each has an exit code, reports in one line what happened and where, and carries the command or edit that fixes it.
Each is also the builtin that a caller of the Python API would already catch.
"""

TYPE_CHECKING = False  # not typing's: importing that takes half as long as the whole of `liza gate`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

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
        self.problems = tuple(problems)  # where there is more than one thing to report
        self.fields: dict[str, object] = {}  # further fields of the JSON answer

    @classmethod
    def like(
        cls, source: "LizaError | Problem", problems: "Sequence[Problem]" = (), message: str | None = None
    ) -> "Self":
        """An error of this class about the same place, with the same hint, and the same message if none is given."""
        return cls(
            message or source.message,
            hint=source.hint,
            file=source.file,
            line=source.line,
            column=source.column,
            problems=problems,
        )

    def as_problem(self, file: str = "") -> "Problem":
        """The same as a problem, of that file where it names none."""
        from liza.model import Problem

        return Problem(self.message, self.file or file, self.line, self.column, self.hint)

    def listed(self, file: str = "") -> "tuple[Problem, ...]":
        """All that there is to report."""
        return self.problems or (self.as_problem(file),)

    def __str__(self) -> str:
        return f"{location(self.file, self.line, self.column)}{self.message}"


class Refused(LizaError, ValueError):
    """The request cannot be carried out; nothing was changed."""


UNSUPPORTED = ("liza runs on Linux and macOS, not on Windows", "run it inside WSL")


def require_posix() -> None:
    """Raise `Refused` on Windows, which lacks flock(2) and process groups."""
    import os

    if os.name != "posix":
        raise Refused(UNSUPPORTED[0], hint=UNSUPPORTED[1])


class Unwritable(Refused):
    """The blackboard cannot be written now; the request itself may be valid."""


class WrongUsage(LizaError, ValueError):
    """The command was called with options or arguments that make no sense."""

    exit_code = 2
    status = "usage"


class NoBlackboard(LizaError, FileNotFoundError):
    """No `.liza/` folder was found."""


class LockTimeout(LizaError, TimeoutError):
    """Another program held the blackboard's lock for longer than the timeout."""

    def __init__(self, message: str, *, hint: str, file: str, holder: int | None) -> None:
        super().__init__(message, hint=hint, file=file)
        self.holder = holder


class Unreadable(LizaError, ValueError):
    """A file of the blackboard cannot be used, so nothing can be evaluated: DEGRADED, never OK."""

    exit_code = 4
    status = "degraded"


class Overrun(Unreadable):
    """Custom rules were not evaluated fully. The file that they are in is valid, and in force."""


def location(file: str | None, line: int | None, column: int | None) -> str:
    """`state.yaml:12:5: `, as compilers and editors write it; empty without a file."""
    if file is None:
        return ""
    at = "" if line is None else f":{line}" if column is None else f":{line}:{column}"
    return f"{file}{at}: "
