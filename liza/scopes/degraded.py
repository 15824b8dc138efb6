"""`on_degraded: halt`: while the blackboard cannot be evaluated, the agents are halted, without a trip.

The halt lifts itself at the first check that can evaluate everything again.
"""

from datetime import datetime

from liza.errors import LizaError, location
from liza.scopes.rules_file import halts_when_degraded
from liza.store import checkpoint
from liza.store.board import Board

LIFTED = "the blackboard can be evaluated again; the halt (on_degraded) was removed, agents may continue"


def update_halt(board: Board, error: LizaError | None, now: datetime) -> str | None:
    """Halt if there is an error and that is wanted, let the agents continue if not; what was done, in words."""
    if error is None:
        return LIFTED if checkpoint.lift_degraded(board.paths.checkpoint) else None
    if checkpoint.read(board.paths.checkpoint) is not None or not halts_when_degraded(board.paths.rules):
        return None
    checkpoint.make_degraded(
        board.paths.checkpoint, location(error.file, error.line, error.column) + error.message, now
    )
    return f"the agents are halted until the blackboard can be evaluated (on_degraded: halt): {error.message}"
