"""A trip by hand: a person saw what no rule did."""

import hashlib
from contextlib import suppress
from datetime import datetime
from typing import Any

from liza.errors import Refused, Unreadable
from liza.model import Snapshot, format_time
from liza.schema.snapshot import take_snapshot
from liza.scopes.rules_file import rules_in_force
from liza.scopes.sprint import section as sections
from liza.scopes.sprint.act import check_sprint
from liza.scopes.sprint.checkpoint import REPORT_FILE
from liza.scopes.sprint.follow_up import Trip
from liza.scopes.sprint.manual_status import MANUAL
from liza.scopes.sprint.open_trip import add_message
from liza.scopes.sprint.trip import Halted, Outdated, lost_trigger, put_into_effect, tidy
from liza.store.board import Board


def trip(board: Board, text: str, severity: str, now: datetime) -> tuple[dict[str, Any], bool]:
    """Stop the sprint for a reason that a person gives. Returns the open trip, and whether it is this one.

    Where the breaker is open already the agents are halted all the same, and the text is kept with the open trip.
    """
    if not text.strip():
        raise Refused("a trip by hand needs a reason", hint="liza trip -m 'what is wrong'")
    tidy(board)
    try:
        snapshot = take_snapshot(board.read())
        section = snapshot.sections.get("circuit_breaker")
        is_open = (sections.open_trigger(section) or lost_trigger(board, section)) is not None
    except Unreadable:
        snapshot = Snapshot(b"", {}, {}, ())  # the brake works all the same; what cannot be done is reported at the end
        is_open = False
    if is_open and (was := _join(board, text, now)) is not None:
        return was, False
    at = format_time(now)
    before = len(sections.history_of(snapshot.sections.get("circuit_breaker")))
    trigger = {
        "timestamp": at,
        "pattern": MANUAL,
        "severity": severity,
        "report_file": REPORT_FILE,
        "trip_id": hashlib.sha256(f"{MANUAL}\n{at}\n{before}\n{text}".encode()).hexdigest()[:12],
        "message": text.strip(),
    }
    made = Trip(trigger, (), snapshot, {})
    try:
        put_into_effect(board, made, now, lambda document: made)
    except Outdated:
        return _join(board, text, now) or trigger, False  # another trip was first
    return trigger, True


def _join(board: Board, text: str, now: datetime) -> dict[str, Any] | None:
    """The open trip with the text added; None if it was resolved meanwhile."""
    rules, _ = rules_in_force(board.paths.rules)
    with suppress(Halted):  # what failed is tried again with the text
        check_sprint(board, rules, now)
    found = add_message(board, rules, text.strip(), now)
    return dict(found.trigger) if found.trigger is not None else None
