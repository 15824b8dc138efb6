"""Claims on the blackboard: a new one, one more round of review, and those of a whole ledger."""

from collections.abc import Mapping
from datetime import datetime
from shlex import quote
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.model import format_time
from liza.scopes.change import apply_reconciled, log_events
from liza.scopes.claims import change, cycles, evaluate, import_ledger, missing_disputes, states
from liza.scopes.claims.change import ClaimResult, Context, Frozen, context_of
from liza.scopes.claims.fields import CLAIMS, claim_event
from liza.scopes.claims.states import Fields, Round
from liza.scopes.records import check_name, named_records, put_record
from liza.scopes.transition import Event, Transition
from liza.store.document import Document
from liza.store.inbox import EntryBoard, Recording
from liza.store.payload import dump, load_fields


def add_claim(context: Context, name: str, fields: Fields) -> Recording[ClaimResult]:
    """Put a claim on the blackboard; one that is there with the same words stays as it is."""
    check_name(CLAIMS, name)

    def after(document: Document, claim: Mapping[str, Any] | None) -> Transition:
        change.require_claims(document, fields.depends_on or ())
        if claim is None:
            if (lost := missing_disputes.find_missing_of(context.board, name)) is not None:
                raise Frozen(name, lost.put_back(None), "so it cannot be added again")
            return states.new_claim(name, fields, context.now)
        others = [key for key, value in fields.given().items() if value != claim.get(key)]
        if others:
            hint = f"see it with: liza claim show {quote(name)}   (change it with: liza claim edit {quote(name)} ...)"
            raise Refused(f"claim {name} already exists, with a different {others[0]}", hint=hint, file=document.file)
        return Transition(dict(claim))

    def make() -> ClaimResult:
        return change.claim_result(context, name, change.change_claim(context, name, after))

    return Recording(context.board, "claim", {"claim": name, "fields": dump(fields)}, format_time(context.now), make)


def enter_claim(board: EntryBoard, fields: Mapping[str, Any], now: datetime) -> None:
    """Make the change that a new claim in the inbox asks for."""
    given = load_fields(fields, claim=str, fields=Fields)
    add_claim(context_of(board, now), given["claim"], given["fields"]).make()


def record_round(context: Context, name: str, given: Round) -> Recording[ClaimResult]:
    """Record one round of review, and evaluate the claim at once."""

    def after(document: Document, claim: Mapping[str, Any]) -> Transition:
        change.require_not_killed(name, claim)
        cycle = cycles.next_cycle(change.listed_claims(document), claim, given)
        numbered = given._replace(cycle=cycle.number)
        grown = states.add_round(claim, numbered, context.now, counted=cycle.is_counted)
        return change.reconcile_claim(context, document, name, grown)

    def make() -> ClaimResult:
        return change.change_unfrozen(context, name, "so no round is recorded", after)

    return Recording(context.board, "round", {"claim": name, "round": dump(given)}, format_time(context.now), make)


def enter_round(board: EntryBoard, fields: Mapping[str, Any], now: datetime) -> None:
    """Make the change that a round in the inbox asks for; it is refused before the claim is frozen, not after."""
    given = load_fields(fields, claim=str, round=Round)
    context = context_of(board, now)
    board.allowed = lambda document: change.require_not_frozen(context, document, given["claim"])
    record_round(context, given["claim"], given["round"]).make()


class Imported(NamedTuple):
    """What came of a ledger: the claims that are new, and those that were there already."""

    added: tuple[str, ...]
    known: tuple[str, ...]
    disputed: tuple[str, ...]  # of those that are new


def import_claims(context: Context, found: Mapping[str, Mapping[str, Any]], file: str) -> Imported:
    """Put the claims of a ledger on the blackboard, all in one change. A claim that is there stays as it is."""

    def revised(document: Document) -> tuple[bytes, tuple[Imported, tuple[Event, ...]]]:
        section = document.data.get(CLAIMS.name)
        known = {name for _, name, _ in named_records(section, CLAIMS.scope)}
        new = {name: claim for name, claim in found.items() if name not in known}
        for name, claim in new.items():
            section = put_record(section, name, import_ledger.new_record(claim, format_time(context.now)), CLAIMS.scope)
        reconciled = evaluate.reconcile_claims({**document.data, CLAIMS.name: section}, context.rules, context.now)
        mine = [event.name for event in reconciled.events if event.name in new and event.kind == "disputed"]
        imported = Imported(tuple(new), tuple(name for name in found if name in known), tuple(mine))
        if not new:
            return document.raw, (imported, ())
        event = claim_event(file, "imported", f"{len(new)} claims were imported from {file}: {', '.join(new)[:400]}")
        done = reconciled._replace(events=(event, *reconciled.events))
        return apply_reconciled(context.board, document, CLAIMS, done, context.now), (imported, done.events)

    imported, events = context.board.change(revised)
    log_events(context.board.paths, events, context.now)
    return imported
