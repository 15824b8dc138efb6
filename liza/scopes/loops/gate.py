"""Whether a loop may continue, for hooks that ask before every action. Nothing is written."""

from datetime import datetime

from liza.scopes.gate import Gate, status_hint
from liza.scopes.loops import evaluate
from liza.scopes.loops.fields import OPEN
from liza.scopes.loops.record import read_loop
from liza.store.board import Board


def check_loop(board: Board, name: str, now: datetime) -> Gate:
    """Closed while the loop is open. One that has cooled down may try again, which its status alone does not show."""
    rules, settings = evaluate.load_rules(board.paths)
    notes = tuple(evaluate.setting_warnings(settings))
    loop = read_loop(board, name, rules, settings, now)
    if loop.status != OPEN or settings.disabled:
        return Gate(notes=notes)
    return Gate(f"loop {name} is OPEN: {loop.reason}", status_hint("loop status", name), notes)
