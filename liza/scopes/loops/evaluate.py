"""Evaluate the rules about loops: for the command that records an iteration, and for checks of the whole section."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Fault, Record
from liza.rules.evaluate import RuleSet
from liza.scopes.change import append_archive, read_usable, reconcile_each
from liza.scopes.evaluator import Evaluator
from liza.scopes.loops import derived, states
from liza.scopes.loops.fields import CLOSED, OPEN, status_of, unusable_fields
from liza.scopes.loops.settings import Settings, rules_for, settings_of
from liza.scopes.records import Reconciled, Scope, named_records
from liza.store.document import Document
from liza.store.paths import Paths
from liza.text import file_name

SCOPE = Scope("loop", "loops", "liza loop list", "the loop counts as OPEN")
DISABLED = "CIRCUIT_BREAKER_DISABLED is set: no loop is ever opened"


class Signal(NamedTuple):
    """A rule, and how near a loop is to it."""

    rule: str
    value: float
    threshold: float
    matched: bool
    action: str
    text: str

    @property
    def warns(self) -> bool:
        """It matches, and only alerts."""
        return self.matched and self.action == "ALERT"


def load_rules(paths: Paths, options: Mapping[str, Any] | None = None) -> tuple[RuleSet, Settings]:
    """The rules and the settings for loops, from the files, the environment and `options`."""
    from liza.scopes.rules_file import read_rules

    rules = read_rules(paths.rules, protocol=SCOPE.section, config=os.environ.get("CIRCUIT_CONFIG") or None)
    return rules, settings_of(rules, os.environ, options)


def setting_warnings(settings: Settings) -> Iterator[str]:
    """What every command about loops warns of, above all that the breaker is off."""
    yield from settings.notes
    if settings.disabled:
        yield DISABLED


def evaluator_for(rules: RuleSet, settings: Settings, now: datetime) -> Evaluator[Settings]:
    return Evaluator(rules_for(rules, settings), settings, "iterations", "OPEN", now)


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


def read_record(document: Document, name: str) -> Mapping[str, Any] | None:
    """The loop with that name; `Unreadable` where its record cannot be used, and then it counts as open."""
    return read_usable(document, SCOPE, name, unusable_fields)


# --- the whole section ----------------------------------------------------------------------------------------------


def derive(section: Any, rules: RuleSet, environment: Mapping[str, str]) -> tuple[Record, ...]:
    """The iterations that rules see: those of loops that are closed and not completed."""
    settings = settings_of(rules, environment)
    found: list[Record] = []
    for _, name, loop in named_records(section, SCOPE.name):
        if isinstance(loop, MAPPINGS) and status_of(loop) == CLOSED and not loop.get("completed_at"):
            records = derived.derive_iterations(name, loop, settings)
            if records and not records[-1].fields["completed"]:
                found += records
    return tuple(record._replace(key=index) for index, record in enumerate(found))


def reconcile(sections: Mapping[str, Any], rules: RuleSet, environment: Mapping[str, str], now: datetime) -> Reconciled:
    """The section after the rules were applied to every loop."""
    evaluator = evaluator_for(rules, settings_of(rules, environment), now)
    return reconcile_each(
        sections,
        SCOPE,
        unusable_fields,
        lambda name, loop: states.reconcile_record(name, loop, evaluator),
    )


def open_trips(section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime) -> dict[str, str]:
    """The loops that are open: the id of each trip, and its text."""
    if settings_of(rules, environment).disabled:
        return {}
    return {
        f"loop {name} {loop.get('last_trigger_time') or loop.get('status')}": f"loop {name} is OPEN: {_reason(loop)}"
        for _, name, loop in named_records(section, SCOPE.name)
        if isinstance(loop, MAPPINGS) and status_of(loop) == OPEN
    }


def _reason(loop: Mapping[str, Any]) -> str:
    return str(loop.get("trigger_reason") or f"its status is {loop.get('status')!r}")


def alarms(
    sections: Mapping[str, Any], rules: RuleSet, environment: Mapping[str, str], now: datetime
) -> Iterator[tuple[str, str, str]]:
    """Alarms: loops that have run for long, and a breaker that is turned off."""
    settings = settings_of(rules, environment)
    if settings.disabled:
        yield "loops_disabled", "", DISABLED
    for _, name, loop in named_records(sections.get(SCOPE.section), SCOPE.name):
        if isinstance(loop, MAPPINGS):
            for signal in signals(name, loop, evaluator_for(rules, settings, now)):
                if signal.warns:
                    yield signal.rule, name, f"loop {name}: {signal.text}"


def faults(sections: Mapping[str, Any], rules: RuleSet) -> Iterator[Fault]:
    """None beyond those that the schema finds."""
    return iter(())


def follow_up(paths: Paths, done: Reconciled) -> None:
    """Nothing: an open loop has no report."""


def archive(paths: Paths, name: str, entries: Sequence[Mapping[str, Any]]) -> None:
    """Keep iterations that leave the blackboard."""
    append_archive(paths, f"{path_prefix(paths, name)}.jsonl", "iterations", entries)


def path_prefix(paths: Paths, name: str) -> str:
    """The path of the files about a loop, without their endings."""
    return os.path.join(paths.runs, SCOPE.section, file_name(name, safe=" _.-~", longest=200, kept=187))
