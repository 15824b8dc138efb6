"""The one pipeline: read, derive, evaluate, act. Every check of a blackboard is made here.

`liza analyze` and `import liza` call `analyze`; commands that only read call `check` as a dry run; the daemon keeps a
`Pipeline`, gives it what it has read, and remembers what it has reported.

The shipped rules come first and are put into effect before anything that may cost time or fail: custom rules, the
schema, the inbox, and the narrower scopes. A halt of everyone waits for none of these.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from liza.errors import LizaError, Unreadable
from liza.rules.acknowledged import open_trigger
from liza.rules.evaluate import RuleSet
from liza.rules.memo import new_memo
from liza.schema.snapshot import take_snapshot
from liza.scopes import engine
from liza.scopes.rules_file import overrun
from liza.scopes.sprint.evaluate import Check, FollowUpFailed, StaleVerdict, evaluate_board
from liza.scopes.sprint.lost_trip import lost_trigger
from liza.store.board import Board
from liza.store.document import Document
from liza.text import plural

if TYPE_CHECKING:
    from liza.scopes.inbox import Applied
    from liza.scopes.sprint.decisions import DecisionLog

__all__ = ["Check", "Evaluated", "FollowUpFailed", "Pipeline", "StaleVerdict", "analyze", "check", "decision_log"]


class Evaluated(NamedTuple):
    """A verdict that has not been put into effect yet."""

    document: Document
    result: Check
    shipped: Check | None = None  # the trip by the shipped rules, in effect before custom rules were evaluated


class Pipeline:
    """Evaluates documents under one set of rules and acts on the verdicts."""

    def __init__(self, board: Board, rules: RuleSet, *, acts: bool = True, is_daemon: bool = False) -> None:
        self.board = board
        self.rules = rules
        self._acts = acts
        self._is_daemon = is_daemon
        self._shipped = rules.shipped()
        self.forget()

    def forget(self) -> None:
        """Drop the caches, which only save time; a single evaluation has none."""
        self._memo: dict[Any, Any] | None = new_memo() if self._is_daemon else None
        self._shipped_memo: dict[Any, Any] | None = new_memo() if self._is_daemon else None

    def evaluate(self, document: Document, now: datetime) -> Evaluated:
        """The verdict on a document. With custom rules, matches of the shipped ones are in effect when it returns."""
        shipped = self._trip_shipped(document, now)
        if shipped is not None:
            document = self.board.read(document)  # custom rules add to that trip
        if self.rules.time_limit is not None:
            self.rules.time_limit.overruns.clear()
        return Evaluated(document, evaluate_board(self.board, document, self.rules, now, self._memo), shipped)

    def act(self, evaluated: Evaluated, now: datetime, *, record_check: bool = True) -> Check:
        """Put the verdict on the sprint into effect. A failure is in `error`; the rest of the result says what is in
        effect nevertheless. `StaleVerdict` where the blackboard changed meanwhile: evaluate again. `record_check` as in
        `sprint.act`.
        """
        document, result, shipped = evaluated
        if self._acts:
            from liza.scopes.sprint.act import act  # a check that only looks has no use for what writes

            try:
                result = act(
                    self.board,
                    self.rules,
                    result,
                    document,
                    now,
                    record_check=record_check,
                    blocking=not self._is_daemon,
                )
            except LizaError as error:
                result = _failed(result, error)
        if shipped is not None:
            tripped = result.tripped or (shipped.tripped and result.trigger is not None)
            result = result._replace(tripped=tripped, notes=(*shipped.notes, *result.notes))
        return result

    def _trip_shipped(self, document: Document, now: datetime) -> Check | None:
        """Put matches of the shipped rules into effect before custom rules are evaluated; None if nothing matched."""
        is_open = open_trigger(document.data.get("circuit_breaker")) is not None
        if not self._acts or not self.rules.custom or is_open:
            return None
        result = evaluate_board(self.board, document, self._shipped, now, self._shipped_memo)
        if not result.verdict.matches:
            return None
        from liza.scopes.sprint.act import act, check_sprint

        try:
            try:
                return act(self.board, self._shipped, result, document, now)
            except StaleVerdict:
                return check_sprint(self.board, self._shipped, now)
        except FollowUpFailed as error:
            return _failed(result, error)


def check(
    board: Board,
    rules: RuleSet,
    now: datetime,
    *,
    dry_run: bool = False,
    record_check: bool = True,
    find_problems: bool = True,
) -> Check:
    """Evaluate the blackboard as it is, and act on the verdict unless it is a dry run.

    `record_check` as in `sprint.act`; `find_problems`: validate the records, too, which changes no verdict.
    """
    pipeline = Pipeline(board, rules, acts=not dry_run)
    result, document = _look(pipeline, now) if dry_run else _look_and_act(pipeline, now, record_check)
    return with_problems(result, document, now) if find_problems else result


def _look(pipeline: Pipeline, now: datetime) -> tuple[Check, Document]:
    document, result, _ = pipeline.evaluate(pipeline.board.read(), now)
    if result.trigger is None:
        result = result._replace(trigger=_lost_trigger(pipeline.board, document))
    return result, document


def _look_and_act(pipeline: Pipeline, now: datetime, record_check: bool) -> tuple[Check, Document]:
    """Evaluate until the verdict is one on the blackboard as it is, and no record waits in the inbox."""
    from liza.scopes import inbox  # a check that only looks has no use for what writes

    board = pipeline.board
    shipped: Check | None = None
    waited = 0  # records moved from the inbox
    while True:
        board.sweep()
        evaluated = pipeline.evaluate(board.read(), now)
        shipped = evaluated.shipped or shipped
        if shipped is not None and shipped.error is not None:
            raise shipped.error  # trying it again would wait for the same lock
        # Records in the inbox are applied before an OK; a halt waits for no lock, so they come after it.
        is_open = evaluated.result.is_open
        applied = inbox.Applied() if is_open else inbox.apply_waiting(board, seconds=inbox.SECONDS)
        if applied.records:
            waited += applied.records
            continue
        try:
            result = pipeline.act(evaluated._replace(shipped=shipped), now, record_check=record_check)
        except StaleVerdict:
            continue
        if result.error is not None:
            raise result.error
        if waited:
            moved = f"moved {plural(waited, 'record')} from {board.paths.inbox} to state.yaml"
            result = result._replace(notes=(moved, *result.notes))
        return _follow_up(board, pipeline.rules, result, evaluated.document, applied, now), evaluated.document


def analyze(
    board: Board,
    rules: RuleSet,
    now: datetime,
    *,
    broken: Unreadable | None = None,
    own: str | None = None,
    dry_run: bool = False,
    find_problems: bool = True,
) -> Check:
    """One check for a person: with notes on all they should know, and `on_degraded: halt` put into effect.

    `broken` is why `rules` are the shipped ones. With an open breaker it is in the result; without one it is raised,
    because the shipped rules finding nothing is not an OK. `own` is the file of the custom rules, if not the
    blackboard's. `find_problems` as in `check`.
    """
    try:
        result = check(board, rules, now, dry_run=dry_run, record_check=broken is None, find_problems=find_problems)
        if dry_run:
            result = result._replace(scoped=engine.preview(result.snapshot.sections, rules, os.environ, now))
    except Unreadable as error:
        if not dry_run:
            _update_degraded_halt(board, error, now)
        raise
    broken = broken or overrun(rules, own or board.paths.rules)
    done = None if dry_run else _update_degraded_halt(board, broken, now)
    if broken is not None and not result.is_open:
        raise broken
    rescued = [f"a version of state.yaml that another program wrote was kept in {path}" for path in board.rescued]
    notes = (*result.notes, *([done] if done is not None else []), *rescued, *board.stuck)
    return result._replace(notes=notes, error=broken)


def _update_degraded_halt(board: Board, error: Unreadable | None, now: datetime) -> str | None:
    from liza.scopes import degraded

    return degraded.update_halt(board, error, now)


def _failed(result: Check, error: LizaError) -> Check:
    if isinstance(error, FollowUpFailed):  # in effect nevertheless
        result = result._replace(trigger=error.trigger, tripped=result.trigger is None)
    return result._replace(error=error)


def _follow_up(
    board: Board, rules: RuleSet, result: Check, document: Document, applied: "Applied", now: datetime
) -> Check:
    """The steps after the sprint's verdict is in effect: alarms, the inbox, and the narrower scopes."""
    from liza.store import alerts

    restored = _restore(board, document)
    alerts.append_alerts(board.paths, [("alarm", text) for text in (*result.restored, *restored)], now)
    result = result._replace(notes=(*result.notes, *restored))
    result = result._replace(notes=(*result.notes, *_apply_waiting(board, applied, is_halted=result.is_open)))
    decisions = decision_log(board)
    decisions.add_unlogged(result, now)
    result = result._replace(notes=(*result.notes, *decisions.write(now)))
    try:
        return result._replace(scoped=engine.reconcile(board, document, rules, os.environ, now))
    except LizaError as error:
        if result.trigger is None:
            raise
        return result._replace(notes=(*result.notes, error.message))  # the halt of everyone matters more


def decision_log(board: Board) -> "DecisionLog":
    """What records the decisions that were made by hand, or by a command that was killed."""
    from liza.scopes.sprint.decisions import DecisionLog

    return DecisionLog(board)


def _restore(board: Board, document: Document) -> list[str]:
    """Restore missing halt files of narrower scopes; after a failure the next check tries again."""
    with suppress(OSError, LizaError):
        return list(engine.restore(board.paths, document.data))
    return []


def with_problems(result: Check, document: Document, now: datetime) -> Check:
    """Add the problems of the records and the positions of the sections, after all that is urgent."""
    whole = take_snapshot(document, now=now)
    return result._replace(snapshot=result.snapshot._replace(problems=whole.problems, spans=whole.spans))


def _lost_trigger(board: Board, document: Document) -> Mapping[str, Any] | None:
    """For a dry run: a trip that is in CHECKPOINT but not in `state.yaml` counts as open."""
    if lost_trigger(board, document.data.get("circuit_breaker")) is None:
        return None
    section = board.read().data.get("circuit_breaker")  # it may have been recorded or resolved since it was read
    return open_trigger(section) or lost_trigger(board, section)


def _apply_waiting(board: Board, applied: "Applied", *, is_halted: bool) -> list[str]:
    """Notes about the inbox. After a halt its records are applied only now, and the next check evaluates them."""
    from liza.scopes import inbox

    try:
        applied = inbox.apply_waiting(board) if is_halted else applied
    except LizaError as error:
        return [f"records wait in {board.paths.inbox}: {error.message}"]
    return [f"{each.file}: {each.message}" for each in applied.problems]
