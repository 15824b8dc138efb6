"""What all commands about claims have in common: one claim is changed under the lock, and a frozen one is guarded."""

from collections.abc import Callable, Mapping
from datetime import datetime
from shlex import quote
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.model import MAPPINGS, Progress
from liza.rules.evaluate import RuleSet
from liza.scopes.change import Change, change_record, unknown_record
from liza.scopes.claims import cycles, derived, evaluate, freeze, missing_disputes, states
from liza.scopes.claims.fields import CLAIMS, DISPUTED, KILLED, OPEN, is_frozen, is_taken_out, open_dispute, status_of
from liza.scopes.claims.settings import Settings, settings_of
from liza.scopes.claims.stages import current_stage
from liza.scopes.records import find_record, named_records
from liza.scopes.rules_file import read_rules
from liza.scopes.transition import Event, Transition
from liza.store.board import Board
from liza.store.document import Document
from liza.text import text_of, value_text


class Context(NamedTuple):
    """What every command works with."""

    board: Board
    rules: RuleSet
    now: datetime

    @property
    def settings(self) -> Settings:
        return settings_of(self.rules)


def context_of(board: Board, now: datetime) -> Context:
    """For a gate or the inbox, which read the rules themselves."""
    return Context(board, read_rules(board.paths.rules, protocol="disputes"), now)


class ClaimResult(NamedTuple):
    """A claim after something was done to it, or as it is now."""

    name: str
    claim: Mapping[str, Any]
    events: tuple[Event, ...] = ()
    changes: tuple[str, ...] = ()  # what the last round was seen to change
    near: tuple[Progress, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        return str(self.claim.get("status") or OPEN)

    @property
    def frozen(self) -> bool:
        return is_frozen(self.claim)

    @property
    def ways_out(self) -> tuple[str, ...]:
        return ways_out(self.name, is_taken_out(self.claim)) if self.frozen else ()

    @property
    def tripped(self) -> bool:
        """Just now."""
        return any(event.kind == "disputed" for event in self.events)


class Frozen(Refused):
    """The claim is in dispute, so nothing is done to it but by one of the ways out."""

    exit_code = 3
    status = "disputed"

    def __init__(self, name: str, claim: Mapping[str, Any], verb: str) -> None:
        since = (found[1] if (found := open_dispute(claim)) else {}).get("timestamp")
        taken = is_taken_out(claim)
        broken = ", ".join(freeze.violations(claim))
        why = claim.get("dispute_reason") or broken or "its status was set by hand"
        text = f"claim {name} is frozen, {verb}: {DISPUTED}{f' since {since}' if since else ''}"
        text += f", and {broken} by hand" if taken else ""
        ways = ways_out(name, taken)
        super().__init__(f"{text} ({value_text(why, 200)})", hint=f"ways out: {'; '.join(ways)}")
        self.fields = {"claim": name, "depends_on": [], "ways_out": list(ways)}


def ways_out(name: str, is_taken_out: bool = False) -> tuple[str, ...]:
    """The three commands that end a dispute; only a human overrides one that was deleted by hand."""
    resolve = f"liza claim resolve {quote(name)}"
    override = f"{resolve} --override STATUS -m WHY --by NAME"
    return (override,) if is_taken_out else (f"{resolve} --new-data REF", f"{resolve} --drop -m WHY", override)


def reexamine_command(name: str, trigger: Any) -> str:
    """The command that records a re-examination."""
    words = f"{quote(name)} --trigger {quote(text_of(trigger))} --resolved|--unresolved -m NOTE --by NAME"
    return f"liza claim reexamine {words}"


# --- changing one -----------------------------------------------------------------------------------------------------


def change_unfrozen(
    context: Context, name: str, verb: str, after: Callable[[Document, Mapping[str, Any]], Transition]
) -> ClaimResult:
    """Change a claim that is not frozen. One that only turns out to be in dispute now is frozen first, and refused.

    One whose dispute was deleted by hand is refused as it is: nothing is restored.
    """

    def guarded(document: Document, claim: Mapping[str, Any] | None) -> Transition:
        lost = missing_disputes.find_missing_of(context.board, name)
        if lost is not None and claim is None:
            raise Frozen(name, lost.put_back(None), verb)
        first = reconcile_claim(context, document, name, require_claim(document, name))
        present = first.record if lost is None else lost.put_back(first.record)
        if is_frozen(present):
            return first._replace(refused=Frozen(name, present, verb))
        return first.then(after(document, first.record))

    return claim_result(context, name, change_claim(context, name, guarded))


def require_not_frozen(context: Context, document: Document, name: str) -> None:
    """`Frozen` where `change_unfrozen` would refuse, without the change that it makes first."""
    lost, claim = missing_disputes.find_missing_of(context.board, name), evaluate.read_claim(document, name)
    now = reconcile_claim(context, document, name, claim).record if claim is not None else None
    found = lost.put_back(now) if lost is not None else now
    if found is not None and is_frozen(found):
        raise Frozen(name, found, "so no round is recorded")


def reconcile_claim(context: Context, document: Document, name: str, claim: Mapping[str, Any]) -> Transition:
    evaluator = evaluate.evaluator_for(context.rules, context.settings, context.now)
    return states.reconcile_record(name, claim, evaluator, current_stage(document.data.get("stages")))


def change_claim(context: Context, name: str, change: Change) -> Transition:
    """Change a claim whatever state it is in; `change` sees to what cannot be used."""
    return change_record(context.board, CLAIMS, name, change, context.now, ignored=None)


def claim_result(context: Context, name: str, transition: Transition) -> ClaimResult:
    claim = transition.record
    changes = derived.state_changes(claim)
    return ClaimResult(
        name=name,
        claim=claim,
        events=transition.events,
        changes=changes[-1] if changes else (),
        near=evaluate.rule_progress(name, claim, evaluate.evaluator_for(context.rules, context.settings, context.now)),
        notes=context.settings.notes,
    )


# --- what a command may ask for -------------------------------------------------------------------------------------


def require_claim(document: Document, name: str) -> Mapping[str, Any]:
    claim = evaluate.read_claim(document, name)
    if claim is None:
        raise unknown_record(document, CLAIMS, name)
    return claim


def require_claims(document: Document, names: tuple[str, ...]) -> None:
    for name in names:
        if find_record(document.data.get(CLAIMS.name), name, CLAIMS.scope) is None:
            raise unknown_record(document, CLAIMS, name)


def require_not_killed(name: str, claim: Mapping[str, Any]) -> None:
    if status_of(claim) == KILLED:
        hint = "add it again under another id: liza claim add ID --text TEXT"
        raise Refused(f"claim {name} was killed and cannot be changed", hint=hint)


def latest_cycle(document: Document) -> int | None:
    """The last cycle that any claim on the blackboard has seen."""
    return cycles.latest_cycle(listed_claims(document))


def listed_claims(document: Document) -> list[Mapping[str, Any]]:
    found = named_records(document.data.get(CLAIMS.name), CLAIMS.scope)
    return [claim for _, _, claim in found if isinstance(claim, MAPPINGS)]
