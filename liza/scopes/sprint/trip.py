"""A trip: a match put into effect.

The halt comes first and waits for no lock; then the report; then the blackboard, under its lock, which is the commit
point; then the log. Each step is idempotent under one trip id, so the next check completes whatever a crash left
undone.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from liza.errors import LizaError, Refused
from liza.model import Snapshot, Verdict, format_time
from liza.rules.evaluate import RuleSet
from liza.scopes.history import evidence_files
from liza.scopes.history import section as sections
from liza.scopes.history.new_evidence import evidence_of, trip_id_of
from liza.scopes.sprint.evaluate import FollowUpFailed, StaleVerdict
from liza.scopes.sprint.failed_steps import attempt, caught
from liza.scopes.sprint.report_files import Trip, archive, restore_report, write_report
from liza.scopes.sprint.trip_log import log_trip
from liza.store import checkpoint, edit
from liza.store.board import Board
from liza.store.checkpoint import REPORT_FILE
from liza.store.document import Document

T = TypeVar("T")


def trip_of(
    board: Board, verdict: Verdict, snapshot: Snapshot, rules: RuleSet, lost: Mapping[str, Any] | None = None
) -> Trip | None:
    """The trip for a verdict. Its trigger is the first match in pack order, or `lost`, as `lost_trigger` returns it."""
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
    return Trip(
        trigger, matches, snapshot, evidence_of(verdict.matches), rules.changes, verdict.silenced, verdict.alarms
    )


def _is_same(trip: Trip, other: Mapping[str, Any]) -> bool:
    return bool(trip.trigger["trip_id"] == other["trip_id"])


class _Committed(NamedTuple):
    """What state.yaml has after the commit: this trip, another open one, or neither."""

    trip: Trip | None
    other: Mapping[str, Any] | None = None


def put_into_effect(
    board: Board, trip: Trip, now: datetime, trip_now: Callable[[Document], Trip | None], *, halt: bool = True
) -> Trip:
    """Halt, report, commit, follow up, in this order; each can be repeated. `StaleVerdict` if nothing trips after all.

    The halt waits for no lock; without `halt` it is in force already. `trip_now` is called under the lock, and
    returns the trip for the blackboard as it is then. A failed step does not prevent the later ones; `FollowUpFailed`
    reports all failures at the end.
    """
    effect = _Effect(board, trip, now)
    if halt:
        effect.halt()
    effect.attempt(lambda: write_report(board, trip))
    committed = effect.commit(trip_now)
    if committed.other is not None:
        restore_report(board, committed.other)
        raise StaleVerdict
    if committed.trip is None:
        effect.withdraw_halt()  # the evidence is gone again
        raise StaleVerdict
    effect.follow_up(committed.trip)
    return committed.trip


class _Effect:
    """Puts one trip into effect, and collects the steps that failed.

    The id of the trip is certain only under the lock; until then CHECKPOINT has the one that this process expects.
    """

    def __init__(self, board: Board, trip: Trip, now: datetime) -> None:
        self.board, self.trip, self.now = board, trip, now
        self.failed: list[LizaError] = []
        self.is_halted = True
        self.is_recorded = True
        self.triggers = [trip.trigger]  # all whose id CHECKPOINT has had

    def attempt(self, step: Callable[[], T]) -> T | None:
        return attempt(self.failed, step)

    def halt(self) -> None:
        known = len(self.failed)
        self.attempt(lambda: checkpoint.make(self.board.paths.checkpoint, self.trip.trigger))
        self.is_halted = len(self.failed) == known

    def name_halt(self, trigger: Mapping[str, Any]) -> LizaError | None:
        """Write the recorded id and time into CHECKPOINT; returns an error. One that a person removed stays removed.

        Under the lock, and not afterwards: a person who has decided by then must not find the agents halted again.
        """
        path = self.board.paths.checkpoint
        if self.is_halted and checkpoint.read(path) is None:
            return None
        self.triggers.append(trigger)
        return caught(lambda: checkpoint.make(path, trigger, is_committed=True))

    def withdraw_halt(self) -> None:
        for each in self.triggers:
            checkpoint.remove(self.board.paths.checkpoint, str(each["trip_id"]))

    def commit(self, trip_now: Callable[[Document], Trip | None]) -> _Committed:
        """Record the trip in state.yaml. If that fails, it is still in effect, and the next check records it."""
        known = len(self.failed)
        committed = self.attempt(lambda: self.board.change(lambda document: self._with_trip(document, trip_now)))
        self.is_recorded = len(self.failed) == known
        return committed or _Committed(self.trip)

    def _with_trip(self, document: Document, trip_now: Callable[[Document], Trip | None]) -> tuple[bytes, _Committed]:
        """The blackboard with the trip in it, after CHECKPOINT and the report were brought in line with that trip."""
        section = sections.reconcile(document.data.get("circuit_breaker"), self.now).section
        other = sections.open_trigger(section)
        if other is not None and not sections.is_recorded(section, other):
            other = None  # a person wrote it, and this trip is that one, put into effect
        recorded = None if other is not None and not _is_same(self.trip, other) else trip_now(document)
        if recorded is None or (other is not None and not _is_same(recorded, other)):
            # An open trip stays open until a person decides, also one whose evidence is gone by now.
            if other is not None and (error := self.name_halt({**self.trip.trigger, **other})) is not None:
                self.failed.append(error)
            return document.raw, _Committed(None, other)
        if other is not None and other.get("timestamp"):  # another check was first: it is the same trip, from then on
            message = {"message": other["message"]} if other.get("message") else {}
            recorded = recorded._replace(trigger={**message, **recorded.trigger, "timestamp": other["timestamp"]})
        if (error := self.name_halt(recorded.trigger)) is not None:
            if not self.is_halted:
                # A recorded trip without a halt would look as if a person had removed the halt.
                hint = "fix the problem with CHECKPOINT, then run: liza analyze"
                raise Refused(
                    "nothing is recorded before the agents are halted", hint=hint, file=self.board.paths.state
                )
            self.failed.append(error)
        if recorded.trigger != self.trip.trigger:  # people can read about every recorded trip
            self.attempt(lambda: write_report(self.board, recorded, instead_of=self.trip))
        listed = evidence_files.kept(
            self.board, recorded.trigger, recorded.evidence
        )  # its file is there before what names it
        new = sections.tripped(section, recorded.trigger, listed, self.now)
        return edit.replace_section(document, "circuit_breaker", new), _Committed(recorded)

    def follow_up(self, trip: Trip) -> None:
        self.attempt(lambda: archive(self.board, trip))
        self.attempt(lambda: log_trip(self.board, trip.trigger, self.now))
        if self.failed:
            # The rules will match again; a person's text is lost if it could not be recorded.
            is_lost = trip.trigger.get("message") and not self.is_recorded
            retry = "run the same command again" if is_lost else "run: liza analyze"
            raise FollowUpFailed(self.failed, trip.trigger, retry)
