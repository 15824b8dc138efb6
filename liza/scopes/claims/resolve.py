"""What people decide about claims: an edit, promotion, the end, and the ways out of a dispute.

Each way out needs its reason in words, is logged, and leaves the dispute in the claim's history. There is no other way.
"""

from collections.abc import Mapping
from shlex import quote
from typing import Any

from liza.errors import Refused
from liza.scopes.claims import change, dependencies, evaluate, missing_disputes, parties, states
from liza.scopes.claims.change import ClaimResult, Context, Frozen, ways_out
from liza.scopes.claims.disputes import (
    AUDIT,
    NEW_DATA,
    STAGE_TRANSITION,
    awaits_review,
    end_dispute,
    is_due,
    mark_for_reexamination,
    reexamine_dispute,
    status_before,
)
from liza.scopes.claims.fields import (
    CLAIMS,
    DISPUTED,
    KILLED,
    OPEN,
    STATUSES,
    disputes_of,
    is_frozen,
    is_taken_out,
    status_of,
)
from liza.scopes.claims.states import Fields
from liza.scopes.records import find_record
from liza.scopes.transition import Transition
from liza.store.document import Document
from liza.text import did_you_mean, value_text


def edit_claim(context: Context, name: str, fields: Fields, by: str) -> ClaimResult:
    def after(document: Document, claim: Mapping[str, Any]) -> Transition:
        change.require_not_killed(name, claim)
        change.require_claims(document, fields.depends_on or ())
        return states.edit_claim(name, claim, fields, by, change.latest_cycle(document), context.now)

    return change.change_unfrozen(context, name, "so it cannot be edited", after)


def promote_claim(context: Context, name: str, status: str, why: str | None, by: str) -> ClaimResult:
    """Give a claim its better status, unless it rests on one that is in dispute."""

    def after(document: Document, claim: Mapping[str, Any]) -> Transition:
        word = check_status(document, status)
        if word in (OPEN, KILLED):
            hint = f"kill it with: liza claim kill {quote(name)} -m WHY"
            raise Refused(f"invalid status for a promotion: {word}", hint=hint)
        change.require_not_killed(name, claim)
        if status_of(claim) == word:
            return Transition(dict(claim))
        claims = evaluate.reconcile_claims(document.data, context.rules, context.now).section
        section = missing_disputes.restore_missing(context.board, claims)
        if awaits_review(claim):
            raise Refused(
                f"claim {name} left its dispute by new data and has not been reviewed since, so it cannot be promoted",
                hint=f"record the test: liza claim round {quote(name)} --test NAME=RESULT",
            )
        if chain := dependencies.chain_to_dispute(section, name):
            found = find_record(section, chain[-1], CLAIMS.scope)
            raise _blocked_by(name, chain, ways_out(chain[-1], found is not None and is_taken_out(found[1])))
        return states.end_claim(name, claim, word, why, by, change.latest_cycle(document), context.now)

    return change.change_unfrozen(context, name, "so it cannot be promoted", after)


def _blocked_by(name: str, chain: tuple[str, ...], ways: tuple[str, ...]) -> Refused:
    through = f" through {', '.join(chain[:-1])}" if chain[:-1] else ""
    message = (
        f"claim {name} cannot be promoted while {chain[-1]}, on which it depends{through}, is {DISPUTED}; "
        f"{name} itself is not frozen, and its review continues"
    )
    error = Refused(message, hint=f"see: liza claim show {quote(chain[-1])}")
    error.exit_code = 3
    error.status = "disputed"
    error.fields = {"claim": name, "depends_on": list(chain), "ways_out": list(ways)}
    return error


def kill_claim(context: Context, name: str, why: str, by: str) -> ClaimResult:
    def after(document: Document, claim: Mapping[str, Any]) -> Transition:
        if status_of(claim) == KILLED:
            return Transition(dict(claim))
        return states.end_claim(name, claim, KILLED, why, by, change.latest_cycle(document), context.now)

    return change.change_unfrozen(context, name, "so it cannot be killed", after)


# --- out of a dispute -----------------------------------------------------------------------------------------------


def resolve_dispute(
    context: Context, name: str, how: str, status: str | None, rationale: str, by: str, **more: Any
) -> ClaimResult:
    """End a dispute: `how` is new_data, dropped or human_override; `status` is what the last of them asks for."""
    if not rationale.strip():
        raise Refused("a reason is required to end a dispute", hint=f"one of: {'; '.join(ways_out(name))}")

    def after(document: Document, _: Mapping[str, Any] | None) -> Transition:
        wanted = KILLED if how == "dropped" else check_status(document, status) if status is not None else None
        first = _as_frozen(context, document, name)
        claim = first.record
        if how != "human_override":
            _refuse_taken_out(name, claim)
        if not is_frozen(claim):
            _resolved_already(name, claim, how, wanted)
            return first
        outcome = wanted if wanted is not None else status_before(claim)
        cycle = change.latest_cycle(document)
        details = more | ({"resolved_cycle": cycle} if cycle is not None else {})
        then = end_dispute(name, claim, how, outcome, rationale.strip(), by, context.now, **details)
        return first.then(then)

    return change.claim_result(context, name, change.change_claim(context, name, after))


def _as_frozen(context: Context, document: Document, name: str) -> Transition:
    """The claim as the next check would find it, with its dispute where that, or the claim, was deleted by hand."""
    lost = missing_disputes.find_missing_of(context.board, name)
    if lost is not None and evaluate.read_claim(document, name) is None:
        return Transition(lost.put_back(None))
    first = change.reconcile_claim(context, document, name, change.require_claim(document, name))
    return first if lost is None else first._replace(record=lost.put_back(first.record))


def _refuse_taken_out(name: str, claim: Mapping[str, Any]) -> None:
    """Deleting a claim or its dispute is a violation that only a human ends; else it would be a silent way out."""
    if is_taken_out(claim):
        raise Frozen(name, claim, "so only a human override ends its dispute")


def _resolved_already(name: str, claim: Mapping[str, Any], how: str, wanted: str | None) -> None:
    """The same decision once more is none; any other is about a dispute that is not there."""
    past = disputes_of(claim)
    last = past[-1][1] if past else {}
    if last.get("resolution") == how and wanted in (None, last.get("outcome")):
        return
    status = claim.get("status") or OPEN
    ended = f", its dispute ended {last['resolved_at']}" if last.get("resolved_at") else ""
    hint = f"see: liza claim show {quote(name)}"
    raise Refused(f"claim {name} is not in dispute: its status is {value_text(status)}{ended}", hint=hint)


def reexamine_claim(
    context: Context, name: str, trigger: str, resolved: bool | None, note: str, by: str
) -> ClaimResult:
    """Look at a dispute again: resolved unfreezes the claim, unresolved leaves it; None only marks it as due."""

    def after(document: Document, _: Mapping[str, Any] | None) -> Transition:
        first = _as_frozen(context, document, name)
        claim = first.record
        _refuse_taken_out(name, claim)
        if not is_frozen(claim):
            status = claim.get("status") or OPEN
            raise Refused(
                f"claim {name} is not in dispute: its status is {value_text(status)}",
                hint=f"see: liza claim show {quote(name)}",
            )
        _refuse_without_trigger(name, claim, trigger, resolved, by)
        if resolved is None:
            then = mark_for_reexamination(name, claim, trigger, note, context.now)
        else:
            then = reexamine_dispute(name, claim, trigger, resolved, note, by, context.now)
        return first.then(then)

    return change.claim_result(context, name, change.change_claim(context, name, after))


def _refuse_without_trigger(name: str, claim: Mapping[str, Any], trigger: str, resolved: bool | None, by: str) -> None:
    """`Refused` where the trigger has not occurred, or where a party of the dispute would audit it."""
    if trigger == AUDIT:
        if resolved is not None and (party := parties.party_of(claim, by)) is not None:
            hint = "an audit is made by another model or person; to decide yourself: liza claim resolve"
            raise Refused(f"{value_text(by)} is the {party} of claim {name} and cannot audit its dispute", hint=hint)
    elif not is_due(claim, trigger):
        happened = {
            STAGE_TRANSITION: ("no stage was entered", "liza stage advance STAGE"),
            NEW_DATA: ("no new data was recorded", f"liza stage data REF --for {quote(name)}"),
        }[trigger]
        message = f"{happened[0]} since claim {name} was frozen or last re-examined for that reason"
        raise Refused(message, hint=f"record it first: {happened[1]}")


def check_status(document: Document, text: str) -> str:
    """A requested status in capitals: one of ours, or a team's own word that a claim on the blackboard has already."""
    word = text.strip().upper()
    statuses = {status_of(claim): None for claim in change.listed_claims(document)}
    known = list(dict.fromkeys((*STATUSES[:3], *filter(None, statuses))))
    listed = f"one of: {', '.join(each for each in known if each != DISPUTED)}"
    if word == DISPUTED:
        raise Refused("a decision cannot set a claim to DISPUTED", hint=listed)
    if word not in known:
        raise Refused(f"unknown claim status {value_text(text)}", hint=did_you_mean(word, known) or listed)
    return word
