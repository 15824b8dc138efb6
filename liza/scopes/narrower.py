"""All claims, slices and loops of a blackboard at once, for `check` and `status`.

Each scope reconciles its section by the same decisions that its own commands make. Nothing is written unless something
changes, and then only the records that change.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from liza.errors import LizaError, Unreadable
from liza.model import Fault, Record
from liza.rules.evaluate import RuleSet
from liza.scopes.change import log_events
from liza.scopes.records import Event, Reconciled
from liza.store import backups, edit
from liza.store.board import Board
from liza.store.document import Document
from liza.store.log import has_line
from liza.store.paths import Paths

# The sections that hold such scopes, and the stream of their records.
STREAMS = {"loops": "iterations", "claims": "rounds", "slices": "attempts"}

Environment = Mapping[str, str]
Sections = Mapping[str, Any]


class Scope(Protocol):
    """What each of loops, claims and slices does in its own way; its module `evaluate` has these functions."""

    def derive(self, section: Any, rules: RuleSet, environment: Environment) -> tuple[Record, ...]:
        """Its records as rules see them, with the fields that follow from what is written."""

    def reconcile(self, sections: Sections, rules: RuleSet, environment: Environment, now: datetime) -> Reconciled:
        """The section after the rules were applied to every record."""

    def open_trips(self, section: Any, rules: RuleSet, environment: Environment, now: datetime) -> dict[str, str]:
        """What is stopped: the id of each trip, and its text."""

    def alarms(
        self, sections: Sections, rules: RuleSet, environment: Environment, now: datetime
    ) -> Iterator[tuple[str, str, str]]:
        """What people should know for as long as it lasts, and is not a trip: the kind, the name, and the text."""

    def faults(self, sections: Sections, rules: RuleSet) -> Iterator[Fault]:
        """What is wrong with its records."""

    def archive(self, paths: Paths, name: str, entries: Sequence[Mapping[str, Any]]) -> None:
        """Keep what leaves the blackboard; before the commit, so that a crash loses none of it."""

    def follow_up(self, paths: Paths, done: Reconciled) -> None:
        """Write what no trip waits for."""


def _scope(section: str) -> Scope:
    """Loaded when its section is on the blackboard: most have few of them."""
    if section == "loops":
        from liza.scopes.loops import evaluate as loops

        return loops
    if section == "claims":
        from liza.scopes.claims import evaluate as claims

        return claims
    from liza.scopes.slices import evaluate as slices

    return slices


def derived(sections: Sections, rules: RuleSet, environment: Environment) -> dict[str, tuple[Record, ...]]:
    """The streams that some rule reads, with all that follows from what is written."""
    return {
        stream: _scope(section).derive(sections[section], rules, environment)
        for section, stream in STREAMS.items()
        if stream in rules.streams and sections.get(section)
    }


def reconcile(
    board: Board, document: Document, rules: RuleSet, environment: Environment, now: datetime
) -> tuple[Event, ...]:
    """Put into effect what the rules say of each claim, slice and loop, and return what happened.

    `NotReconciled` where that cannot be done for one kind; the others are reconciled all the same.
    """
    events: list[Event] = []
    failed: list[NotReconciled] = []
    for name in STREAMS:
        try:
            if document.data.get(name) and _changes(document, name, rules, environment, now):
                events += _apply(board, name, rules, environment, now)
        except LizaError as error:
            failed.append(NotReconciled(name, error))
    if failed:
        raise failed[0]
    return tuple(events)


def due(sections: Sections, rules: RuleSet, environment: Environment, now: datetime) -> tuple[Event, ...]:
    """What would happen to claims, slices and loops if they were reconciled now. Nothing is written."""
    found: list[Event] = []
    for name in STREAMS:
        try:
            found += _scope(name).reconcile(sections, rules, environment, now).events if sections.get(name) else ()
        except LizaError as error:
            raise NotReconciled(name, error) from None
    return tuple(found)


class NotReconciled(Unreadable):
    """What the rules say of single claims, slices or loops is not in effect: DEGRADED, whatever the sprint does."""

    def __init__(self, name: str, error: LizaError) -> None:
        message = f"{name} could not be evaluated: {error.message}"
        super().__init__(message, hint=error.hint, file=error.file, line=error.line, column=error.column)


def _changes(document: Document, name: str, rules: RuleSet, environment: Environment, now: datetime) -> bool:
    return _scope(name).reconcile(document.data, rules, environment, now).section is not document.data[name]


def _apply(board: Board, name: str, rules: RuleSet, environment: Environment, now: datetime) -> tuple[Event, ...]:
    scope = _scope(name)

    def revised(document: Document) -> tuple[bytes, Reconciled]:
        found = scope.reconcile(document.data, rules, environment, now)
        raw = edit.replace_section(document, name, found.section) if found.events else document.raw
        if raw != document.raw:
            backups.save_backup(board.paths, document.raw, now)
            for label, records in found.archived:
                scope.archive(board.paths, label, records)
        return raw, found

    found = board.change(revised)
    for event in found.events:
        board.when_free(partial(log_events, board.paths, (event,), now, waits=board.waits))
    if found.events:
        scope.follow_up(board.paths, found)
    return found.events


def open_trips(sections: Sections, rules: RuleSet, environment: Environment, now: datetime) -> dict[str, str]:
    """What is stopped: the id of each trip, and its text."""
    found: dict[str, str] = {}
    for name in STREAMS:
        if sections.get(name):
            found |= _scope(name).open_trips(sections[name], rules, environment, now)
    return found


def missing(board: Board, sections: Sections) -> dict[str, str]:
    """What was stopped and has left the blackboard without a decision, by the same ids and with its text."""
    if not has_line(board.paths.log, ("claim_disputed",)):
        return {}
    from liza.scopes.claims.missing import find_missing

    return {f"claim {each.name} {each.since}": str(each) for each in find_missing(board, sections.get("claims"))}


def alarms(
    sections: Sections, rules: RuleSet, environment: Environment, now: datetime
) -> Iterator[tuple[str, str, str]]:
    """What people should know for as long as it lasts, and is not a trip: the kind, the name, and the text."""
    for name in STREAMS:
        if sections.get(name):
            try:
                yield from _scope(name).alarms(sections, rules, environment, now)
            except LizaError as error:
                yield f"{name}_not_judged", "", f"{name} cannot be evaluated: {error.message}"


def faults(sections: Sections, rules: RuleSet) -> Iterator[Fault]:
    """What is wrong with the records of claims, slices and loops."""
    for name in STREAMS:
        if sections.get(name):
            yield from _scope(name).faults(sections, rules)
