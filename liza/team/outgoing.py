"""What this host has that its team does not have yet, from its files alone: nothing is queued, so nothing is lost.

A record that a resolution of this blackboard has dealt with is no news to anyone, so it is not sent: that is what was
decided before this host joined.
"""

import hashlib
import json
from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.clients.secrets import mask
from liza.model import FROM_HOST, MAPPINGS, Record, is_trip_id
from liza.rules.acknowledged import read_acknowledged
from liza.rules.fingerprints import parse_evidence
from liza.scopes.history import section as sections
from liza.scopes.history.evidence_files import whole
from liza.scopes.shared import ANOMALIES, Keyed, shared_of
from liza.store.board import Board
from liza.team.schema import LARGEST

_TRIGGER = ("timestamp", "pattern", "severity", "also_matched", "message", "tripped_by")
_DECIDED = ("resolution", "resolved_at", "resolved_by", "cause")


class Unsent(NamedTuple):
    """Records that the team does not have."""

    records: tuple[tuple[str, str, str, str], ...] = ()  # stream, key, body, digest
    too_large: tuple[str, ...] = ()  # keys


def unsent_records(board: Board, section: Any, breaker: Any, now: datetime) -> Unsent:
    """The anomalies of this blackboard that are not among the team's; those that were resolved here stay here."""
    shared = shared_of(board)
    known = shared.mirror.keys
    new = [each for each in shared.keyed(section) if (ANOMALIES, each.key) not in known]
    if not new:
        return Unsent()
    fresh = _fresh(new, breaker, now)
    found, large = [], []
    for each in fresh:
        body = json.dumps(_masked({k: v for k, v in each.fields.items() if k != FROM_HOST}), default=str)
        if len(body) > LARGEST:
            large.append(each.key)
        else:
            found.append((ANOMALIES, each.key, body, hashlib.sha256(body.encode()).hexdigest()))
    return Unsent(tuple(found), tuple(large))


def _fresh(new: list[Keyed], breaker: Any, now: datetime) -> list[Keyed]:
    """Those that no resolution has dealt with, for whatever rule."""
    known = read_acknowledged(breaker, now)
    records = [Record(ANOMALIES, place, each.fields) for place, each in enumerate(new)]
    dealt: set[int | str] = set()
    for rule in {*known.prints, *known.marks, *known.until}:
        dealt |= {record.key for record in records} - {record.key for record in known.fresh(rule, records)}
    return [each for place, each in enumerate(new) if place not in dealt]


def _masked(value: Any) -> Any:
    """The same without secrets, as steps are kept without them."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, MAPPINGS):
        return {str(key): _masked(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(inner) for inner in value]
    return value


def open_entry(section: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """The open trip of this blackboard as recorded, and its entry in the history."""
    trigger = sections.open_trigger(section)
    if trigger is None or not sections.is_recorded(section, trigger):
        return None
    at = sections.entry_of(section, trigger)
    return None if at is None else (trigger, sections.history_of(section)[at])


def unknown_decisions(board: Board, section: Any, trips: Container[str]) -> list[Mapping[str, Any]]:
    """Trips that were decided here before the team knew them, although it knows some of their records: it would trip
    on those."""
    shared = {key.partition(":")[0] for stream, key in shared_of(board).mirror.keys if stream == ANOMALIES}
    return [
        entry
        for entry in sections.history_of(section)
        if sections.is_trip(entry)
        and is_trip_id(entry.get("trip_id"))
        and entry.get("resolved_at") is not None
        and entry["trip_id"] not in trips
        and any(not shared.isdisjoint(parse_evidence(text).prints) for text in evidence_texts(board, entry).values())
    ]


def trip_row(board: Board, trigger: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[str, str, str]:
    """A trip as the database takes it."""
    kept = {name: trigger[name] for name in _TRIGGER if trigger.get(name) is not None}
    return str(trigger["trip_id"]), _text(kept), _text(evidence_texts(board, entry))


def resolution_row(board: Board, entry: Mapping[str, Any]) -> tuple[str, str, str]:
    decision = {name: entry[name] for name in _DECIDED if entry.get(name) is not None}
    return str(entry["trip_id"]), _text(decision), _text(evidence_texts(board, entry))


def evidence_texts(board: Board, entry: Mapping[str, Any]) -> dict[str, str]:
    texts = whole(board, entry).get("evidence")
    listed: Iterable[tuple[Any, Any]] = texts.items() if isinstance(texts, MAPPINGS) else ()
    return {str(rule): text for rule, text in listed if isinstance(text, str)}


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(_masked(value), default=str)
