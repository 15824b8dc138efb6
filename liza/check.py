"""One check: read, judge, and act on the verdict.

What is found on a blackboard is one of three: nothing, a pattern that nobody has been halted for yet, or a trip that
waits for a human. `trip` puts the second into effect; whatever a crash left undone of that, the next check does.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused, Unreadable
from liza.model import Origin, Snapshot, Verdict, format_time
from liza.rules.acknowledged import has_new_evidence
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.evidence import format_evidence, merge_evidence
from liza.schema.snapshot import take_snapshot
from liza.scopes import inbox
from liza.scopes.inbox import Entered
from liza.scopes.narrower import derived, settle
from liza.scopes.records import Event
from liza.scopes.sprint import checkpoint, evidence, report
from liza.scopes.sprint import section as sections
from liza.scopes.sprint.checkpoint import REPORT_FILE
from liza.scopes.sprint.follow_up import (
    Trip,
    archive,
    attempt,
    is_logged,
    is_replaced,
    keep_decision,
    log_trip,
    write_report,
)
from liza.scopes.sprint.manual_status import manual_trip, matches_of
from liza.scopes.sprint.origin import origin_of, with_origins
from liza.scopes.sprint.trip import (
    Halted,
    evidence_of,
    lost_trigger,
    new_records,
    numbers_of,
    put_into_effect,
    tidy,
    trip_of,
)
from liza.store import alerts, edit, versions
from liza.store.board import Board
from liza.store.document import Document, parse_log

HALT_RESTORED = "CHECKPOINT was missing while the breaker is open: it was restored; to go on: liza resolve -m '...'"
REPORT_REPLACED = (
    "the report on the open trip lacked what liza had written: it was written again, with what else was in it as notes"
)
REPORT_RESTORED = "the report on the open trip was missing or empty: it was written again"


class Check(NamedTuple):
    """What one check came to."""

    verdict: Verdict  # all matches, and how near every other rule is
    snapshot: Snapshot  # the blackboard that was judged
    trigger: Mapping[str, Any] | None  # the open trip, if there is one now
    tripped: bool  # by this check
    notes: tuple[str, ...] = ()  # what was found or done besides
    scoped: tuple[Event, ...] = ()  # what happened to single claims, slices and loops
    failed: bool = False  # it tripped, but perhaps the trip could not be entered
    restored: tuple[str, ...] = ()  # those notes that report what was missing beside the open trip, and made again

    @property
    def is_open(self) -> bool:
        """The breaker is open; after a dry run also if the next check would open it."""
        return self.trigger is not None or bool(self.verdict.matches)


def check(board: Board, rules: RuleSet, now: datetime, *, dry_run: bool = False, enter: bool = True) -> Check:
    """Judge the blackboard as it is, and act on the verdict unless it is a dry run. `enter` as in `act`.

    The shipped rules come first and are put into effect, before anything else that may cost time or fail: the schema,
    and own rules, which then add to that trip.
    """
    if rules.budget is not None:
        rules.budget.overruns.clear()
    if not dry_run:
        tidy(board)
    document = board.read()
    if not dry_run and rules.own and (tripped := trip_shipped(board, rules.shipped(), document, now)) is not None:
        again = check(board, rules, now, enter=enter)
        return again._replace(tripped=again.tripped or tripped.tripped, notes=(*tripped.notes, *again.notes))
    snapshot = snapshot_of(board, document, rules, check=False, now=now)
    found = judged(snapshot, evaluate(rules, snapshot, now))
    if dry_run:
        return _with_problems(found, document, now)
    # What waits is entered before an OK, and after a halt: that waits for no lock.
    entered = Entered() if found.is_open else inbox.enter(board)
    if entered.records:
        again = check(board, rules, now, enter=enter)
        return again._replace(notes=(f"records entered from {board.paths.inbox}: {entered.records}", *again.notes))
    found = act(board, rules, found, document, now, enter=enter)  # first: a halt of all waits for no narrower scope
    alerts.append_alerts(board.paths, [("alarm", text) for text in found.restored], now)
    found = _with_problems(found, document, now)
    found = found._replace(notes=(*found.notes, *_entered(board, entered, is_halted=found.is_open)))
    try:
        return found._replace(scoped=settle(board, document, rules, os.environ, now))
    except LizaError as error:
        if found.trigger is None:
            raise
        return found._replace(notes=(*found.notes, error.message))  # that everybody is halted is the news


def _with_problems(found: Check, document: Document, now: datetime) -> Check:
    """The same with what is wrong with the records, which no halt waits for."""
    return found._replace(snapshot=found.snapshot._replace(problems=take_snapshot(document, now=now).problems))


def trip_shipped(
    board: Board, shipped: RuleSet, document: Document, now: datetime, memo: dict[Any, Any] | None = None
) -> Check | None:
    """Put into effect what the shipped rules find, where own rules would be waited for; None if that is nothing."""
    if sections.open_trigger(document.data.get("circuit_breaker")) is not None:
        return None
    snapshot = snapshot_of(board, document, shipped, check=False, now=now)
    found = judged(snapshot, evaluate(shipped, snapshot, now, memo))
    return act(board, shipped, found, document, now) if found.verdict.matches else None


def _entered(board: Board, entered: Entered, *, is_halted: bool) -> list[str]:
    """What is to be said of the inbox; after a halt, what waits is entered now, for the next check to evaluate."""
    try:
        entered = inbox.enter(board) if is_halted else entered
    except LizaError as error:
        return [f"records wait in {board.paths.inbox}: {error.message}"]
    return [f"{each.file}: {each.message}" for each in entered.problems]


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
        return _still_open(board, rules, found, document, now, enter)
    section = document.data.get("circuit_breaker")
    lost = lost_trigger(board, section)
    if lost is not None and board.read().raw != document.raw:
        return check(board, rules, now, enter=enter)  # perhaps it was entered between our look at one and at the other
    if found.verdict.matches or lost is not None:
        return _trip(board, rules, found, document, lost, now)
    reconciled = _reconciled(section, found.verdict, now)[0] if section else section
    released = _release_restored(board, reconciled)
    if released is not None and waits:  # else it is the daemon, which reports the resolution
        found = found._replace(notes=(*found.notes, released))
    if enter or reconciled != section:
        return _all_is_well(board, rules, found, document, now, waits)
    return found


def snapshot_of(
    board: Board, document: Document, rules: RuleSet, *, check: bool = True, now: datetime | None = None
) -> Snapshot:
    """The facts of a document, with the log where a rule looks at it.

    `Unreadable` where a rule would have to look at a section that does not hold records: it would see none, and say OK.
    """
    for name in sorted(rules.streams & {"anomalies", "tasks", "discovered"}):
        if not isinstance(document.data.get(name), list | None):
            line, column = document.locate((name,)) or (None, None)
            hint = f"begin each record of {name} with '- '; see: liza validate"
            raise Unreadable(f"{name} is not a list", hint=hint, file=document.file, line=line, column=column)
    snapshot = take_snapshot(document, check=check, now=now)
    snapshot = snapshot._replace(derived=derived(document.data, rules, os.environ))
    section = document.data.get("circuit_breaker")
    if (whole := with_origins(board, evidence.with_kept(board, section))) is not section:
        snapshot = snapshot._replace(sections=MappingProxyType({**document.data, "circuit_breaker": whole}))
    if "log" in rules.streams and os.path.exists(board.paths.log):
        log = parse_log(versions.read_stable(board.paths.log).raw, board.paths.log)
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
        verdict = found.verdict
        if document.raw != judged.raw:
            # Somebody wrote between our look and our lock; what they wrote may be the third of its kind.
            verdict = evaluate(rules, snapshot_of(board, document, rules), now)
            if verdict.matches or sections.open_trigger(document.data.get("circuit_breaker")):
                newer.append(found)
                return document.raw
        section, said = _reconciled(document.data.get("circuit_breaker"), verdict, now)
        notes.extend(said)
        entered[:] = [section]
        return edit.replace_section(document, "circuit_breaker", sections.checked(section, now))

    try:
        board.change(enter, waits=waits)
    except Refused as error:
        raise NotEntered(error) from None
    if newer:
        return check(board, rules, now)
    if waits:  # else it is the daemon, which reports these itself for as long as they last
        notes += _kept(board, entered[0], now)
        left = checkpoint.look(board.paths.checkpoint)
        if left is not None and sections.knows(entered[0], left.trip_id):
            which = f"the CHECKPOINT of trip {left.trip_id}, which is resolved"
            notes.append(f"the agents are halted by {which}: see liza resolve")
    return found._replace(notes=(*found.notes, *notes))


def _reconciled(section: Any, verdict: Verdict, now: datetime) -> tuple[dict[str, Any], list[str]]:
    """The section with what people did by hand in the same form as what liza does, and what became of numbers."""
    section, notes = sections.settled(section, now)
    values = {rule: format_evidence((), numbers) for rule, numbers in verdict.unvalued.items()}
    return sections.follow_numbers(section, verdict.recovered, values), notes


def _release_restored(board: Board, section: Any) -> str | None:
    """Take a CHECKPOINT away that liza restored, once its trip is resolved by hand: the person has removed theirs."""
    halt = checkpoint.look(board.paths.checkpoint)
    if halt is None or not halt.is_restored or not sections.is_resolved(section, halt.trip_id):
        return None
    checkpoint.remove(board.paths.checkpoint, halt.trip_id)
    return f"trip {halt.trip_id} is resolved: its restored CHECKPOINT was removed, agents may continue"


def _kept(board: Board, section: Mapping[str, Any], now: datetime) -> list[str]:
    """The last decision is in its report and in the log, also one that somebody entered by hand; else why not."""
    entry = sections.last_decision(section)
    if entry is None or is_logged(board, "resolved", entry):
        return []
    entry = {**entry, "origin": origin_of(board, section, entry)}
    if entry["origin"] is Origin.UNKNOWN:
        return []  # it is among the claims, and liza does not confirm it
    failed = keep_decision(board, evidence.whole(board, entry), now)
    return [f"the decision on {entry.get('pattern')} is not written down everywhere: {e.message}" for e in failed]


class NotEntered(Unreadable):
    """No pattern matched, but the blackboard cannot be written, so the check leaves no trace: DEGRADED."""

    def __init__(self, error: Refused) -> None:
        message = f"no pattern matched, but this check could not be entered: {error.message}"
        super().__init__(message, hint=error.hint, file=error.file, line=error.line, column=error.column)


# --- a trip ---------------------------------------------------------------------------------------------------------


def _trip(
    board: Board, rules: RuleSet, found: Check, judged: Document, lost: Mapping[str, Any] | None, now: datetime
) -> Check:
    """Put a verdict into effect, or a trip that was lost: that one is open until a person decides, evidence or not."""
    first = trip_of(board, found.verdict, found.snapshot, rules, lost)
    assert first is not None

    def again(document: Document) -> Trip | None:
        still = lost_trigger(board, document.data.get("circuit_breaker")) if lost is not None else None
        if document.raw == judged.raw and still == lost:
            return first
        snapshot = snapshot_of(board, document, rules)
        verdict = evaluate(rules, snapshot, now)
        return trip_of(board, verdict, snapshot, rules, still)

    trip = put_into_effect(board, first, now, again)
    if trip is None:
        return check(board, rules, now)
    if trip.renews:
        return found._replace(snapshot=trip.snapshot, trigger=trip.trigger, tripped=True)
    said = "halts the agents and was not in state.yaml; it was entered again, without evidence"
    note = f"{trip.trigger['pattern']}: trip {trip.trigger['trip_id']} {said}"
    return found._replace(snapshot=trip.snapshot, trigger=trip.trigger, tripped=True, notes=(note,))


# --- still open -----------------------------------------------------------------------------------------------------


def _still_open(board: Board, rules: RuleSet, found: Check, document: Document, now: datetime, enter: bool) -> Check:
    """While a trip waits for a human nothing changes, unless there is evidence that it did not have, or CHECKPOINT or
    the report is missing."""
    if not sections.is_entered(document.data.get("circuit_breaker"), found.trigger or {}):
        return _accept_manual(board, rules, found, document, now)
    trip, more = _standing(found, rules)
    restored: list[str] = []
    failed: list[LizaError] = []
    if checkpoint.look(board.paths.checkpoint) is None:
        if not _is_open(board.read(), trip.trigger):
            return check(board, rules, now)  # it is not missing: somebody has decided
        attempt(failed, lambda: checkpoint.make(board.paths.checkpoint, trip.trigger, restored=format_time(now)))
        if not _is_open(board.read(), trip.trigger):
            checkpoint.remove(board.paths.checkpoint, str(trip.trigger["trip_id"]))
            return check(board, rules, now)  # somebody has decided while we made it
        restored += [] if failed else [HALT_RESTORED]
    if report.is_blank(board.paths.report):
        known = len(failed)
        attempt(failed, lambda: write_report(board, trip))
        restored += [] if len(failed) > known else [REPORT_RESTORED]
    elif is_replaced(board, trip.trigger):
        if not _is_open(board.read(), trip.trigger):
            return check(board, rules, now)  # somebody has decided, which changed the page
        known = len(failed)
        attempt(failed, lambda: archive(board, trip))
        attempt(failed, lambda: write_report(board, trip))
        restored += [] if len(failed) > known else [REPORT_REPLACED]
    if more:  # what failed is tried once more there
        found = _with_more_evidence(board, rules, found, trip, more, now)
        return found._replace(notes=(*restored, *found.notes), restored=tuple(restored))
    if enter:
        attempt(failed, lambda: board.change(lambda document: _look_at(document, now)))
    if report.is_blank(os.path.join(board.paths.reports, report.archive_name(trip.trigger))):
        attempt(failed, lambda: archive(board, trip))
    attempt(failed, lambda: log_trip(board, trip.trigger, now))
    if failed:
        raise Halted(failed, trip.trigger)
    return found._replace(notes=tuple(restored), restored=tuple(restored))


def _accept_manual(board: Board, rules: RuleSet, found: Check, judged: Document, now: datetime) -> Check:
    """A person has set the status: halt, report and enter it, as for a pattern that matched."""
    first = manual_trip(board, found.trigger or {}, found.verdict, found.snapshot, rules, now)

    def again(document: Document) -> Trip | None:
        trigger = sections.open_trigger(document.data.get("circuit_breaker"))
        if document.raw == judged.raw or trigger is None:
            return first if trigger is not None else None
        snapshot = snapshot_of(board, document, rules)
        return manual_trip(board, trigger, evaluate(rules, snapshot, now), snapshot, rules, now)

    trip = put_into_effect(board, first, now, again)
    if trip is None:
        return check(board, rules, now)  # the person has set it back, or another check was first
    note = "a person or another program set the status to TRIGGERED: the agents are halted, and the trip is entered"
    return found._replace(snapshot=trip.snapshot, trigger=trip.trigger, tripped=True, notes=(note,))


def _standing(found: Check, rules: RuleSet) -> tuple[Trip, dict[str, str]]:
    """The open trip as it was entered, and the evidence of each rule that has some which the entry lacks."""
    nothing = {"timestamp": None, "pattern": None, "severity": None, "report_file": REPORT_FILE}
    section = found.snapshot.sections.get("circuit_breaker")
    at = sections.entry_of(section, found.trigger or {})
    entry = sections.history_of(section)[at] if at is not None else {}
    kept = {name: entry[name] for name in ("timestamp", "pattern", "severity", "message") if name in entry}
    trigger = {**nothing, **kept, **{name: value for name, value in (found.trigger or {}).items() if value is not None}}
    listed = entry.get("evidence")
    known: Mapping[str, Any] = listed if isinstance(listed, Mapping) else {}
    known = {rule: text for rule, text in known.items() if isinstance(text, str)}  # else in a file that is gone
    all_of_it, numbers = evidence_of(found.verdict), numbers_of(found.verdict.matches)
    more = {
        name: merge_evidence(str(known.get(name) or ""), all_of_it[name])
        for name, records in new_records(found.verdict.matches).items()
        if has_new_evidence(entry, name, records, numbers[name])
    }
    matches = matches_of(str(trigger["pattern"]), found.verdict, rules)
    verdict = found.verdict
    return Trip(trigger, matches, found.snapshot, known, rules.changes, verdict.silenced, verdict.alarms), more


def add_message(board: Board, rules: RuleSet, text: str, now: datetime) -> Check:
    """What a person has to say of the trip that is open: halt, and keep the text with it."""
    with suppress(Halted):  # what failed is tried again below
        check(board, rules, now)
    snapshot = snapshot_of(board, board.read(), rules)
    found = judged(snapshot, evaluate(rules, snapshot, now))
    if found.trigger is None or not sections.is_entered(snapshot.sections.get("circuit_breaker"), found.trigger):
        return found
    trip, _ = _standing(found, rules)
    said = trip.trigger.get("message")
    message = text if not said else said if f"; {text}; " in f"; {said}; " else f"{said}; {text}"
    if message == said:
        return found
    trip = trip._replace(trigger={**trip.trigger, "message": message})

    def again(document: Document) -> Trip | None:
        return trip if _is_open(document, trip.trigger) else None

    is_halted = checkpoint.look(board.paths.checkpoint) is not None
    if put_into_effect(board, trip, now, again, halt=not is_halted) is None:
        return check(board, rules, now)  # resolved meanwhile
    return found._replace(trigger=trip.trigger)


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
