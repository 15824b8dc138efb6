"""A trip: a match put into effect.

The halt comes first and waits for no lock; then the report; then the blackboard, under its lock, which is the commit
point; then the log. Each step can be done again without harm under the same trip id, so whatever a crash left undone,
the next check does.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import LizaError, LockTimeout, Refused
from liza.model import Match, Number, Problem, Record, Snapshot, Verdict, format_time
from liza.rules.acknowledged import trip_id
from liza.rules.evaluate import RuleSet
from liza.rules.evidence import format_evidence
from liza.schema.severities import SEVERITIES
from liza.scopes.sprint import checkpoint, evidence
from liza.scopes.sprint import section as sections
from liza.scopes.sprint.checkpoint import REPORT_FILE
from liza.scopes.sprint.follow_up import Trip, archive, attempt, caught, log_trip, restore_report, write_report
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
    there = checkpoint.read(board.paths.checkpoint)
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
    over it. It is not resolved, so the next check enters it, under the same id."""
    halt = checkpoint.read(board.paths.checkpoint)
    if halt is None or halt.trip_id is None or sections.knows(section, halt.trip_id):
        return None
    fields = {name: one_line(text, 2000) for name, text in halt.fields.items() if name != "restored"}
    return {
        "timestamp": halt.time or format_time(halt.since),
        "pattern": fields.pop("pattern", UNKNOWN_PATTERN),
        "severity": known_severity(fields.pop("severity", None)),
        "report_file": REPORT_FILE,
        "trip_id": halt.trip_id,
        **fields,
    }


def known_severity(word: object) -> str:
    """The severity that a person wrote, if it is one."""
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


class Outdated(Exception):
    """The blackboard changed so that the verdict no longer holds: evaluate it again."""


class _Halt:
    """The CHECKPOINT of a trip. Which trip it is, is certain only under the lock; until then it has the id that this
    process took it for."""

    def __init__(self, board: Board, trigger: Mapping[str, Any], *, make: bool) -> None:
        self.path = board.paths.checkpoint
        self.triggers = [trigger]  # all whose id it has had
        self.failure = caught(lambda: checkpoint.make(self.path, trigger)) if make else None

    def name(self, trigger: Mapping[str, Any]) -> LizaError | None:
        """Give it the id and time that are entered; why that failed. Where a person has removed it, nothing is done.

        Under the lock, and not afterwards: a person who has decided by then must not find the agents halted again.
        """
        if self.failure is None and checkpoint.read(self.path) is None:
            return None
        self.triggers.append(trigger)
        return caught(lambda: checkpoint.make(self.path, trigger, is_committed=True))

    def withdraw(self) -> None:
        for each in self.triggers:
            checkpoint.remove(self.path, str(each["trip_id"]))


class _Committed(NamedTuple):
    """What is entered in state.yaml after the commit: this trip, or another one that is open, or neither."""

    trip: Trip | None
    other: Mapping[str, Any] | None = None


def apply_trip(
    board: Board, trip: Trip, now: datetime, trip_now: Callable[[Document], Trip | None], *, halt: bool = True
) -> Trip:
    """Halt, report, commit, follow up: in this order, each repeatable. `Outdated` if nothing is to trip after all.

    The halt waits for no lock; without `halt` it is in force already. `trip_now` is called under the lock: what the
    trip is for the blackboard as it is by then. A step that fails keeps no later one from being done; `Halted` reports
    all of them at the end.
    """
    failed: list[LizaError] = []
    halted = _Halt(board, trip.trigger, make=halt)
    failed += [halted.failure] if halted.failure is not None else []
    attempt(failed, lambda: write_report(board, trip))
    before = len(failed)
    committed = attempt(
        failed, lambda: board.change(lambda document: _commit(board, document, trip, trip_now, halted, failed, now))
    ) or _Committed(trip)  # not entered, but in effect: the next check enters it
    if committed.other is not None:
        restore_report(board, committed.other)
        raise Outdated
    if committed.trip is None:
        halted.withdraw()  # the evidence is gone again
        raise Outdated
    # What rules found they find again; a person's text may be nowhere if it could not be entered.
    retry = "the same command again" if trip.trigger.get("message") and len(failed) > before else "liza analyze"
    _follow_up(board, committed.trip, now, failed, retry)
    return committed.trip


def _commit(
    board: Board,
    document: Document,
    trip: Trip,
    trip_now: Callable[[Document], Trip | None],
    halt: _Halt,
    failed: list[LizaError],
    now: datetime,
) -> tuple[bytes, _Committed]:
    """The blackboard with the trip entered, once its halt and its report are those of the trip that is entered."""
    section = sections.reconcile(document.data.get("circuit_breaker"), now).section
    other = sections.open_trigger(section)
    if other is not None and not sections.is_entered(section, other):
        other = None  # a person wrote it, and this trip is that one, put into effect
    is_another = other is not None and other["trip_id"] != trip.trigger["trip_id"]
    entered = None if is_another else trip_now(document)
    if entered is None:
        # An open trip stays open until a person decides, also one whose evidence is gone by now.
        if other is not None and (error := halt.name({**trip.trigger, **other})) is not None:
            failed.append(error)
        return document.raw, _Committed(None, other)
    if other is not None and other.get("timestamp"):  # another check was first: it is the same trip, from then on
        message = {"message": other["message"]} if other.get("message") else {}
        entered = entered._replace(trigger={**message, **entered.trigger, "timestamp": other["timestamp"]})
    if (error := halt.name(entered.trigger)) is not None:
        if halt.failure is not None:
            # A trip that is entered and has no halt would look as if a person had removed it.
            hint = "fix the problem with CHECKPOINT, then run: liza analyze"
            raise Refused("nothing is entered before the agents are halted", hint=hint, file=board.paths.state)
        failed.append(error)
    if entered.trigger != trip.trigger:  # no trip is entered that people cannot read about
        attempt(failed, lambda: write_report(board, entered, instead_of=trip))
    listed = evidence.kept(board, entered.trigger, entered.evidence)  # its file is there before what names it
    new = sections.tripped(section, entered.trigger, listed, now)
    return edit.replace_section(document, "circuit_breaker", new), _Committed(entered)


def _follow_up(board: Board, trip: Trip, now: datetime, failed: list[LizaError], retry: str) -> None:
    attempt(failed, lambda: archive(board, trip))
    attempt(failed, lambda: log_trip(board, trip.trigger, now))
    if failed:
        raise Halted(failed, trip.trigger, retry)


class Halted(LizaError, RuntimeError):
    """A trip that is in effect, but not all of its follow-up could be done; each failure is among the problems."""

    exit_code = 3
    status = "triggered"

    def __init__(self, failed: Sequence[LizaError], trigger: Mapping[str, Any], retry: str = "liza analyze") -> None:
        text = f"{sections.named(trigger)} tripped, but some follow-up steps failed"
        file = failed[0].file or ""
        first = Problem(text, file, hint=f"fix what follows, then run: {retry}")
        rest = [Problem(each.message, each.file or file, each.line, each.column, each.hint) for each in failed]
        super().__init__(f"{text}: {failed[0].message}", file=file, problems=[first, *rest])
        self.trigger = trigger
        self.is_for_the_lock = all(isinstance(each, LockTimeout) for each in failed)
        self.fields = {"trigger": sections.trigger_fields(trigger)}
