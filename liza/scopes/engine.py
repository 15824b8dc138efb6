"""What is the same for every scope: derive, reconcile, open trips, alarms and faults; gate.py has the gate.

`check.py`, the daemon, `status`, `validate` and the API call this module and know no single scope. Nothing is
written unless something changes, and then only the records that change.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from liza.errors import LizaError, Unreadable
from liza.model import MAPPINGS, Fault, Path, Problem, Record
from liza.scope_names import IN_FILES, SCOPES, ScopeNames
from liza.scopes.change import apply_reconciled, log_events, reconcile_each
from liza.scopes.records import Section, named_records
from liza.scopes.scope import Alarm, Environment, OpenTrip, Scope, Sections, SessionRow, Source
from liza.scopes.table import load
from liza.scopes.transition import Event, Reconciled
from liza.store.board import Board
from liza.store.document import Document
from liza.store.paths import Paths
from liza.text import value_text

if TYPE_CHECKING:
    from liza.rules.evaluate import RuleSet

# --- evaluating -----------------------------------------------------------------------------------------------------


class NotReconciled(Unreadable):
    """One kind of scope could not be evaluated, so its rules are not in effect: DEGRADED, whatever the sprint does."""


def _not_reconciled(name: str, error: LizaError) -> NotReconciled:
    return NotReconciled.like(error, message=f"{name} could not be evaluated: {error.message}")


def derived(
    paths: Paths | None, sections: Sections, rules: "RuleSet", environment: Environment, now: datetime | None = None
) -> dict[str, tuple[Record, ...]]:
    """The records of the streams that some rule reads, with their computed fields, which are never read from the file.

    Without `paths`, as in a replay, only streams in `state.yaml`.
    """
    found: dict[str, tuple[Record, ...]] = {}
    for row in SCOPES:
        section = sections.get(row.section)
        if rules.streams.isdisjoint(row.streams):
            continue
        if row.folder is not None:
            if paths is not None and os.path.isdir(os.path.join(paths.folder, row.folder)):
                found |= _source(row, paths).streams(sections, rules, now)
        elif section:
            found[row.stream] = _derive(load(row), section, rules, environment)
    return found


def sources(paths: Paths) -> list[tuple[ScopeNames, Source]]:
    """The source of each scope whose records come from files of their own, and not from commands."""
    return [(row, _source(row, paths)) for row in IN_FILES]


def session_rows(paths: Paths, sections: Sections, rules: "RuleSet", *, ended: bool = False) -> list[SessionRow]:
    """Who is at work, by the sources of all scopes; if asked also who was long ago."""
    found = [source.rows(sections.get(row.section), rules, ended=ended) for row, source in sources(paths)]
    return [each for rows in found for each in rows]


def source_problems(paths: Paths) -> list[Problem]:
    """What those sources could not read when they were read last."""
    return [each for _, source in sources(paths) for each in source.problems()]


def _source(row: ScopeNames, paths: Paths) -> Source:
    source = load(row).source
    assert source is not None, row.section
    return source(paths)


def _derive(scope: Scope[Any], records: Any, rules: "RuleSet", environment: Environment) -> tuple[Record, ...]:
    settings = scope.settings_of(rules, environment)
    found: list[Record] = []
    for _, name, record in named_records(records, scope.section.scope):
        if isinstance(record, MAPPINGS):
            found += scope.derive(name, record, settings)
    return tuple(record._replace(key=index) for index, record in enumerate(found))


def reconcile(
    board: Board, document: Document, rules: "RuleSet", environment: Environment, now: datetime
) -> tuple[Event, ...]:
    """Apply edits by hand and the rules to the records of every scope, and return what happened.

    `NotReconciled` where that cannot be done for one kind; the others are still reconciled.
    """
    events: list[Event] = []
    failed: list[NotReconciled] = []
    for row in SCOPES:
        before = document.data.get(row.section)
        try:
            if before and _reconciled(load(row), document.data, rules, environment, now).section is not before:
                events += _apply(board, load(row), rules, environment, now)
        except LizaError as error:
            failed.append(_not_reconciled(row.section, error))
    if failed:
        raise failed[0]
    return tuple(events)


def preview(sections: Sections, rules: "RuleSet", environment: Environment, now: datetime) -> tuple[Event, ...]:
    """What `reconcile` would do now. Nothing is written."""
    found: list[Event] = []
    for row in SCOPES:
        try:
            if sections.get(row.section):
                found += _reconciled(load(row), sections, rules, environment, now).events
        except LizaError as error:
            raise _not_reconciled(row.section, error) from None
    return tuple(found)


def _reconciled(
    scope: Scope[Any], sections: Sections, rules: "RuleSet", environment: Environment, now: datetime
) -> Reconciled:
    evaluator = scope.evaluator(rules, environment, now)
    return reconcile_each(
        sections.get(scope.section.name),
        scope.section,
        lambda name, record: scope.reconcile(name, record, evaluator, sections),
    )


def _apply(
    board: Board, scope: Scope[Any], rules: "RuleSet", environment: Environment, now: datetime
) -> tuple[Event, ...]:
    def revised(document: Document) -> tuple[bytes, Reconciled]:
        done = _reconciled(scope, document.data, rules, environment, now)
        return apply_reconciled(board, document, scope.section, done, now), done

    done = board.change(revised)
    for event in done.events:
        board.run_or_postpone(partial(log_events, board.paths, (event,), now, blocking=board.blocking))
    if done.events:
        scope.follow_up(board.paths, done, now)
    return done.events


def restore(paths: Paths, sections: Sections) -> Iterator[str]:
    """Restore missing halt files of stopped records: stopped means halted. Yields what was restored, as text."""
    for row in SCOPES:
        if sections.get(row.section):
            yield from load(row).restore(paths, sections[row.section])


# --- reporting ------------------------------------------------------------------------------------------------------


def open_trips(sections: Sections, rules: "RuleSet", environment: Environment) -> dict[str, str]:
    """Open trips of every scope: text by id."""
    return {
        f"{kind} {name} {trip.since}": f"{kind} {name} is {trip.status}: {trip.reason}"
        for kind, name, trip in stopped_records(sections, rules, environment)
    }


def stopped_records(
    sections: Sections, rules: "RuleSet", environment: Environment
) -> Iterator[tuple[str, str, OpenTrip]]:
    """What is stopped: the kind of scope, the name of the record, and its open trip."""
    for row in SCOPES:
        if sections.get(row.section):
            scope = load(row)
            settings = scope.settings_of(rules, environment)
            for name, record in _usable_records(scope, sections):
                if (trip := scope.open_trip(record, settings)) is not None:
                    yield scope.section.scope, name, trip


def missing(board: Board, sections: Sections) -> dict[str, str]:
    """Open trips whose record was removed from the blackboard without a decision: text by id, as in `open_trips`."""
    from liza.store.log import has_text

    found: dict[str, str] = {}
    for row in SCOPES:
        if row.logged is not None and has_text(board.paths.log, row.logged):
            scope = load(row)
            found |= {
                f"{scope.section.scope} {each.name} {each.since}": each.text for each in scope.missing(board, sections)
            }
    return found


def alarms(sections: Sections, rules: "RuleSet", environment: Environment, now: datetime) -> Iterator[Alarm]:
    """Conditions of every scope that people should know about while they last, and that stop nothing."""
    for row in SCOPES:
        if sections.get(row.section):
            try:
                yield from _alarms(load(row), sections, rules, environment, now)
            except LizaError as error:
                yield Alarm(f"{row.section}_not_evaluated", "", f"{row.section} cannot be evaluated: {error.message}")


def _alarms(
    scope: Scope[Any], sections: Sections, rules: "RuleSet", environment: Environment, now: datetime
) -> Iterator[Alarm]:
    evaluator, kind = scope.evaluator(rules, environment, now), scope.section.scope
    yield from scope.section_alarms(sections, evaluator.settings)
    for name, record in _usable_records(scope, sections):
        for field, expected in scope.section.unusable_fields(record):
            text = f"{kind} {name} cannot be evaluated: {field}: expected {expected}"
            yield Alarm(f"{kind}_not_evaluated", name, text)
        yield from scope.alarms(name, record, evaluator)


def _usable_records(scope: Scope[Any], sections: Sections) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The records of a scope that are mappings, each with its name, or with its key or index if it has none."""
    for where, name, record in named_records(sections.get(scope.section.name), scope.section.scope):
        if isinstance(record, MAPPINGS):
            yield name or str(where), record


def faults(sections: Sections, rules: "RuleSet") -> Iterator[Fault]:
    """What is wrong with the records of every scope."""
    for row in SCOPES:
        if sections.get(row.section):
            scope = load(row)
            yield from _name_faults(scope.section, sections)
            yield from scope.faults(sections, rules)


def _name_faults(section: Section, sections: Sections) -> Iterator[Fault]:
    """Records without a name, and names used twice. The schema reports a section that holds no records."""
    seen: set[str] = set()
    with suppress(LizaError):
        for where, name, record in named_records(sections.get(section.name), section.scope):
            path: Path = (section.name, where)
            if isinstance(record, MAPPINGS) and not name:
                yield Fault(path, f"this {section.scope} has no name", f"add a field: id: {section.example}")
            elif isinstance(record, MAPPINGS) and name in seen:
                yield Fault(path, f"the {section.scope} {value_text(name)} appears twice", "give it another id")
            seen.add(name)
