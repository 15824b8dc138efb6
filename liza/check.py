"""The one pipeline: read, derive, evaluate, act. Every check of a blackboard is made here.

`liza analyze` and `import liza` call `analyze`; commands that only look call `check` as a dry run; the daemon keeps a
`Pipeline`, gives it what it has read, and remembers what it has reported.

The shipped rules come first and are put into effect before anything that may cost time or fail: own rules, the schema,
the inbox, and the narrower scopes, whose trips no halt of everyone waits for.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import LizaError, Unreadable
from liza.rules.evaluate import RuleSet
from liza.rules.memo import new_memo
from liza.schema.snapshot import take_snapshot
from liza.scopes import engine, inbox
from liza.scopes.inbox import Entered
from liza.scopes.rules_file import overrun
from liza.scopes.sprint import degraded
from liza.scopes.sprint import section as sections
from liza.scopes.sprint.act import act, check_sprint
from liza.scopes.sprint.decisions import keep_decisions
from liza.scopes.sprint.evaluate import Check, evaluate_board
from liza.scopes.sprint.trip import FollowUpFailed, StaleVerdict, lost_trigger, sweep_leftovers
from liza.store import alerts
from liza.store.board import Board
from liza.store.document import Document
from liza.text import plural

__all__ = ["Check", "Evaluated", "FollowUpFailed", "Pipeline", "StaleVerdict", "analyze", "check"]


class Evaluated(NamedTuple):
    """A verdict that has not been put into effect yet."""

    document: Document
    found: Check
    shipped: Check | None = None  # the trip by the shipped rules that own rules did not delay


class Pipeline:
    """Evaluates a document and acts on the verdict, as often as wanted, under the same rules."""

    def __init__(self, board: Board, rules: RuleSet, *, acts: bool = True, is_daemon: bool = False) -> None:
        self.board = board
        self.rules = rules
        self._acts = acts
        self._is_daemon = is_daemon
        self._shipped = rules.shipped()
        self.forget()

    def forget(self) -> None:
        """Drop what evaluations have remembered; it only saves time. One evaluation alone remembers nothing."""
        self._memo: dict[Any, Any] | None = new_memo() if self._is_daemon else None
        self._shipped_memo: dict[Any, Any] | None = new_memo() if self._is_daemon else None

    def evaluate(self, document: Document, now: datetime) -> Evaluated:
        """The verdict on a document. Only what the shipped rules match is in effect already, where there are others."""
        shipped = self._trip_shipped(document, now)
        if shipped is not None:
            document = self.board.read(document)  # own rules add to that trip
        if self.rules.budget is not None:
            self.rules.budget.overruns.clear()
        return Evaluated(document, evaluate_board(self.board, document, self.rules, now, self._memo), shipped)

    def act(self, evaluated: Evaluated, now: datetime, *, enter: bool = True) -> Check:
        """Put the verdict on the sprint into effect. What could not be done is in `error`, and in effect as far as the
        rest of the result says. `StaleVerdict` where the blackboard changed meanwhile: evaluate again. `enter` as in
        `act`.
        """
        document, found, shipped = evaluated
        if self._acts:
            try:
                found = act(self.board, self.rules, found, document, now, enter=enter, blocking=not self._is_daemon)
            except LizaError as error:
                found = _failed(found, error)
        if shipped is not None:
            tripped = found.tripped or (shipped.tripped and found.trigger is not None)
            found = found._replace(tripped=tripped, notes=(*shipped.notes, *found.notes))
        return found

    def _trip_shipped(self, document: Document, now: datetime) -> Check | None:
        """Put into effect what the shipped rules match before own ones are evaluated; None if that is nothing."""
        is_open = sections.open_trigger(document.data.get("circuit_breaker")) is not None
        if not self._acts or not self.rules.own or is_open:
            return None
        found = evaluate_board(self.board, document, self._shipped, now, self._shipped_memo)
        if not found.verdict.matches:
            return None
        try:
            try:
                return act(self.board, self._shipped, found, document, now)
            except StaleVerdict:
                return check_sprint(self.board, self._shipped, now)
        except FollowUpFailed as error:
            return _failed(found, error)


def check(
    board: Board, rules: RuleSet, now: datetime, *, dry_run: bool = False, enter: bool = True, problems: bool = True
) -> Check:
    """Evaluate the blackboard as it is, and act on the verdict unless it is a dry run. `enter` as in `act`.

    `problems`: look also for what is wrong with the records, which changes no verdict.
    """
    shipped: Check | None = None
    waited = 0  # records moved from the inbox
    pipeline = Pipeline(board, rules, acts=not dry_run)
    while True:
        if not dry_run:
            sweep_leftovers(board)
        evaluated = pipeline.evaluate(board.read(), now)
        shipped = evaluated.shipped or shipped
        document, found = evaluated.document, evaluated.found
        if dry_run:
            if found.trigger is None:
                found = found._replace(trigger=_lost_trigger(board, document))
            return _with_problems(found, document, now) if problems else found
        if shipped is not None and shipped.error is not None:
            raise shipped.error  # trying it again would wait for the same lock
        # What waits is entered before an OK, and after a halt: that waits for no lock.
        entered = Entered() if found.is_open else inbox.enter_waiting(board, seconds=inbox.SECONDS)
        if entered.records:
            waited += entered.records
            continue
        try:
            found = pipeline.act(evaluated._replace(shipped=shipped), now, enter=enter)
        except StaleVerdict:
            continue
        if found.error is not None:
            raise found.error
        if waited:
            moved = f"moved {plural(waited, 'record')} from {board.paths.inbox} to state.yaml"
            found = found._replace(notes=(moved, *found.notes))
        found = _follow_up(board, rules, found, document, entered, now)
        return _with_problems(found, document, now) if problems else found


def analyze(
    board: Board,
    rules: RuleSet,
    now: datetime,
    *,
    broken: Unreadable | None = None,
    own: str | None = None,
    dry_run: bool = False,
    problems: bool = True,
) -> Check:
    """One check, with all that a person who asked for it should know; `on_degraded: halt` is put into effect.

    `broken` is why `rules` are the shipped ones. With an open breaker it is in the result; without one it is raised,
    because the shipped rules finding nothing is not an OK. `own` is the file of the own rules, if not the blackboard's.
    `problems` as in `check`.
    """
    try:
        found = check(board, rules, now, dry_run=dry_run, enter=broken is None, problems=problems)
        if dry_run:
            found = found._replace(scoped=engine.preview(found.snapshot.sections, rules, os.environ, now))
    except Unreadable as error:
        if not dry_run:
            degraded.see_to(board, error, now)
        raise
    broken = broken or overrun(rules, own or board.paths.rules)
    done = None if dry_run else degraded.see_to(board, broken, now)
    if broken is not None and not found.is_open:
        raise broken
    rescued = [f"a version of state.yaml that another program wrote was kept in {path}" for path in board.rescued]
    notes = (*found.notes, *([done] if done is not None else []), *rescued, *board.stuck)
    return found._replace(notes=notes, error=broken)


def _failed(found: Check, error: LizaError) -> Check:
    if isinstance(error, FollowUpFailed):  # in effect all the same
        found = found._replace(trigger=error.trigger, tripped=found.trigger is None)
    return found._replace(error=error)


def _follow_up(
    board: Board, rules: RuleSet, found: Check, document: Document, entered: Entered, now: datetime
) -> Check:
    """What no halt waits for: alarms, the inbox, and the narrower scopes."""
    restored = _restore(board, document)
    alerts.append_alerts(board.paths, [("alarm", text) for text in (*found.restored, *restored)], now)
    found = found._replace(notes=(*found.notes, *restored))
    found = found._replace(notes=(*found.notes, *_enter_waiting(board, entered, is_halted=found.is_open)))
    found = found._replace(notes=(*found.notes, *keep_decisions(board, found, now)))
    try:
        return found._replace(scoped=engine.reconcile(board, document, rules, os.environ, now))
    except LizaError as error:
        if found.trigger is None:
            raise
        return found._replace(notes=(*found.notes, error.message))  # that everyone is halted matters more


def _restore(board: Board, document: Document) -> list[str]:
    """What was missing of the halts of narrower scopes; a failure is tried again by the next check."""
    with suppress(OSError, LizaError):
        return list(engine.restore(board.paths, document.data))
    return []


def _with_problems(found: Check, document: Document, now: datetime) -> Check:
    """The same with what is wrong with the records, and where the sections are, which no halt waits for."""
    whole = take_snapshot(document, now=now)
    return found._replace(snapshot=found.snapshot._replace(problems=whole.problems, spans=whole.spans))


def _lost_trigger(board: Board, document: Document) -> Mapping[str, Any] | None:
    """For a check that writes nothing: a trip that halts the agents and is not on the blackboard is open, too."""
    if lost_trigger(board, document.data.get("circuit_breaker")) is None:
        return None
    section = board.read().data.get("circuit_breaker")  # it may have been entered, or resolved, since it was read
    return sections.open_trigger(section) or lost_trigger(board, section)


def _enter_waiting(board: Board, entered: Entered, *, is_halted: bool) -> list[str]:
    """What people should know about the inbox; after a halt, what waits is entered now, for the next check."""
    try:
        entered = inbox.enter_waiting(board) if is_halted else entered
    except LizaError as error:
        return [f"records wait in {board.paths.inbox}: {error.message}"]
    return [f"{each.file}: {each.message}" for each in entered.problems]
