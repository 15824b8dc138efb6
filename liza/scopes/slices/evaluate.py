"""Evaluate the rules about slices: for the command that records an attempt, and for checks of the whole section."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.model import MAPPINGS, Fault, Record
from liza.rules.evaluate import RuleSet
from liza.scopes.change import append_archive, read_usable, reconcile_each
from liza.scopes.evaluator import Evaluator
from liza.scopes.records import Reconciled, Scope, mappings_of, named_records
from liza.scopes.slices import derived, states
from liza.scopes.slices.fields import ACTIVE, RESULTS, open_trip, status_of, stop_reason, unusable_fields
from liza.store.document import Document
from liza.store.paths import Paths
from liza.text import file_name, value_text

SCOPE = Scope("slice", "slices", "liza attempt status", "the slice counts as STOPPED")


def evaluator_for(rules: RuleSet, now: datetime) -> Evaluator[None]:
    return Evaluator(rules.of_scope(rules.scoped.get("attempts", ())), None, "attempts", "STOP", now)


def alerts(name: str, record: Mapping[str, Any], evaluator: Evaluator[None]) -> list[tuple[str, str]]:
    """What people should know of a slice that is not stopped: the rule, and its text."""
    if status_of(record) != ACTIVE:
        return []
    observed = evaluator.verdict(derived.derive_attempts(name, record)).observed
    found = [(match.rule.name, states.trip_reason(match)) for match in observed if match.rule.action == "ALERT"]
    odd = [each.get("result") for each in mappings_of(record, "attempts") if each.get("result") not in RESULTS]
    if odd:
        text = f"{len(odd)} of its attempts are not counted (unknown result {value_text(odd[0])}); see: liza validate"
        found.append(("attempts_not_counted", text))
    return found


def read_record(document: Document, name: str, *, ignored: Sequence[str] = ()) -> Mapping[str, Any] | None:
    """The slice with that name; `Unreadable` where its record cannot be used, and then it counts as stopped."""
    return read_usable(document, SCOPE, name, unusable_fields, ignored)


# --- the whole section ----------------------------------------------------------------------------------------------


def derive(section: Any, rules: RuleSet, environment: Mapping[str, str]) -> tuple[Record, ...]:
    """The attempts that rules see: those of slices that are not stopped."""
    found: list[Record] = []
    for _, name, record in named_records(section, SCOPE.name):
        if isinstance(record, MAPPINGS) and status_of(record) == ACTIVE:
            found += derived.derive_attempts(name, record)
    return tuple(record._replace(key=index) for index, record in enumerate(found))


def reconcile(sections: Mapping[str, Any], rules: RuleSet, environment: Mapping[str, str], now: datetime) -> Reconciled:
    """The section after the rules were applied to every slice."""
    evaluator = evaluator_for(rules, now)
    return reconcile_each(
        sections,
        SCOPE,
        unusable_fields,
        lambda name, record: states.reconcile_record(name, record, evaluator),
    )


def open_trips(section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime) -> dict[str, str]:
    """The slices that are stopped: the id of each trip, and its text."""
    return {
        f"slice {name} {_trip_key(record)}": f"slice {name} is {status_of(record)}: {stop_reason(record)}"
        for _, name, record in named_records(section, SCOPE.name)
        if isinstance(record, MAPPINGS) and status_of(record) != ACTIVE
    }


def _trip_key(record: Mapping[str, Any]) -> str:
    trip = open_trip(record) or {}
    return str(trip.get("trip_id") or trip.get("stopped") or record.get("status"))


def alarms(
    sections: Mapping[str, Any], rules: RuleSet, environment: Mapping[str, str], now: datetime
) -> Iterator[tuple[str, str, str]]:
    """Alarms: slices that cannot be evaluated, tests that cannot be run, and changed files outside the scope."""
    evaluator = evaluator_for(rules, now)
    for _, name, record in named_records(sections.get(SCOPE.section), SCOPE.name):
        if not isinstance(record, MAPPINGS):
            continue
        unusable = next(unusable_fields(record), None)
        if unusable is not None:
            field, expected = unusable
            yield "slice_not_judged", name, f"slice {name} cannot be evaluated: {field}: expected {expected}"
            continue
        for rule, text in alerts(name, record, evaluator):
            yield rule, name, f"slice {name}: {text}"
        counted, listed = derived.count_attempts(name, record).failed, derived.count_listed(record).failed
        if counted > listed:
            text = (
                f"slice {name}: its counters have {counted} failures, its attempts {listed}; the higher number counts"
            )
            yield "attempts_not_listed", name, text
        files = [str(each.get("file")) for each in mappings_of(record, "scope_violations")]
        if files:
            yield "scope_violated", name, f"slice {name} changed files outside its scope: {', '.join(files[:5])}"


def follow_up(paths: Paths, done: Reconciled) -> None:
    """Write the reports on slices that were just stopped; one that cannot be written now is written later."""
    from liza.scopes.slices.diagnostic_reports import write_missing_reports

    stopped = {event.name for event in done.events if event.kind == "stopped"}
    for _, name, record in named_records(done.section, SCOPE.name):
        if name in stopped and isinstance(record, MAPPINGS):
            write_missing_reports(paths, name, record)


def faults(sections: Mapping[str, Any], rules: RuleSet) -> Iterator[Fault]:
    """Every fault of the section, for `validate`."""
    from liza.scopes.slices import validate

    return validate.faults(sections.get(SCOPE.section))


def archive(paths: Paths, name: str, entries: Sequence[Mapping[str, Any]]) -> None:
    """Keep attempts that leave the blackboard."""
    append_archive(paths, f"{path_prefix(paths, name)}.jsonl", "attempts", entries)


def path_prefix(paths: Paths, name: str) -> str:
    """The path of the files about a slice, without their endings."""
    return os.path.join(paths.runs, SCOPE.section, file_name(name))
