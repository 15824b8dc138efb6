"""The rules about loops, and how close a loop is to each of them."""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.rules.evaluate import RuleSet
from liza.schema.actions import Action
from liza.schema.loop_statuses import CLOSED
from liza.scopes.evaluator import Evaluator
from liza.scopes.loops import derived, states
from liza.scopes.loops.fields import LOOPS, status_of
from liza.scopes.loops.settings import Settings, rules_for, settings_of
from liza.store.paths import Paths

DISABLED = "CIRCUIT_BREAKER_DISABLED is set: no loop is ever opened"


class Signal(NamedTuple):
    """A rule, and how close a loop is to it."""

    rule: str
    value: float
    threshold: float
    matched: bool
    action: str
    text: str

    @property
    def warns(self) -> bool:
        """It matches, and only alerts."""
        return self.matched and self.action == Action.ALERT


def load_rules(paths: Paths, options: Mapping[str, Any] | None = None) -> tuple[RuleSet, Settings]:
    """The rules and the settings for loops, from the files, the environment and `options`."""
    from liza.scopes.rules_file import circuit_config, read_rules

    rules = read_rules(paths.rules, protocol=LOOPS.name, config=circuit_config())
    return rules, settings_of(rules, os.environ, options)


def setting_warnings(settings: Settings) -> Iterator[str]:
    """What every command about loops warns of, above all that the breaker is off."""
    yield from settings.notes
    if settings.disabled:
        yield DISABLED


def evaluator_for(rules: RuleSet, settings: Settings, now: datetime) -> Evaluator[Settings]:
    return Evaluator(rules_for(rules, settings), settings, "iterations", Action.OPEN, now)


def signals(name: str, loop: Mapping[str, Any], evaluator: Evaluator[Settings]) -> tuple[Signal, ...]:
    """The rules that a closed loop has come nearer to."""
    if status_of(loop) != CLOSED or loop.get("completed_at"):
        return ()
    found = evaluator.verdict(derived.derive_with_blanks(name, loop, evaluator.settings))
    texts = {match.rule.name: states.trip_reason(match) for match in found.observed}
    return tuple(
        Signal(
            each.rule.name,
            each.value,
            each.threshold,
            each.rule.name in texts,
            each.rule.action,
            texts.get(each.rule.name, each.rule.description),
        )
        for each in found.progress
        if each.value > 0
    )
