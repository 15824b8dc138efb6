"""Evaluate the rules about claims: for the command that records a round, and for checks of the whole section."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.errors import Unreadable
from liza.model import MAPPINGS, Fault, Progress, Record
from liza.rules.evaluate import RuleSet
from liza.scopes.change import read_usable, reconcile_each
from liza.scopes.claims import derived, freeze, states
from liza.scopes.claims.fields import DISPUTED, KILLED, is_frozen, marks_of, open_dispute, status_of, unusable_fields
from liza.scopes.claims.settings import Settings, rules_for, settings_of
from liza.scopes.claims.stages import closed_over_dispute, current_stage
from liza.scopes.evaluator import Evaluator
from liza.scopes.records import Reconciled, Scope, named_records
from liza.store.document import Document
from liza.store.paths import Paths

SCOPE = Scope("claim", "claims", "liza claim list", "nothing can be done to the claim")


def evaluator_for(rules: RuleSet, settings: Settings, now: datetime) -> Evaluator[Settings]:
    return Evaluator(rules_for(rules, settings), settings, "rounds", "FREEZE", now)


def rule_progress(name: str, claim: Mapping[str, Any], evaluator: Evaluator[Settings]) -> tuple[Progress, ...]:
    """How near the rules are to freezing a claim."""
    if is_frozen(claim) or status_of(claim) == KILLED:
        return ()
    records = derived.derive_rounds(name, claim, evaluator.settings)
    return tuple(each for each in evaluator.verdict(records).progress if each.value > 0) if records else ()


def read_record(document: Document, name: str) -> Mapping[str, Any] | None:
    """The claim with that id; `Unreadable` where its record cannot be used, or where two have the id."""
    same = [where for where, label, _ in named_records(document.data.get(SCOPE.section), SCOPE.name) if label == name]
    claim = read_usable(document, SCOPE, name, unusable_fields if len(same) < 2 else lambda _: ())
    if len(same) > 1:  # a change of the copy would not reach the one that is frozen
        line, column = document.locate((SCOPE.section, same[1])) or (None, None)
        hint = f"give one of them another id; until then nothing can be done to {name}"
        message = f"there are {len(same)} claims with the id {name}"
        raise Unreadable(message, hint=hint, file=document.file, line=line, column=column)
    return claim


# --- the whole section ----------------------------------------------------------------------------------------------


def derive(section: Any, rules: RuleSet, environment: Mapping[str, str]) -> tuple[Record, ...]:
    """The rounds that rules see: those of claims that are neither frozen nor killed."""
    settings = settings_of(rules)
    found: list[Record] = []
    for _, name, claim in named_records(section, SCOPE.name):
        if isinstance(claim, MAPPINGS) and not is_frozen(claim) and not any(unusable_fields(claim)):
            found += derived.derive_rounds(name, claim, settings) if status_of(claim) != KILLED else []
    return tuple(record._replace(key=index) for index, record in enumerate(found))


def reconcile(sections: Mapping[str, Any], rules: RuleSet, environment: Mapping[str, str], now: datetime) -> Reconciled:
    """The section after the rules were applied to every claim, in the stage that is current."""
    evaluator, stage = evaluator_for(rules, settings_of(rules), now), current_stage(sections.get("stages"))
    return reconcile_each(
        sections,
        SCOPE,
        unusable_fields,
        lambda name, claim: states.reconcile_record(name, claim, evaluator, stage),
    )


def reconciled_section(document: Document, rules: RuleSet, now: datetime) -> Any:
    """The claims after the rules were applied; nothing is written."""
    return reconcile(document.data, rules, {}, now).section


def open_trips(section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime) -> dict[str, str]:
    """The claims in dispute: the id of each trip, and its text. Also one whose status was rewritten by hand."""
    found: dict[str, str] = {}
    for where, name, claim in named_records(section, SCOPE.name):
        if isinstance(claim, MAPPINGS) and is_frozen(claim):
            entry = open_dispute(claim)
            since = entry[1].get("timestamp") if entry is not None else DISPUTED
            why = claim.get("dispute_reason")
            reason = " ".join(why[:2000].split())[:300] if isinstance(why, str) else "its status says so"
            found[f"claim {name or where} {since}"] = f"claim {name or where} is {DISPUTED}: {reason}"
    return found


def alarms(
    sections: Mapping[str, Any], rules: RuleSet, environment: Mapping[str, str], now: datetime
) -> Iterator[tuple[str, str, str]]:
    """Alarms: frozen claims that were changed, claims to re-examine, and those that cannot be evaluated."""
    section = sections.get(SCOPE.section)
    if (over := closed_over_dispute(sections.get("stages"), section, settings_of(rules).last_stage)) is not None:
        yield "stage_closed_over_dispute", over.stage, str(over)[:400]
    for where, label, claim in named_records(section, SCOPE.name):
        name = label or str(where)
        if not isinstance(claim, MAPPINGS):
            continue
        for field, expected in unusable_fields(claim):
            yield "claim_not_judged", name, f"claim {name} cannot be evaluated: {field}: expected {expected}"
        for each in freeze.violations(claim):
            yield "claim_freeze_violated", f"{name} {each}", f"claim {name} is frozen, and {each} by hand"
        if marks := marks_of(claim):
            why = ", ".join(str(each.get("detail") or each.get("trigger")) for each in marks)[:300]
            yield "claim_reexamine", name, f"claim {name} is to be re-examined: {why}"


def faults(sections: Mapping[str, Any], rules: RuleSet) -> Iterator[Fault]:
    """Every fault of the section, for `validate`."""
    from liza.scopes.claims import validate

    return validate.faults(sections.get(SCOPE.section), rules, sections)


def follow_up(paths: Paths, done: Reconciled) -> None:
    """Nothing: the claim itself holds both positions."""


def archive(paths: Paths, name: str, entries: Sequence[Mapping[str, Any]]) -> None:
    """Keep a copy of a claim that is frozen."""
    from liza.scopes.claims import frozen_copies

    frozen_copies.keep_copy(paths, name, entries)
