"""One check: read, judge, and put the verdict into effect.

The halt comes first and waits for nobody; then the report; then the blackboard, under its lock, which is the commit
point; then the log. Each step can be done again without harm under the same trip id, so whatever a crash left undone,
the next check does.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.blackboard import edit, storage, versions
from liza.blackboard.board import Board
from liza.blackboard.document import Document, parse_log
from liza.blackboard.snapshot import take
from liza.breaker import checkpoint, report
from liza.breaker import section as sections
from liza.breaker.paperwork import (
    Trip,
    archive,
    attempt,
    is_logged,
    log_decision,
    log_once,
    report_decision,
    restore_report,
    write_report,
)
from liza.errors import LizaError, Refused, Unreadable
from liza.model import Match, Problem, Record, Snapshot, Verdict, format_time
from liza.protocols.judged import derived, settle
from liza.protocols.scopes import Event
from liza.rules.acknowledged import evidence_text, merged, trip_id, unknown_to
from liza.rules.evaluate import RuleSet, evaluate

REPORT_FILE = ".liza/circuit_breaker_report.md"


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


def act(board: Board, rules: RuleSet, found: Check, document: Document, now: datetime, *, enter: bool = True) -> Check:
    """Put a verdict into effect. Without `enter`, a check that changes nothing leaves no trace on the blackboard."""
    if found.trigger is not None:
        return _still_open(board, rules, found, now, enter)
    if found.verdict.matches:
        return _trip(board, rules, found, document, now)
    section = document.data.get("circuit_breaker")
    if enter or (section and sections.settled(section, now)[0] != section):
        return _all_is_well(board, rules, found, document, now)
    return found


def tidy(board: Board) -> None:
    """Take away what an interrupted command of ours left beside the blackboard's files."""
    board.sweep()
    checkpoint.sweep(board.paths.checkpoint)
    for folder in (board.paths.folder, board.paths.reports):
        storage.sweep_drafts(folder)


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


def _all_is_well(board: Board, rules: RuleSet, found: Check, judged: Document, now: datetime) -> Check:
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
        board.change(enter)
    except Refused as error:
        raise NotEntered(error) from None
    if newer:
        return check(board, rules, now)
    notes += _kept(board, entered[0], now)
    left = checkpoint.look(board.paths.checkpoint)
    if left is not None and left.trip_id is not None:
        known = sections.knows(found.snapshot.sections.get("circuit_breaker"), left.trip_id)
        from shlex import quote

        mended = f"is not on the blackboard; if they may go on: rm {quote(board.paths.checkpoint)}"
        state = "is resolved: see liza resolve" if known else mended
        notes.append(f"the agents are halted by the CHECKPOINT of trip {left.trip_id}, which {state}")
    return found._replace(notes=(*found.notes, *notes))


def _kept(board: Board, section: Mapping[str, Any], now: datetime) -> list[str]:
    """The last decision is in its report and in the log, also one that somebody entered by hand; else why not."""
    entry = sections.last_decision(section)
    if entry is None or is_logged(board, "resolved", entry):
        return []
    failed: list[LizaError] = []
    report_decision(board, entry, failed)
    log_decision(board, entry, now, failed)  # last: its line says that all of it is done
    return [f"the decision on {entry.get('pattern')} is not written down everywhere: {e.message}" for e in failed]


class NotEntered(Unreadable):
    """No pattern matched, but the blackboard cannot be written, so the check leaves no trace: DEGRADED."""

    def __init__(self, error: Refused) -> None:
        message = f"no pattern matched, but this check could not be entered: {error.message}"
        super().__init__(message, hint=error.hint, file=error.file, line=error.line, column=error.column)


# --- a trip ---------------------------------------------------------------------------------------------------------


def trip_of(board: Board, verdict: Verdict, snapshot: Snapshot, rules: RuleSet) -> Trip:
    """The trip that a verdict calls for: the first match in pack order is the trigger."""
    match = verdict.matches[0]
    section = snapshot.sections.get("circuit_breaker")
    trigger: dict[str, Any] = {
        "timestamp": format_time(verdict.checked_at),
        "pattern": match.rule.name,
        "severity": match.rule.severity,
        "report_file": REPORT_FILE,
        "trip_id": trip_id(match.rule.name, match.new, match.threshold, earlier_trips(match.rule.name, section)),
    }
    there = checkpoint.look(board.paths.checkpoint)
    if there is not None and there.trip_id == trigger["trip_id"] and there.time is not None:
        trigger["timestamp"] = there.time  # a trip that was interrupted keeps the time at which it began
    names = dict.fromkeys(other.rule.name for other in verdict.matches if other.rule.name != match.rule.name)
    if names:
        trigger["also_matched"] = list(names)
    return Trip(trigger, verdict.matches, snapshot, evidence_of(verdict), rules.changes, verdict.silenced)


def earlier_trips(rule: str, section: Any) -> int:
    """How often a rule has tripped before: what tells two trips apart that have no evidence."""
    history = [entry for entry in sections.history_of(section) if isinstance(entry, Mapping)]
    return sum(entry.get("pattern") == rule and entry.get("resolved_at") is not None for entry in history)


def evidence_of(verdict: Verdict) -> dict[str, str]:
    """The fingerprints behind each rule that matched, over all its groups."""
    hushed = {each.match.rule.name for each in verdict.silenced}
    found = new_records(verdict.matches)
    # Up to a position mark, a resolution would also deal with the records that a silence hides.
    return {name: evidence_text(records, exactly=name in hushed) for name, records in found.items()}


def new_records(matches: Sequence[Match]) -> dict[str, list[Record]]:
    """The records behind each rule that no earlier resolution has dealt with."""
    found: dict[str, dict[Any, Record]] = {}
    for match in matches:
        found.setdefault(match.rule.name, {}).update({(r.stream, r.key): r for r in match.new})
    return {name: list(records.values()) for name, records in found.items()}


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


def put_into_effect(board: Board, trip: Trip, now: datetime, again: Callable[[Document], Trip | None]) -> Trip | None:
    """Halt, report, commit, log: in this order, each repeatable. None if there is nothing to trip after all.

    The halt waits for no lock. `again` is asked under the lock what the trip is for the blackboard as it is by then.
    A step that fails does not keep the next ones from being done; `Halted` tells about it at the end.
    """
    failed: list[LizaError] = []
    halts = [trip.trigger]
    attempt(failed, lambda: checkpoint.make(board.paths.checkpoint, trip.trigger))
    halted = not failed
    attempt(failed, lambda: write_report(board, trip))
    outcome: list[Trip | None] = [trip]  # unless the commit says otherwise
    standing: list[Mapping[str, Any]] = []

    def commit(document: Document) -> bytes:
        section, _ = sections.settled(document.data.get("circuit_breaker"), now)
        other = sections.open_trigger(section)
        is_another = other is not None and other.get("trip_id") not in (None, trip.trigger["trip_id"])
        outcome[:] = [None if is_another else again(document)]
        # Also the same one, if its evidence is gone by now: it stays open until a person decides.
        standing[:] = [other] if other is not None and other.get("trip_id") and outcome[0] is None else []
        if (entered := outcome[0]) is None:
            if standing:  # its halt and its report are the ones that count
                name_halt({**trip.trigger, **standing[0]})
            return document.raw
        if other is not None and other.get("timestamp"):  # another check was first: it is the same trip, from then on
            outcome[0] = entered = entered._replace(trigger={**entered.trigger, "timestamp": other["timestamp"]})
        name_halt(entered.trigger)
        if entered.trigger != trip.trigger:  # no trip is entered that people cannot read about
            attempt(failed, lambda: write_report(board, entered))
        new = sections.tripped(section, entered.trigger, entered.evidence, now)
        return edit.replace_section(document, "circuit_breaker", new)

    def name_halt(trigger: Mapping[str, Any]) -> None:
        # Under the lock, and not afterwards: whoever has decided by then must not find the agents halted again.
        if not halted or checkpoint.look(board.paths.checkpoint) is not None:  # else somebody has taken it away
            halts.append(trigger)
            attempt(failed, lambda: checkpoint.make(board.paths.checkpoint, trigger, settled=True))

    before = len(failed)
    attempt(failed, lambda: board.change(commit))
    # What rules found they find again; what a person said is nowhere if it could not be entered.
    retry = "liza analyze" if trip.matches or len(failed) == before else "the same command again"
    final = outcome[0]
    if standing:
        restore_report(board, standing[0])
    elif final is None:
        for each in halts:  # the evidence is gone again
            checkpoint.remove(board.paths.checkpoint, str(each["trip_id"]))
    else:
        attempt(failed, lambda: archive(board, final))
        what = f"{final.trigger.get('pattern')} ({final.trigger.get('severity')})"
        attempt(failed, lambda: log_once(board, final.trigger, "tripped", what, now))
        if failed:
            raise Halted(failed, final.trigger, retry)
    return final


class Halted(LizaError, RuntimeError):
    """A trip that is in effect, but not all of its paperwork could be done; each failure is among the problems."""

    exit_code = 3
    status = "triggered"

    def __init__(self, failed: Sequence[LizaError], trigger: Mapping[str, Any], retry: str = "liza analyze") -> None:
        said = f"{trigger.get('pattern')} ({trigger.get('severity')}) is tripped, but not all could be done"
        file = failed[0].file or ""
        first = Problem(said, file, hint=f"mend what follows, then run: {retry}")
        rest = [Problem(each.message, each.file or file, each.line, each.column, each.hint) for each in failed]
        super().__init__(f"{said}: {failed[0].message}", file=file, problems=[first, *rest])
        self.trigger = trigger
        self.fields = {"trigger": sections.told(trigger)}


# --- still open -----------------------------------------------------------------------------------------------------


def _still_open(board: Board, rules: RuleSet, found: Check, now: datetime, enter: bool) -> Check:
    """While a trip waits for a human nothing changes, unless there is evidence that it did not have."""
    trigger = {
        "timestamp": None,
        "pattern": None,
        "severity": None,
        "report_file": REPORT_FILE,
        **(found.trigger or {}),
    }
    section = found.snapshot.sections.get("circuit_breaker")
    at = sections.entry_of(section, trigger)
    entry = sections.history_of(section)[at] if at is not None else {}
    listed = entry.get("evidence")
    known: Mapping[str, Any] = listed if isinstance(listed, Mapping) else {}
    behind = new_records(found.verdict.matches)
    all_of_it = evidence_of(found.verdict)
    more = {
        name: merged(str(known.get(name) or ""), all_of_it[name])
        for name, records in behind.items()
        if unknown_to(known, name, records)
    }
    hushed = [each.match for each in found.verdict.silenced if each.match.rule.name == trigger.get("pattern")]
    matches = tuple(
        sorted((*found.verdict.matches, *hushed), key=lambda match: match.rule.name != trigger.get("pattern"))
    )
    notes: list[str] = []
    if more and trigger.get("trip_id"):
        names = dict.fromkeys([*sections.also_matched(trigger), *more])
        names.pop(str(trigger.get("pattern")), None)
        trigger |= {"also_matched": list(names)} if names else {}
        trip = Trip(trigger, matches, found.snapshot, {**known, **more}, rules.changes, found.verdict.silenced)
        attempt([], lambda: archive(board, trip))  # before the commit: a crash behind it would leave the old one
        if checkpoint.look(board.paths.checkpoint) is None and not _is_open(board.read(), trigger):
            return check(board, rules, now)  # it was not taken away by hand: somebody has decided
        if put_into_effect(board, trip, now, lambda document: trip if _is_open(document, trigger) else None) is None:
            return check(board, rules, now)  # resolved meanwhile
        notes.append(f"new evidence since the trip: {', '.join(more)}")
        return found._replace(trigger=trigger, notes=tuple(notes))
    failed: list[LizaError] = []
    if enter:
        attempt(failed, lambda: board.change(lambda document: _look_at(document, now)))
    if checkpoint.look(board.paths.checkpoint) is None:
        notes.append("CHECKPOINT was removed by hand while the breaker is open: the agents are not halted")
    if trigger.get("trip_id"):
        trip = Trip(trigger, matches, found.snapshot, known, rules.changes, found.verdict.silenced)
        if not os.path.exists(board.paths.report):
            attempt(failed, lambda: write_report(board, trip))
        if not os.path.exists(os.path.join(board.paths.reports, report.archive_name(trigger))):
            attempt(failed, lambda: archive(board, trip))
        what = f"{trigger.get('pattern')} ({trigger.get('severity')})"
        attempt(failed, lambda: log_once(board, trigger, "tripped", what, now))
    if failed:
        raise Halted(failed, trigger)
    return found._replace(notes=tuple(notes))


def _is_open(document: Document, trigger: Mapping[str, Any]) -> bool:
    there = sections.open_trigger(document.data.get("circuit_breaker"))
    return there is not None and there.get("trip_id") == trigger.get("trip_id")


def _look_at(document: Document, now: datetime) -> bytes:
    section, _ = sections.settled(document.data.get("circuit_breaker"), now)
    if sections.open_trigger(section) is None:
        return document.raw  # resolved meanwhile
    return edit.replace_section(document, "circuit_breaker", sections.looked_at(section, now))
