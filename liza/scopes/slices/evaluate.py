"""Asking the rules about slices: for the command that records an attempt, and for whoever looks at the blackboard."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from liza.errors import Refused, Unreadable
from liza.model import MAPPINGS, Match, Record, Snapshot
from liza.rules.evaluate import RuleSet, evaluate
from liza.scopes import change as changing
from liza.scopes import records as scopes
from liza.scopes.slices import derived as rec
from liza.scopes.slices import states
from liza.scopes.slices.names import file_name
from liza.store.document import Document
from liza.store.paths import Paths
from liza.text import value_text

if TYPE_CHECKING:
    from liza.model import Fault

SCOPE = scopes.Scope("slice", "slices")


def _observed(records: Sequence[Record], rules: RuleSet, now: datetime) -> Sequence[Match]:
    """What holds of the attempts of one slice. Silences are not asked: these rules are not for silencing."""
    snapshot = Snapshot(b"", {}, {}, (), derived={"attempts": tuple(records)})
    return evaluate(rules.of_scope(rules.scoped.get("attempts", ())), snapshot, now).observed


def judge_of(rules: RuleSet, now: datetime) -> states.Judge:
    """What stops a slice."""

    def judge(records: Sequence[Record]) -> Sequence[Match]:
        found = _observed(records, rules, now)
        return [match for match in found if match.rule.action == "STOP" and match.rule.mode == "act"]

    return judge


def alerts(name: str, record: Mapping[str, Any], rules: RuleSet, now: datetime) -> list[tuple[str, str]]:
    """What is worth telling of a slice that is not stopped: the rule, and in words."""
    if rec.status_of(record) != rec.ACTIVE:
        return []
    found = _observed(rec.derived(name, record), rules, now)
    told = [(match.rule.name, states.words(match)) for match in found if match.rule.action == "ALERT"]
    odd = [each.get("result") for each in rec.records_of(record, "attempts") if each.get("result") not in rec.RESULTS]
    if odd:
        text = f"{len(odd)} of its attempts count for nothing, with a result of {value_text(odd[0])}: see liza validate"
        told.append(("attempts_not_counted", text))
    return told


def understood(document: Document, name: str, *, of_status: bool = True) -> Mapping[str, Any] | None:
    """The slice by that name; `Unreadable` where its record cannot be understood, and then it counts as stopped."""
    found = scopes.find(document.data.get(SCOPE.section), name, SCOPE.name)
    if found is None:
        return None
    where, record = found
    wrong = fault(record)
    if wrong is None or (wrong[0] == "status" and not of_status):
        return record
    field, message, hint = wrong
    line, column = document.locate((SCOPE.section, where, field)) or (None, None)
    hint = f"{hint}; until then slice {name} counts as stopped"
    raise Unreadable(f"slice {name}: {message}", hint=hint, file=document.file, line=line, column=column)


def unknown(document: Document, name: str) -> Refused:
    """There is no such slice."""
    error = changing.unknown(document, SCOPE, name)
    if not (error.hint or "").startswith("did you mean"):
        error.hint = "see which there are with: liza attempt status"
    return error


def fault(record: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """What keeps a slice from being judged: the field, what is wrong, and what mends it."""
    for field in rec.LISTS:
        if not isinstance(record.get(field), list | None):
            return field, f"{field} is not a list", f"write {field} as a list, each item behind '- '"
    if record.get("status") not in (None, *rec.STATUSES):
        return "status", "its status is not known", f"one of: {', '.join(rec.STATUSES)}"
    return None


# --- for whoever looks at all of them -------------------------------------------------------------------------------


def derive(section: Any, rules: RuleSet, environment: Mapping[str, str]) -> tuple[Record, ...]:
    """The attempts that rules see: those of slices that are not stopped."""
    found: list[Record] = []
    for _, name, record in scopes.named(section, SCOPE.name):
        if isinstance(record, MAPPINGS) and rec.status_of(record) == rec.ACTIVE:
            found += rec.derived(name, record)
    return tuple(record._replace(key=index) for index, record in enumerate(found))


def settle(section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime) -> scopes.Settled:
    """What the section is to be, as it stands."""
    judge = judge_of(rules, now)
    events: list[scopes.Event] = []
    archived: list[tuple[str, tuple[Mapping[str, Any], ...]]] = []

    def change(name: str, record: Mapping[str, Any]) -> Mapping[str, Any]:
        if fault(record) is not None:
            return record  # it cannot be judged, which `validate` and `status` say
        outcome = states.settled(name, record, judge, now)
        events.extend(outcome.events)
        archived.extend([(name, outcome.archived)] if outcome.archived else [])
        return outcome.record

    return scopes.Settled(scopes.each(section, SCOPE.name, change), tuple(events), tuple(archived))


def open_trips(section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime) -> dict[str, str]:
    """The slices that are stopped, each with its reason."""
    return {
        f"slice {name} {_since(record)}": f"slice {name} is {_status(record)}: {reason(record)}"
        for _, name, record in scopes.named(section, SCOPE.name)
        if isinstance(record, MAPPINGS) and rec.status_of(record) != rec.ACTIVE
    }


def _since(record: Mapping[str, Any]) -> str:
    trip = rec.trip_of(record) or {}
    return str(trip.get("trip_id") or trip.get("stopped") or record.get("status"))


def _status(record: Mapping[str, Any]) -> str:
    return rec.status_of(record)


def reason(record: Mapping[str, Any]) -> str:
    """Why a slice is stopped."""
    if record.get("status") not in (None, *rec.STATUSES):
        return f"its status is {record.get('status')!r}, which is not known"
    return str((rec.trip_of(record) or {}).get("reason") or "by hand")


def causes(
    section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime
) -> Iterator[tuple[str, str, str]]:
    """What people should know of slices that go on: tests that cannot be run, and files that nobody may change."""
    for _, name, record in scopes.named(section, SCOPE.name):
        if not isinstance(record, MAPPINGS):
            continue
        wrong = fault(record)
        if wrong is not None:
            yield "slice_not_judged", name, f"slice {name} cannot be judged: {wrong[1]}"
            continue
        for rule, text in alerts(name, record, rules, now):
            yield rule, name, f"slice {name}: {text}"
        told, listed = rec.counts_of(name, record).failed, rec.listed_counts(record).failed
        if told > listed:
            text = (
                f"slice {name}: its counters tell of {told} failures, its attempts of {listed}; the higher one counts"
            )
            yield "attempts_not_listed", name, text
        files = [str(each.get("file")) for each in rec.records_of(record, "scope_violations")]
        if files:
            yield "scope_violated", name, f"slice {name} changed files outside its scope: {', '.join(files[:5])}"


def follow_up(paths: Paths, done: scopes.Settled) -> None:
    """Write the reports on slices that were stopped just now; one that cannot be written is written later."""
    from liza.scopes.slices.diagnostic_reports import write_missing

    stopped = {event.name for event in done.events if event.kind == "stopped"}
    for _, name, record in scopes.named(done.section, SCOPE.name):
        if name in stopped and isinstance(record, MAPPINGS):
            write_missing(paths, name, record)


def faults(section: Any, rules: RuleSet, beside: Mapping[str, Any]) -> "Iterator[Fault]":
    """What is wrong with the slices, for `validate`."""
    from liza.scopes.slices import validate

    return validate.faults(section)


def archive(paths: Paths, name: str, entries: Sequence[Mapping[str, Any]]) -> None:
    """Keep attempts that leave the blackboard."""
    changing.keep(paths, os.path.join(paths.runs, "slices", f"{file_name(name)}.jsonl"), "attempts", entries)
