"""Anomalies: one table row for each type.

The row is all that liza knows about a type: commands, their help and completion, validation, the fingerprints of
evidence and the table in docs/schema.md come from it. Whether a type is a pattern is for a rule to say.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Fault, Path
from liza.schema import kinds, walker
from liza.schema.kinds import Kind
from liza.schema.walker import Faults
from liza.text import suggestion, value_text


class Type(NamedTuple):
    """The details that a record of this type must have, and those that count where it has them.

    `a|b` is satisfied by either. A fingerprint covers all of them; anything else in a record is a note.
    """

    needed: Mapping[str, Kind] = {}
    optional: tuple[str, ...] = ()

    @property
    def declared(self) -> tuple[str, ...]:
        return tuple(name for each in (*self.needed, *self.optional) for name in each.split("|"))


TYPES = {
    "retry_loop": Type({"count": kinds.natural, "error_pattern": kinds.text}),
    "trade_off": Type({"what": kinds.text, "why": kinds.text, "debt_created": kinds.flag}, ("root_cause",)),
    "spec_ambiguity": Type({"spec_ref": kinds.text}),
    "external_blocker": Type({"blocker_service": kinds.text}),
    "assumption_violated": Type({"assumption": kinds.text, "reality": kinds.text}),
    "scope_deviation": Type(optional=("root_cause|what",)),
    "workaround": Type({"root_cause|what": kinds.text}),
    "debt_created": Type(),
    "spec_changed": Type(),
    "hypothesis_exhaustion": Type(),
    "spec_gap": Type({"spec_ref": kinds.text}),
    "review_deadlock": Type(),
    "system_ambiguity": Type({"protocol_section": kinds.text, "question": kinds.text}),
}
# Details that are texts even where they look like a number or a flag.
TEXTS = {
    name
    for each in TYPES.values()
    for names, kind in each.needed.items()
    if kind is kinds.text
    for name in names.split("|")
}
_NAMES = ("task", "reporter")  # required fields that hold a name, for `check` and for the quick look of `_is_sound`
_FIELDS = dict.fromkeys(_NAMES, kinds.label)


def rows() -> list[tuple[str, str, str]]:
    """Each type with its needed and its optional details, as people read them."""
    return [(name, _listed(kind.needed), _listed(kind.optional)) for name, kind in TYPES.items()]


def _listed(names: Any) -> str:
    return ", ".join(name.replace("|", " or ") for name in names)


def check(record: Mapping[str, Any], path: Path) -> Faults:
    """One anomaly: who, when, on what, and the details that its pattern needs."""
    yield from walker.walk(record, path, walker.Table(_FIELDS, required=tuple(_FIELDS)))
    yield from _time(record, path)
    name = record.get("type")
    if faults := list(walker.field(record, path, "type", kinds.text)):
        yield from (fault._replace(hint=suggestion(None, tuple(TYPES))) for fault in faults)
    elif name not in TYPES:
        hint = suggestion(name, tuple(TYPES), "known types")
        yield Fault((*path, "type"), f"no shipped rule uses the type {value_text(name)}", hint, "warning")
    elif (details := record.get("details")) is not None and not isinstance(details, MAPPINGS):
        yield walker.unexpected((*path, "details"), "a mapping", details)
    else:
        missing = []
        for needed, kind in TYPES[name].needed.items():
            found = _find_detail(record, details or {}, path, needed)
            if found is None:
                missing.append(needed)
            else:
                yield from walker.walk(*found, kind)
        if missing:
            where = (*path, "details") if details else path
            words = ", ".join(each.replace("|", " or ") for each in missing)
            hint = "add " + " ".join(f"{each.partition('|')[0]}=..." for each in missing)
            yield Fault(where, f"{name} needs more details: {words}", hint)


def _find_detail(
    record: Mapping[str, Any], details: Mapping[str, Any], path: Path, needed: str
) -> tuple[Any, Path] | None:
    """The first of the alternatives that the record has, with its path."""
    for name in needed.split("|"):
        for holder, where in ((record, path), (details, (*path, "details"))):
            if holder.get(name) is not None:
                return holder[name], (*where, name)
    return None


def _time(record: Mapping[str, Any], path: Path) -> Faults:
    """A record without a usable time still counts, so that is a warning."""
    value = record.get("timestamp")
    if kinds.time(value) is not None:
        yield from (fault._replace(level="warning") for fault in walker.field(record, path, "timestamp", kinds.time))
    elif isinstance(value, str) and not value.rstrip().endswith("Z") and "+" not in value and "-" not in value[10:]:
        hint = "it is read as UTC: add Z"
        yield Fault((*path, "timestamp"), f"the time {value_text(value)} has no zone", hint, "warning")


def unsound(records: Sequence[Any]) -> Iterator[int]:
    """The places of anomalies with which something may be wrong: there are the most of these, and few are faulty."""
    names: set[str] = set()  # of tasks and reporters, which recur
    for place, record in enumerate(records):
        if not _is_sound(record, names):
            yield place


def _is_sound(record: Any, names: set[str]) -> bool:
    try:
        for field in _NAMES:
            if (who := record[field]) not in names:
                if kinds.label(who) is not None:
                    return False
                if type(who) is str:
                    names.add(who)
        datetime.fromisoformat(time := record["timestamp"])
        details = {} if record.get("details") is None else record["details"]
        if time[-1] != "Z" or type(details) is not dict or "<<" in record:
            return False
        for alternatives, kind in _SOUND[record["type"]]:
            found = None
            for name in alternatives:
                if name in record:
                    return False
                if found is None:
                    found = details.get(name)
            if found is None or kind(found) is not None:
                return False
        return True
    except (LookupError, TypeError, ValueError, AttributeError):
        return False


_SOUND = {
    name: [(tuple(names.split("|")), kind) for names, kind in each.needed.items()] for name, each in TYPES.items()
}
