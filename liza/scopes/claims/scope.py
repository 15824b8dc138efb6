"""The claims as a scope of the engine: what a check, a gate and the inbox ask of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from liza.model import Fault, Record
from liza.rules.evaluate import RuleSet
from liza.scopes.claims import derived, evaluate, freeze, states
from liza.scopes.claims.fields import CLAIMS, DISPUTED, KILLED, is_frozen, marks_of, open_dispute, status_of
from liza.scopes.claims.settings import Settings, settings_of
from liza.scopes.claims.stages import closed_over_dispute, current_stage
from liza.scopes.evaluator import Evaluator
from liza.scopes.rules_file import read_rules
from liza.scopes.scope import Alarm, Entries, Gates, Lost, OpenTrip, Scope, Sections
from liza.scopes.transition import Transition
from liza.store.board import Board


def _derive(name: str, claim: Mapping[str, Any], settings: Settings) -> Sequence[Record]:
    """The rounds of a claim that is neither frozen nor killed."""
    if is_frozen(claim) or status_of(claim) == KILLED or any(CLAIMS.unusable_fields(claim)):
        return ()
    return derived.derive_rounds(name, claim, settings)


def _reconcile(name: str, claim: Mapping[str, Any], evaluator: Evaluator[Settings], sections: Sections) -> Transition:
    return states.reconcile_record(name, claim, evaluator, current_stage(sections.get("stages")))


def _open_trip(claim: Mapping[str, Any], settings: Settings) -> OpenTrip | None:
    """The dispute of a claim, also of one whose status was rewritten by hand."""
    if not is_frozen(claim):
        return None
    entry, why = open_dispute(claim), claim.get("dispute_reason")
    since = entry[1].get("timestamp") if entry is not None else DISPUTED
    reason = " ".join(why[:2000].split())[:300] if isinstance(why, str) else "its status was set by hand"
    broken = "".join(f", and {each} by hand" for each in freeze.violations(claim))
    return OpenTrip(str(since), f"{DISPUTED}{broken}", reason)


def _alarms(name: str, claim: Mapping[str, Any], evaluator: Evaluator[Settings]) -> Iterator[Alarm]:
    """A frozen claim that was changed, and a claim to re-examine."""
    for each in freeze.violations(claim):
        yield Alarm("claim_freeze_violated", f"{name} {each}", f"claim {name} is frozen, and {each} by hand")
    if marks := marks_of(claim):
        why = ", ".join(str(each.get("detail") or each.get("trigger")) for each in marks)[:300]
        yield Alarm("claim_reexamine", name, f"claim {name} is due for re-examination: {why}")


def _section_alarms(sections: Sections, settings: Settings) -> Iterator[Alarm]:
    over = closed_over_dispute(sections.get("stages"), sections.get("claims"), settings.last_stage)
    if over is not None:
        yield Alarm("stage_closed_over_dispute", over.stage, str(over)[:400])


def _faults(sections: Sections, rules: RuleSet) -> Iterator[Fault]:
    from liza.scopes.claims import validate  # for `liza validate` alone

    return validate.faults(sections.get("claims"), rules, sections)


def _gates() -> Gates:
    from liza.scopes.claims import stage_gate

    return {"stage": stage_gate.check_stage}


def _how_to_continue(name: str, claim: Mapping[str, Any] | None) -> str:
    from liza.scopes.claims.change import ways_out

    return f"leave it, or: {'; '.join(ways_out(name, claim is None))}"


def _entries() -> Entries:
    from liza.scopes.claims import record

    return {"claim": record.enter_claim, "round": record.enter_round}


def _missing(board: Board, sections: Sections) -> Iterator[Lost]:
    from liza.scopes.claims.missing_disputes import find_missing

    for each in find_missing(board, sections.get("claims")):
        yield Lost(each.name, each.since, str(each))


SCOPE: Scope[Settings] = Scope(
    section=CLAIMS,
    settings_of=lambda rules, environment: settings_of(rules),
    evaluator_for=evaluate.evaluator_for,
    derive=_derive,
    reconcile=_reconcile,
    open_trip=_open_trip,
    alarms=_alarms,
    section_alarms=_section_alarms,
    faults=_faults,
    rules_of=lambda paths: read_rules(paths.rules, protocol="disputes"),
    how_to_continue=_how_to_continue,
    gates=_gates,
    entries=_entries,
    missing=_missing,
)
