"""The fields of a claim and of its disputes, as they are on the blackboard."""

from collections.abc import Mapping
from typing import Any

from liza.model import MAPPINGS, mappings_in, one_or_several
from liza.scopes.records import Section, list_of
from liza.scopes.transition import Event
from liza.text import text_of

OPEN, ACCEPTED, KILLED, DISPUTED = "OPEN", "ACCEPTED", "KILLED", "DISPUTED"
STATUSES = (OPEN, ACCEPTED, KILLED, DISPUTED)
DELETED, REMOVED = TAKEN_OUT = ("the claim was deleted", "its dispute was taken out")  # instead of a digest

Claim = dict[str, Any]


def claim_event(name: str, kind: str, text: str, alert: str | None = None) -> Event:
    """What happened to a claim. Its log entry names the claim: `missing.py` finds a deleted dispute by that."""
    return Event("claim", name, kind, text, logged={"claim": name}, alert=alert)


def status_of(claim: Mapping[str, Any]) -> str | None:
    """The status of a claim in capitals; None where it is not a word, and then it is not clear what was meant."""
    status = claim.get("status")
    if status is None:
        return OPEN
    return status.strip().upper() or OPEN if isinstance(status, str) else None


CLAIMS = Section(
    scope="claim",
    name="claims",
    list_command="liza claim list",
    while_unusable="nothing can be done to the claim",
    example="C-001",
    is_strict=True,
    is_unique=True,
    lists=("rounds", "history", "reexamine"),
    wanted_status=lambda claim: "a word" if status_of(claim) is None else None,
    # A copy as it was frozen. The freeze does not wait for it: without one the log has the reason of the dispute.
    leaves="claims",
    may_be_lost=True,
)


def is_frozen(claim: Mapping[str, Any]) -> bool:
    return status_of(claim) == DISPUTED or open_dispute(claim) is not None


def history_of(claim: Mapping[str, Any]) -> list[Any]:
    return list_of(claim, "history")


def disputes_of(claim: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """Every dispute that there was, with its place in the history."""
    entries = enumerate(history_of(claim))
    return [(i, each) for i, each in entries if isinstance(each, MAPPINGS) and each.get("event") == "disputed"]


def open_dispute(claim: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]] | None:
    """The dispute that is not resolved, and its place in the history. One without a rationale is not resolved."""
    return next((each for each in reversed(disputes_of(claim)) if not is_over(each[1])), None)


def is_taken_out(claim: Mapping[str, Any]) -> bool:
    """Whether the claim, or its open dispute, was deleted by hand and is only put back here."""
    found = open_dispute(claim)
    return found is not None and found[1].get("frozen") in TAKEN_OUT


def is_over(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("resolved_at") and text_field(entry, "rationale"))


def text_field(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) and value.strip() else ""


def marks_of(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return mappings_in(claim.get("reexamine"))


def rounds_of(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rounds since the claim was last unfrozen; entries that are not records are skipped."""
    return mappings_in(claim.get("rounds"))


def past_rounds(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rounds of earlier disputes."""
    return [entry for past in mappings_in(claim.get("history")) for entry in mappings_in(past.get("rounds"))]


def round_count(claim: Mapping[str, Any]) -> int:
    """All rounds of a claim, those of earlier disputes too."""
    return len(past_rounds(claim)) + len(rounds_of(claim))


def reference_text(value: Any) -> str:
    """A reference as a text; people also write `{name: harness, result: failed}`."""
    if isinstance(value, MAPPINGS):
        return " ".join(f"{key}={text_of(inner)}" for key, inner in value.items())
    return text_of(value)


def evidence_of(claim: Mapping[str, Any]) -> list[Any]:
    """What a claim rests on; a single reference need not be a list."""
    return one_or_several(claim.get("evidence"))
