"""The sprint's breaker evaluated: the facts of a blackboard, the verdict on them, and the trip that is open."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from liza.errors import LizaError, LockTimeout, Unreadable
from liza.model import Problem, Snapshot, Verdict
from liza.rules.evaluate import RuleSet, evaluate
from liza.schema.snapshot import take_snapshot
from liza.scopes.engine import derived
from liza.scopes.sprint import section as sections
from liza.scopes.transition import Event
from liza.store import versions
from liza.store.board import Board
from liza.store.document import Document, parse_log

# Sections that rules read as lists of records.
_LISTS = frozenset({"anomalies", "tasks", "discovered"})


class StaleVerdict(Exception):
    """The blackboard changed, and the verdict may no longer hold: evaluate again."""


class FollowUpFailed(LizaError, RuntimeError):
    """A trip is in effect, but some follow-up steps failed; `problems` has each of them."""

    exit_code = 3
    status = "triggered"

    def __init__(self, failed: Sequence[LizaError], trigger: Mapping[str, Any], retry: str = "liza analyze") -> None:
        text = f"{sections.named(trigger)} tripped, but some follow-up steps failed"
        file = failed[0].file or ""
        first = Problem(text, file, hint=f"fix what follows, then run: {retry}")
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


def snapshot_of(
    board: Board, document: Document, rules: RuleSet, *, check: bool = True, now: datetime | None = None
) -> Snapshot:
    """The facts of a document, with the log where a rule reads it.

    `Unreadable` where a rule reads a section that does not hold records: it would see none, and report OK.
    """
    for name in sorted(rules.streams & _LISTS):
        if not isinstance(document.data.get(name), list | None):
            line, column = document.locate((name,)) or (None, None)
            hint = f"begin each record of {name} with '- '; see: liza validate"
            raise Unreadable(f"{name} is not a list", hint=hint, file=document.file, line=line, column=column)
    snapshot = take_snapshot(document, check=check, now=now)
    snapshot = snapshot._replace(derived=derived(board.paths, document.data, rules, os.environ))
    section = document.data.get("circuit_breaker")
    if sections.history_of(section) and (whole := _with_files(board, section)) is not section:
        snapshot = snapshot._replace(sections=MappingProxyType({**document.data, "circuit_breaker": whole}))
    if "log" in rules.streams and os.path.exists(board.paths.log):
        log = parse_log(versions.read_stable(board.paths.log).raw, board.paths.log)
        snapshot = snapshot._replace(log=log.data)
    return snapshot


def _with_files(board: Board, section: Any) -> Any:
    """The `circuit_breaker` section with what other files know of its history."""
    from liza.scopes.sprint.evidence_files import with_kept  # without a history there is nothing to look up
    from liza.scopes.sprint.origin import with_origins

    return with_origins(board, with_kept(board, section))
