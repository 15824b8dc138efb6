"""One check: read, evaluate, act. `analyze`, the daemon and `import liza` come here.

The shipped rules come first and are put into effect before anything that may cost time or fail: own rules, the schema,
the inbox, and the claims, slices and loops, whose trips no halt of everyone waits for.
"""

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from liza.errors import LizaError
from liza.rules.evaluate import RuleSet
from liza.schema.snapshot import take_snapshot
from liza.scopes import inbox
from liza.scopes.engine import reconcile
from liza.scopes.inbox import Entered
from liza.scopes.sprint import section as sections
from liza.scopes.sprint.act import act, check_sprint
from liza.scopes.sprint.evaluate import Check, evaluate_board
from liza.scopes.sprint.trip import Halted as Halted  # for callers of `check`
from liza.scopes.sprint.trip import Outdated, lost_trigger, tidy
from liza.store import alerts
from liza.store.board import Board
from liza.store.document import Document


def check(board: Board, rules: RuleSet, now: datetime, *, dry_run: bool = False, enter: bool = True) -> Check:
    """Evaluate the blackboard as it is, and act on the verdict unless it is a dry run. `enter` as in `act`."""
    notes: tuple[str, ...] = ()
    tripped = False
    while True:
        if rules.budget is not None:
            rules.budget.overruns.clear()
        if not dry_run:
            tidy(board)
        document = board.read()
        if not dry_run and (shipped := trip_shipped(board, rules, rules.shipped(), document, now)) is not None:
            tripped, notes = tripped or shipped.tripped, (*notes, *shipped.notes)
            continue  # own rules add to that trip
        found = evaluate_board(board, document, rules, now)
        if dry_run:
            if found.trigger is None:
                found = found._replace(trigger=_lost_trigger(board, document))
            return _with_problems(found, document, now)
        # What waits is entered before an OK, and after a halt: that waits for no lock.
        entered = Entered() if found.is_open else inbox.enter_waiting(board)
        if entered.records:
            notes = (*notes, f"records entered from {board.paths.inbox}: {entered.records}")
            continue
        try:
            found = act(board, rules, found, document, now, enter=enter)
        except Outdated:
            continue
        found = found._replace(tripped=found.tripped or tripped, notes=(*notes, *found.notes))
        return _follow_up(board, rules, found, document, entered, now)


def trip_shipped(
    board: Board,
    rules: RuleSet,
    shipped: RuleSet,
    document: Document,
    now: datetime,
    memo: dict[Any, Any] | None = None,
) -> Check | None:
    """Put into effect what the shipped rules match where own rules would be waited for; None if that is nothing."""
    if not rules.own or sections.open_trigger(document.data.get("circuit_breaker")) is not None:
        return None
    found = evaluate_board(board, document, shipped, now, memo)
    if not found.verdict.matches:
        return None
    try:
        return act(board, shipped, found, document, now)
    except Outdated:
        return check_sprint(board, shipped, now)


def _follow_up(
    board: Board, rules: RuleSet, found: Check, document: Document, entered: Entered, now: datetime
) -> Check:
    """What no halt waits for: alarms, what is wrong with the records, the inbox, and the narrower scopes."""
    alerts.append_alerts(board.paths, [("alarm", text) for text in found.restored], now)
    found = _with_problems(found, document, now)
    found = found._replace(notes=(*found.notes, *_enter_waiting(board, entered, is_halted=found.is_open)))
    try:
        return found._replace(scoped=reconcile(board, document, rules, os.environ, now))
    except LizaError as error:
        if found.trigger is None:
            raise
        return found._replace(notes=(*found.notes, error.message))  # that everyone is halted matters more


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
    """What is to be reported about the inbox; after a halt, what waits is entered now, for the next check."""
    try:
        entered = inbox.enter_waiting(board) if is_halted else entered
    except LizaError as error:
        return [f"records wait in {board.paths.inbox}: {error.message}"]
    return [f"{each.file}: {each.message}" for each in entered.problems]
