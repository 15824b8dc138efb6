"""Everything that is wrong with the claims of a blackboard, for `liza validate`."""

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from liza.errors import LizaError
from liza.model import MAPPINGS, Fault, Path
from liza.rules.evaluate import RuleSet
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


def _claim(name: str, claim: Mapping[str, Any], path: Path, names: set[str]) -> Iterator[Fault]:
    for field, expected in CLAIMS.unusable_fields(claim):
        text = f"{field}: expected {expected}, got {value_text(claim.get(field))}; the claim cannot be evaluated"
        yield Fault((*path, field), text)
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
    yield from _rounds(claim.get("rounds"), (*path, "rounds"))


def _rounds(listed: Any, path: Path) -> Iterator[Fault]:
    for index, entry in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(entry, MAPPINGS):
            yield Fault((*path, index), f"expected a round with fields, got {value_text(entry)}")
            continue
        for field in ("objection", "response"):
            if isinstance(entry.get(field), MAPPINGS):
                yield Fault((*path, index, field), f"{field}: expected a string, got a mapping")
        if not isinstance(entry.get("objections"), list | None):
            yield Fault((*path, index, "objections"), "objections is not a list", "a single one is called objection")


def _stages(claims: Any, section: Any, last: str) -> Iterator[Fault]:
    try:
        found = stages.closed_over_dispute(section, claims, last)
    except LizaError:
        return  # the schema reports what cannot be read
    if found is not None:
        where = find_record(section, found.stage, "stage")
        hint = f"see: liza stage list   (and: liza claim show {quote(found.found[0].name)})"
        yield Fault(("stages", where[0] if where else 0), str(found), hint)
