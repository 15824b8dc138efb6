"""What is done to a claim that is not frozen: a round of review, an edit, its end. Only decisions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import MAPPINGS, format_time
from liza.scopes.change import Outcome
from liza.scopes.claims import derived as its
from liza.scopes.claims.freeze import ACCEPTED, KILLED, OPEN, Claim, history_of
from liza.scopes.claims.objections import Objection
from liza.scopes.records import Event


class Round(NamedTuple):
    """One round of review: what was objected and answered, and what the researcher brought along."""

    objections: tuple[Objection, ...]
    evidence: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    confidence: Any = None
    text: str | None = None
    cycle: int | None = None
    reviewer: str | None = None
    researcher: str | None = None


class Fields(NamedTuple):
    """What can be said of a claim besides its rounds; None is not said."""

    text: str | None = None
    confidence: Any = None
    stage: str | None = None
    depends_on: tuple[str, ...] | None = None
    evidence: tuple[str, ...] | None = None

    def given(self) -> dict[str, Any]:
        said = self._asdict().items()
        return {name: list(value) if isinstance(value, tuple) else value for name, value in said if value is not None}


def new(name: str, fields: Fields, now: datetime) -> Outcome:
    claim = {"status": OPEN, **fields.given(), "created": format_time(now), "rounds": []}
    return Outcome(claim, (Event("claim", name, "added", f"claim {name} was added: {brief(fields.text)}"),))


def brief(text: Any) -> str:
    """The beginning of a text on one line, for the log."""
    line = " ".join(str(text)[:1000].split())
    return line if len(line) <= 200 else line[:199] + "…"


def with_round(claim: Mapping[str, Any], given: Round, now: datetime) -> Claim:
    """After one more round.

    A round says what the record has not said of text, confidence and evidence, so that what somebody changed since the
    last one, with a command or by hand, is seen in it. What no round has said so far is the claim's baseline.
    """
    if not isinstance(claim.get("baseline"), MAPPINGS):
        claim = {**claim, "baseline": its.baseline(claim)}
    after = {name: own if (own := getattr(given, name)) is not None else claim.get(name) for name in its.VALUES}
    known = its.evidence_of(claim)
    added = [each for each in given.evidence if each not in known]
    new = its.unsaid(claim, **after, evidence=[*known, *added])
    cited = [each for each in given.evidence if each not in new.get("evidence", ())]
    evidence = [*cited, *new.pop("evidence", ())]
    entry: dict[str, Any] = {"round": _number(claim), "timestamp": format_time(now)}
    entry |= {
        name: value for name in ("cycle", "reviewer", "researcher") if (value := getattr(given, name)) is not None
    }
    entry |= _said(given.objections)
    entry |= {name: list(value) for name, value in (("evidence", evidence), ("tests", given.tests)) if value}
    entry |= new
    result = {**claim, **{name: value for name, value in after.items() if value is not None}}
    result |= {"evidence": [*known, *added]} if added else {}
    listed = claim.get("rounds")
    return {**result, "rounds": [*(listed if isinstance(listed, list | tuple) else ()), entry]}


def _said(objections: Sequence[Objection]) -> dict[str, Any]:
    """One objection stands in the round itself, several are a list in it."""
    listed = [
        {
            **({"id": each.id} if each.id is not None else {}),
            "objection": each.text,
            **({"response": each.response} if each.response is not None else {}),
        }
        for each in objections
    ]
    if len(listed) != 1:
        return {"objections": listed} if listed else {}
    (only,) = listed
    label = only.pop("id", None)
    return only | ({"objection_id": label} if label is not None else {})


def _number(claim: Mapping[str, Any]) -> int:
    known = [*its.past_rounds(claim), *its.rounds_of(claim)]
    numbers = [number for entry in known if type(number := entry.get("round")) is int]
    return max([*numbers, len(known)]) + 1


def latest_cycle(section: Sequence[Mapping[str, Any]]) -> int | None:
    """The last cycle that any claim has seen."""
    cycles = [
        cycle
        for claim in section
        for entry in (*its.past_rounds(claim), *its.rounds_of(claim), *history_of(claim))
        if isinstance(entry, MAPPINGS) and type(cycle := entry.get("cycle")) is int
    ]
    return max(cycles, default=None)


def cycle_of(claim: Mapping[str, Any]) -> Any:
    """The cycle of the last round that names one."""
    return next((entry["cycle"] for entry in reversed(its.rounds_of(claim)) if entry.get("cycle") is not None), None)


# --- what people decide ---------------------------------------------------------------------------------------------


def edited(name: str, claim: Mapping[str, Any], fields: Fields, by: str, cycle: int | None, now: datetime) -> Outcome:
    """With other words. What rounds are judged by is kept in the history, so that the next round sees the change."""
    given = {key: value for key, value in fields.given().items() if value != claim.get(key)}
    if not given:
        return Outcome(dict(claim))
    entry = {
        "event": "edited",
        "timestamp": format_time(now),
        "by": by,
        **({"cycle": cycle} if cycle is not None else {}),
        "after": len(its.rounds_of(claim)),
        **given,
    }
    said = f"claim {name} was edited by {by}: {', '.join(given)}"
    result = {**claim, **given, "history": [*history_of(claim), entry]}
    return Outcome(result, (Event("claim", name, "edited", said),))


def ended(
    name: str, claim: Mapping[str, Any], status: str, why: str | None, by: str, cycle: int | None, now: datetime
) -> Outcome:
    """Promoted, or killed."""
    event = {ACCEPTED: "promoted", KILLED: "killed"}.get(status, "promoted")
    entry = {
        "event": event,
        "timestamp": format_time(now),
        "by": by,
        **({"cycle": cycle} if cycle is not None else {}),
        "from": claim.get("status") or OPEN,
        "to": status,
        **({"rationale": why} if why else {}),
    }
    what = event if event == "killed" else f"{event} to {status}"
    said = f"claim {name} was {what} by {by}{f': {why}' if why else ''}"
    result = {**claim, "status": status, "history": [*history_of(claim), entry]}
    return Outcome(result, (Event("claim", name, event, said),))
