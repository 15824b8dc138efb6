"""May work go on? For agents' hooks and loops that ask before every action, about all of them or about one scope.

Nothing is written here: what somebody wrote by hand has come to is worked out, and put down by whoever may.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from liza.errors import LizaError
from liza.halt import halt_reason
from liza.store.board import Board
from liza.store.locate import find

Held = tuple[str, str]  # why, and what to do


class Gate(NamedTuple):
    """Whether work may go on: true if it may, and then `why` and `hint` are empty.

    Unlike other tuples this one can be false: `while liza.gate(): ...` stops.
    """

    why: str = ""  # what stops it
    hint: str = ""  # what to do about that
    notes: tuple[str, ...] = ()  # what is odd, and stops nobody

    def __bool__(self) -> bool:
        return not self.why


def ask(root: str | None, wanted: Mapping[str, str | None], now: datetime) -> Gate:
    """The answer for everybody, and then for each claim, slice, loop and stage that is named.

    What cannot be judged stops: a blackboard that nobody can read says nothing that could be gone on with.
    """
    named = {scope: name for scope, name in wanted.items() if name is not None}
    try:
        held = halt_reason(root)
        if held is not None:
            return Gate(*held)
        nowhere = find(root) is None
        return Gate() if nowhere or not named else _scoped(Board.find(root), named, now)
    except LizaError as error:
        return Gate(str(error), error.hint or "mend it, then try again; see: liza validate")
    except OSError as error:
        return Gate(f"the blackboard cannot be looked at: {error}", "mend it, then try again; see: liza validate")


def _scoped(board: Board, named: Mapping[str, str], now: datetime) -> Gate:
    board.read()  # a blackboard that cannot be read stops every scope of it
    notes: list[str] = []
    judges = {"claim": _claim, "slice": _slice, "loop": _loop, "stage": _stage}
    for scope, name in named.items():
        if not name.strip():  # a variable that a hook forgot to set must not open the gate
            return Gate(f"no {scope} is named", f"give its name behind --{scope}")
        held = judges[scope](board, name, now, notes)
        if held is not None:
            return Gate(*held, tuple(notes))
    return Gate(notes=tuple(notes))


def _claim(board: Board, name: str, now: datetime, notes: list[str]) -> Held | None:
    """A dispute freezes its claim."""
    from liza.scopes.claims import gate
    from liza.scopes.claims.change import Context
    from liza.scopes.rules_file import read_rules

    return gate.claim_held(Context(board, read_rules(board.paths.rules, protocol="disputes"), now), name)


def _stage(board: Board, name: str, now: datetime, notes: list[str]) -> Held | None:
    """A dispute keeps the last stage from closing."""
    from liza.scopes.claims import gate
    from liza.scopes.claims.change import Context
    from liza.scopes.rules_file import read_rules

    return gate.stage_held(Context(board, read_rules(board.paths.rules, protocol="disputes"), now), name)


def _loop(board: Board, name: str, now: datetime, notes: list[str]) -> Held | None:
    """A loop that has cooled down may try again, which its status alone does not say."""
    from liza.scopes.loops import evaluate, states
    from liza.scopes.loops.record import look

    rules, settings = evaluate.in_force(board.paths)
    notes += evaluate.oddities(settings)
    found = look(board, name, rules, settings, now)
    is_open = found.status == states.OPEN and not settings.disabled
    return (f"loop {name} is OPEN: {found.reason}", _hint("loop status", name)) if is_open else None


def _slice(board: Board, name: str, now: datetime, notes: list[str]) -> Held | None:
    """A slice that others wrote, and nobody has judged yet, is stopped by what stands there."""
    from liza.scopes.rules_file import read_rules
    from liza.scopes.slices import evaluate
    from liza.scopes.slices.record import look

    if evaluate.understood(board.read(), name) is None:
        return None  # what is not on the blackboard has nothing against it
    found = look(board, name, read_rules(board.paths.rules, protocol="attempts"), now)
    return (
        (f"slice {name} is {found.status}: {found.reason}", _hint("attempt status --slice", name))
        if found.is_stopped
        else None
    )


def _hint(command: str, name: str) -> str:
    from shlex import quote

    return f"see what it waits for: liza {command} {quote(name)}"
