"""Matches that a person has asked not to be stopped by, for a while.

A silence needs a reason and an end at most a day away, and names the matches it covers. It is never edited, only
expired. Agents can write one into the file, so each is validated when it is read, not only when it is made; one
that is not valid is not in force, and is reported.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Match, Silence, parse_time
from liza.rules.conditions import Condition, Outcome
from liza.rules.fields import grouper_of, lookup, values
from liza.rules.same import same_key
from liza.rules.syntax_tree import Field, Grouping
from liza.text import text_of, value_text

LONGEST = timedelta(hours=24)


class Entry(NamedTuple):
    """A silence as written in the file: usable, or else what is wrong with it."""

    place: int | str
    fields: Mapping[str, Any]
    silence: Silence | None
    fault: str | None = None

    @property
    def name(self) -> str:
        """Its id, or else its place in the list."""
        return text_of(self.place if self.fields.get("id") is None else self.fields["id"])

    def in_force(self, now: datetime) -> bool:
        return self.silence is not None and self.silence.in_force(now)

    def is_over(self, now: datetime) -> bool:
        return self.silence is None or self.silence.until <= now

    def state(self, now: datetime) -> str:
        if self.silence is None:
            return "invalid"
        return "ended" if self.is_over(now) else "in force" if self.in_force(now) else "to come"


def read_silences(section: Any) -> Iterator[Entry]:
    """Every silence of the section, whatever its state."""
    if section is not None and not isinstance(section, (list, tuple, *MAPPINGS)):
        yield Entry("silences", {}, None, f"silences: expected a list, got {value_text(section)}")
        return
    pairs = section.items() if isinstance(section, MAPPINGS) else enumerate(section or ())
    for place, fields in pairs:
        if not isinstance(fields, MAPPINGS):
            yield Entry(place, {}, None, f"expected a record with fields, got {value_text(fields)}")
        else:
            entry = Entry(place, fields, None, fault_of(fields))
            yield entry if entry.fault else entry._replace(silence=_silence(entry))


def fault_of(fields: Mapping[str, Any]) -> str | None:
    """Why an entry is not a valid silence, or None if it is one."""
    created, until = parse_time(fields.get("created")), parse_time(fields.get("until"))
    match, reason = fields.get("match"), fields.get("reason")
    ended = [name for name in ("expired_at", "expired_by") if fields.get(name) is not None]
    if not isinstance(fields.get("rule"), str):
        return "it names no rule"
    if not isinstance(reason, str) or not reason.strip():
        return "it has no reason"
    if created is None or until is None:
        return "it needs the times created and until"
    if until <= created:
        return "it ends before it begins"
    if until - created > LONGEST:
        return f"it is longer than {LONGEST.total_seconds() / 3600:g} hours"
    if match is not None and not isinstance(match, MAPPINGS):
        return f"match: expected a mapping of fields, got {value_text(match)}"
    if match and any(value is None or isinstance(value, (list, *MAPPINGS)) for value in match.values()):
        return "match: expected one value for each field"
    if not match and fields.get("all") is not True:
        return "it matches everything its rule finds, but all: true is missing"
    if ended and parse_time(fields.get("expired_at")) is None:
        return "it was expired, but expired_at is not a time"
    return None


def _silence(entry: Entry) -> Silence:
    """An entry in which `fault_of` finds nothing wrong."""
    fields = entry.fields
    created, until = parse_time(fields["created"]), parse_time(fields["until"])
    assert created is not None
    assert until is not None
    expired = parse_time(fields.get("expired_at"))
    return Silence(
        id=entry.name,
        rule=fields["rule"],
        match={text_of(name): text_of(value) for name, value in (fields.get("match") or {}).items()},
        created=created,
        until=until if expired is None else min(until, expired),
        reason=fields["reason"].strip(),
        by="unknown" if fields.get("by") is None else text_of(fields["by"]),
    )


def find_silence(
    match: Match, outcome: Outcome, condition: Condition, silences: Sequence[Silence], exact: bool
) -> Silence | None:
    """The silence that covers a match: all of its evidence, else a pattern could hide behind another one.

    Where several do so only together, it is the one that ends first: then it is over.
    """
    covering: list[tuple[Silence, set[int]]] = []
    for silence in silences:
        if silence.rule == match.rule.name:
            covering.append((silence, _covered(silence, match, outcome, condition, exact)))
    everything = set(range(len(match.evidence)))
    alone = [silence for silence, covered in covering if covered >= everything and (everything or not silence.match)]
    if alone:
        return max(alone, key=lambda silence: silence.until)
    together = set().union(*(covered for _, covered in covering))
    if everything and together >= everything:
        return min((silence for silence, covered in covering if covered), key=lambda silence: silence.until)
    return None


def _covered(silence: Silence, match: Match, outcome: Outcome, condition: Condition, exact: bool) -> set[int]:
    """Which records of the evidence a silence is about. What the rule groups by is the same for all of a group."""
    grouping = next((each.grouping for each in condition.grouped if each.grouping is not None), None)
    found = set(range(len(match.evidence)))
    for name, value in silence.match.items():
        if grouping is not None and _is_field(name, grouping.field):
            found &= found if _in_group(value, outcome.texts, grouping, exact) else set()
        else:
            wanted = field(name)
            found = {i for i in found if value in map(text_of, values(lookup(match.evidence[i], wanted)))}
    return found


def _in_group(value: str, texts: set[str], grouping: Grouping, exact: bool) -> bool:
    """Whether a text belongs to a group in the sense of the rule."""
    if exact or value in texts:
        return value in texts
    if grouping.similarity is None:
        return same_key(value) in map(same_key, texts)
    grouper = grouper_of(grouping)
    wanted, *numbers = list(grouper.add_all([value, *sorted(texts)]))
    return any(grouper.group(number) == grouper.group(wanted) for number in numbers)


def _is_field(name: str, wanted: Field) -> bool:
    return name.removeprefix("details.") in (str(wanted), *(".".join(path) for path in wanted.paths))


def field(name: str) -> Field:
    """A field as people write it: `task`, `details.task`, `root_cause|what`."""
    return Field(tuple(tuple(path.split(".")) for path in name.split("|")))
