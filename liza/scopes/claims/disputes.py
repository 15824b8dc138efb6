"""The dispute of a claim: how it begins, how it is re-examined, and how it ends.

Pure decisions: each function takes a claim as it is on the blackboard and returns what to write there next. Fields that
other programs add are kept.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.model import MAPPINGS, format_time, mappings_in, parse_time
from liza.scopes.claims.derived import baseline
from liza.scopes.claims.fields import (
    DISPUTED,
    KILLED,
    OPEN,
    Claim,
    claim_event,
    disputes_of,
    history_of,
    is_taken_out,
    marks_of,
    open_dispute,
    status_of,
    text_field,
)
from liza.scopes.claims.freeze import (
    ENTRY,
    OVERRIDE,
    POSITIONS,
    changed_fields,
    digest,
    digests,
    seal_entry,
    violations,
)
from liza.scopes.claims.objections import Objection, criterion_text
from liza.scopes.records import list_of
from liza.scopes.transition import Transition

STAGE_TRANSITION, NEW_DATA, AUDIT = TRIGGERS = ("stage_transition", "new_data", "cross_model_audit")
BOOKKEEPING = (*POSITIONS, "dispute_cycle", "disputed_at", "previous_status")


def begin_dispute(
    name: str, claim: Mapping[str, Any], rule: str, why: str, unresolved: Sequence[Objection], same_by: str | None,
    cycle: Any, stage: str | None, now: datetime,
) -> Transition:  # fmt: skip
    """Trip a claim: both positions are kept verbatim, and no other field of the claim changes."""
    first, others = unresolved[0], unresolved[1:]
    result = {
        **{key: value for key, value in claim.items() if key not in ("history", "reexamine")},
        "status": DISPUTED,
        "dispute_reason": first.text or first.id or "",
        "researcher_position": first.response,
        **({"also_disputed": [_position(each) for each in others]} if others else {}),
        "dispute_cycle": cycle,
        "disputed_at": format_time(now),
        "previous_status": claim.get("status") or OPEN,
    }
    text = f"claim {name} is {DISPUTED}: {why}" + (f" ({criterion_text(same_by)})" if same_by else "")
    frozen = _with_entry(result, claim, rule, stage, now, same_by)
    return Transition(frozen, (claim_event(name, "disputed", text, "tripped"),), (frozen,))


def _position(objection: Objection) -> dict[str, Any]:
    fields = {"id": objection.id, "objection": objection.text, "response": objection.response}
    return {name: value for name, value in fields.items() if value is not None}


def accept_manual_dispute(name: str, claim: Mapping[str, Any], stage: str | None, now: datetime) -> Transition:
    """Accept a DISPUTED that a person wrote: from now on the claim is frozen like any other."""
    before = claim.get("previous_status") or OPEN
    fields = {key: value for key, value in claim.items() if key not in ("history", "reexamine")}
    result = _with_entry({**fields, "previous_status": before}, claim, "by hand", stage, now)
    why = text_field(claim, "dispute_reason") or "its status was set by hand"
    return Transition(
        result, (claim_event(name, "disputed", f"claim {name} is {DISPUTED}: {why}", "tripped"),), (result,)
    )


def restore_dispute(claim: Mapping[str, Any], since: str, what: str) -> Claim:
    """The claim with the dispute that was deleted by hand, as far as it is known; its entry is marked as deleted.

    Where the claim has been frozen again since, it is unknown whether it is as it was then.
    """
    history = history_of(claim)
    place, entry = open_dispute(claim) or (len(history), {"event": "disputed", "timestamp": since})
    return {**claim, "history": [*history[:place], {**entry, "frozen": what}, *history[place + 1 :]]}


def _with_entry(
    result: Mapping[str, Any], claim: Mapping[str, Any], rule: str, stage: str | None, now: datetime,
    same_by: str | None = None,
) -> Claim:  # fmt: skip
    entry = {
        "event": "disputed",
        "timestamp": format_time(now),
        "rule": rule,
        **({"same_by": same_by} if same_by else {}),
        **({"stage": stage} if stage else {}),
    }
    kept = digests(result, history_of(claim)) | ({OVERRIDE: digest(result[OVERRIDE])} if result.get(OVERRIDE) else {})
    return {**result, "history": [*history_of(claim), seal_entry(entry, kept)]}


def end_dispute(
    name: str, claim: Mapping[str, Any], how: str, status: str, rationale: str, by: str, now: datetime,
    **more: Any,
) -> Transition:  # fmt: skip
    """End a dispute: it moves to the history with its rounds, so that counting starts over."""
    found = open_dispute(claim) or (disputes_of(claim)[-1] if is_left_over(claim) else None)
    place, entry = found or (len(history_of(claim)), {"event": "disputed", "timestamp": None})
    broken = violations(claim)
    done = {
        **entry,
        "resolution": how,
        "rationale": rationale,
        **more,
        "resolved_by": by,
        "resolved_at": format_time(now),
        "outcome": status,
        **({"violated": list(broken)} if broken else {}),
        **{key: claim[key] for key in BOOKKEEPING if key in claim},
        **({"baseline": claim["baseline"]} if claim.get("baseline") else {}),
        "rounds": claim.get("rounds") or [],
    }
    kept = {key: value for key, value in claim.items() if key not in (*BOOKKEEPING, "reexamine", "history")}
    result = {
        **kept,
        "status": status,
        "rounds": [],
        "baseline": baseline({**claim, "rounds": [], "history": []}),
        **({OVERRIDE: rationale} if how == "human_override" else {}),
        "history": [*history_of(claim)[:place], done, *history_of(claim)[place + 1 :]],
    }
    who = f"{how.replace('_', ' ')} by {by}" + (f", {entry['frozen']} by hand" if is_taken_out(claim) else "")
    return Transition(
        result, (claim_event(name, "resolved", f"claim {name} is {status} ({who}): {rationale}", "resolved"),)
    )


def status_before(claim: Mapping[str, Any]) -> str:
    """The status that a claim had before it was frozen, not one that was written there by hand meanwhile."""
    status = claim.get("previous_status")
    doubted = any(name in ("history", "previous_status") for name, _ in changed_fields(claim))
    if doubted or not isinstance(status, str) or status.strip().upper() in ("", DISPUTED, KILLED):
        return OPEN
    return status


def is_left_over(claim: Mapping[str, Any]) -> bool:
    """Whether the last dispute was resolved by hand: its rounds are not in the history, as each way out has them."""
    found = disputes_of(claim)
    return bool(found) and open_dispute(claim) is None and "frozen" in found[-1][1] and "rounds" not in found[-1][1]


def accept_manual_decision(name: str, claim: Mapping[str, Any], now: datetime) -> Transition | None:
    """A person gave the claim another status and wrote down why, here or in the history; None if that is not so.

    What is left to do is done as by command: the dispute goes into the history as a whole, and into the log.
    """
    status = claim.get("status") or OPEN
    if status_of(claim) in (DISPUTED, None):
        return None
    if is_left_over(claim):
        entry = disputes_of(claim)[-1][1]
        how, by = (text_field(entry, "resolution") or "by_hand"), (text_field(entry, "resolved_by") or "hand")
        return end_dispute(name, claim, how, str(status), text_field(entry, "rationale"), by, now)
    found, why = open_dispute(claim), text_field(claim, OVERRIDE)
    kept = found[1].get("frozen") if found else None
    if not isinstance(kept, MAPPINGS) or not why or digest(why) == kept.get(OVERRIDE):
        return None  # not a word of why, or it was there before the dispute
    return end_dispute(name, claim, "human_override", str(status), why, "hand", now)


def mark_for_reexamination(
    name: str, claim: Mapping[str, Any], trigger: str, detail: str, now: datetime, **entry: Any
) -> Transition:  # fmt: skip
    """Mark the claim as due for re-examination. The same mark is made once; `entry` is new in the open dispute."""
    marks = [each for each in marks_of(claim) if trigger != STAGE_TRANSITION or each.get("trigger") != trigger]
    if any((each.get("trigger"), each.get("detail")) == (trigger, detail) for each in marks):
        return Transition(dict(claim))
    mark = {"trigger": trigger, "detail": detail, "timestamp": format_time(now)}
    text = f"claim {name} is due for re-examination ({trigger.replace('_', ' ')}): {detail}"
    return Transition(_with_marks(claim, [*marks, mark], entry), (claim_event(name, "marked", text),))


def _with_marks(claim: Mapping[str, Any], marks: Sequence[Mapping[str, Any]], more: Mapping[str, Any]) -> Claim:
    """With these marks, and with more in the open dispute, which gets their digests.

    A field that was changed by hand keeps its old digest: a new mark must not hide the change.
    """
    result = {key: value for key, value in claim.items() if key != "reexamine"}
    result |= {"reexamine": list(marks)} if marks else {}
    place, entry = open_dispute(claim) or (len(history_of(claim)), {"event": "disputed", "timestamp": None})
    kept = entry.get("frozen")
    grown: Mapping[str, Any] = {**entry, **more}
    if isinstance(kept, MAPPINGS) and "history" in kept and not _is_changed(claim, "reexamine", ENTRY):
        grown = seal_entry(grown, {**kept, "reexamine": digest(marks)})
    result["history"] = [*history_of(claim)[:place], grown, *history_of(claim)[place + 1 :]]
    return result


def _is_changed(claim: Mapping[str, Any], *names: str) -> bool:
    """Whether one of these was changed by hand."""
    return any(name in names for name, _ in changed_fields(claim))


def is_due(claim: Mapping[str, Any], trigger: str) -> bool:
    """Whether that trigger has happened since the dispute began, or since it was last looked at because of it."""
    return not _is_changed(claim, "reexamine", ENTRY) and any(
        each.get("trigger") == trigger for each in marks_of(claim)
    )


def awaits_review(claim: Mapping[str, Any]) -> bool:
    """Whether new data ended the last dispute and nothing was reviewed or tested since."""
    last: Mapping[str, Any] = next((entry for _, entry in reversed(disputes_of(claim))), {})
    if NEW_DATA not in (last.get("resolution"), last.get("trigger")):
        return False
    # A round that waited in the inbox may be entered now although it was made while the claim was frozen.
    ended = parse_time(last.get("resolved_at"))
    made = [parse_time(each.get("timestamp")) for each in mappings_in(claim.get("rounds"))]
    return not any(ended is None or each is None or each >= ended for each in made)


def mark_stage_transition(name: str, claim: Mapping[str, Any], stage: str, now: datetime) -> Transition:
    """The pipeline is in another stage than when the dispute was last looked at.

    `stage` of the dispute stays the one in which it began; `seen_in_stage` is the last one that made it due.
    """
    found = open_dispute(claim)
    since = None if found is None else found[1].get("seen_in_stage", found[1].get("stage"))
    if found is None or _is_changed(claim, ENTRY) or not stage or since == stage:
        return Transition(dict(claim))
    detail = f"in stage {stage}" + (f" (was: {since})" if since else "")
    return mark_for_reexamination(name, claim, STAGE_TRANSITION, detail, now, seen_in_stage=stage)


def reexamine_dispute(
    name: str, claim: Mapping[str, Any], trigger: str, resolved: bool, note: str, by: str, now: datetime
) -> Transition:
    """Record a re-examination: it ends the dispute, or the claim stays frozen."""
    _, entry = open_dispute(claim) or (0, {})
    looked = {
        "trigger": trigger,
        "outcome": "resolved" if resolved else "unresolved",
        "note": note,
        "by": by,
        "timestamp": format_time(now),
    }
    looks = [*list_of(entry, "reexaminations"), looked]
    left = [each for each in marks_of(claim) if each.get("trigger") != trigger]
    result = _with_marks(claim, left, {"reexaminations": looks})
    text = f"claim {name} was re-examined ({trigger.replace('_', ' ')} by {by}), {looked['outcome']}: {note}"
    event = claim_event(name, "reexamined", text)
    if not resolved:
        return Transition(result, (event,))
    done = end_dispute(name, result, "reexamined", status_before(claim), note, by, now, trigger=trigger)
    return done._replace(events=(event, *done.events))
