"""Stages on the blackboard: on to the next one, new data, and the end, each in one change under the lock."""

from collections.abc import Callable
from typing import Any, NamedTuple

from liza.blackboard import backups
from liza.blackboard.document import Document
from liza.blackboard.edit import revise
from liza.errors import Refused
from liza.model import MAPPINGS
from liza.protocols import scopes
from liza.protocols.changing import log, unknown
from liza.protocols.disputes import freezing, judging, missing, stages
from liza.protocols.disputes.guarding import Context, ways_out
from liza.protocols.disputes.stages import Blocker
from liza.protocols.scopes import Event
from liza.text import shown


class Staged(NamedTuple):
    """What came of it: the stages and the claims as they are now."""

    name: str
    stages: Any
    claims: Any
    events: tuple[Event, ...]


class Blocked(Refused):
    """The last stage does not close while a claim is in dispute."""

    exit_code = 3
    status = "disputed"

    def __init__(self, name: str, found: list[Blocker]) -> None:
        count = f"{len(found)} claim{'s are' if len(found) > 1 else ' is'} in dispute"
        listed = "; ".join(str(each) for each in found)
        ways = "; ".join(ways_out(found[0].name))
        more = f", and so for {', '.join(each.name for each in found[1:])}" if len(found) > 1 else ""
        super().__init__(f"stage {name} does not close: {count} ({listed})", hint=f"ways out: {ways}{more}")
        self.stage = name
        self.found = found
        self.fields = {
            "stage": name,
            "claims": [
                {"claim": each.name, "violated": list(each.violated), "ways_out": list(ways_out(each.name))}
                for each in found
            ],
        }


def advance(context: Context, name: str) -> Staged:
    """Go on to a stage. Every claim in dispute is to be re-examined then."""
    _named(name)

    def after(document: Document) -> tuple[Any, Any, tuple[Event, ...]]:
        section = document.data.get("stages")
        known = stages.called(section, name, context.settings.last_stage)
        moved = stages.advanced(section, known, context.now)
        claims, events = _settled(context, document, moved.section)
        return moved.section, claims, (*moved.events, *events)

    return _change(context, name, after)


def add_data(context: Context, reference: str, only: tuple[str, ...]) -> Staged:
    """New data or tools have come: claims in dispute are to be re-examined, all of them or those that are named."""

    def after(document: Document) -> tuple[Any, Any, tuple[Event, ...]]:
        claims, before = _settled(context, document, document.data.get("stages"))
        chosen = [_disputed(document, claims, name) for name in only]
        events: list[Event] = []

        def change(name: str, claim: Any) -> Any:
            if (chosen and name not in chosen) or not freezing.is_frozen(claim):
                return claim
            outcome = freezing.marked(name, claim, "new_data", reference, context.now)
            events.extend(outcome.events)
            return outcome.record

        marked = scopes.each(claims, judging.SCOPE.name, change)
        told = Event("stage", reference, "data", f"new data: {reference}")
        section = stages.with_data(document.data.get("stages"), reference, context.now)
        return section, marked, (*before, told, *events)

    return _change(context, reference, after)


def close(context: Context, name: str, by: str) -> Staged:
    """End a stage; the last one only if no claim is in dispute. What is asked is the ledger, not what somebody says."""
    _named(name)
    blocked: list[Blocked] = []

    def after(document: Document) -> tuple[Any, Any, tuple[Event, ...]]:
        blocked.clear()
        section = document.data.get("stages")
        known = stages.called(section, name, context.settings.last_stage)
        if not stages.is_last(name, context.settings.last_stage):
            moved = stages.closed(section, known, by, context.now)
            return moved.section, document.data.get("claims"), moved.events
        claims, events = _settled(context, document, section)
        if found := stages.blockers(missing.restored(context.board, claims)):
            blocked.append(Blocked(known, found))
            return section, claims, events
        moved = stages.closed(section, known, by, context.now)
        return moved.section, claims, (*events, *moved.events)

    staged = _change(context, name, after)
    if blocked:
        raise blocked[0]
    return staged


def _change(context: Context, name: str, after: Callable[[Document], tuple[Any, Any, tuple[Event, ...]]]) -> Staged:
    last: list[tuple[Any, Any, tuple[Event, ...]]] = []

    def revised(document: Document) -> bytes:
        last[:] = [after(document)]
        sections = {"stages": last[0][0], "claims": last[0][1]}
        raw = revise(document, {key: value for key, value in sections.items() if value != document.data.get(key)})
        if raw != document.raw:
            backups.keep(context.board.paths, document.raw, context.now)
        return raw

    context.board.change(revised)
    log(context.board.paths, last[0][2], context.now)
    return Staged(name, *last[0])


def _settled(context: Context, document: Document, section: Any) -> tuple[Any, tuple[Event, ...]]:
    """The claims as they are once everything is judged, with the stages as they are to be."""
    found = judging.settle(document.data.get("claims"), context.rules, {}, context.now, section)
    return found.section, found.events


def _disputed(document: Document, section: Any, name: str) -> str:
    found = scopes.find(section, name, judging.SCOPE.name)
    if found is None:
        raise unknown(document, judging.SCOPE, name)
    if not isinstance(found[1], MAPPINGS) or not freezing.is_frozen(found[1]):
        hint = "see which are with: liza claim list"
        raise Refused(f"claim {name} is not in dispute: there is nothing to re-examine", hint=hint)
    return name


def _named(name: str) -> None:
    if not name or name != name.strip() or name[0] == "-" or not name.isprintable() or len(name) > 100:
        raise Refused(f"{shown(name)} is no name for a stage", hint="a short name on one line, like S3")
