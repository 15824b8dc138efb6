"""A trip: a match put into effect.

The halt comes first and waits for nobody; then the report; then the blackboard, under its lock, which is the commit
point; then the log. Each step can be done again without harm under the same trip id, so whatever a crash left undone,
the next check does.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.errors import LizaError, LockTimeout, Refused
from liza.model import Match, Number, Problem, Record, Snapshot, Verdict, format_time
from liza.rules.acknowledged import trip_id
from liza.rules.evaluate import RuleSet
from liza.rules.evidence import format_evidence
from liza.schema.severities import SEVERITIES
from liza.scopes.sprint import checkpoint, evidence
from liza.scopes.sprint import section as sections
from liza.scopes.sprint.checkpoint import REPORT_FILE
from liza.scopes.sprint.follow_up import Trip, archive, attempt, log_trip, restore_report, write_report
from liza.store import edit, replace
from liza.store.board import Board
from liza.store.document import Document
from liza.text import one_line

DEFAULT_SEVERITY = "ARCHITECTURE_FLAW"  # where a person names none
UNKNOWN_PATTERN = "unknown"


def trip_of(
    board: Board, verdict: Verdict, snapshot: Snapshot, rules: RuleSet, lost: Mapping[str, Any] | None = None
) -> Trip | None:
    """The trip that a verdict calls for: the first match in pack order is the trigger, unless a trip was lost."""
    if not verdict.matches:
        if lost is None:
            return None
        return Trip(lost, (), snapshot, {}, rules.changes, verdict.silenced, verdict.alarms, renews=False)
    match = verdict.matches[0]
    section = snapshot.sections.get("circuit_breaker")
    trigger: dict[str, Any] = {
        "timestamp": format_time(verdict.checked_at),
        "pattern": match.rule.name,
        "severity": match.rule.severity,
        "report_file": REPORT_FILE,
        "trip_id": trip_id_of(match, section),
    }
    there = checkpoint.look(board.paths.checkpoint)
    if there is not None and there.trip_id == trigger["trip_id"] and there.time is not None:
        trigger["timestamp"] = there.time  # a trip that was interrupted keeps the time at which it began
    if lost is not None and lost["trip_id"] != trigger["trip_id"]:
        trigger = dict(lost)  # its evidence has changed since
    matches = tuple(sorted(verdict.matches, key=lambda each: each.rule.name != trigger["pattern"]))
    names = dict.fromkeys(other.rule.name for other in matches if other.rule.name != trigger["pattern"])
    if names:
        trigger["also_matched"] = list(names)
    return Trip(trigger, matches, snapshot, evidence_of(verdict), rules.changes, verdict.silenced, verdict.alarms)


def lost_trigger(board: Board, section: Any) -> dict[str, Any] | None:
    """The trip that halts the agents and is not on the blackboard: it could not be entered, or an older copy was saved
    over it. Nobody has decided on it, so the next check enters it, under the same id."""
    halt = checkpoint.look(board.paths.checkpoint)
    if halt is None or halt.trip_id is None or sections.knows(section, halt.trip_id):
        return None
    said = {name: one_line(text, 2000) for name, text in halt.fields.items() if name != "restored"}
    return {
        "timestamp": halt.time or format_time(halt.since),
        "pattern": said.pop("pattern", UNKNOWN_PATTERN),
        "severity": known_severity(said.pop("severity", None)),
        "report_file": REPORT_FILE,
        "trip_id": halt.trip_id,
        **said,
    }


def known_severity(word: object) -> str:
    """The severity that somebody wrote, if it is one."""
    return word if isinstance(word, str) and word in SEVERITIES else DEFAULT_SEVERITY


def trip_id_of(match: Match, section: Any) -> str:
    """The id of the trip that a match calls for; never that of one which is resolved.

    A rule about a number has no records, and equal records (of one second, or without a time) have equal fingerprints.
    """
    rule = match.rule.name
    found = trip_id(rule, match.new, match.threshold)
    is_open = (sections.open_trigger(section) or {}).get("trip_id") == found
    if match.new and (is_open or not sections.knows(section, found)):
        return found
    history = [entry for entry in sections.history_of(section) if isinstance(entry, Mapping)]
    earlier = sum(entry.get("pattern") == rule and entry.get("resolved_at") is not None for entry in history)
    return trip_id(rule, match.new, match.threshold, earlier)


def evidence_of(verdict: Verdict) -> dict[str, str]:
    """The fingerprints and numbers behind each rule that matched, over all its groups."""
    numbers = numbers_of(verdict.matches)
    return {name: format_evidence(records, numbers[name]) for name, records in new_records(verdict.matches).items()}


def new_records(matches: Sequence[Match]) -> dict[str, list[Record]]:
    """The records behind each rule that no earlier resolution has dealt with."""
    found: dict[str, dict[Any, Record]] = {}
    for match in matches:
        found.setdefault(match.rule.name, {}).update({(r.stream, r.key): r for r in match.new})
    return {name: list(records.values()) for name, records in found.items()}


def numbers_of(matches: Sequence[Match]) -> dict[str, list[Number]]:
    """The numbers behind each rule."""
    found: dict[str, list[Number]] = {}
    for match in matches:
        found.setdefault(match.rule.name, []).extend(match.numbers)
    return found


def tidy(board: Board) -> None:
    """Take away what an interrupted command of ours left beside the blackboard's files."""
    board.sweep()
    checkpoint.sweep(board.paths.checkpoint)
    for folder in (board.paths.folder, board.paths.reports, board.paths.inbox):
        replace.sweep_drafts(folder)


def put_into_effect(
    board: Board, trip: Trip, now: datetime, again: Callable[[Document], Trip | None], *, halt: bool = True
) -> Trip | None:
    """Halt, report, commit, log: in this order, each repeatable. None if there is nothing to trip after all.

    The halt waits for no lock; without `halt` it is in force already. `again` is asked under the lock what the trip is
    for the blackboard as it is by then. A step that fails does not keep the next ones from being done; `Halted` tells
    about it at the end.
    """
    failed: list[LizaError] = []
    halts = [trip.trigger]
    if halt:
        attempt(failed, lambda: checkpoint.make(board.paths.checkpoint, trip.trigger))
    halted = not failed
    attempt(failed, lambda: write_report(board, trip))
    outcome: list[Trip | None] = [trip]  # unless the commit says otherwise
    standing: list[Mapping[str, Any]] = []

    def commit(document: Document) -> bytes:
        section, _ = sections.settled(document.data.get("circuit_breaker"), now)
        other = sections.open_trigger(section)
        if other is not None and not sections.is_entered(section, other):
            other = None  # a person wrote it, and this trip is that one, put into effect
        is_another = other is not None and other["trip_id"] != trip.trigger["trip_id"]
        outcome[:] = [None if is_another else again(document)]
        # Also the same one, if its evidence is gone by now: it stays open until a person decides.
        standing[:] = [other] if other is not None and outcome[0] is None else []
        if (entered := outcome[0]) is None:
            if standing:  # its halt and its report are the ones that count
                name_halt({**trip.trigger, **standing[0]})
            return document.raw
        if other is not None and other.get("timestamp"):  # another check was first: it is the same trip, from then on
            said = {"message": other["message"]} if other.get("message") else {}
            trigger = {**said, **entered.trigger, "timestamp": other["timestamp"]}
            outcome[0] = entered = entered._replace(trigger=trigger)
        known = len(failed)
        name_halt(entered.trigger)
        if not halted and len(failed) > known:
            del failed[known:]  # that was said before
            # A trip that is entered and has no halt seems to have lost it to a person.
            hint = "mend what is said of CHECKPOINT, then run: liza analyze"
            raise Refused("nothing is entered before the agents are halted", hint=hint, file=board.paths.state)
        if entered.trigger != trip.trigger:  # no trip is entered that people cannot read about
            attempt(failed, lambda: write_report(board, entered, instead_of=trip))
        listed = evidence.kept(board, entered.trigger, entered.evidence)  # its file is there before what names it
        new = sections.tripped(section, entered.trigger, listed, now)
        return edit.replace_section(document, "circuit_breaker", new)

    def name_halt(trigger: Mapping[str, Any]) -> None:
        # Under the lock, and not afterwards: whoever has decided by then must not find the agents halted again.
        if not halted or checkpoint.look(board.paths.checkpoint) is not None:  # else somebody has taken it away
            halts.append(trigger)
            attempt(failed, lambda: checkpoint.make(board.paths.checkpoint, trigger, settled=True))

    before = len(failed)
    attempt(failed, lambda: board.change(commit))
    # What rules found they find again; what a person said may be nowhere if it could not be entered.
    retry = "the same command again" if trip.trigger.get("message") and len(failed) > before else "liza analyze"
    final = outcome[0]
    if standing:
        restore_report(board, standing[0])
    elif final is None:
        for each in halts:  # the evidence is gone again
            checkpoint.remove(board.paths.checkpoint, str(each["trip_id"]))
    else:
        attempt(failed, lambda: archive(board, final))
        attempt(failed, lambda: log_trip(board, final.trigger, now))
        if failed:
            raise Halted(failed, final.trigger, retry)
    return final


class Halted(LizaError, RuntimeError):
    """A trip that is in effect, but not all of its paperwork could be done; each failure is among the problems."""

    exit_code = 3
    status = "triggered"

    def __init__(self, failed: Sequence[LizaError], trigger: Mapping[str, Any], retry: str = "liza analyze") -> None:
        said = f"{sections.named(trigger)} is tripped, but not all could be done"
        file = failed[0].file or ""
        first = Problem(said, file, hint=f"mend what follows, then run: {retry}")
        rest = [Problem(each.message, each.file or file, each.line, each.column, each.hint) for each in failed]
        super().__init__(f"{said}: {failed[0].message}", file=file, problems=[first, *rest])
        self.trigger = trigger
        self.is_for_the_lock = all(isinstance(each, LockTimeout) for each in failed)
        self.fields = {"trigger": sections.told(trigger)}
