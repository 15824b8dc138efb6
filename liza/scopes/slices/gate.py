"""Whether work on a slice may continue, for hooks that ask before every action. Nothing is written."""

from datetime import datetime

from liza.scopes.change import read_usable
from liza.scopes.gate import Gate, status_hint
from liza.scopes.rules_file import read_rules
from liza.scopes.slices import record
from liza.scopes.slices.evaluate import SLICES
from liza.store.board import Board


def check_slice(board: Board, name: str, now: datetime) -> Gate:
    """Closed while the slice is stopped, also by attempts that another program wrote and no check has seen yet."""
    slice_ = read_usable(board.read(), SLICES, name)
    if slice_ is None:
        return Gate()  # nothing is known against a slice that is not on the blackboard
    found = record.evaluate_slice(name, slice_, read_rules(board.paths.rules, protocol="attempts"), now)
    if not found.is_stopped:
        return Gate()
    return Gate(f"slice {name} is {found.status}: {found.reason}", status_hint("attempt status --slice", name))
