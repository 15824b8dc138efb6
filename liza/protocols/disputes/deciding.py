"""What people decide about claims: an edit, promotion, the end, and the ways out of a dispute.

Each way out needs its reason in words, is logged, and leaves the dispute in the claim's history. There is no other.
"""

from collections.abc import Mapping
from shlex import quote
from typing import Any

from liza.blackboard.document import Document
from liza.errors import Refused
from liza.protocols import scopes
from liza.protocols.changing import Outcome
from liza.protocols.disputes import claims, depending, freezing, guarding, judging, missing, parties
from liza.protocols.disputes.claims import Fields
from liza.protocols.disputes.guarding import Context, Done, Frozen, ways_out
from liza.text import closest, shown


def edit(context: Context, name: str, fields: Fields, by: str) -> Done:
    def after(document: Document, claim: Mapping[str, Any]) -> Outcome:
        guarding.living(name, claim)
        guarding.must_be_there(document, fields.depends_on or ())
        return claims.edited(name, claim, fields, by, guarding.cycle_on(document), context.now)

    return guarding.on_living(context, name, "so it is not edited", after)


def promote(context: Context, name: str, status: str, why: str | None, by: str) -> Done:
    """Give a claim its better status, unless it rests on one that is in dispute."""
    word = status_word(status)
    if word in (freezing.OPEN, freezing.KILLED):
        raise Refused(f"{word} is no promotion", hint=f"kill it with: liza claim kill {quote(name)} -m WHY")

    def after(document: Document, claim: Mapping[str, Any]) -> Outcome:
        guarding.living(name, claim)
        if freezing.status_of(claim) == word:
            return Outcome(dict(claim))
        section = missing.restored(context.board, judging.settled_section(document, context.rules, context.now))
        if freezing.awaits_review(claim):
            raise Refused(
                f"claim {name} left its dispute by new data and was not reviewed since, so it is not promoted",
                hint=f"record the test: liza claim round {quote(name)} --test NAME=RESULT",
            )
        if chain := depending.chain_to_dispute(section, name):
            found = scopes.find(section, chain[-1], judging.SCOPE.name)
            raise _held(name, chain, ways_out(chain[-1], found is not None and freezing.is_taken_out(found[1])))
        return claims.ended(name, claim, word, why, by, guarding.cycle_on(document), context.now)

    return guarding.on_living(context, name, "so it is not promoted", after)


def _held(name: str, chain: tuple[str, ...], ways: tuple[str, ...]) -> Refused:
    path = " which depends on ".join(chain)
    message = f"claim {name} depends on {path}, which is {freezing.DISPUTED}: it cannot be promoted meanwhile"
    error = Refused(f"{message}; it is not frozen, its review goes on", hint=f"see: liza claim show {quote(chain[-1])}")
    error.exit_code = 3
    error.status = "disputed"
    error.fields = {"claim": name, "depends_on": list(chain), "ways_out": list(ways)}
    return error


def kill(context: Context, name: str, why: str, by: str) -> Done:
    def after(document: Document, claim: Mapping[str, Any]) -> Outcome:
        if freezing.status_of(claim) == freezing.KILLED:
            return Outcome(dict(claim))
        return claims.ended(name, claim, freezing.KILLED, why, by, guarding.cycle_on(document), context.now)

    return guarding.on_living(context, name, "so it is not killed", after)


# --- out of a dispute -----------------------------------------------------------------------------------------------


def resolve(context: Context, name: str, how: str, status: str | None, rationale: str, by: str, **more: Any) -> Done:
    """End a dispute: `how` is new_data, dropped or human_override; `status` is what the last of them asks for."""
    if not rationale.strip():
        raise Refused("a dispute does not end without a reason", hint=f"one of: {'; '.join(ways_out(name))}")
    wanted = freezing.KILLED if how == "dropped" else status_word(status) if status is not None else None

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        first = _as_frozen(context, document, name)
        claim = first.record
        if how != "human_override":
            _refuse_taken_out(name, claim)
        if not freezing.is_frozen(claim):
            _resolved_already(name, claim, how, wanted)
            return first
        outcome = wanted if wanted is not None else freezing.before(claim)
        cycle = guarding.cycle_on(document)
        said = more | ({"resolved_cycle": cycle} if cycle is not None else {})
        then = freezing.thawed(name, claim, how, outcome, rationale.strip(), by, context.now, **said)
        return guarding.joined(first, then)

    return guarding.done(context, name, guarding.changed(context, name, after))


def _as_frozen(context: Context, document: Document, name: str) -> Outcome:
    """The claim as the next check would find it, with its dispute where that, or the claim, was deleted by hand."""
    lost = missing.named(context.board, name)
    if lost is not None and judging.understood(document, name) is None:
        return Outcome(lost.put_back(None))
    first = guarding.settled(context, document, name, guarding.known(document, name))
    return first if lost is None else first._replace(record=lost.put_back(first.record))


def _refuse_taken_out(name: str, claim: Mapping[str, Any]) -> None:
    """Deleting a claim or its dispute is a violation that only a human ends; else it would be a silent way out."""
    if freezing.is_taken_out(claim):
        raise Frozen(name, claim, "so only a human override ends its dispute")


def _resolved_already(name: str, claim: Mapping[str, Any], how: str, wanted: str | None) -> None:
    """The same decision once more is none; any other is about a dispute that is not there."""
    past = freezing.disputes_of(claim)
    last = past[-1][1] if past else {}
    if last.get("resolution") == how and wanted in (None, last.get("outcome")):
        return
    status = claim.get("status") or freezing.OPEN
    ended = f"; its dispute was resolved {last['resolved_at']}" if last.get("resolved_at") else ""
    hint = f"see: liza claim show {quote(name)}"
    raise Refused(f"claim {name} is {shown(status)} and not in dispute{ended}: there is nothing to resolve", hint=hint)


def reexamine(context: Context, name: str, trigger: str, resolved: bool | None, note: str, by: str) -> Done:
    """Look at a dispute again: resolved unfreezes the claim, unresolved leaves it; None only says that it is due."""

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        first = _as_frozen(context, document, name)
        claim = first.record
        _refuse_taken_out(name, claim)
        if not freezing.is_frozen(claim):
            status = claim.get("status") or freezing.OPEN
            raise Refused(
                f"claim {name} is {shown(status)} and not in dispute: there is nothing to re-examine",
                hint=f"see: liza claim show {quote(name)}",
            )
        _refuse_without_trigger(name, claim, trigger, resolved, by)
        if resolved is None:
            then = freezing.marked(name, claim, trigger, note, context.now)
        else:
            then = freezing.reexamined(name, claim, trigger, resolved, note, by, context.now)
        return guarding.joined(first, then)

    return guarding.done(context, name, guarding.changed(context, name, after))


def _refuse_without_trigger(name: str, claim: Mapping[str, Any], trigger: str, resolved: bool | None, by: str) -> None:
    """What a re-examination refers to must have happened; an audit happens by it, and is nobody's own case."""
    if trigger == freezing.AUDIT:
        if resolved is not None and (party := parties.party_of(claim, by)) is not None:
            hint = "an audit is made by another model or person; to decide yourself: liza claim resolve"
            raise Refused(f"{shown(by)} is the {party} of claim {name} and cannot audit its dispute", hint=hint)
    elif not freezing.is_due(claim, trigger):
        happened = {
            freezing.STAGE_TRANSITION: ("no stage was entered", "liza stage advance STAGE"),
            freezing.NEW_DATA: ("no data was entered", f"liza stage data REF --for {quote(name)}"),
        }[trigger]
        message = f"{happened[0]} since claim {name} was frozen or last re-examined by it: nothing to re-examine"
        raise Refused(message, hint=f"enter it first: {happened[1]}")


def status_word(text: str) -> str:
    """A status that somebody asks for: ours, or a team's own word."""
    word = text.strip().upper()
    if word == freezing.DISPUTED:
        raise Refused("a claim does not get DISPUTED by a decision", hint=f"one of: {', '.join(freezing.STATUSES[:3])}")
    plain = word.replace("_", "").replace("-", "")
    meant = closest(word, freezing.STATUSES)
    if not plain.isalnum() or not plain.isascii() or len(word) > 40 or (meant and meant != word):
        hint = (
            f"did you mean {meant}?" if meant else f"one of: {', '.join(freezing.STATUSES[:3])}, or a word of your own"
        )
        raise Refused(f"{shown(text)} is no status for a claim", hint=hint)
    return word
