"""Where the entries of the breaker's history come from, as far as liza's own files confirm it.

A trip is one of this blackboard if a line of log.yaml or an archived report has its id: one is enough, because people
rotate logs and delete old reports, and a decision must not be lost with them. A decision on it came by `liza resolve`
if the line that this command logs, before it enters the decision, names the same person and time. Each of these files
can be written by an agent; what they have to agree on makes a quiet edit a loud one.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from liza.model import Origin, is_future, is_trip_id, parse_time
from liza.rules.fingerprints import digest, parse_evidence
from liza.scopes.history import section as sections
from liza.scopes.history.archives import is_archive
from liza.store.board import Board
from liza.store.log import entries_by_word

LIZA = "liza"  # the agent of what liza itself logs
RESOLVE = "resolve"  # the action of what `liza resolve` logs before it enters the decision
_MOST = 500  # trips that are looked up in the log, the newest: a history of ten thousand must not delay a halt


def with_origins(board: Board, section: Any) -> Any:
    """The `circuit_breaker` section with the origin of each trip in its history."""
    history = sections.history_of(section)
    ids = [trip for entry in history if (trip := _trip_of(entry)) is not None]
    if not any(map(sections.is_trip, history)):
        return section
    newest = list(dict.fromkeys(reversed(ids)))[:_MOST]
    known = _Known(_archived(board) if ids else frozenset(), entries_by_word(board.paths.log, newest) if ids else {})
    exact = {_trip_of(entry) for entry in history if _has_evidence(entry)}
    listed = [
        {**entry, "origin": _origin(entry, known, exact)} if sections.is_trip(entry) else entry for entry in history
    ]
    return {**section, "history": listed}


def origin_of(board: Board, section: Any, entry: Mapping[str, Any]) -> Origin:
    trip = _trip_of(entry)
    known = _Known(_archived(board), entries_by_word(board.paths.log, [trip]) if trip else {})
    exact = {_trip_of(each) for each in sections.history_of(section) if _has_evidence(each)}
    return _origin(entry, known, exact)


def evidence_digest(entry: Mapping[str, Any]) -> str | None:
    """What the log keeps of the evidence of a trip, so that nothing can be added to it later."""
    texts = entry.get("evidence")
    if not isinstance(texts, Mapping):
        return None
    return digest("\n".join(f"{rule}: {texts[rule]}" for rule in sorted(texts, key=str)))[:12]


class _Known(NamedTuple):
    """What the files beside state.yaml know of trips."""

    archived: frozenset[str]
    lines: Mapping[str, list[Mapping[str, Any]]]  # of the log


def _origin(entry: Mapping[str, Any], known: _Known, exact: set[str | None]) -> Origin:
    trip = _trip_of(entry)
    if trip is None:
        return Origin.UNKNOWN if entry.get("trip_id") or "evidence" in entry else Origin.OTHER
    logged = [line for line in known.lines.get(trip, ()) if is_about(line, trip)]
    tripped = [line for line in logged if is_ours(line, "tripped")]
    if not tripped:
        return Origin.EDITED if trip in known.archived else Origin.UNKNOWN
    commands = [line for line in logged if line.get("action") == RESOLVE]
    decided = [line for line in logged if is_ours(line, "resolved")]
    if _is_changed(entry, tripped, [*commands, *decided], exact):
        return Origin.CHANGED
    if any(_names_same(line, entry) for line in commands):
        return Origin.COMMAND
    # An earlier release logged a decision without that line, and one by hand as such.
    earlier = [line for line in decided if "edited" not in line and " by hand, trip " not in str(line.get("detail"))]
    return Origin.COMMAND if earlier and not commands else Origin.EDITED


def _is_changed(
    entry: Mapping[str, Any],
    tripped: Iterable[Mapping[str, Any]],
    decisions: Iterable[Mapping[str, Any]],
    exact: set[str | None],
) -> bool:
    """Whether an entry covers more than when it was decided on."""
    known = {str(line["evidence"]) for line in decisions if "evidence" in line}
    is_lost = any(isinstance(text, Mapping) for text in entry["evidence"].values()) if _has_evidence(entry) else False
    is_twin = not _has_evidence(entry) and _trip_of(entry) in exact
    if known and not is_lost and not is_twin and evidence_digest(entry) not in known:
        return True
    if all("trip_id" in line for line in tripped) and any(_has_mark(text) for text in _texts(entry)):
        return True  # only an earlier release wrote those
    at, times = parse_time(entry.get("resolved_at")), [parse_time(line.get("timestamp")) for line in decisions]
    return at is not None and bool(times) and all(time is not None and is_future(at, time) for time in times)


def is_about(line: Mapping[str, Any], trip: str) -> bool:
    """Whether an entry of the log is about a trip, by its id or, without one, by its time."""
    if "trip_id" in line:
        return str(line["trip_id"]) == trip
    return str(line.get("detail")).endswith((f"trip {trip}", f"trip of {trip}"))  # by an earlier release


def is_ours(line: Mapping[str, Any], action: str) -> bool:
    """Whether liza itself logged an entry, and that action."""
    return line.get("agent") == LIZA and line.get("action") == action


def _names_same(line: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    who, at = (entry.get(name) for name in ("resolved_by", "resolved_at"))
    return who is not None and (str(line.get("agent")), line.get("resolved_at")) == (str(who), at)


def _trip_of(entry: Any) -> str | None:
    trip = entry.get("trip_id") if isinstance(entry, Mapping) and sections.is_trip(entry) else None
    return str(trip) if is_trip_id(trip) else None


def _has_evidence(entry: Any) -> bool:
    return isinstance(entry, Mapping) and isinstance(entry.get("evidence"), Mapping)


def _texts(entry: Mapping[str, Any]) -> list[str]:
    return [text for text in entry["evidence"].values() if isinstance(text, str)] if _has_evidence(entry) else []


def _has_mark(text: str) -> bool:
    return text.startswith("first ") and parse_evidence(text).mark is not None


def _archived(board: Board) -> frozenset[str]:
    """The ids of the trips whose reports are archived."""
    try:
        names = os.listdir(board.paths.reports)
    except OSError:
        return frozenset()
    return frozenset(name[-15:-3] for name in names if is_archive(name))
