"""Stages on the blackboard: on to the next one, new data, and the end, each in one change under the lock."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.model import MAPPINGS
from liza.scopes.change import log_events, save_before, unknown_record
from liza.scopes.claims import evaluate, missing_disputes, stages
from liza.scopes.claims.change import Context, ways_out
from liza.scopes.claims.disputes import NEW_DATA, mark_for_reexamination
from liza.scopes.claims.fields import CLAIMS, is_frozen
from liza.scopes.claims.stages import Blocker
from liza.scopes.records import check_name, find_record, replace_records, usable_records
from liza.scopes.transition import Event, Reconciled
from liza.store.document import Document
from liza.store.edit import revise


class StageResult(NamedTuple):
    """The outcome: the stages and the claims as they are now."""

    name: str
    stages: Any
    claims: Any
    events: tuple[Event, ...]


class Blocked(Refused):
    """While a claim is in dispute the last stage cannot be closed, and none beyond it is entered or closed."""

    exit_code = 3
    status = "disputed"

    def __init__(self, name: str, refused: str, found: list[Blocker]) -> None:
        count = f"{len(found)} claim{'s are' if len(found) > 1 else ' is'} in dispute"
        listed = "; ".join(str(each) for each in found)
        ways = "; ".join(ways_out(found[0].name, found[0].is_taken_out))
        more = f", and so for {', '.join(each.name for each in found[1:])}" if len(found) > 1 else ""
        super().__init__(f"{refused}: {count} ({listed})", hint=f"ways out: {ways}{more}")
        self.refused = refused
        self.found = found
        self.fields = {
            "stage": name,
            "claims": [
                {
                    "claim": each.name,
                    "violated": list(each.violated),
                    "ways_out": list(ways_out(each.name, each.is_taken_out)),
                }
                for each in found
            ],
        }


Archived = tuple[tuple[str, tuple[Mapping[str, Any], ...]], ...]


class Change(NamedTuple):
    """What both sections become, what happened, what is kept of it, and why the command is refused nevertheless."""

    stages: Any
    claims: Any
    events: tuple[Event, ...]
    archived: Archived = ()
    refused: Blocked | None = None


def advance_stage(context: Context, name: str) -> StageResult:
    """Go on to a stage. Claims in dispute are then due for re-examination; past the last stage there must be none."""
    last = context.settings.last_stage

    def after(document: Document, section: Any, known: str) -> Change:
        moved = stages.enter_stage(section, known, last, context.now)
        if stages.is_beyond(section, known, last):
            return _unless_disputed(context, document, moved, known, f"stage {known} comes after {last}")
        found = _reconciled(context, document, moved.section)
        return Change(moved.section, found.section, (*moved.events, *found.events), found.archived)

    return _change_stage(context, name, after)


def add_data(context: Context, reference: str, only: tuple[str, ...]) -> StageResult:
    """Record new data or tools: claims in dispute are due for re-examination, all of them or those that are named."""

    def after(document: Document) -> Change:
        found = _reconciled(context, document, document.data.get("stages"))
        chosen = [_disputed(document, found.section, name) for name in only]
        marked = {
            where: mark_for_reexamination(name, claim, NEW_DATA, reference, context.now)
            for where, name, claim in usable_records(found.section, CLAIMS.scope)
            if is_frozen(claim) and (not chosen or name in chosen)
        }
        claims = replace_records(found.section, {where: each.record for where, each in marked.items()})
        events = (event for each in marked.values() for event in each.events)
        data = Event("stage", reference, "data", f"new data: {reference}")
        section = stages.with_data(document.data.get("stages"), reference, context.now)
        return Change(section, claims, (*found.events, data, *events), found.archived)

    return _change(context, reference, after)


def close_stage(context: Context, name: str, by: str) -> StageResult:
    """End a stage; the last one, or one beyond it, only if no claim is in dispute.

    The claims on the blackboard decide, not the caller.
    """
    last = context.settings.last_stage

    def after(document: Document, section: Any, known: str) -> Change:
        moved = stages.close_stage(section, known, by, context.now)
        if stages.is_last(name, last) or stages.is_beyond(section, known, last):
            return _unless_disputed(context, document, moved, known, f"stage {known} cannot be closed")
        return Change(moved.section, document.data.get("claims"), moved.events)

    return _change_stage(context, name, after)


def _change_stage(context: Context, name: str, after: Callable[[Document, Any, str], Change]) -> StageResult:
    """Change a stage by the name that the blackboard or the settings have for it."""
    check_name(stages.STAGES, name)

    def changed(document: Document) -> Change:
        section = document.data.get("stages")
        return after(document, section, stages.known_name(section, name, context.settings.last_stage))

    return _change(context, name, changed)


def _unless_disputed(context: Context, document: Document, moved: stages.Moved, name: str, refused: str) -> Change:
    """That move, unless a claim is in dispute; one that only turns out to be now is still frozen."""
    section = document.data.get("stages")
    now = _reconciled(context, document, section)
    if found := stages.blockers(missing_disputes.restore_missing(context.board, now.section)):
        return Change(section, now.section, now.events, now.archived, Blocked(name, refused, found))
    return Change(moved.section, now.section, (*now.events, *moved.events), now.archived)


def _change(context: Context, name: str, after: Callable[[Document], Change]) -> StageResult:
    def revised(document: Document) -> tuple[bytes, Change]:
        made = after(document)
        sections = {"stages": made.stages, "claims": made.claims}
        raw = revise(document, {key: value for key, value in sections.items() if value != document.data.get(key)})
        if raw != document.raw:
            save_before(context.board, CLAIMS, document, made.archived, context.now)
        return raw, made

    made = context.board.change(revised)
    log_events(context.board.paths, made.events, context.now)
    if made.refused is not None:
        raise made.refused
    return StageResult(name, made.stages, made.claims, made.events)


def _reconciled(context: Context, document: Document, section: Any) -> Reconciled:
    """The claims after the rules were applied, with the new stages."""
    return evaluate.reconcile_claims({**document.data, "stages": section}, context.rules, context.now)


def _disputed(document: Document, section: Any, name: str) -> str:
    found = find_record(section, name, CLAIMS.scope)
    if found is None:
        raise unknown_record(document, CLAIMS, name)
    if not isinstance(found[1], MAPPINGS) or not is_frozen(found[1]):
        hint = "see which are with: liza claim list"
        raise Refused(f"claim {name} is not in dispute", hint=hint)
    return name
