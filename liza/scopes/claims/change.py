"""What all commands about claims have in common: one claim is changed under the lock, and a frozen one is guarded."""

from collections.abc import Callable, Mapping
from datetime import datetime
from shlex import quote
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.model import MAPPINGS, Progress
from liza.rules.evaluate import RuleSet
from liza.scopes import records
from liza.scopes.change import Outcome, change, unknown
from liza.scopes.claims import derived as its
from liza.scopes.claims import evaluate, freeze, missing, states
from liza.scopes.claims.settings import Settings, settings_of
from liza.scopes.claims.stages import current
from liza.store.board import Board
from liza.store.document import Document
from liza.text import value_text


class Context(NamedTuple):
    """What every command works with."""

    board: Board
    rules: RuleSet
    now: datetime

    @property
    def settings(self) -> Settings:
        return settings_of(self.rules)


class Done(NamedTuple):
    """A claim after something was done to it, or as it is now."""

    name: str
    claim: Mapping[str, Any]
    events: tuple[records.Event, ...] = ()
    changes: tuple[str, ...] = ()  # what the last round was seen to change
    near: tuple[Progress, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        return str(self.claim.get("status") or freeze.OPEN)

    @property
    def frozen(self) -> bool:
        return freeze.is_frozen(self.claim)

    @property
    def ways_out(self) -> tuple[str, ...]:
        return ways_out(self.name, freeze.is_taken_out(self.claim)) if self.frozen else ()

    @property
    def tripped(self) -> bool:
        """Just now."""
        return any(event.kind == "disputed" for event in self.events)


class Frozen(Refused):
    """The claim is in dispute, so nothing is done to it but by one of the ways out."""

    exit_code = 3
    status = "disputed"

    def __init__(self, name: str, claim: Mapping[str, Any], verb: str) -> None:
        since = (found[1] if (found := freeze.open_dispute(claim)) else {}).get("timestamp")
        taken = freeze.is_taken_out(claim)
        broken = ", ".join(freeze.violations(claim))
        why = claim.get("dispute_reason") or broken or "its status says so"
        said = f"claim {name} is frozen, {verb}: {freeze.DISPUTED}{f' since {since}' if since else ''}"
        said += f", and {broken} by hand" if taken else ""
        ways = ways_out(name, taken)
        super().__init__(f"{said} ({value_text(why, 200)})", hint=f"ways out: {'; '.join(ways)}")
        self.fields = {"claim": name, "depends_on": [], "ways_out": list(ways)}


def ways_out(name: str, is_taken_out: bool = False) -> tuple[str, ...]:
    """The three commands that end a dispute; only a human overrides one that was deleted by hand."""
    resolve = f"liza claim resolve {quote(name)}"
    override = f"{resolve} --override STATUS -m WHY --by NAME"
    return (override,) if is_taken_out else (f"{resolve} --new-data REF", f"{resolve} --drop -m WHY", override)


# --- changing one -----------------------------------------------------------------------------------------------------


def on_living(context: Context, name: str, verb: str, after: Callable[[Document, Mapping[str, Any]], Outcome]) -> Done:
    """Change a claim that is not frozen. One that only turns out to be in dispute now is frozen first, and refused.

    One whose dispute somebody took out by hand is refused as it stands: nothing is put back for anybody.
    """
    refused: list[Frozen] = []

    def guarded(document: Document, claim: Mapping[str, Any] | None) -> Outcome:
        refused.clear()
        lost = missing.named(context.board, name)
        if lost is not None and claim is None:
            raise Frozen(name, lost.put_back(None), verb)
        first = settled(context, document, name, known(document, name))
        stands = first.record if lost is None else lost.put_back(first.record)
        if freeze.is_frozen(stands):
            refused.append(Frozen(name, stands, verb))
            return first
        return joined(first, after(document, first.record))

    outcome = changed(context, name, guarded)
    if refused:
        raise refused[0]
    return done(context, name, outcome)


def require_not_frozen(context: Context, document: Document, name: str) -> None:
    """`Frozen` where `on_living` would refuse, without the change that it makes first."""
    lost, claim = missing.named(context.board, name), evaluate.understood(document, name)
    now = settled(context, document, name, claim).record if claim is not None else None
    found = lost.put_back(now) if lost is not None else now
    if found is not None and freeze.is_frozen(found):
        raise Frozen(name, found, "so no round is entered")


def settled(context: Context, document: Document, name: str, claim: Mapping[str, Any]) -> Outcome:
    settings = context.settings
    judge = evaluate.judge_of(context.rules, settings, context.now)
    return evaluate.settled(name, claim, settings, judge, current(document.data.get("stages")), context.now)


def changed(context: Context, name: str, after: Callable[[Document, Mapping[str, Any] | None], Outcome]) -> Outcome:
    return change(context.board, evaluate.SCOPE, name, after, context.now, evaluate.archive)


def joined(first: Outcome, then: Outcome) -> Outcome:
    """One thing after the other."""
    return Outcome(then.record, first.events + then.events, first.archived + then.archived)


def done(context: Context, name: str, outcome: Outcome) -> Done:
    claim = outcome.record
    changes = its.state_changes(claim)
    return Done(
        name=name,
        claim=claim,
        events=outcome.events,
        changes=changes[-1] if changes else (),
        near=evaluate.nearness(name, claim, context.rules, context.settings, context.now),
        notes=context.settings.notes,
    )


# --- what a command may ask for -------------------------------------------------------------------------------------


def known(document: Document, name: str) -> Mapping[str, Any]:
    claim = evaluate.understood(document, name)
    if claim is None:
        raise unknown(document, evaluate.SCOPE, name)
    return claim


def must_be_there(document: Document, names: tuple[str, ...]) -> None:
    for name in names:
        if records.find(document.data.get(evaluate.SCOPE.section), name, evaluate.SCOPE.name) is None:
            raise unknown(document, evaluate.SCOPE, name)


def living(name: str, claim: Mapping[str, Any]) -> None:
    if freeze.status_of(claim) == freeze.KILLED:
        hint = "add it anew under another id: liza claim add ID --text TEXT"
        raise Refused(f"claim {name} was killed, nothing more is done to it", hint=hint)


def cycle_on(document: Document) -> int | None:
    """The last cycle that any claim on the blackboard has seen."""
    found = records.named(document.data.get(evaluate.SCOPE.section), evaluate.SCOPE.name)
    return states.latest_cycle([claim for _, _, claim in found if isinstance(claim, MAPPINGS)])
