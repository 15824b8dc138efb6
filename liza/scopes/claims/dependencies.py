"""Claims that rest on other claims."""

from collections.abc import Mapping
from typing import Any

from liza.model import MAPPINGS, one_or_several
from liza.scopes.claims.fields import is_frozen
from liza.scopes.records import named_records
from liza.text import text_of


def dependencies_of(claim: Mapping[str, Any]) -> tuple[str, ...]:
    """The claims that one depends on; a single one need not be a list."""
    value = claim.get("depends_on")
    listed = [] if isinstance(value, MAPPINGS) else one_or_several(value)
    return tuple(dict.fromkeys(text_of(each) for each in listed if each is not None))


def chain_to_dispute(section: Any, name: str) -> tuple[str, ...]:
    """From what a claim depends on to one that is frozen, the shortest way; empty if there is none."""
    records = {label: claim for _, label, claim in named_records(section, "claim") if isinstance(claim, MAPPINGS)}
    seen = {name}
    level: list[tuple[str, ...]] = [(name,)]
    while level:
        further: list[tuple[str, ...]] = []
        for path in level:
            for each in dependencies_of(records.get(path[-1], {})):
                if each not in seen:
                    seen.add(each)
                    further.append((*path, each))
                    if is_frozen(records.get(each, {})):
                        return (*path[1:], each)
        level = further
    return ()
