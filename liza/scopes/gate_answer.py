"""The answer of a gate: may work continue?"""

from typing import NamedTuple

from liza.text import shell_quoted


class Gate(NamedTuple):
    """Whether agents may continue: true if they may, and then `why` and `hint` are empty.

    Unlike other tuples this one can be false: `while liza.gate(): ...` stops.
    """

    why: str = ""  # what stops them
    hint: str = ""  # what to do about it
    notes: tuple[str, ...] = ()  # warnings that stop nothing
    unknown: tuple[str, ...] = ()  # names that are not on the blackboard; they stop nothing either

    def __bool__(self) -> bool:
        return not self.why


def status_hint(command: str, name: str) -> str:
    return f"see what it is waiting for: liza {command} {shell_quoted(name)}"
