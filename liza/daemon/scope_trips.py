"""The trips of one session, claim, slice or loop, as the daemon looks after them besides those of the sprint.

After each evaluation of the sprint, each is reconciled by the same decisions as in its own commands, unless the daemon
only observes. A trip that was not open before is reported as tripped, one that no longer is as resolved, each once,
also across a restart. A `LizaError` from here is DEGRADED, and never keeps the sprint from being evaluated.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime

from liza.daemon.alarm_reminders import Cause
from liza.errors import LizaError
from liza.model import Snapshot
from liza.rules.evaluate import RuleSet
from liza.scopes import engine
from liza.store.board import Board
from liza.store.document import Document

Open = Mapping[str, str]


def open_trips(board: Board, rules: RuleSet, document: Document, now: datetime, observe: bool, before: Open) -> Open:
    """What is open in all narrower scopes. What is reconciled now is seen by the next check, which our write causes.

    What was open before and was only removed from the blackboard is open still.
    """
    if not observe and engine.reconcile(board, document, rules, os.environ, now):
        return before
    found = engine.open_trips(document.data, rules, os.environ)
    if before.keys() <= found.keys():
        return found
    missing = engine.missing(board, document.data)
    return found | {trip_id: text for trip_id, text in missing.items() if trip_id in before}


def causes(board: Board, snapshot: Snapshot, rules: RuleSet, now: datetime) -> Iterator[Cause]:
    """What is worth an alarm about sessions, claims, slices and loops that are not stopped."""
    for kind, name, text in engine.alarms(snapshot.sections, rules, os.environ, now):
        yield Cause(kind, name, text)
    with suppress(LizaError):  # the daemon reports a file that cannot be read anyway
        for trip_id, text in engine.missing(board, snapshot.sections).items():
            yield Cause("trip_missing", trip_id, text)
