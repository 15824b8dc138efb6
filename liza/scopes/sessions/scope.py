"""The sessions as a scope of the engine: what a check, a gate and the inbox ask of them.

Their steps are in files of their own, which the monitor evaluates; on the blackboard are those that were stopped.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from liza.rules.evaluate import RuleSet
from liza.scopes.evaluator import Evaluator
from liza.scopes.gate import Gate
from liza.scopes.outcome import Reconciled
from liza.scopes.records import find_record
from liza.scopes.scope import OpenTrip, Scope
from liza.scopes.sessions import states
from liza.scopes.sessions.fields import SESSIONS, STOPPED, open_trip, status_of
from liza.scopes.sessions.monitor import sync_halts
from liza.store.board import Board
from liza.store.paths import Paths
from liza.text import shell_quoted


def _open_trip(record: Mapping[str, Any], settings: None) -> OpenTrip | None:
    if status_of(record) != STOPPED:
        return None
    trip = open_trip(record) or {}
    since = trip.get("trip_id") or trip.get("stopped") or record.get("status")
    return OpenTrip(str(since), STOPPED, str(trip.get("reason") or f"its status is {record.get('status')!r}"))


def _check_gate(board: Board, name: str, now: datetime) -> Gate:
    """Closed while the session is stopped, or the one that started it."""
    section = board.read().data.get(SESSIONS.name)
    found = find_record(section, name, SESSIONS.scope)
    if found is None or (trip := _open_trip(found[1], None)) is None:
        return Gate()
    hint = f"wait; a human decides, and runs: liza session resume {shell_quoted(name)} -m WHY"
    return Gate(f"session {states.label_of(name, found[1])} is {trip.status}: {trip.reason}", hint)


def _follow_up(paths: Paths, done: Reconciled) -> None:
    sync_halts(paths, done.section)


def _evaluator(rules: RuleSet, settings: None, now: datetime) -> Evaluator[None]:
    return Evaluator(rules.of_scope(rules.scoped.get("sessions", ())), None, "steps", "STOP", now)


SCOPE: Scope[None] = Scope(
    section=SESSIONS,
    settings_of=lambda rules, environment: None,
    evaluator_for=_evaluator,
    derive=lambda name, record, settings: (),
    reconcile=lambda name, record, evaluator, sections: states.reconcile_record(name, record, evaluator.now),
    open_trip=_open_trip,
    alarms=lambda name, record, evaluator: (),
    gates=lambda: {"session": _check_gate},
    follow_up=_follow_up,
)
