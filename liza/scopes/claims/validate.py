"""Everything that is wrong with the claims of a blackboard, for `liza validate`."""

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from liza.errors import LizaError
from liza.model import MAPPINGS, Fault, Path
from liza.rules.evaluate import RuleSet
from liza.schema import kinds
from liza.schema.walker import Each, Table, walk
from liza.scopes.claims import dependencies, freeze, stages
from liza.scopes.claims.change import ways_out
from liza.scopes.claims.fields import CLAIMS, STATUSES, status_of
from liza.scopes.claims.settings import settings_of
from liza.scopes.records import find_record, named_records
from liza.text import did_you_mean, value_text


def faults(section: Any, rules: RuleSet, beside: Mapping[str, Any]) -> Iterator[Fault]:
    """What a rule cannot use, what is probably not what was meant, and what was done to frozen claims."""
    try:
        listed = [(where, name, claim) for where, name, claim in named_records(section, "claim")]
    except LizaError:
        return  # the schema reports that it holds no records
    names = {name for _, name, _ in listed}
    for where, name, claim in listed:
        if isinstance(claim, MAPPINGS):
            yield from _claim(name, claim, ("claims", where), names)
    yield from _stages(section, beside.get("stages"), settings_of(rules).last_stage)


def _text(value: Any) -> str | None:
    return "a string" if isinstance(value, MAPPINGS) else None


def _listed(value: Any) -> str | None:
    return None if isinstance(value, list) else "a list (a single one is called objection)"


_ROUND = Table({"objection": _text, "response": _text, "objections": _listed})
_CLAIM = Table(
    {
        "status": lambda value: CLAIMS.wanted_status({"status": value}),
        **dict.fromkeys(CLAIMS.lists, kinds.sequence),
        "rounds": Each(_ROUND),
    }
)


def _claim(name: str, claim: Mapping[str, Any], path: Path, names: set[str]) -> Iterator[Fault]:
    yield from walk(claim, path, _CLAIM)
    for field, change in freeze.changed_fields(claim):
        hint = f"restore it from .liza/backups/, or decide: {'; '.join(ways_out(name))}"
        yield Fault((*path, field), f"claim {name} is frozen, and {change} by hand", hint)
    status = status_of(claim)
    if status not in STATUSES and (meant := did_you_mean(status, STATUSES)):
        yield Fault((*path, "status"), f"the status is {value_text(status)}", meant, "warning")
    if not isinstance(claim.get("text"), str):
        yield Fault(path, f"claim {name} has no text", "add a field: text: ...", "warning")
    for each in dependencies.dependencies_of(claim):
        if each not in names:
            text = f"it depends on {value_text(each)}, which is not a claim here"
            yield Fault((*path, "depends_on"), text, did_you_mean(each, sorted(names)), "warning")


def _stages(claims: Any, section: Any, last: str) -> Iterator[Fault]:
    try:
        found = stages.closed_over_dispute(section, claims, last)
    except LizaError:
        return  # the schema reports what cannot be read
    if found is not None:
        where = find_record(section, found.stage, "stage")
        hint = f"see: liza stage list   (and: liza claim show {quote(found.found[0].name)})"
        yield Fault(("stages", where[0] if where else 0), str(found), hint)
