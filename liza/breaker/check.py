"""One check: read, judge, and act on the verdict.

What is found on a blackboard is one of three: nothing, a pattern that nobody has been halted for yet, or a trip that
waits for a human. `trip` puts the second into effect; whatever a crash left undone of that, the next check does.
"""

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.blackboard import edit, versions
from liza.blackboard.board import Board
from liza.blackboard.document import Document, parse_log
from liza.blackboard.snapshot import take
from liza.breaker import checkpoint, report
from liza.breaker import section as sections
from liza.breaker.paperwork import Trip, archive, attempt, is_logged, keep_decision, log_trip, write_report
from liza.breaker.trip import REPORT_FILE, Halted, evidence_of, new_records, put_into_effect, tidy, trip_of
from liza.errors import LizaError, Refused, Unreadable
from liza.model import Snapshot, Verdict
from liza.protocols.judged import derived, settle
from liza.protocols.scopes import Event
from liza.rules.acknowledged import merged, unknown_to
from liza.rules.evaluate import RuleSet, evaluate


class Check(NamedTuple):
    """What one check came to."""

    verdict: Verdict  # all matches, and how near every other rule is
    snapshot: Snapshot  # the blackboard that was judged
    trigger: Mapping[str, Any] | None  # the open trip, if there is one now
    tripped: bool  # by this check
    notes: tuple[str, ...] = ()  # what was found or done besides
    scoped: tuple[Event, ...] = ()  # what happened to single claims, slices and loops

    @property
    def is_open(self) -> bool:
        """The breaker is open; after a dry run also if the next check would open it."""
        return self.trigger is not None or bool(self.verdict.matches)


def check(board: Board, rules: RuleSet, now: datetime, *, dry_run: bool = False) -> Check:
    """Judge the blackboard as it is, and act on the verdict unless it is a dry run."""
    if not dry_run:
        tidy(board)
    document = board.read()
    snapshot = snapshot_of(board, document, rules)
    found = judged(snapshot, evaluate(rules, snapshot, now))
    if dry_run:
        return found
    found = act(board, rules, found, document, now)  # first: a halt of everybody waits for no narrower scope
    try:
        return found._replace(scoped=settle(board, document, rules, os.environ, now))
    except LizaError as error:
        if found.trigger is None:
            raise
        return found._replace(notes=(*found.notes, error.message))  # that everybody is halted is the news


def judged(snapshot: Snapshot, verdict: Verdict) -> Check:
    """What a verdict means, with nothing done about it yet."""
    standing = sections.open_trigger(snapshot.sections.get("circuit_breaker"))
    return Check(verdict, snapshot, standing, tripped=False)


def act(
    board: Board,
    rules: RuleSet,
    found: Check,
    document: Document,
    now: datetime,
    *,
    enter: bool = True,
    waits: bool = True,
) -> Check:
    """Put a verdict into effect. Without `enter`, a check that changes nothing leaves no trace on the blackboard.

    Who does not wait gets a `LockTimeout` where somebody holds the lock, and nobody is to be halted.
    """
    if found.trigger is not None:
        return _still_open(board, rules, found, now, enter)
    if found.verdict.matches:
        return _trip(board, rules, found, document, now)
    section = document.data.get("circuit_breaker")
    if enter or (section and sections.settled(section, now)[0] != section):
        return _all_is_well(board, rules, found, document, now, waits)
    return found


def snapshot_of(board: Board, document: Document, rules: RuleSet, *, check: bool = True) -> Snapshot:
    """The facts of a document, with the log where a rule looks at it.

    `Unreadable` where a rule would have to look at a section that does not hold records: it would see none, and say OK.
    """
    for name in sorted(rules.streams & {"anomalies", "tasks", "discovered"}):
        if not isinstance(document.data.get(name), list | None):
            line, column = document.locate((name,)) or (None, None)
            hint = f"begin each record of {name} with '- '; see: liza validate"
            raise Unreadable(f"{name} is not a list", hint=hint, file=document.file, line=line, column=column)
    snapshot = take(document, check=check)
    snapshot = snapshot._replace(derived=derived(document.data, rules, os.environ))
    if "log" in rules.streams and os.path.exists(board.paths.log):
        log = parse_log(versions.read(board.paths.log).raw, board.paths.log)
        snapshot = snapshot._replace(log=log.data)
    return snapshot


# --- nothing found --------------------------------------------------------------------------------------------------


def _all_is_well(board: Board, rules: RuleSet, found: Check, judged: Document, now: datetime, waits: bool) -> Check:
    notes: list[str] = []
    newer: list[Check] = []
    entered: list[Mapping[str, Any]] = []

    def enter(document: Document) -> bytes:
        notes.clear()
        newer.clear()
        if document.raw != judged.raw:
            # Somebody wrote between our look and our lock; what they wrote may be the third of its kind.
            again = evaluate(rules, snapshot_of(board, document, rules), now)
            if again.matches or sections.open_trigger(document.data.get("circuit_breaker")):
                newer.append(found)
                return document.raw
        section, said = sections.settled(document.data.get("circuit_breaker"), now)
        notes.extend(said)
        entered[:] = [section]
        return edit.replace_section(document, "circuit_breaker", sections.checked(section, now))

    try:
        board.change(enter, waits=waits)
    except Refused as error:
        raise NotEntered(error) from None
    if newer:
        return check(board, rules, now)
    if waits:
        notes += _kept(board, entered[0], now)
    left = checkpoint.look(board.paths.checkpoint)
    if left is not None and left.trip_id is not None:
        known = sections.knows(found.snapshot.sections.get("circuit_breaker"), left.trip_id)
        mended = f"is not on the blackboard; if they may go on: {checkpoint.removal(board.paths.checkpoint)}"
        state = "is resolved: see liza resolve" if known else mended
        notes.append(f"the agents are halted by the CHECKPOINT of trip {left.trip_id}, which {state}")
    return found._replace(notes=(*found.notes, *notes))


def _kept(board: Board, section: Mapping[str, Any], now: datetime) -> list[str]:
    """The last decision is in its report and in the log, also one that somebody entered by hand; else why not."""
    entry = sections.last_decision(section)
    if entry is None or is_logged(board, "resolved", entry):
        return []
    failed = keep_decision(board, entry, now)
    return [f"the decision on {entry.get('pattern')} is not written down everywhere: {e.message}" for e in failed]


class NotEntered(Unreadable):
    """No pattern matched, but the blackboard cannot be written, so the check leaves no trace: DEGRADED."""

    def __init__(self, error: Refused) -> None:
        message = f"no pattern matched, but this check could not be entered: {error.message}"
        super().__init__(message, hint=error.hint, file=error.file, line=error.line, column=error.column)


# --- a trip ---------------------------------------------------------------------------------------------------------


def _trip(board: Board, rules: RuleSet, found: Check, judged: Document, now: datetime) -> Check:
    first = trip_of(board, found.verdict, found.snapshot, rules)

    def again(document: Document) -> Trip | None:
        if document.raw == judged.raw:
            return first
        snapshot = snapshot_of(board, document, rules)
        verdict = evaluate(rules, snapshot, now)
        return trip_of(board, verdict, snapshot, rules) if verdict.matches else None

    trip = put_into_effect(board, first, now, again)
    if trip is None:
        return check(board, rules, now)
    return found._replace(snapshot=trip.snapshot, trigger=trip.trigger, tripped=True)


# --- still open -----------------------------------------------------------------------------------------------------


def _still_open(board: Board, rules: RuleSet, found: Check, now: datetime, enter: bool) -> Check:
    """While a trip waits for a human nothing changes, unless there is evidence that it did not have."""
    trip, more = _standing(found, rules)
    if more and trip.trigger.get("trip_id"):
        return _with_more_evidence(board, rules, found, trip, more, now)
    notes: tuple[str, ...] = ()
    failed: list[LizaError] = []
    if enter:
        attempt(failed, lambda: board.change(lambda document: _look_at(document, now)))
    if checkpoint.look(board.paths.checkpoint) is None:
        notes = ("CHECKPOINT was removed by hand while the breaker is open: the agents are not halted",)
    if trip.trigger.get("trip_id"):
        if not os.path.exists(board.paths.report):
            attempt(failed, lambda: write_report(board, trip))
        if not os.path.exists(os.path.join(board.paths.reports, report.archive_name(trip.trigger))):
            attempt(failed, lambda: archive(board, trip))
        attempt(failed, lambda: log_trip(board, trip.trigger, now))
    if failed:
        raise Halted(failed, trip.trigger)
    return found._replace(notes=notes)


def _standing(found: Check, rules: RuleSet) -> tuple[Trip, dict[str, str]]:
    """The open trip as it was entered, and the evidence of each rule that has some which the entry lacks."""
    nothing = {"timestamp": None, "pattern": None, "severity": None, "report_file": REPORT_FILE}
    trigger = {**nothing, **(found.trigger or {})}
    section = found.snapshot.sections.get("circuit_breaker")
    at = sections.entry_of(section, trigger)
    entry = sections.history_of(section)[at] if at is not None else {}
    listed = entry.get("evidence")
    known: Mapping[str, Any] = listed if isinstance(listed, Mapping) else {}
    all_of_it = evidence_of(found.verdict)
    more = {
        name: merged(str(known.get(name) or ""), all_of_it[name])
        for name, records in new_records(found.verdict.matches).items()
        if unknown_to(known, name, records)
    }
    hushed = [each.match for each in found.verdict.silenced if each.match.rule.name == trigger["pattern"]]
    matches = sorted((*found.verdict.matches, *hushed), key=lambda match: match.rule.name != trigger["pattern"])
    return Trip(trigger, tuple(matches), found.snapshot, known, rules.changes, found.verdict.silenced), more


def _with_more_evidence(
    board: Board, rules: RuleSet, found: Check, trip: Trip, more: Mapping[str, str], now: datetime
) -> Check:
    """Put the open trip into effect anew, with what has joined it since."""
    names = dict.fromkeys([*sections.also_matched(trip.trigger), *more])
    names.pop(str(trip.trigger["pattern"]), None)
    trigger = {**trip.trigger, "also_matched": list(names)} if names else trip.trigger
    trip = trip._replace(trigger=trigger, evidence={**trip.evidence, **more})
    attempt([], lambda: archive(board, trip))  # before the commit: a crash behind it would leave the old one
    is_halted = checkpoint.look(board.paths.checkpoint) is not None
    if not is_halted and not _is_open(board.read(), trigger):
        return check(board, rules, now)  # it was not taken away by hand: somebody has decided

    def again(document: Document) -> Trip | None:
        return trip if _is_open(document, trigger) else None

    # A halt that is in force is not made again before the lock: a decision meanwhile would be undone for a moment.
    if put_into_effect(board, trip, now, again, halt=not is_halted) is None:
        return check(board, rules, now)  # resolved meanwhile
    return found._replace(trigger=trigger, notes=(f"new evidence since the trip: {', '.join(more)}",))


def _is_open(document: Document, trigger: Mapping[str, Any]) -> bool:
    there = sections.open_trigger(document.data.get("circuit_breaker"))
    return there is not None and there.get("trip_id") == trigger.get("trip_id")


def _look_at(document: Document, now: datetime) -> bytes:
    section, _ = sections.settled(document.data.get("circuit_breaker"), now)
    if sections.open_trigger(section) is None:
        return document.raw  # resolved meanwhile
    return edit.replace_section(document, "circuit_breaker", sections.looked_at(section, now))
