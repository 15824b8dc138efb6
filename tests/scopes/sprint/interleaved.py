"""One liza stopped at a given place while other commands run to their end.

Nothing is simulated: the place is one of liza's own functions, and the other programs run just before or after its
call. What a scheduler does once in a million times happens here every time.
"""

import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from tests.cli.run import BIN, Result, served
from tests.scopes.sprint import run
from tests.scopes.sprint.run import Board, unharmed

REACHED = "the place was reached"


def interleaved(board: Board, arguments: Sequence[str], place: str, *others: Sequence[str]) -> Result:
    """`liza` with these arguments. At the first call of `place` the others are run.

    A place is "before module:function" or "after module:function", with the end of the first argument if it matters.
    """
    before = board.state.read_bytes()
    ran = served(arguments, board.root, board.environment(), place=place, others=others)
    assert REACHED in ran.err, ran.err
    assert "Traceback" not in ran.err, ran.err
    assert ran.code != run.BUG, ran.err
    unharmed(before, board.state.read_bytes())
    return ran


def stop_at(place: str, others: Sequence[Sequence[str]]) -> None:
    """At the first call of that function in this process, run the others."""
    when, where, *end = place.split()
    module, name = where.split(":")
    owner: Any = import_module(module)
    *path, name = name.split(".")
    for step in path:
        owner = getattr(owner, step)
    setattr(owner, name, _wrapped(getattr(owner, name), when, "".join(end), others))


def _wrapped(function: Callable[..., Any], when: str, end: str, others: Sequence[Sequence[str]]) -> Callable[..., Any]:
    left = [others]

    def call(*arguments: Any, **named: Any) -> Any:
        if not left or (end and not str(arguments[0]).endswith(end)):
            return function(*arguments, **named)
        now = left.pop()
        if when == "before":
            _run(now)
        outcome = function(*arguments, **named)
        if when == "after":
            _run(now)
        return outcome

    return call


def _run(others: Sequence[Sequence[str]]) -> None:
    print(REACHED, file=sys.stderr)
    for program, *arguments in others:
        path = BIN / program if program.startswith("liza") else program
        subprocess.run([path, *arguments], check=False, stdout=subprocess.DEVNULL)
