"""A trip by hand: a person saw what no rule did."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

from liza.errors import Refused, Unreadable
from liza.model import Snapshot, format_time
from liza.rules.evidence import digest
from liza.schema.snapshot import take_snapshot
from liza.scopes.rules_file import rules_in_force
from liza.scopes.sprint import section as sections
from liza.scopes.sprint.act import check_sprint
from liza.scopes.sprint.follow_up import Trip
from liza.scopes.sprint.open_trip import add_message
from liza.scopes.sprint.trip import FollowUpFailed, StaleVerdict, lost_trigger, put_into_effect, sweep_leftovers
from liza.store.board import Board
from liza.store.checkpoint import REPORT_FILE
from liza.store.document import Document


def trip(board: Board, text: str, severity: str, now: datetime) -> tuple[dict[str, Any], bool]:
    """Stop the sprint for a reason that a person gives. Returns the open trip, and whether it is this one.

    If the breaker is already open the agents are halted again, and the text is kept with the open trip.
    """
    if not text.strip():
        raise Refused("a trip by hand needs a reason", hint="liza trip -m 'what is wrong'")
    sweep_leftovers(board)
    while True:
        try:
            snapshot = take_snapshot(board.read())
        except Unreadable:
            snapshot = Snapshot(b"", {}, {}, ())  # the halt still works; what failed is reported at the end
        section = snapshot.sections.get("circuit_breaker")
        is_open = (sections.open_trigger(section) or lost_trigger(board, section)) is not None
        if is_open and (was := _join(board, text, now)) is not None:
            return was, False
        trigger = _trigger(section, text, severity, now)
        with suppress(
            StaleVerdict
        ):  # another trip was first, or a person has resolved this one: the halt is wanted anew
            put_into_effect(board, Trip(trigger, (), snapshot, {}), now, partial(_unless_resolved, snapshot, trigger))
            return trigger, True


def _trigger(section: Any, text: str, severity: str, now: datetime) -> dict[str, Any]:
    """The same for the same command on the same board: two of them at once are one trip."""
    at = format_time(now)
    earlier = count(len(sections.history_of(section)))
    ids = (digest(f"{sections.MANUAL}\n{at}\n{n}\n{text}")[:12] for n in earlier)
    return {
        "timestamp": at,
        "pattern": sections.MANUAL,
        "severity": severity,
        "report_file": REPORT_FILE,
        "trip_id": sections.unused_id(section, ids),
        "message": text.strip(),
    }


def _unless_resolved(snapshot: Snapshot, trigger: Mapping[str, Any], document: Document) -> Trip | None:
    """The trip to enter; none if the same command of another process was first and is resolved already."""
    section = document.data.get("circuit_breaker")
    is_resolved = sections.open_trigger(section) is None and sections.knows(section, str(trigger["trip_id"]))
    return None if is_resolved else Trip(trigger, (), snapshot, {})


def _join(board: Board, text: str, now: datetime) -> dict[str, Any] | None:
    """The open trip with the text added; None if it was resolved meanwhile."""
    rules, _ = rules_in_force(board.paths.rules)
    with suppress(FollowUpFailed):  # what failed is tried again with the text
        check_sprint(board, rules, now)
    found = add_message(board, rules, text.strip(), now)
    return dict(found.trigger) if found.trigger is not None else None
