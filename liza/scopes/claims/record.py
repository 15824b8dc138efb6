"""Claims on the blackboard: a new one, one more round of review, and those of a whole ledger."""

from collections.abc import Mapping
from shlex import quote
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.model import format_time
from liza.scopes.change import Outcome, log_events
from liza.scopes.claims import change, evaluate, import_ledger, missing, states
from liza.scopes.claims.change import ClaimResult, Context, Frozen
from liza.scopes.claims.evaluate import SCOPE
from liza.scopes.claims.states import Fields, Round
from liza.scopes.inbox import record_or_queue
from liza.scopes.payload import dump
from liza.scopes.records import Event, named_records, put_record
from liza.store import backups, edit
from liza.store.document import Document
from liza.text import value_text

LONGEST = 100  # characters of an id


def add_claim(context: Context, name: str, fields: Fields) -> ClaimResult:
    """Put a claim on the blackboard; one that is there with the same words stays as it is."""
    check_name(name)

    def after(document: Document, claim: Mapping[str, Any] | None) -> Outcome:
        change.require_claims(document, fields.depends_on or ())
        if claim is None:
            if (lost := missing.find_missing_of(context.board, name)) is not None:
                raise Frozen(name, lost.put_back(None), "so it is not added again")
            return states.new_claim(name, fields, context.now)
        others = [key for key, value in fields.given().items() if value != claim.get(key)]
        if others:
            hint = f"see it with: liza claim show {quote(name)}   (change it with: liza claim edit {quote(name)} ...)"
            raise Refused(f"there is a claim {name} already, with another {others[0]}", hint=hint, file=document.file)
        return Outcome(dict(claim))

    def act() -> ClaimResult:
        return change.claim_result(context, name, change.change_claim(context, name, after))

    moment = format_time(context.now)
    return record_or_queue(context.board, "claim", lambda: {"claim": name, "fields": dump(fields)}, moment, act)


def record_round(context: Context, name: str, given: Round) -> ClaimResult:
    """Record one round of review, and evaluate the claim at once."""

    def after(document: Document, claim: Mapping[str, Any]) -> Outcome:
        change.require_not_killed(name, claim)
        cycle = given.cycle if given.cycle is not None else change.latest_cycle(document)
        grown = states.add_round(claim, given._replace(cycle=cycle), context.now)
        return change.reconcile_claim(context, document, name, grown)

    def act() -> ClaimResult:
        return change.change_unfrozen(context, name, "so no round is recorded", after)

    return record_or_queue(
        context.board, "round", lambda: {"claim": name, "round": dump(given)}, format_time(context.now), act
    )


def check_name(name: str) -> None:
    if not name or name != name.strip() or name[0] == "-" or not name.isprintable() or len(name) > LONGEST:
        raise Refused(f"{value_text(name)} is no id for a claim", hint="a short name on one line, like C-001")


class Imported(NamedTuple):
    """What came of a ledger: the claims that are new, and those that were there already."""

    added: tuple[str, ...]
    known: tuple[str, ...]
    disputed: tuple[str, ...]  # of those that are new


def import_claims(context: Context, found: Mapping[str, Mapping[str, Any]], file: str) -> Imported:
    """Put the claims of a ledger on the blackboard, all in one change. A claim that is there stays as it is."""

    def revised(document: Document) -> tuple[bytes, tuple[Imported, tuple[Event, ...]]]:
        section = document.data.get(SCOPE.section)
        known = {name for _, name, _ in named_records(section, SCOPE.name)}
        new = {name: claim for name, claim in found.items() if name not in known}
        for name, claim in new.items():
            section = put_record(section, name, import_ledger.new_record(claim, format_time(context.now)), SCOPE.name)
        reconciled = evaluate.reconcile({**document.data, SCOPE.section: section}, context.rules, {}, context.now)
        mine = tuple(event for event in reconciled.events if event.name in new)
        event = Event("claim", file, "imported", f"{len(new)} claims were imported from {file}: {', '.join(new)[:400]}")
        disputed = tuple(event.name for event in mine if event.kind == "disputed")
        imported = Imported(tuple(new), tuple(name for name in found if name in known), disputed)
        if not new:
            return document.raw, (imported, ())
        backups.save_backup(context.board.paths, document.raw, context.now)
        for name, copies in reconciled.archived:
            evaluate.archive(context.board.paths, name, copies)
        raw = edit.replace_section(document, SCOPE.section, reconciled.section)
        return raw, (imported, (event, *reconciled.events))

    imported, events = context.board.change(revised)
    log_events(context.board.paths, events, context.now)
    return imported
