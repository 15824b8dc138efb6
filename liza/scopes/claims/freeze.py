"""The freeze of a claim: a digest of each field that must not change, and what was changed nevertheless.

While a claim is frozen, the last entry of its history is the open dispute, which holds the digests. It is there also
where the status was rewritten by hand.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from liza.model import MAPPINGS
from liza.scopes.claims.fields import (
    DISPUTED,
    TAKEN_OUT,
    history_of,
    open_dispute,
    status_of,
)
from liza.text import value_text

OVERRIDE = "human_override_rationale"
ENTRY = "its dispute"  # the name of the digest of the open dispute itself
POSITIONS = ("dispute_reason", "researcher_position", "also_disputed")
# What liza itself changes while a claim is frozen, what a person writes to decide by hand, and what only names it. The
# marks for re-examination change, too, but each time with their digest: a mark made by hand is not a trigger.
NOT_FROZEN = ("status", "history", OVERRIDE, "id", "claim_id")
# Frozen also where a claim does not have them. A dispute that an older version froze has digests of these alone.
ALWAYS_FROZEN = ("text", "confidence", "evidence", "rounds", *POSITIONS, "previous_status")


# --- what must not change -------------------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """The same for the same value, however it is written down."""
    text = json.dumps(_plain(value), sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Another program that writes the file may write 1.0 for 1, and an empty list for none."""
    if isinstance(value, MAPPINGS):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value] or None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value_text(value) if isinstance(value, int) and value.bit_length() > 1000 else value


NOTHING = digest(None)  # of a field that is not there, or empty


def digests(claim: Mapping[str, Any], others: Sequence[Any]) -> dict[str, str]:
    """Of everything in a claim that liza does not keep itself, and of all of its history but the open dispute."""
    fields = {str(name): value for name, value in claim.items() if str(name) not in NOT_FROZEN}
    found = {name: digest(fields.get(name)) for name in (*ALWAYS_FROZEN, *fields)}
    return found | {"history": digest(others)}


def seal_entry(entry: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """The open dispute with these digests and one of itself: another stage in it would be a trigger made by hand."""
    bare = {name: value for name, value in entry.items() if name != "frozen"}
    return {**bare, "frozen": {**kept, ENTRY: digest(bare)}}


def violations(claim: Mapping[str, Any]) -> tuple[str, ...]:
    """What was changed by hand in a frozen claim; empty where it is not frozen or nothing was."""
    return tuple(change for _, change in changed_fields(claim))


def changed_fields(claim: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The same, each with the field that it is about."""
    found = open_dispute(claim)
    if found is None:
        return
    entry = found[1]
    kept = entry.get("frozen")
    if entry.get("resolved_at"):
        yield "history", "its dispute was resolved without a rationale"
    if status_of(claim) != DISPUTED:
        yield "status", f"the status was changed to {value_text(claim.get('status'))}"
    if not isinstance(kept, MAPPINGS):
        yield "history", kept if kept in TAKEN_OUT else "the digest of what is frozen was removed"
        return
    history = history_of(claim)
    now = digests(claim, [*history[: found[0]], *history[found[0] + 1 :]])
    if ENTRY in kept and not entry.get("resolved_at"):
        now[ENTRY] = seal_entry(entry, {})["frozen"][ENTRY]
    names = dict.fromkeys((*now, *kept)) if "history" in kept else ALWAYS_FROZEN
    for name in names:
        if name == ENTRY and name not in now:
            continue  # frozen by an older version, or about to be resolved by hand
        if name != OVERRIDE and kept.get(name, NOTHING) != now.get(name, NOTHING):
            yield name, f"{name} was {'changed' if name in kept else 'added'}"
