"""How a run can end, and the exit code of each ending."""

from enum import StrEnum
from typing import NamedTuple


class Ending(StrEnum):
    """The endings of a run."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    OPEN = "open"
    CHECKPOINT = "checkpoint"
    INTERRUPTED = "interrupted"


EXIT_CODES = {
    Ending.COMPLETED: 0,
    Ending.STOPPED: 1,
    Ending.OPEN: 3,
    Ending.CHECKPOINT: 3,
    Ending.INTERRUPTED: 130,
}


class End(NamedTuple):
    """Why a run is over."""

    status: Ending
    reason: str

    @property
    def code(self) -> int:
        return EXIT_CODES[self.status]
