"""A trip of the team on this blackboard: entered with its halt and report, closed with the decision, opened again.

Each step can be repeated under one trip id, like those of a trip of this blackboard. Whatever the database sends was
written by another host, whose agents can write its files: it is checked like an agent's text.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import Origin, format_time, parse_time
from liza.rules.evaluate import RuleSet
from liza.schema.severities import CAUSES
from liza.scopes.history import evidence_files
from liza.scopes.history import section as sections
from liza.scopes.history.archives import archive_name
from liza.scopes.history.evidence_files import with_kept
from liza.scopes.history.origin import origin_of
from liza.scopes.sprint.chosen_evidence import recorded_matches
from liza.scopes.sprint.evaluate import evaluate_board
from liza.scopes.sprint.lost_trip import known_severity
from liza.scopes.sprint.manual_status import matches_of
from liza.scopes.sprint.report_files import Trip
from liza.scopes.sprint.resolve import follow_up
from liza.scopes.sprint.trip import put_into_effect
from liza.scopes.sprint.trip_log import log_command, log_trip
from liza.store import checkpoint, edit, files
from liza.store.board import Board
from liza.store.checkpoint import REPORT_FILE
from liza.store.document import Document
from liza.text import one_line, person_name

_LONG = 2_000  # characters of a person's text


class Decision(NamedTuple):
    """What a person of the team decided."""

    text: str
    by: str  # with the host
    cause: str | None = None


def trigger_of(trip_id: str, sent: Mapping[str, Any], host: str, now: datetime) -> dict[str, Any]:
    """The trigger that another host has sent, in the form of this blackboard's own."""
    at = sent.get("timestamp")
    trigger: dict[str, Any] = {
        "timestamp": at if isinstance(at, str) and parse_time(at) is not None else format_time(now),
        "pattern": one_line(sent.get("pattern") or sections.MANUAL, 100),
        "severity": known_severity(sent.get("severity")),
        "report_file": REPORT_FILE,
        "trip_id": trip_id,
        "host": host,
    }
    others = [one_line(name, 100) for name in sections.also_matched(sent)][:20]
    more = {name: one_line(text, _LONG) for name in ("message", "tripped_by") if (text := sent.get(name))}
    return trigger | more | ({"also_matched": others} if others else {})


def decision_of(sent: Mapping[str, Any], host: str | None) -> Decision:
    text, by, cause = (sent.get(name) for name in ("resolution", "resolved_by", "cause"))
    name = person_name(str(by or sections.BY_HAND))[:100]
    return Decision(str(text or "").strip()[:_LONG], f"{name} on {host}", str(cause) if cause in CAUSES else None)


def halt(board: Board, trigger: Mapping[str, Any]) -> None:
    """The first step, which waits for no lock."""
    checkpoint.make(board.paths.checkpoint, trigger)


def adopt(board: Board, rules: RuleSet, trigger: Mapping[str, Any], evidence: Mapping[str, str], now: datetime) -> None:
    """Put a trip of the team into effect here. A trip of this blackboard that lost the race is the same from now on:
    its entry takes over the id."""
    halt(board, trigger)
    trip_id = str(trigger["trip_id"])
    lost = board.change(lambda document: _renamed(document, trigger))
    document = board.read()
    found = evaluate_board(board, document, rules, now)
    recorded = recorded_matches(evidence, found.snapshot, rules)
    matches = matches_of(str(trigger["pattern"]), found.verdict, rules, recorded)
    verdict = found.verdict
    trip = Trip(trigger, matches, found.snapshot, evidence, rules.changes, verdict.silenced, verdict.alarms)

    def trip_now(document: Document) -> Trip | None:
        return None if sections.is_resolved(document.data.get("circuit_breaker"), trip_id) else trip

    put_into_effect(board, trip, now, trip_now, halt=False)
    if lost is not None:
        files.remove(f"{board.paths.reports}/{archive_name(lost)}")  # its trip never was one of the team


def _renamed(document: Document, trigger: Mapping[str, Any]) -> tuple[bytes, Mapping[str, Any] | None]:
    """The blackboard with the open trip under the id of the team's; what it was before, if it was another."""
    section = document.data.get("circuit_breaker")
    own, trip_id = sections.open_trigger(section), str(trigger["trip_id"])
    if own is None or own.get("trip_id") in (None, trip_id) or not sections.is_recorded(section, own):
        return document.raw, None
    history = sections.history_of(section)
    at = sections.entry_of(section, own)
    if at is None:
        return document.raw, None
    before = {**history[at]}
    kept = {name: trigger[name] for name in sections.OF_TRIGGER if name in trigger}
    history[at] = {**history[at], **kept, "trip_id": trip_id}
    new = {**section, "current_trigger": dict(trigger), "history": history}
    return edit.replace_section(document, "circuit_breaker", new), before


def close(
    board: Board,
    trigger: Mapping[str, Any],
    decision: Decision,
    evidence: Mapping[str, str],
    now: datetime,
) -> None:
    """Enter what a person of the team decided. The evidence is what the deciding host had, so that the same records
    count everywhere afterwards. A trip that this blackboard never had is entered as decided."""
    log_trip(board, trigger, now, blocking=False)
    listed = evidence_files.kept(board, trigger, evidence)

    def change(document: Document) -> tuple[bytes, Mapping[str, Any]]:
        section = sections.reconcile(document.data.get("circuit_breaker"), now).section
        section = _closed(section, trigger, decision, listed, now)
        entry = sections.decision_on(with_kept(board, section), trigger) or {}
        if entry and origin_of(board, section, entry) is not Origin.COMMAND:
            log_command(board, entry, now)
        return edit.replace_section(document, "circuit_breaker", section), entry

    entry = board.change(change)
    if entry:
        follow_up(board, {**trigger, **entry, "origin": Origin.COMMAND}, now)


def _closed(
    section: Mapping[str, Any],
    trigger: Mapping[str, Any],
    decision: Decision,
    evidence: Mapping[str, Any],
    now: datetime,
) -> dict[str, Any]:
    open_now = sections.open_trigger(section)
    is_open = open_now is not None and open_now.get("trip_id") == trigger["trip_id"]
    history = sections.history_of(section)
    if not is_open and sections.is_resolved(section, str(trigger["trip_id"])):
        return dict(section)
    if not is_open:  # it tripped and was decided while this host was away
        alone = sections.tripped({}, trigger, evidence, now)
        (entry,) = sections.resolved(alone, decision.text, decision.by, now, cause=decision.cause)["history"]
        kept = {"last_check": None, "status": "OK", "current_trigger": None, **section}
        return {**kept, "history": [*history, entry]}
    at = sections.entry_of(section, trigger)
    if at is not None and evidence:
        history[at] = {**history[at], "evidence": dict(evidence)}
    return sections.resolved({**section, "history": history}, decision.text, decision.by, now, cause=decision.cause)


def reopen(
    board: Board, rules: RuleSet, trigger: Mapping[str, Any], evidence: Mapping[str, str], now: datetime
) -> None:
    """A resolution that this host may not make: the trip is open until a person of the team decides."""
    halt(board, trigger)

    def change(document: Document) -> tuple[bytes, None]:
        section = sections.reconcile(document.data.get("circuit_breaker"), now).section
        history = [
            {name: value for name, value in entry.items() if name not in sections.DECISION}
            if isinstance(entry, Mapping) and entry.get("trip_id") == trigger["trip_id"]
            else entry
            for entry in sections.history_of(section)
        ]
        new = {**section, "status": "TRIGGERED", "current_trigger": dict(trigger), "history": history}
        return edit.replace_section(document, "circuit_breaker", new), None

    board.change(change)
    adopt(board, rules, trigger, evidence, now)
