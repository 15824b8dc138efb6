"""What a match is in the history of trips: its id, and the fingerprints of its evidence."""

from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any

from liza.model import Match, Number, Record
from liza.rules.acknowledged import trip_id
from liza.rules.fingerprints import format_evidence
from liza.scopes.history.section import history_of, unused_id


def trip_id_of(match: Match, section: Any) -> str:
    """The id of the trip for a match; never the id of a resolved trip.

    A rule about a number has no records, and equal records (of one second, or without a time) have equal fingerprints.
    """
    rule = match.rule.name
    history = [entry for entry in history_of(section) if isinstance(entry, Mapping)]
    earlier = sum(entry.get("pattern") == rule and entry.get("resolved_at") is not None for entry in history)
    numbers = chain([0] if match.new else [], count(earlier))
    return unused_id(section, (trip_id(rule, match.new, match.threshold, number) for number in numbers))


def evidence_of(matches: Sequence[Match]) -> dict[str, str]:
    """The fingerprints and numbers behind each rule that matched, over all its groups."""
    numbers = numbers_of(matches)
    return {name: format_evidence(records, numbers[name]) for name, records in new_records(matches).items()}


def new_records(matches: Sequence[Match]) -> dict[str, list[Record]]:
    """For each rule that matched, the records that no resolution has acknowledged."""
    found: dict[str, dict[Any, Record]] = {}
    for match in matches:
        found.setdefault(match.rule.name, {}).update({(r.stream, r.key): r for r in match.new})
    return {name: list(records.values()) for name, records in found.items()}


def numbers_of(matches: Sequence[Match]) -> dict[str, list[Number]]:
    found: dict[str, list[Number]] = {}
    for match in matches:
        found.setdefault(match.rule.name, []).extend(match.numbers)
    return found
