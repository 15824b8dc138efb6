"""What people decided before: on trips of everyone, and on single sessions, claims, slices and loops."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liza.model import MAPPINGS
from liza.scope_names import SCOPES
from liza.scopes.history import section as sections
from liza.scopes.history.archives import archive_name
from liza.scopes.records import mappings_of, named_records
from liza.store import files
from liza.store.paths import Paths
from liza.text import one_line

_TEXTS = ("resolution", "rationale", "guidance", "why")  # what was decided, by the fields of all histories
_TIMES = ("resolved_at", "reset", "resumed", "closed")
_REPORT = 50_000  # characters of an archived report in which words are looked for
_LONG = 2_000  # characters of a decision that are shown
_ENOUGH = 0.5  # share of the words that a decision must have
_WORD = re.compile(r"\w{3,}")


class Decided(NamedTuple):
    """One decision."""

    on: str  # what it was about: the rule, or the claim, slice, loop or session
    why: str  # what had happened
    decision: str
    by: str
    at: str
    trip_id: str | None
    archived: str | None = None  # the name of its report


def decisions_about(paths: Paths, data: Mapping[str, Any], about: str, limit: int) -> list[dict[str, Any]]:
    """Those that have at least half of the words, the best and then the newest first; without words the newest."""
    wanted = set(_words(about))
    found = sorted(_all(data), key=lambda each: each.at, reverse=True)
    scored = [(_share(wanted, each, paths), each) for each in found] if wanted else [(1.0, each) for each in found]
    kept = sorted((pair for pair in scored if pair[0] >= _ENOUGH), key=lambda pair: -pair[0])[:limit]
    return [_shown(each) for _, each in kept]


def _all(data: Mapping[str, Any]) -> Iterator[Decided]:
    for entry in sections.history_of(data.get("circuit_breaker")):
        if isinstance(entry, Mapping) and sections.is_trip(entry) and entry.get("resolution"):
            yield _decided(str(entry.get("pattern")), entry, sections.whose(entry), archive_name(entry))
    for row in SCOPES:
        for _, name, record in named_records(data.get(row.section), row.scope):
            for entry in mappings_of(record, "history") if isinstance(record, MAPPINGS) else ():
                if _first(entry, _TEXTS):
                    by = entry.get("resolved_by") or entry.get("by")
                    yield _decided(f"{row.scope} {name}", entry, str(by or sections.BY_HAND))


def _decided(on: str, entry: Mapping[str, Any], by: str, archived: str | None = None) -> Decided:
    why = _first(entry, ("message", "reason", "reviewer_position", "dispute_reason", "severity"))
    trip = entry.get("trip_id")
    times = _first(entry, (*_TIMES, "timestamp"))
    return Decided(on, why, _first(entry, _TEXTS), by, times, str(trip) if trip else None, archived)


def _first(entry: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((str(entry[name]) for name in names if entry.get(name)), "")


def _share(wanted: set[str], each: Decided, paths: Paths) -> float:
    texts = [each.on, each.why, each.decision, *([_report(paths, each.archived)] if each.archived else [])]
    return len(wanted & {word for text in texts for word in _words(text)}) / len(wanted)


def _report(paths: Paths, name: str) -> str:
    """The archived report, which has what was seen at the time; it may be gone."""
    try:
        return files.read(os.path.join(paths.reports, name), _REPORT).decode(errors="replace")
    except OSError:
        return ""


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold().replace("_", " "))


def _shown(each: Decided) -> dict[str, Any]:
    texts = {name: one_line(value, _LONG) for name, value in each._asdict().items() if value}
    return {**texts, **({"archived": f".liza/reports/{each.archived}"} if each.archived else {})}
