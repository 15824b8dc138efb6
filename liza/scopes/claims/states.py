"""What is done to a claim that is not frozen: a round of review, an edit, its end. Only decisions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Match, Record, format_time
from liza.scopes.claims import derived
from liza.scopes.claims.disputes import (
    accept_manual_decision,
    accept_manual_dispute,
    begin_dispute,
    mark_stage_transition,
)
from liza.scopes.claims.fields import (
    ACCEPTED,
    DISPUTED,
    KILLED,
    OPEN,
    Claim,
    claim_event,
    evidence_of,
    history_of,
    open_dispute,
    past_rounds,
    round_count,
    rounds_of,
    status_of,
)
from liza.scopes.claims.objections import SAME_BY, Objection
from liza.scopes.claims.settings import Settings
from liza.scopes.evaluator import Evaluator, reason_text
from liza.scopes.records import list_of
from liza.scopes.transition import Transition
from liza.text import cut_line


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
    """The fields of a claim besides its rounds; None is not given."""

    text: str | None = None
    confidence: Any = None
    stage: str | None = None
    depends_on: tuple[str, ...] | None = None
    evidence: tuple[str, ...] | None = None

    def given(self) -> dict[str, Any]:
        values = self._asdict().items()
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values if value is not None}


def new_claim(name: str, fields: Fields, now: datetime) -> Transition:
    claim = {"status": OPEN, **fields.given(), "created": format_time(now), "rounds": []}
    return Transition(
        claim, (claim_event(name, "added", f"claim {name} was added: {cut_line(str(fields.text), 200)}"),)
    )


def add_round(claim: Mapping[str, Any], given: Round, now: datetime, *, counted: bool = False) -> Claim:
    """After one more round, whose cycle was `counted` if it was given no name.

    A round has each text, confidence and evidence that no earlier round has, so that what was changed since the
    last one, with a command or by hand, is seen in it. What no round has had so far is the claim's baseline.
    """
    if not isinstance(claim.get("baseline"), MAPPINGS):
        claim = {**claim, "baseline": derived.baseline(claim)}
    after = {name: own if (own := getattr(given, name)) is not None else claim.get(name) for name in derived.VALUES}
    known = evidence_of(claim)
    added = [each for each in given.evidence if each not in known]
    new = derived.unrecorded_values(claim, **after, evidence=[*known, *added])
    cited = [each for each in given.evidence if each not in new.get("evidence", ())]
    evidence = [*cited, *new.pop("evidence", ())]
    entry: dict[str, Any] = {"round": _number(claim), "timestamp": format_time(now)}
    entry |= {
        name: value for name in ("cycle", "reviewer", "researcher") if (value := getattr(given, name)) is not None
    }
    entry |= {"cycle_counted": True} if counted else {}
    entry |= _objection_fields(given.objections)
    entry |= {name: list(value) for name, value in (("evidence", evidence), ("tests", given.tests)) if value}
    entry |= new
    result = {**claim, **{name: value for name, value in after.items() if value is not None}}
    result |= {"evidence": [*known, *added]} if added else {}
    return {**result, "rounds": [*list_of(claim, "rounds"), entry]}


def _objection_fields(objections: Sequence[Objection]) -> dict[str, Any]:
    """One objection is part of the round itself, several are a list in it."""
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
    known = [*past_rounds(claim), *rounds_of(claim)]
    numbers = [number for entry in known if type(number := entry.get("round")) is int]
    return max([*numbers, len(known)]) + 1


def dispute_cycle(claim: Mapping[str, Any]) -> Any:
    """The cycle of the last round that names one; where none does, each round counts as one."""
    named = (entry["cycle"] for entry in reversed(rounds_of(claim)) if entry.get("cycle") is not None)
    return next(named, round_count(claim) or None)


# --- what people decide ---------------------------------------------------------------------------------------------


def edit_claim(
    name: str, claim: Mapping[str, Any], fields: Fields, by: str, cycle: int | None, now: datetime
) -> Transition:
    """Edit a claim. The change is kept in the history, so that the next round counts as changed."""
    given = {key: value for key, value in fields.given().items() if value != claim.get(key)}
    if not given:
        return Transition(dict(claim))
    entry = {
        "event": "edited",
        "timestamp": format_time(now),
        "by": by,
        **({"cycle": cycle} if cycle is not None else {}),
        "after": len(rounds_of(claim)),
        **given,
    }
    text = f"claim {name} was edited by {by}: {', '.join(given)}"
    result = {**claim, **given, "history": [*history_of(claim), entry]}
    return Transition(result, (claim_event(name, "edited", text),))


def end_claim(
    name: str, claim: Mapping[str, Any], status: str, why: str | None, by: str, cycle: int | None, now: datetime
) -> Transition:
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
    text = f"claim {name} was {what} by {by}{f': {why}' if why else ''}"
    result = {**claim, "status": status, "history": [*history_of(claim), entry]}
    return Transition(result, (claim_event(name, event, text),))


# --- evaluating -----------------------------------------------------------------------------------------------------


def reconcile_record(
    name: str, claim: Mapping[str, Any], evaluator: Evaluator[Settings], stage: str | None
) -> Transition:
    """Apply edits by hand and the rules to a claim. Idempotent, so every caller may do it."""
    now = evaluator.now
    by_hand = accept_manual_decision(name, claim, now)
    if by_hand is not None:
        return by_hand
    if open_dispute(claim) is not None:
        return mark_stage_transition(name, claim, stage or "", now)
    status = status_of(claim)
    if status == DISPUTED:
        return accept_manual_dispute(name, claim, stage, now)
    if status in (KILLED, None):
        return Transition(dict(claim))
    records = derived.derive_rounds(name, claim, evaluator.settings)
    matches = evaluator.trips(records) if records else ()
    if not matches:
        return Transition(dict(claim))
    unresolved = _unresolved(name, matches, records)
    why = reason_text(matches[0], " ".join(unresolved[0].text[:2000].split())[:300])
    by = _same_by(name, matches[0], records)
    return begin_dispute(name, claim, matches[0].rule.name, why, unresolved, by, dispute_cycle(claim), stage, now)


def _unresolved(name: str, matches: Sequence[Match], records: Sequence[Record]) -> list[Objection]:
    """The objections that tripped, as the last round has them, with the last answer that there was to each."""
    answers: dict[str, str | None] = {}
    last: dict[str, Objection] = {}
    for record in records:
        last = dict(zip(record.fields["objection"] or (), record.fields["said"], strict=True))
        answers |= {called: each.response for called, each in last.items() if each.response is not None}
    wanted = {_objection_of(name, match) for match in matches}
    chosen = [called for called in last if called in wanted] or list(last)
    return [last[called]._replace(response=answers.get(called)) for called in chosen] or [Objection("")]


def _objection_of(name: str, match: Match) -> str | None:
    """What the objection is called that a match is about; None if it is about the claim as a whole."""
    key = match.key or ""
    return key[len(name) + 3 :] if key.startswith(f"{name} / ") else None


def _same_by(name: str, match: Match, records: Sequence[Record]) -> str | None:
    """The loosest of the means by which the rounds of a match were seen to have one objection."""
    called = _objection_of(name, match)
    found: list[str] = []
    for record in reversed(records):
        here = dict(zip(record.fields["objection"] or (), record.fields["same_by"], strict=True))
        if called not in here or record.fields["changed"]:
            break
        found.append(here[called])
    return max(filter(None, found[:-1]), key=SAME_BY.index, default=None)
