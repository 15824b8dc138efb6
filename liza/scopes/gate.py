"""May agents continue? For hooks and loops that ask before every action, about everyone or about one scope.

Nothing is written here: what another program wrote is evaluated, and the next check puts it into effect.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from liza.errors import LizaError
from liza.halt import halt_reason
from liza.store.board import Board
from liza.store.locate import find
from liza.text import shell_quoted

_FIX = "fix it, then try again; see: liza validate"


class Gate(NamedTuple):
    """Whether agents may continue: true if they may, and then `why` and `hint` are empty.

    Unlike other tuples this one can be false: `while liza.gate(): ...` stops.
    """

    why: str = ""  # what stops them
    hint: str = ""  # what to do about it
    notes: tuple[str, ...] = ()  # warnings that stop nothing

    def __bool__(self) -> bool:
        return not self.why


def check_gate(root: str | None, wanted: Mapping[str, str | None], now: datetime) -> Gate:
    """The gate for everyone, then for each claim, slice, loop and stage that is named.

    What cannot be evaluated stops: an unreadable blackboard gives no reason to continue.
    """
    named = {scope: name for scope, name in wanted.items() if name is not None}
    try:
        held = halt_reason(root)
        if held is not None:
            return Gate(*held)
        if find(root) is None or not named:
            return Gate()
        return _check_scopes(Board.find(root), named, now)
    except LizaError as error:
        return Gate(str(error), error.hint or _FIX)
    except OSError as error:
        return Gate(f"the blackboard cannot be read: {error}", _FIX)


def _check_scopes(board: Board, named: Mapping[str, str], now: datetime) -> Gate:
    board.read()  # an unreadable blackboard stops every scope of it
    notes: tuple[str, ...] = ()
    for scope, name in named.items():
        if not name.strip():  # a variable that a hook forgot to set must not open the gate
            return Gate(f"no {scope} is named", f"give its name after --{scope}")
        gate = _check_scope(scope, board, name, now)
        notes += gate.notes
        if not gate:
            return gate._replace(notes=notes)
    return Gate(notes=notes)


def _check_scope(scope: str, board: Board, name: str, now: datetime) -> Gate:
    """The gate of one scope; only its own modules are loaded."""
    if scope == "loop":
        from liza.scopes.loops.gate import check_loop

        return check_loop(board, name, now)
    if scope == "slice":
        from liza.scopes.slices.gate import check_slice

        return check_slice(board, name, now)
    from liza.scopes.claims.gate import check_claim, check_stage

    return check_claim(board, name, now) if scope == "claim" else check_stage(board, name, now)


def status_hint(command: str, name: str) -> str:
    return f"see what it waits for: liza {command} {shell_quoted(name)}"
