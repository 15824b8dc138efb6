"""The sprint's breaker evaluated: the verdict on the facts of a blackboard, and the trip that is open."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import LizaError, LockTimeout
from liza.model import Problem, Snapshot, Verdict
from liza.rules.evaluate import RuleSet, evaluate
from liza.scopes.history import section as sections
from liza.scopes.snapshot import snapshot_of
from liza.scopes.transition import Event
from liza.store.board import Board
from liza.store.document import Document


class StaleVerdict(Exception):
    """The blackboard changed, and the verdict may no longer hold: evaluate again."""


class FollowUpFailed(LizaError, RuntimeError):
    """A trip is in effect, but some follow-up steps failed; `problems` has each of them."""

    exit_code = 3
    status = "triggered"

    def __init__(
        self, failed: Sequence[LizaError], trigger: Mapping[str, Any], retry: str = "run: liza analyze"
    ) -> None:
        text = f"{sections.named(trigger)} tripped, but some follow-up steps failed"
        file = failed[0].file or ""
        first = Problem(text, file, hint=f"fix what follows, then {retry}")
        problems = [first, *(each.as_problem(file) for each in failed)]
        super().__init__(f"{text}: {failed[0].message}", file=file, problems=problems)
        self.trigger = trigger
        self.is_for_the_lock = all(isinstance(each, LockTimeout) for each in failed)
        self.fields = {"trigger": sections.trigger_fields(trigger)}


class Check(NamedTuple):
    verdict: Verdict  # all matches, and how close every other rule is
    snapshot: Snapshot  # the blackboard that was evaluated
    trigger: Mapping[str, Any] | None  # the open trip, if there is one now
    tripped: bool = False  # by this check
    notes: tuple[str, ...] = ()  # what was found or done besides
    scoped: tuple[Event, ...] = ()  # what happened to single sessions, claims, slices and loops
    error: LizaError | None = None  # what could not be done or evaluated; the rest of the result is still valid
    restored: tuple[str, ...] = ()  # those notes that report what was missing beside the open trip, and made again
    joined: tuple[str, ...] = ()  # those notes that report a decision by hand merged with its trip: nothing to do
    lost: tuple[str, ...] = ()  # those notes that report a trip that halted the agents, but was not on the blackboard

    @property
    def failed(self) -> bool:
        """It tripped, but perhaps the trip could not be entered."""
        return isinstance(self.error, FollowUpFailed)

    @property
    def is_open(self) -> bool:
        """The breaker is open; after a dry run also if the next check would open it."""
        return self.trigger is not None or bool(self.verdict.matches)


def evaluate_board(
    board: Board, document: Document, rules: RuleSet, now: datetime, memo: dict[Any, Any] | None = None
) -> Check:
    """The verdict on a document, with nothing done about it yet. No halt waits for the schema: it is not checked."""
    snapshot = snapshot_of(board, document, rules, check=False, now=now)
    open_trigger = sections.open_trigger(snapshot.sections.get("circuit_breaker"))
    return Check(evaluate(rules, snapshot, now, memo), snapshot, open_trigger)
