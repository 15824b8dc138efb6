"""Acting on a verdict: nothing matched, a pattern that halts no agent yet, or a trip that waits for a person.

What a crash left undone of a trip, the next check does.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused, Unreadable
from liza.model import Verdict
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.fingerprints import format_evidence
from liza.scopes.history import section as sections
from liza.scopes.snapshot import snapshot_of
from liza.scopes.sprint import open_trip
from liza.scopes.sprint.evaluate import Check, StaleVerdict, evaluate_board
from liza.scopes.sprint.lost_trip import lost_trigger
from liza.scopes.sprint.report_files import Trip
from liza.scopes.sprint.trip import put_into_effect, trip_of
from liza.store import checkpoint, edit
from liza.store.board import Board
from liza.store.document import Document


def check_sprint(board: Board, rules: RuleSet, now: datetime, *, record_check: bool = True) -> Check:
    """Evaluate the sprint alone and act on it, again if the blackboard changes meanwhile."""
    while True:
        document = board.read()
        try:
            return act(
                board, rules, evaluate_board(board, document, rules, now), document, now, record_check=record_check
            )
        except StaleVerdict:
            continue


def act(
    board: Board,
    rules: RuleSet,
    found: Check,
    document: Document,
    now: datetime,
    *,
    record_check: bool = True,
    blocking: bool = True,
) -> Check:
    """Put a verdict into effect. Without `record_check`, a check that changes nothing is not recorded on the
    blackboard.

    `StaleVerdict` where the blackboard changed so that the verdict no longer holds: evaluate again. Without `blocking`
    (the daemon), `LockTimeout` where another process holds the lock and no agent is to be halted.
    """
    if found.trigger is not None:
        return open_trip.keep_open(board, rules, found, document, now, record_check=record_check)
    section = document.data.get("circuit_breaker")
    lost = lost_trigger(board, section)
    if lost is not None and board.read().raw != document.raw:
        raise StaleVerdict  # perhaps it was recorded between reading one and the other
    if found.verdict.matches or lost is not None:
        return _trip(board, rules, found, document, lost, now)
    reconciled = _reconcile(section, found.verdict, now).section if section else section
    released = _release_restored(board, reconciled)
    if released is not None and blocking:  # the daemon reports the resolution itself
        found = found._replace(notes=(*found.notes, released))
    if record_check or reconciled != section:
        return _record_ok(board, rules, found, document, now, blocking=blocking)
    return found


# --- nothing matched --------------------------------------------------------------------------------------------------


class _Reconciled(NamedTuple):
    """The section with what people did by hand in liza's form, and what to report about it."""

    section: dict[str, Any]
    notes: list[str]
    joined: list[str]  # those notes that need no action


def _reconcile(section: Any, verdict: Verdict, now: datetime) -> _Reconciled:
    found = sections.reconcile(section, now)
    values = {rule: format_evidence((), numbers) for rule, numbers in verdict.unvalued.items()}
    return _Reconciled(sections.follow_numbers(found.section, verdict.recovered, values), found.notes, found.joined)


def _record_ok(board: Board, rules: RuleSet, found: Check, seen: Document, now: datetime, *, blocking: bool) -> Check:
    """Record that a check found nothing, and what people decided by hand."""

    def recorded(document: Document) -> tuple[bytes, _Reconciled]:
        verdict = found.verdict
        if document.raw != seen.raw:
            # Another program wrote between our read and our lock; that may be the third record of its kind.
            verdict = evaluate(rules, snapshot_of(board, document, rules, now=now), now)
            if verdict.matches or sections.open_trigger(document.data.get("circuit_breaker")):
                raise StaleVerdict
        reconciled = _reconcile(document.data.get("circuit_breaker"), verdict, now)
        raw = edit.replace_section(document, "circuit_breaker", sections.checked(reconciled.section, now))
        return raw, reconciled

    try:
        done = board.change(recorded, blocking=blocking)
    except Refused as error:
        message = f"no pattern matched, but this check could not be recorded: {error.message}"
        raise NotEntered.like(error, message=message) from None
    notes = list(done.notes)
    if blocking:  # the daemon reports these itself for as long as they last
        left = checkpoint.read(board.paths.checkpoint)
        if left is not None and sections.knows(done.section, left.trip_id):
            which = f"the CHECKPOINT of trip {left.trip_id}, which is resolved"
            notes.append(f"agents are halted by {which}: see liza resolve")
    return found._replace(notes=(*found.notes, *notes), joined=tuple(done.joined))


def _release_restored(board: Board, section: Any) -> str | None:
    """Remove a CHECKPOINT that liza restored once its trip is resolved by hand: the person has removed theirs."""
    halt = checkpoint.read(board.paths.checkpoint)
    if halt is None or not halt.is_restored or not sections.is_resolved(section, halt.trip_id):
        return None
    checkpoint.remove(board.paths.checkpoint, halt.trip_id)
    return f"trip {halt.trip_id} is resolved: its restored CHECKPOINT was removed, agents may continue"


class NotEntered(Unreadable):
    """No pattern matched, but the blackboard cannot be written, so the check leaves no trace: DEGRADED."""


# --- a trip -----------------------------------------------------------------------------------------------------------


def _trip(
    board: Board, rules: RuleSet, found: Check, seen: Document, lost: Mapping[str, Any] | None, now: datetime
) -> Check:
    """Put a match into effect, or a trip that was lost: that one is open until a person decides, evidence or not."""
    first = trip_of(board, found.verdict, found.snapshot, rules, lost)
    assert first is not None

    def trip_now(document: Document) -> Trip | None:
        still = lost_trigger(board, document.data.get("circuit_breaker")) if lost is not None else None
        if document.raw == seen.raw and still == lost:
            return first
        snapshot = snapshot_of(board, document, rules, now=now)
        return trip_of(board, evaluate(rules, snapshot, now), snapshot, rules, still)

    trip = put_into_effect(board, first, now, trip_now)
    if trip.renews:
        return found._replace(snapshot=trip.snapshot, trigger=trip.trigger, tripped=True)
    which = f"{trip.trigger['pattern']}: trip {trip.trigger['trip_id']}"
    note = f"{which} halts the agents and was not in state.yaml; it was recorded again, without evidence"
    return found._replace(snapshot=trip.snapshot, trigger=trip.trigger, tripped=True, notes=(note,), lost=(note,))
