"""A trip: a match put into effect.

The halt comes first and waits for nobody; then the report; then the blackboard, under its lock, which is the commit
point; then the log. Each step can be done again without harm under the same trip id, so whatever a crash left undone,
the next check does.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.blackboard import edit, storage
from liza.blackboard.board import Board
from liza.blackboard.document import Document
from liza.breaker import checkpoint
from liza.breaker import section as sections
from liza.breaker.paperwork import Trip, archive, attempt, log_trip, restore_report, write_report
from liza.errors import LizaError, Refused
from liza.model import Match, Problem, Record, Snapshot, Verdict, format_time
from liza.rules.acknowledged import evidence_text, trip_id
from liza.rules.evaluate import RuleSet

REPORT_FILE = ".liza/circuit_breaker_report.md"


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


def tidy(board: Board) -> None:
    """Take away what an interrupted command of ours left beside the blackboard's files."""
    board.sweep()
    checkpoint.sweep(board.paths.checkpoint)
    for folder in (board.paths.folder, board.paths.reports):
        storage.sweep_drafts(folder)


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
        known = len(failed)
        name_halt(entered.trigger)
        if not halted and len(failed) > known:
            del failed[known:]  # that was said before
            # A trip that is entered and has no halt seems to have lost it to a person.
            hint = "mend what is said of CHECKPOINT, then run: liza analyze"
            raise Refused("nothing is entered before the agents are halted", hint=hint, file=board.paths.state)
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
        attempt(failed, lambda: log_trip(board, final.trigger, now))
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
