"""All that is wrong with a blackboard, found at once: records, log, rules, and what every scope holds."""

import os
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from liza.errors import LizaError, Unreadable
from liza.model import MAPPINGS, Problem, Snapshot
from liza.rules.evaluate import RuleSet, evaluate
from liza.schema import log as log_schema
from liza.schema import state
from liza.schema.snapshot import locate_faults, take_snapshot
from liza.scope_names import ON_BOARD, SCOPES
from liza.scopes import inbox
from liza.scopes.engine import faults, missing
from liza.scopes.rules_file import notify_problems, read_rules, rules_in_force
from liza.scopes.snapshot import snapshot_of
from liza.store.board import Board
from liza.store.document import Document, parse, parse_log
from liza.store.versions import read_stable

_BY_NAME = (
    "agents",
    *(each.section for each in ON_BOARD),
    "stages",
)  # sections that may hold their records as a mapping


class Validation(NamedTuple):
    """What was looked at, how much of each kind it holds, and what is wrong with it."""

    checked: dict[str, dict[str, int]]
    problems: tuple[Problem, ...]


def validate_board(board: Board, now: datetime) -> Validation:
    """The files of a blackboard together; `Unreadable` where one of them cannot be understood at all."""
    document = board.read()
    snapshot = take_snapshot(document, now=now)
    checked = {board.paths.state: _counts(snapshot)}
    problems = list(snapshot.problems)
    if os.path.exists(board.paths.log):
        log, more = validate_file(board.paths.log)
        checked |= log
        problems += more
    rules = None
    if os.path.lexists(board.paths.rules):
        try:
            rules = read_rules(board.paths.rules)
            problems += notify_problems(board.paths.rules)
            checked[board.paths.rules] = {"rules": len(rules.rules), "disabled": len(rules.disabled)}
        except Unreadable as error:
            problems += error.listed(board.paths.rules)
            with suppress(Unreadable):  # then it is among the problems
                problems += notify_problems(board.paths.rules)
    waiting = inbox.read_waiting(board)
    if waiting.records or waiting.problems:
        checked[board.paths.inbox] = inbox.waiting_counts(waiting)
    problems += waiting.problems
    problems += _of_protocols(document, rules)
    return Validation(checked, (*problems, *_missing(board, document), *_alarms(board, document, now)))


def _missing(board: Board, document: Document) -> list[Problem]:
    """What was stopped, and was deleted from the blackboard without a decision."""
    hint = "restore it from .liza/backups/, or decide: liza claim resolve ID --drop -m WHY"
    return [Problem(text, board.paths.state, hint=hint) for text in missing(board, document.data).values()]


def _alarms(board: Board, document: Document, now: datetime) -> list[Problem]:
    """What keeps records from counting, or seems to, and did not come by a command of liza."""
    rules, _ = rules_in_force(board.paths.rules)
    with suppress(LizaError):  # what cannot be evaluated is among the problems
        alarms = evaluate(rules, snapshot_of(board, document, rules, check=False, now=now), now).alarms
        hint = "ask who decided it; see: liza status"
        return [Problem(text, board.paths.state, hint=hint, level="warning") for text in alarms]
    return []


def validate_file(file: str) -> Validation:
    """One file by itself: a log by its name, else a state.yaml."""
    raw = read_stable(file).raw
    if os.path.basename(file) == "log.yaml":
        log = parse_log(raw, file)
        return Validation({file: {"entries": len(log.data)}}, locate_faults(log, log_schema.check(log.data)))
    document = parse(raw, file)
    snapshot = take_snapshot(document)
    return Validation({file: _counts(snapshot)}, (*snapshot.problems, *_of_protocols(document)))


def _of_protocols(document: Document, rules: RuleSet | None = None) -> tuple[Problem, ...]:
    """What each scope finds wrong with its records."""
    if not any(document.data.get(name) for name in (each.section for each in SCOPES)):
        return ()
    return locate_faults(document, faults(document.data, rules or read_rules(None)))


def _counts(snapshot: Snapshot) -> dict[str, int]:
    return {
        name: len(value)
        for name, value in snapshot.sections.items()
        if (isinstance(value, list | tuple) and name in state.SECTIONS)
        or (isinstance(value, MAPPINGS) and value and name in _BY_NAME)
    }
