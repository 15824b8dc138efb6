"""A trip that waits for a person: nothing changes, unless there is evidence that it did not have, or CHECKPOINT or the
report is missing. Then what is missing is made again, with an alarm."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from liza.errors import LizaError
from liza.model import Match, format_time
from liza.rules.acknowledged import has_new_evidence
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.fingerprints import format_evidence, merge_evidence
from liza.scopes.history import section as sections
from liza.scopes.history.archives import archive_name
from liza.scopes.history.new_evidence import new_records, numbers_of
from liza.scopes.snapshot import snapshot_of
from liza.scopes.sprint import report
from liza.scopes.sprint.chosen_evidence import recorded_matches
from liza.scopes.sprint.evaluate import Check, FollowUpFailed, StaleVerdict, evaluate_board
from liza.scopes.sprint.failed_steps import attempt
from liza.scopes.sprint.manual_status import manual_trip, matches_of
from liza.scopes.sprint.report_files import Trip, archive, is_replaced, write_report
from liza.scopes.sprint.trip import put_into_effect
from liza.scopes.sprint.trip_log import log_trip
from liza.store import checkpoint, edit
from liza.store.board import Board
from liza.store.checkpoint import REPORT_FILE
from liza.store.document import Document

REPORT_REPLACED = "the report on the open trip had lost liza's text: it was restored, and the rest was kept as notes"
REPORT_RESTORED = "the report on the open trip was missing or empty: it was restored"


def keep_open(
    board: Board, rules: RuleSet, found: Check, document: Document, now: datetime, *, record_check: bool
) -> Check:
    """The open trip with all that belongs to it in place; `StaleVerdict` where a person has decided meanwhile."""
    if not sections.is_recorded(document.data.get("circuit_breaker"), found.trigger or {}):
        return _accept_manual(board, rules, found, document, now)
    trip, more = _recorded_trip(found, rules)
    failed: list[LizaError] = []
    restored = (*_restore_halt(board, trip, now, failed), *_restore_report(board, trip, failed))
    if more:  # what failed is tried once more there
        found = _add_evidence(board, found, trip, more, now)
        return found._replace(notes=(*restored, *found.notes), restored=restored)
    if record_check:
        attempt(failed, lambda: board.rewrite(lambda document: _with_last_check(document, now)))
    if report.is_blank(os.path.join(board.paths.reports, archive_name(trip.trigger))):
        attempt(failed, lambda: archive(board, trip))
    attempt(failed, lambda: log_trip(board, trip.trigger, now))
    if failed:
        raise FollowUpFailed(failed, trip.trigger)
    return found._replace(notes=restored, restored=restored)


def _restore_halt(board: Board, trip: Trip, now: datetime, failed: list[LizaError]) -> tuple[str, ...]:
    if checkpoint.read(board.paths.checkpoint) is not None:
        return ()
    _require_open(board, trip)  # else it is not missing: a person has decided
    known = len(failed)
    attempt(failed, lambda: checkpoint.make(board.paths.checkpoint, trip.trigger, restored=format_time(now)))
    try:
        _require_open(board, trip)
    except StaleVerdict:
        checkpoint.remove(board.paths.checkpoint, str(trip.trigger["trip_id"]))
        raise
    return () if len(failed) > known else (checkpoint.HALT_RESTORED,)


def _restore_report(board: Board, trip: Trip, failed: list[LizaError]) -> tuple[str, ...]:
    known = len(failed)
    if report.is_blank(board.paths.report):
        attempt(failed, lambda: write_report(board, trip))
        return () if len(failed) > known else (REPORT_RESTORED,)
    if is_replaced(board, trip.trigger):
        _require_open(board, trip)  # a decision changes the page, too
        attempt(failed, lambda: archive(board, trip))
        attempt(failed, lambda: write_report(board, trip))
        return () if len(failed) > known else (REPORT_REPLACED,)
    return ()


def _accept_manual(board: Board, rules: RuleSet, found: Check, seen: Document, now: datetime) -> Check:
    """A person has set the status: halt, report and record it, as for a pattern that matched."""
    first = manual_trip(board, found.trigger or {}, found.verdict, found.snapshot, rules, now)

    def trip_now(document: Document) -> Trip | None:
        trigger = sections.open_trigger(document.data.get("circuit_breaker"))
        if document.raw == seen.raw or trigger is None:
            return first if trigger is not None else None
        snapshot = snapshot_of(board, document, rules, now=now)
        return manual_trip(board, trigger, evaluate(rules, snapshot, now), snapshot, rules, now)

    trip = put_into_effect(board, first, now, trip_now)
    note = "a person or another program set the status to TRIGGERED: agents are halted, and the trip is recorded"
    return found._replace(snapshot=trip.snapshot, trigger=trip.trigger, tripped=True, notes=(note,))


def _recorded_trip(found: Check, rules: RuleSet) -> tuple[Trip, dict[str, str]]:
    """The open trip as recorded, and the evidence of each rule that its entry lacks."""
    nothing = {"timestamp": None, "pattern": None, "severity": None, "report_file": REPORT_FILE}
    section = found.snapshot.sections.get("circuit_breaker")
    at = sections.entry_of(section, found.trigger or {})
    entry = sections.history_of(section)[at] if at is not None else {}
    kept = {name: entry[name] for name in sections.OF_TRIGGER if name in entry}
    trigger = {**nothing, **kept, **{name: value for name, value in (found.trigger or {}).items() if value is not None}}
    listed = entry.get("evidence")
    known: Mapping[str, Any] = listed if isinstance(listed, Mapping) else {}
    known = {rule: text for rule, text in known.items() if isinstance(text, str)}  # else in a file that is gone
    numbers = numbers_of(found.verdict.matches)
    more = {
        name: merge_evidence(str(known.get(name) or ""), format_evidence(records, numbers[name]))
        for name, records in new_records(found.verdict.matches).items()
        if has_new_evidence(entry, name, records, numbers[name])
    }
    verdict = found.verdict
    matched = {match.rule.name for match in verdict.matches}
    recorded = recorded_matches({rule: known[rule] for rule in known if rule not in matched}, found.snapshot, rules)
    matches = matches_of(str(trigger["pattern"]), verdict, rules, recorded)
    return Trip(trigger, matches, found.snapshot, known, rules.changes, verdict.silenced, verdict.alarms), more


def add_message(board: Board, rules: RuleSet, text: str, now: datetime, chosen: Sequence[Match] = ()) -> Check:
    """Keep a person's text, and the records they chose, with the open trip; without an open trip nothing is done."""
    while True:
        found = evaluate_board(board, board.read(), rules, now)
        if found.trigger is None or not sections.is_recorded(
            found.snapshot.sections.get("circuit_breaker"), found.trigger
        ):
            return found
        trip, _ = _recorded_trip(found, rules)
        before = trip.trigger.get("message")
        message = text if not before else before if f"; {text}; " in f"; {before}; " else f"{before}; {text}"
        merged = _with_matches(trip, chosen)
        if message == before and merged.evidence == trip.evidence:
            return found
        trip = merged._replace(trigger={**merged.trigger, "message": message})
        with suppress(StaleVerdict):  # resolved meanwhile: there may be another one
            _apply_again(board, trip, now)
            return found._replace(trigger=trip.trigger)


def _with_matches(trip: Trip, chosen: Sequence[Match]) -> Trip:
    """The open trip with further evidence that a person chose."""
    listed = {rule: format_evidence(records) for rule, records in new_records(chosen).items()}
    more = {rule: merge_evidence(str(trip.evidence.get(rule) or ""), text) for rule, text in listed.items()}
    names = [*sections.also_matched(trip.trigger), *more]
    others = [name for name in dict.fromkeys(names) if name != trip.trigger["pattern"]]
    trigger = {**trip.trigger, "also_matched": others} if others else trip.trigger
    return trip._replace(trigger=trigger, matches=(*trip.matches, *chosen), evidence={**trip.evidence, **more})


def _add_evidence(board: Board, found: Check, trip: Trip, more: Mapping[str, str], now: datetime) -> Check:
    """Put the open trip into effect again, with the evidence that has joined it since."""
    names = dict.fromkeys([*sections.also_matched(trip.trigger), *more])
    names.pop(str(trip.trigger["pattern"]), None)
    trigger = {**trip.trigger, "also_matched": list(names)} if names else trip.trigger
    trip = trip._replace(trigger=trigger, evidence={**trip.evidence, **more})
    attempt([], lambda: archive(board, trip))  # before the commit: a crash after it would leave the old one
    _apply_again(board, trip, now)
    return found._replace(trigger=trigger, notes=(f"new evidence since the trip: {', '.join(more)}",))


def _apply_again(board: Board, trip: Trip, now: datetime) -> None:
    # A halt that is in force is not made again before the lock: a decision meanwhile would be undone for a moment.
    is_halted = checkpoint.read(board.paths.checkpoint) is not None
    if not is_halted:
        _require_open(board, trip)  # else it was not removed by hand: a person has decided
    put_into_effect(board, trip, now, lambda document: trip if _is_open(document, trip) else None, halt=not is_halted)


def _require_open(board: Board, trip: Trip) -> None:
    if not _is_open(board.read(), trip):
        raise StaleVerdict


def _is_open(document: Document, trip: Trip) -> bool:
    there = sections.open_trigger(document.data.get("circuit_breaker"))
    return there is not None and there.get("trip_id") == trip.trigger.get("trip_id")


def _with_last_check(document: Document, now: datetime) -> bytes:
    section = sections.reconcile(document.data.get("circuit_breaker"), now).section
    if sections.open_trigger(section) is None:
        return document.raw  # resolved meanwhile
    return edit.replace_section(document, "circuit_breaker", sections.looked_at(section, now))
