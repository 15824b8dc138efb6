"""Claims on the blackboard: one more round, an edit, a decision, each in one change under the lock."""

from collections.abc import Callable, Mapping
from datetime import datetime
from shlex import quote
from typing import Any, NamedTuple

from liza.blackboard.board import Board
from liza.blackboard.document import Document
from liza.errors import Refused
from liza.model import MAPPINGS, Progress
from liza.protocols import scopes
from liza.protocols.changing import Outcome, change, unknown
from liza.protocols.disputes import claims, freezing, judging
from liza.protocols.disputes import rounds as its
from liza.protocols.disputes.claims import Fields, Round
from liza.protocols.disputes.settings import Settings, settings_of
from liza.protocols.disputes.stages import current
from liza.rules.evaluate import RuleSet
from liza.text import shown

LONGEST = 100  # characters of an id


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
    events: tuple[scopes.Event, ...] = ()
    changes: tuple[str, ...] = ()  # what the last round was seen to change
    near: tuple[Progress, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        return str(self.claim.get("status") or freezing.OPEN)

    @property
    def frozen(self) -> bool:
        return freezing.is_frozen(self.claim)

    @property
    def tripped(self) -> bool:
        """Just now."""
        return any(event.kind == "disputed" for event in self.events)


class Frozen(Refused):
    """The claim is in dispute, so nothing is done to it but by one of the ways out."""

    exit_code = 3
    status = "disputed"

    def __init__(self, name: str, claim: Mapping[str, Any], verb: str) -> None:
        since = (found[1] if (found := freezing.open_dispute(claim)) else {}).get("timestamp")
        why = claim.get("dispute_reason") or "its status says so"
        said = f"claim {name} is frozen, {verb}: {freezing.DISPUTED}{f' since {since}' if since else ''}"
        super().__init__(f"{said} ({shown(why, 200)})", hint=f"ways out: {'; '.join(ways_out(name))}")
        self.fields = {"claim": name, "ways_out": list(ways_out(name))}


def ways_out(name: str) -> tuple[str, str, str]:
    """The three commands that end a dispute."""
    resolve = f"liza claim resolve {quote(name)}"
    return f"{resolve} --new-data REF", f"{resolve} --drop -m WHY", f"{resolve} --override STATUS -m WHY --by NAME"


# --- adding and reviewing -------------------------------------------------------------------------------------------


def add(context: Context, name: str, fields: Fields) -> Done:
    """Put a claim on the blackboard; one that is there with the same words stays as it is."""
    _named(name)

    def after(document: Document, claim: Mapping[str, Any] | None) -> Outcome:
        _there(document, fields.depends_on or ())
        if claim is None:
            return Outcome(claims.new(fields, context.now))
        others = [key for key, value in fields.given().items() if value != claim.get(key)]
        if others:
            hint = f"see it with: liza claim show {quote(name)}   (change it with: liza claim edit {quote(name)} ...)"
            raise Refused(f"there is a claim {name} already, with another {others[0]}", hint=hint, file=document.file)
        return Outcome(dict(claim))

    outcome = _change(context, name, after)
    return _done(context, name, outcome)


def review(context: Context, name: str, given: Round) -> Done:
    """Record one round of review, and judge the claim at once."""

    def after(document: Document, claim: Mapping[str, Any]) -> Outcome:
        _living(name, claim)
        known = _records(document)
        cycle = given.cycle if given.cycle is not None else claims.latest_cycle(known)
        grown = claims.with_round(claim, given._replace(cycle=cycle), context.now)
        return _settled(context, document, name, grown)

    return _on_living(context, name, "so no round is recorded", after)


# --- deciding -------------------------------------------------------------------------------------------------------


def _on_living(context: Context, name: str, verb: str, after: Callable[[Document, Mapping[str, Any]], Outcome]) -> Done:
    """Change a claim that is not frozen. One that only turns out to be in dispute now is frozen first, and refused."""
    refused: list[Frozen] = []

    def guarded(document: Document, claim: Mapping[str, Any] | None) -> Outcome:
        refused.clear()
        first = _settled(context, document, name, _known(document, name))
        if freezing.is_frozen(first.record):
            refused.append(Frozen(name, first.record, verb))
            return first
        then = after(document, first.record)
        return Outcome(then.record, first.events + then.events)

    outcome = _change(context, name, guarded)
    if refused:
        raise refused[0]
    return _done(context, name, outcome)


def _settled(context: Context, document: Document, name: str, claim: Mapping[str, Any]) -> Outcome:
    settings = context.settings
    judge = judging.judge_of(context.rules, settings, context.now)
    return judging.settled(name, claim, settings, judge, current(document.data.get("stages")), context.now)


def _change(context: Context, name: str, after: Callable[[Document, Mapping[str, Any] | None], Outcome]) -> Outcome:
    return change(context.board, judging.SCOPE, name, after, context.now)


def _done(context: Context, name: str, outcome: Outcome) -> Done:
    claim = outcome.record
    changes = its.state_changes(claim)
    return Done(
        name=name,
        claim=claim,
        events=outcome.events,
        changes=changes[-1] if changes else (),
        near=judging.nearness(name, claim, context.rules, context.settings, context.now),
        notes=context.settings.notes,
    )


# --- what a command may ask for -------------------------------------------------------------------------------------


def _named(name: str) -> None:
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > LONGEST:
        raise Refused(f"{shown(name)} is no id for a claim", hint="a short name on one line, like C-001")


def _known(document: Document, name: str) -> Mapping[str, Any]:
    claim = judging.understood(document, name)
    if claim is None:
        raise unknown(document, judging.SCOPE, name)
    return claim


def _there(document: Document, names: tuple[str, ...]) -> None:
    for name in names:
        if scopes.find(document.data.get(judging.SCOPE.section), name, judging.SCOPE.name) is None:
            raise unknown(document, judging.SCOPE, name)


def _living(name: str, claim: Mapping[str, Any]) -> None:
    if freezing.status_of(claim) == freezing.KILLED:
        hint = "add it anew under another id: liza claim add ID --text TEXT"
        raise Refused(f"claim {name} was killed, nothing more is done to it", hint=hint)


def _records(document: Document) -> list[Mapping[str, Any]]:
    found = scopes.named(document.data.get(judging.SCOPE.section), judging.SCOPE.name)
    return [claim for _, _, claim in found if isinstance(claim, MAPPINGS)]
