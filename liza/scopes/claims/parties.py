"""Who the two parties of a dispute are. Neither of them can audit it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from liza.model import MAPPINGS
from liza.rules.same import same_key
from liza.scopes.claims.fields import past_rounds, rounds_of
from liza.text import text_of

RESEARCHER, REVIEWER = "researcher", "reviewer"
# The names that the protocol has for them, and their roles: used where the rounds have no names.
_ROLES = {RESEARCHER: ("researcher", "the researcher"), REVIEWER: ("reviewer", "the reviewer", "r2")}
_BETWEEN = re.compile(r"[,;&+/|]|\band\b")


def party_of(claim: Mapping[str, Any], name: str) -> str | None:
    """Which party has that name; None if neither. Of several names one is enough."""
    asked = {same_key(each) for each in (name, *_BETWEEN.split(name.casefold()))} - {""}
    return next((party for party in _ROLES if asked & set(_names(claim, party))), None)


def _names(claim: Mapping[str, Any], party: str) -> Iterator[str]:
    values = [each.get(party) for each in (claim, *past_rounds(claim), *rounds_of(claim))]
    named = [same_key(text_of(each)) for each in values if each is not None and not isinstance(each, MAPPINGS)]
    yield from filter(None, named)
    yield from _ROLES[party] if not any(named) else _ROLES[party][:2]
