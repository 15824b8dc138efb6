"""A trip that CHECKPOINT has and the blackboard does not, and so the next check records."""

from typing import Any

from liza.model import format_time
from liza.schema.severities import SEVERITIES
from liza.scopes.history import section as sections
from liza.store import checkpoint
from liza.store.board import Board
from liza.store.checkpoint import REPORT_FILE
from liza.text import one_line

DEFAULT_SEVERITY = "ARCHITECTURE_FLAW"  # where a person names none
UNKNOWN_PATTERN = "unknown"


def lost_trigger(board: Board, section: Any) -> dict[str, Any] | None:
    """The trip in CHECKPOINT that the blackboard does not have: it could not be recorded, or an older copy of the file
    was saved over it. It is not resolved, so the next check records it under the same id."""
    halt = checkpoint.read(board.paths.checkpoint)
    if halt is None or halt.trip_id is None or sections.knows(section, halt.trip_id):
        return None
    fields = {name: one_line(text, 2000) for name, text in halt.fields.items() if name != "restored"}
    return {
        "timestamp": halt.time or format_time(halt.since),
        "pattern": fields.pop("pattern", UNKNOWN_PATTERN),
        "severity": known_severity(fields.pop("severity", None)),
        "report_file": REPORT_FILE,
        "trip_id": halt.trip_id,
        **fields,
    }


def known_severity(word: object) -> str:
    """The severity that a person wrote, or the default for an unknown word."""
    return word if isinstance(word, str) and word in SEVERITIES else DEFAULT_SEVERITY
