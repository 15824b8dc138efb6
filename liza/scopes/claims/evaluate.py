"""The rules about claims, and the claims as the next check finds them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from liza.model import Progress
from liza.rules.evaluate import RuleSet
from liza.schema.actions import Action
from liza.scopes.change import read_usable, reconcile_each
from liza.scopes.claims import derived, states
from liza.scopes.claims.fields import CLAIMS, KILLED, is_frozen, status_of
from liza.scopes.claims.settings import Settings, rules_for, settings_of
from liza.scopes.claims.stages import current_stage
from liza.scopes.evaluator import Evaluator
from liza.scopes.scope import Sections
from liza.scopes.transition import Reconciled
from liza.store.document import Document


def evaluator_for(rules: RuleSet, settings: Settings, now: datetime) -> Evaluator[Settings]:
    return Evaluator(rules_for(rules, settings), settings, "rounds", Action.FREEZE, now)


def rule_progress(name: str, claim: Mapping[str, Any], evaluator: Evaluator[Settings]) -> tuple[Progress, ...]:
    """How near the rules are to freezing a claim."""
    if is_frozen(claim) or status_of(claim) == KILLED:
        return ()
    records = derived.derive_rounds(name, claim, evaluator.settings)
    return tuple(each for each in evaluator.verdict(records).progress if each.value > 0) if records else ()


def read_claim(document: Document, name: str) -> Mapping[str, Any] | None:
    """The claim with that id; `Unreadable` where its record cannot be used, or where two have the id."""
    return read_usable(document, CLAIMS, name)


def reconcile_claims(sections: Sections, rules: RuleSet, now: datetime) -> Reconciled:
    """The claims after the rules were applied, in the stage that is current."""
    evaluator, stage = evaluator_for(rules, settings_of(rules), now), current_stage(sections.get("stages"))
    claims = sections.get(CLAIMS.name)
    return reconcile_each(claims, CLAIMS, lambda name, claim: states.reconcile_record(name, claim, evaluator, stage))
