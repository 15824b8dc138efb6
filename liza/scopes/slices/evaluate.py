"""The rules about slices, and what people should know of a slice that is not stopped."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from liza.rules.evaluate import RuleSet
from liza.schema.actions import Action
from liza.scopes.evaluator import Evaluator, scoped_rules
from liza.scopes.records import mappings_of
from liza.scopes.slices import derived, states
from liza.scopes.slices.fields import ACTIVE, RESULTS, status_of
from liza.text import value_text


def evaluator_for(rules: RuleSet, now: datetime) -> Evaluator[None]:
    return Evaluator(scoped_rules(rules, "attempts"), None, "attempts", Action.STOP, now)


def alerts(name: str, record: Mapping[str, Any], evaluator: Evaluator[None]) -> list[tuple[str, str]]:
    """What people should know of a slice that is not stopped: the rule, and its text."""
    if status_of(record) != ACTIVE:
        return []
    observed = evaluator.verdict(derived.derive_attempts(name, record)).observed
    found = [(match.rule.name, states.trip_reason(match)) for match in observed if match.rule.action == Action.ALERT]
    odd = [each.get("result") for each in mappings_of(record, "attempts") if each.get("result") not in RESULTS]
    if odd:
        text = f"{len(odd)} of its attempts are not counted (unknown result {value_text(odd[0])}); see: liza validate"
        found.append(("attempts_not_counted", text))
    return found
