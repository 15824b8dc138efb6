"""The slices as a scope of the engine: what a check, a gate and the inbox ask of them."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from liza.model import MAPPINGS, Fault
from liza.rules.evaluate import RuleSet
from liza.scopes.evaluator import Evaluator
from liza.scopes.records import mappings_of, named_records
from liza.scopes.rules_file import read_rules
from liza.scopes.scope import Alarm, Entries, OpenTrip, Scope, Sections, open_trip_of, status_hint
from liza.scopes.slices import derived, evaluate, states
from liza.scopes.slices.fields import ACTIVE, SLICES, status_of, stop_reason
from liza.scopes.transition import Reconciled
from liza.store.paths import Paths


def _open_trip(slice_: Mapping[str, Any], settings: None) -> OpenTrip | None:
    status = status_of(slice_)
    return open_trip_of(slice_, status, stop_reason(slice_)) if status != ACTIVE else None


def _alarms(name: str, slice_: Mapping[str, Any], evaluator: Evaluator[None]) -> Iterator[Alarm]:
    """Tests that cannot be run, failures that are not listed, and changed files outside the scope."""
    if any(SLICES.unusable_fields(slice_)):
        return
    for rule, text in evaluate.alerts(name, slice_, evaluator):
        yield Alarm(rule, name, f"slice {name}: {text}")
    counted, listed = derived.count_attempts(name, slice_).failed, derived.count_listed(slice_).failed
    if counted > listed:
        text = f"slice {name}: its counters have {counted} failures, its attempts {listed}; the higher number counts"
        yield Alarm("attempts_not_listed", name, text)
    files = [str(each.get("file")) for each in mappings_of(slice_, "scope_violations")]
    if files:
        yield Alarm("scope_violated", name, f"slice {name} changed files that are not allowed: {', '.join(files[:5])}")


def _faults(sections: Sections, rules: RuleSet) -> Iterator[Fault]:
    from liza.scopes.slices import validate  # for `liza validate` alone

    return validate.faults(sections.get(SLICES.name))


def _entries() -> Entries:
    from liza.scopes.slices import record

    return {
        "attempts": record.enter_attempts,
        "start": record.enter_start,
        "arch_stop": record.enter_arch_stop,
        "justification": record.enter_justification,
    }


def _follow_up(paths: Paths, done: Reconciled, now: datetime) -> None:
    """Write the reports on slices that were just stopped; one that cannot be written now is written later."""
    from liza.scopes.slices.diagnostic_reports import write_missing_reports

    stopped = {event.name for event in done.events if event.kind == "stopped"}
    for _, name, slice_ in named_records(done.section, SLICES.scope):
        if name in stopped and isinstance(slice_, MAPPINGS):
            write_missing_reports(paths, name, slice_)


SCOPE: Scope[None] = Scope(
    section=SLICES,
    settings_of=lambda rules, environment: None,  # what stops a slice is fixed by its protocol
    evaluator_for=lambda rules, settings, now: evaluate.evaluator_for(rules, now),
    derive=lambda name, slice_, settings: derived.derive_attempts(name, slice_) if status_of(slice_) == ACTIVE else (),
    reconcile=lambda name, slice_, evaluator, sections: states.reconcile_record(name, slice_, evaluator),
    open_trip=_open_trip,
    alarms=_alarms,
    faults=_faults,
    rules_of=lambda paths: read_rules(paths.rules, protocol="attempts"),
    how_to_continue=lambda name, slice_: status_hint("attempt status --slice", name),
    entries=_entries,
    follow_up=_follow_up,
)
