"""A trip by hand: a person saw what no rule did."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

from liza.errors import Refused, Unreadable
from liza.model import Match, Snapshot, format_time
from liza.rules.evaluate import RuleSet
from liza.rules.fingerprints import digest
from liza.schema.snapshot import take_snapshot
from liza.scopes.history import section as sections
from liza.scopes.history.new_evidence import evidence_of
from liza.scopes.rules_file import rules_in_force
from liza.scopes.snapshot import snapshot_of
from liza.scopes.sprint.act import check_sprint
from liza.scopes.sprint.chosen_evidence import Choice, chosen_matches
from liza.scopes.sprint.evaluate import FollowUpFailed, StaleVerdict
from liza.scopes.sprint.lost_trip import DEFAULT_SEVERITY, lost_trigger
from liza.scopes.sprint.open_trip import add_message
from liza.scopes.sprint.report_files import Trip
from liza.scopes.sprint.trip import put_into_effect
from liza.store.board import Board
from liza.store.checkpoint import REPORT_FILE
from liza.store.document import Document


def trip(board: Board, text: str, now: datetime, choice: Choice = Choice()) -> tuple[dict[str, Any], bool]:  # noqa: B008
    """Stop the sprint for a reason that a person gives. Returns the open trip, and whether it is this one.

    If the breaker is already open the agents are halted again, and the text is kept with the open trip, as are the
    records that the person chose.
    """
    if not text.strip():
        raise Refused("a trip by hand needs a reason", hint="liza trip -m 'what is wrong'")
    board.sweep()
    rules, _ = rules_in_force(board.paths.rules)
    while True:
        try:
            document = board.read()
            snapshot = take_snapshot(document) if choice.is_plain else snapshot_of(board, document, rules, now=now)
        except Unreadable:
            snapshot = Snapshot(b"", {}, {}, ())  # the halt still works; what failed is reported at the end
            choice = choice._replace(selectors=())
        matches = chosen_matches(choice, snapshot, rules, now)
        section = snapshot.sections.get("circuit_breaker")
        is_open = (sections.open_trigger(section) or lost_trigger(board, section)) is not None
        if is_open and (was := _join(board, rules, text, now, matches)) is not None:
            return was, False
        made = Trip(_trigger(section, text, choice, matches, now), matches, snapshot, evidence_of(matches))
        with suppress(StaleVerdict):  # another trip was first, or a person has resolved this one: halt again
            put_into_effect(board, made, now, partial(_unless_resolved, made))
            return dict(made.trigger), True


def _trigger(section: Any, text: str, choice: Choice, matches: Sequence[Match], now: datetime) -> dict[str, Any]:
    """The same for the same command on the same board: two of them at once are one trip."""
    at = format_time(now)
    earlier = count(len(sections.history_of(section)))
    ids = (digest(f"{sections.MANUAL}\n{at}\n{n}\n{text}")[:12] for n in earlier)
    of_rule = matches[0].rule.severity if matches else None
    return {
        "timestamp": at,
        "pattern": choice.pattern or sections.MANUAL,
        "severity": choice.severity or of_rule or DEFAULT_SEVERITY,
        "report_file": REPORT_FILE,
        "trip_id": sections.unused_id(section, ids),
        "message": text.strip(),
    } | ({"tripped_by": choice.by} if choice.by else {})


def _unless_resolved(made: Trip, document: Document) -> Trip | None:
    """The trip to enter; none if the same command of another process was first and is resolved already."""
    section = document.data.get("circuit_breaker")
    is_resolved = sections.open_trigger(section) is None and sections.knows(section, str(made.trigger["trip_id"]))
    return None if is_resolved else made


def _join(board: Board, rules: RuleSet, text: str, now: datetime, chosen: Sequence[Match]) -> dict[str, Any] | None:
    """The open trip with the text added; None if it was resolved meanwhile."""
    with suppress(FollowUpFailed):  # what failed is tried again with the text
        check_sprint(board, rules, now)
    found = add_message(board, rules, text.strip(), now, chosen)
    return dict(found.trigger) if found.trigger is not None else None
