"""The sessions as a scope of the engine: what a check, a gate and the inbox ask of them.

Their steps are in files of their own, which the monitor evaluates; on the blackboard are those that were stopped.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from liza.scopes.rules_file import read_rules
from liza.scopes.scope import OpenTrip, Scope, open_trip_of
from liza.scopes.sessions import states
from liza.scopes.sessions.fields import SESSIONS, STOPPED, ids_of, status_of, stop_reason
from liza.scopes.sessions.monitor import evaluator_for, monitor_of, sync_halts
from liza.scopes.sessions.step_windows import ancestors_of
from liza.store.paths import Paths
from liza.text import shell_quoted


def _open_trip(record: Mapping[str, Any], settings: None) -> OpenTrip | None:
    return open_trip_of(record, STOPPED, stop_reason(record)) if status_of(record) == STOPPED else None


def _restore(paths: Paths, section: Any) -> Iterator[str]:
    for name in sync_halts(paths, section):
        yield f"the halt file of session {name} was missing; it was restored"


SCOPE: Scope[None] = Scope(
    section=SESSIONS,
    settings_of=lambda rules, environment: None,
    evaluator_for=lambda rules, settings, now: evaluator_for(rules, now),
    derive=lambda name, record, settings: (),
    reconcile=lambda name, record, evaluator, sections: states.reconcile_record(name, record, evaluator.now),
    open_trip=_open_trip,
    alarms=lambda name, record, evaluator: (),
    rules_of=lambda paths: read_rules(None, protocol="sessions"),  # the gate asks for the status alone
    how_to_continue=lambda name, record: f"wait: a person must run: liza session resume {shell_quoted(name)} -m WHY",
    ids_of=ids_of,
    ancestors=ancestors_of,
    follow_up=lambda paths, done, now: sync_halts(paths, done.section),
    restore=_restore,
    source=monitor_of,
)
