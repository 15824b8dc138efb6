"""All narrower scopes of a blackboard at once, for those who look at the whole of it: `analyze` and the daemon.

Each protocol says what its section is to be, by the same decisions that its own commands make. Nothing is written
unless something is to change, and then only the records that change.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from liza.errors import LizaError, Unreadable
from liza.model import Fault, Record
from liza.rules.evaluate import RuleSet
from liza.scopes.change import log_events
from liza.scopes.records import Event, Settled
from liza.store import backups, edit
from liza.store.board import Board
from liza.store.document import Document
from liza.store.log import has_line

# The section of each protocol, the stream of its records, and where it is at home. A module is loaded when its section
# is on the blackboard.
PROTOCOLS = {
    "loops": ("iterations", "liza.scopes.loops.evaluate"),
    "claims": ("rounds", "liza.scopes.claims.evaluate"),
    "slices": ("attempts", "liza.scopes.slices.evaluate"),
}


Environment = Mapping[str, str]


def _module(section: str) -> ModuleType:
    return import_module(PROTOCOLS[section][1])


def derived(sections: Mapping[str, Any], rules: RuleSet, environment: Environment) -> dict[str, tuple[Record, ...]]:
    """The streams of protocols that some rule looks at, with all that follows from what is written."""
    return {
        stream: _module(section).derive(sections[section], rules, environment)
        for section, (stream, _) in PROTOCOLS.items()
        if stream in rules.streams and sections.get(section)
    }


def reconcile(
    board: Board, document: Document, rules: RuleSet, environment: Environment, now: datetime
) -> tuple[Event, ...]:
    """Put into effect what the rules say of each claim, slice and loop; what happened by that.

    `NotSettled` where that cannot be done for one kind; the others are settled all the same.
    """
    happened: list[Event] = []
    failed: list[NotSettled] = []
    for name in PROTOCOLS:
        try:
            if document.data.get(name) and _changes(document, name, rules, environment, now):
                happened += _settle(board, name, rules, environment, now)
        except LizaError as error:
            failed.append(NotSettled(name, error))
    if failed:
        raise failed[0]
    return tuple(happened)


def due(sections: Mapping[str, Any], rules: RuleSet, environment: Environment, now: datetime) -> tuple[Event, ...]:
    """What would happen to claims, slices and loops if they were settled now. Nothing is written."""
    found: list[Event] = []
    for name in PROTOCOLS:
        try:
            found += _settled(sections, name, rules, environment, now).events if sections.get(name) else ()
        except LizaError as error:
            raise NotSettled(name, error) from None
    return tuple(found)


class NotSettled(Unreadable):
    """What the rules say of single claims, slices or loops is not in effect: DEGRADED, whatever the sprint does."""

    def __init__(self, name: str, error: LizaError) -> None:
        message = f"{name} could not be judged: {error.message}"
        super().__init__(message, hint=error.hint, file=error.file, line=error.line, column=error.column)


def _changes(document: Document, name: str, rules: RuleSet, environment: Environment, now: datetime) -> bool:
    return _settled(document.data, name, rules, environment, now).section is not document.data[name]


def _settled(
    sections: Mapping[str, Any], name: str, rules: RuleSet, environment: Environment, now: datetime
) -> Settled:
    """What a section is to be."""
    beside = _beside(name, sections)
    found: Settled = _module(name).settle(sections.get(name), rules, environment, now, **beside)
    return found


def _beside(name: str, sections: Mapping[str, Any]) -> dict[str, Any]:
    """The other sections that a protocol looks at."""
    return {each: sections.get(each) for each in getattr(_module(name), "BESIDE", ())}


def _settle(board: Board, name: str, rules: RuleSet, environment: Environment, now: datetime) -> tuple[Event, ...]:
    protocol = _module(name)

    def revised(document: Document) -> tuple[bytes, Settled]:
        found = _settled(document.data, name, rules, environment, now)
        raw = edit.replace_section(document, name, found.section) if found.events else document.raw
        if raw != document.raw:
            backups.save_backup(board.paths, document.raw, now)
            for label, records in found.archived:
                protocol.archive(board.paths, label, records)
        return raw, found

    found = board.change(revised)
    for event in found.events:
        board.when_free(partial(log_events, board.paths, (event,), now, waits=board.waits))
    if found.events and hasattr(protocol, "follow_up"):  # paperwork that no trip waits for
        protocol.follow_up(board.paths, found)
    return found.events


def open_trips(sections: Mapping[str, Any], rules: RuleSet, environment: Environment, now: datetime) -> dict[str, str]:
    """What is stopped: the id of each trip, and the trip in words."""
    found: dict[str, str] = {}
    for name in PROTOCOLS:
        if sections.get(name):
            found |= _module(name).open_trips(sections[name], rules, environment, now)
    return found


def missing(board: Board, sections: Mapping[str, Any]) -> dict[str, str]:
    """What was stopped and has left the blackboard without a decision, by the same ids and in words."""
    if not has_line(board.paths.log, ("claim_disputed",)):
        return {}
    from liza.scopes.claims.missing import find_missing as disputes

    return {f"claim {each.name} {each.since}": str(each) for each in disputes(board, sections.get("claims"))}


def causes(
    sections: Mapping[str, Any], rules: RuleSet, environment: Environment, now: datetime
) -> Iterator[tuple[str, str, str]]:
    """What people should know for as long as it stands, and is no trip: the kind, which one, and in words."""
    for name in PROTOCOLS:
        if sections.get(name):
            try:
                yield from _module(name).causes(sections[name], rules, environment, now, **_beside(name, sections))
            except LizaError as error:
                yield f"{name}_not_judged", "", f"{name} cannot be judged: {error.message}"


def faults(sections: Mapping[str, Any], rules: RuleSet) -> Iterator[Fault]:
    """What is wrong with the records of protocols that check theirs."""
    for name in PROTOCOLS:
        if sections.get(name) and hasattr(_module(name), "faults"):
            yield from _module(name).faults(sections[name], rules, _beside(name, sections))
