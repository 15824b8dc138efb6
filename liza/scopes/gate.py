"""The gate: may work continue? For everyone, and for each session, claim, slice, loop and stage that is named."""

import os
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from liza.errors import LizaError, Unreadable
from liza.halt import halt_reason
from liza.scope_names import SCOPES
from liza.scopes.change import read_usable, unknown_record
from liza.scopes.scope import Gate, Scope
from liza.scopes.table import load
from liza.store.board import Board
from liza.store.locate import find
from liza.store.paths import Paths

_FIX = "fix it, then try again; see: liza validate"


def check_gate(root: str | None, wanted: Mapping[str, str | None], now: datetime) -> Gate:
    """The gate for everyone, then for each session, claim, slice, loop and stage that is named. Nothing is written.

    What cannot be evaluated stops: an unreadable blackboard gives no reason to continue.
    """
    named = {word: name for word, name in wanted.items() if name is not None}
    try:
        held = halt_reason(root)
        if held is not None:
            return Gate(*held)
        if find(root) is None or not named:
            return Gate()
        return _check_gates(Board.find(root), named, now)
    except LizaError as error:
        return Gate(str(error), error.hint or _FIX)
    except OSError as error:
        return Gate(f"the blackboard cannot be read: {error}", _FIX)


def _check_gates(board: Board, named: Mapping[str, str], now: datetime) -> Gate:
    board.read()  # an unreadable blackboard stops every scope of it
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    for word, name in named.items():
        if not name.strip():  # a variable that a hook forgot to set must not open the gate
            return Gate(f"--{word} is empty", f"give the name of a {word} after it: --{word} NAME")
        scope = load(next(row for row in SCOPES if word in row.gates))
        check = scope.gates().get(word) or partial(_check_record, scope)
        meant = scope.ids_of(board.read().data.get(scope.section.name), name)
        for each in (id_ for record in meant for id_ in (record, *scope.ancestors(board.paths, record))):
            gate = check(board, each, now)
            notes, unknown = notes + gate.notes, unknown + gate.unknown
            if not gate:
                return gate._replace(notes=notes, unknown=unknown)
    return Gate(notes=notes, unknown=unknown)


def _check_record(scope: Scope[Any], board: Board, name: str, now: datetime) -> Gate:
    """Closed while a record is stopped, even by an edit of another program that no check has seen yet."""
    document = board.read()
    try:
        record = read_usable(document, scope.section, name)
    except Unreadable as error:
        raise board.with_backup(error) from None
    lost = next((each for each in scope.missing(board, document.data) if each.name == name), None)
    if record is None:  # not on the blackboard: open, unless it was removed while stopped
        notes = _notes_on_unknown(scope, board.paths)
        if lost is not None:
            return Gate(lost.text, scope.how_to_continue(name, None), notes)
        if scope.source is not None:
            return Gate(notes=notes)  # a session is on the blackboard only once it was stopped
        unknown = unknown_record(document, scope.section, name)
        return Gate(notes=notes, unknown=(f"{unknown.message}; {unknown.hint}",))
    rules = scope.rules_of(board.paths)
    evaluator = scope.evaluator(rules, os.environ, now)
    settings, record = evaluator.settings, scope.reconcile(name, record, evaluator, document.data).record
    trip, notes = scope.open_trip(record, settings), tuple(scope.notes(settings))
    if trip is not None and not scope.may_try(record, settings, now):
        text = f"{scope.section.scope} {name} is {trip.status}: {trip.reason}"
        return Gate(text, scope.how_to_continue(name, record), notes)
    return Gate(notes=notes) if lost is None else Gate(lost.text, scope.how_to_continue(name, None), notes)


def _notes_on_unknown(scope: Scope[Any], paths: Paths) -> tuple[str, ...]:
    """Warnings for a name without a record; rules that cannot be read are one of them, and stop nothing."""
    try:
        return tuple(scope.notes(scope.settings_of(scope.rules_of(paths), os.environ)))
    except Unreadable as error:
        return (str(error),)
