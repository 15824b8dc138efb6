"""A trip by hand: a person saw what no rule did."""

import hashlib
from datetime import datetime
from typing import Any

from liza.blackboard.board import Board
from liza.blackboard.snapshot import take
from liza.breaker import section as sections
from liza.breaker.paperwork import Trip
from liza.breaker.trip import REPORT_FILE, put_into_effect, tidy
from liza.errors import Refused, Unreadable
from liza.model import Snapshot, format_time

PATTERN = "manual"


def trip(board: Board, text: str, severity: str, now: datetime) -> tuple[dict[str, Any], bool]:
    """Stop the sprint for a reason that a person gives. Returns the open trip, and whether it is this one."""
    if not text.strip():
        raise Refused("a trip by hand needs a reason", hint="liza trip -m 'what is wrong'")
    tidy(board)
    try:
        snapshot = take(board.read())
    except Unreadable:
        snapshot = Snapshot(b"", {}, {}, ())  # the brake works all the same; what cannot be done is told at the end
    standing = sections.open_trigger(snapshot.sections.get("circuit_breaker"))
    if standing is not None:
        return dict(standing), False
    at = format_time(now)
    before = len(sections.history_of(snapshot.sections.get("circuit_breaker")))
    trigger = {
        "timestamp": at,
        "pattern": PATTERN,
        "severity": severity,
        "report_file": REPORT_FILE,
        "trip_id": hashlib.sha256(f"{PATTERN}\n{at}\n{before}\n{text}".encode()).hexdigest()[:12],
        "message": text.strip(),
    }
    made = Trip(trigger, (), snapshot, {})
    if put_into_effect(board, made, now, lambda document: made) is None:
        standing = sections.open_trigger(board.read().data.get("circuit_breaker"))  # somebody was faster
        return dict(standing or trigger), False
    return trigger, True
