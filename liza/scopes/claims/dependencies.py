"""Claims that rest on other claims."""

from collections.abc import Mapping
from typing import Any

from liza.model import MAPPINGS
from liza.scopes import records as scopes
from liza.scopes.claims import freeze
from liza.text import text_of


def needed(claim: Mapping[str, Any]) -> tuple[str, ...]:
    """The claims that one depends on; a single one need not be a list."""
    value = claim.get("depends_on")
    listed = (
        value if isinstance(value, list | tuple) else () if value is None or isinstance(value, MAPPINGS) else (value,)
    )
    return tuple(dict.fromkeys(text_of(each) for each in listed if each is not None))


def chain_to_dispute(section: Any, name: str) -> tuple[str, ...]:
    """From what a claim depends on to one that is frozen, the shortest way; empty if there is none."""
    records = {label: claim for _, label, claim in scopes.named(section, "claim") if isinstance(claim, MAPPINGS)}
    seen = {name}
    level: list[tuple[str, ...]] = [(name,)]
    while level:
        further: list[tuple[str, ...]] = []
        for path in level:
            for each in needed(records.get(path[-1], {})):
                if each not in seen:
                    seen.add(each)
                    further.append((*path, each))
                    if freeze.is_frozen(records.get(each, {})):
                        return (*path[1:], each)
        level = further
    return ()
