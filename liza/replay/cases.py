"""Test cases for rules: a file of events, minute by minute, and the trips that they must cause.

    cases:
      - name: the third of its kind trips
        anomalies:
          - {at: 5m, type: retry_loop, task: task-3, error_pattern: timeout after 30 s}
          ...
        trips:
          - {at: 15m, rule: retry_cluster}

Time is virtual, so a week-long case takes a millisecond. All errors in a file are reported at once.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from liza.errors import Unreadable
from liza.model import format_time, parse_time
from liza.replay.playback import CHECK, RECORD, RESOLVE, SET, Event, Played, Trip, play
from liza.rules.evaluate import RuleSet
from liza.rules.same import same_key
from liza.schema import cases as schema
from liza.schema.cases import START, moment_of
from liza.schema.snapshot import locate_faults
from liza.schema.walker import walk
from liza.store.document import Document, parse
from liza.store.versions import read_stable
from liza.text import of_text, value_text

_OF_RECORD = ("timestamp", "task", "reporter", "type", "details")


class Expected(NamedTuple):
    """A required trip; fields that are None are not compared."""

    rule: str
    at: datetime | None = None
    key: str | None = None
    tasks: tuple[str, ...] | None = None
    also: tuple[str, ...] | None = None
    severity: str | None = None


class Case(NamedTuple):
    """The events of a case and the trips that they must cause."""

    name: str
    file: str
    line: int | None
    column: int | None
    start: datetime
    board: Mapping[str, Any]
    events: tuple[Event, ...]
    trips: tuple[Expected, ...]
    alarms: tuple[Expected, ...] | None = None  # None: not compared


class CaseFile(NamedTuple):
    """The cases of a file, and the rules file that they test; None for the shipped rules alone."""

    file: str
    rules: str | None
    cases: tuple[Case, ...]


class Outcome(NamedTuple):
    """The result of a case; it passed if `wrong` is empty."""

    case: Case
    played: Played
    wrong: tuple[str, ...]


def read_cases(file: str) -> CaseFile:
    """Read the cases of a file; `Unreadable` with all errors in it."""
    try:
        document = parse(read_stable(file).raw, file)
    except Unreadable as error:
        form = "a file of cases has the key 'cases:' with a list; see docs/rules.md"
        error.hint = form if os.path.exists(file) else "check its path"
        raise
    faults = [fault for fault in walk(document.data, (), schema.FILE) if fault.level == "error"]
    if faults:
        problems = locate_faults(document, faults)
        raise Unreadable.like(problems[0], problems)
    rules = document.data.get("rules")
    cases = tuple(_case(document, index, given) for index, given in enumerate(document.data["cases"]))
    return CaseFile(file, rules and os.path.join(os.path.dirname(file), rules), cases)


def run_case(case: Case, rules: RuleSet) -> Outcome:
    if case.alarms is not None:
        rules = rules._replace(rules=rules.all)
    played = play(rules, case.board, case.events)
    return Outcome(case, played, (*_differences(case, played), *_alarms_that_differ(case, played)))


# --- comparing ------------------------------------------------------------------------------------------------------


def _differences(case: Case, played: Played) -> Iterator[str]:
    for index in range(max(len(case.trips), len(played.trips))):
        wanted = case.trips[index] if index < len(case.trips) else None
        found = played.trips[index] if index < len(played.trips) else None
        if wanted is None and found is not None:
            yield f"expected no further trip, but {_describe(case, found)}"
        elif found is None and wanted is not None:
            yield f"{wanted.rule} should trip{_when(case, wanted.at)}, but {_nearest(played, wanted.rule)}"
        elif found is not None and wanted is not None:
            yield from _compared(case, wanted, found)


def _alarms_that_differ(case: Case, played: Played) -> Iterator[str]:
    if case.alarms is None:
        return
    found = {each.match.rule.name: each.at for each in played.observed}
    wanted = {each.rule: each.at for each in case.alarms}
    for rule, at in wanted.items():
        if rule not in found:
            yield f"expected the alarm {rule}{_when(case, at)}, but {_nearest(played, rule)}"
        elif at is not None and found[rule] != at:
            yield f"expected the alarm {rule}{_when(case, at)}, but it is raised{_when(case, found[rule])}"
    for rule in found.keys() - wanted.keys():
        yield f"expected no alarm {rule}, but it is raised{_when(case, found[rule])}"


def _compared(case: Case, wanted: Expected, found: Trip) -> Iterator[str]:
    if wanted.rule != found.rule.name or (wanted.at is not None and wanted.at != found.at):
        yield f"{wanted.rule} should trip{_when(case, wanted.at)}, but {_describe(case, found)}"
        return
    also = {each.match.rule.name for each in found.joined}
    if wanted.key is not None and same_key(wanted.key) != same_key(found.match.key or ""):
        yield f"{wanted.rule}: key: expected {value_text(wanted.key)}, got {value_text(found.match.key)}"
    if wanted.tasks is not None and set(wanted.tasks) != set(found.match.tasks):
        yield f"{wanted.rule}: tasks: expected {_list(wanted.tasks)}, got {_list(found.match.tasks)}"
    if wanted.also is not None and set(wanted.also) != also:
        yield f"{wanted.rule}: also: expected {_list(wanted.also)}, got {_list(sorted(also))}"
    if wanted.severity is not None and wanted.severity != found.rule.severity:
        yield f"{wanted.rule}: severity: expected {wanted.severity}, got {found.rule.severity}"


def _describe(case: Case, trip: Trip) -> str:
    return f"{trip.rule.name} trips{_when(case, trip.at)} ({value_text(trip.match.key or trip.rule.description)})"


def _when(case: Case, moment: datetime | None) -> str:
    return "" if moment is None else f" at {span(moment - case.start)}"


def _nearest(played: Played, rule: str) -> str:
    """How near a rule was that did not trip."""
    for each in played.last.progress:
        if each.rule.name == rule:
            about = f" ({value_text(each.key)})" if each.key else ""
            return f"it does not: {of_text(each.value, each.threshold)}{about}, {each.reason}"
    return "no rule has this name"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def span(length: timedelta) -> str:
    """A duration as it is written in a case: 90m, 5m, 12s."""
    seconds = length.total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds}s" if seconds else "0s"


# --- reading --------------------------------------------------------------------------------------------------------


def _case(document: Document, index: int, given: Mapping[str, Any]) -> Case:
    start = (parse_time(given.get("start")) if given.get("start") is not None else None) or START
    line, column = document.locate(("cases", index)) or (None, None)
    events = sorted(_events(given, start), key=lambda event: event.at)
    # On a blackboard records are in the order in which they came, whatever their order here.
    events = [event._replace(key=place) for place, event in enumerate(events)]
    trips = tuple(_expected(given.get("trips"), start))
    alarms = tuple(_expected(given["alarms"], start)) if "alarms" in given else None
    return Case(
        given["name"], document.file, line, column, start, given.get("board") or {}, tuple(events), trips, alarms
    )


def _events(given: Mapping[str, Any], start: datetime) -> Iterator[Event]:
    for stream in ("anomalies", "log", "steps"):
        for index, record in enumerate(given.get(stream) or ()):
            at = _at(record["at"], start)
            yield Event(at, RECORD, stream, _record(record, at, stream), key=index)
    for change in given.get("set") or ():
        fields = {name: value for name, value in change.items() if name != "at"}
        yield Event(_at(change["at"], start), SET, fields=fields)
    for decision in given.get("resolves") or ():
        text, by = (str(decision.get(name) or default) for name, default in (("text", "resolved"), ("by", "test")))
        yield Event(_at(decision["at"], start), RESOLVE, text=text, by=by)
    for check in given.get("checks") or ():
        yield Event(_at(check, start), CHECK)


def _expected(given: Any, start: datetime) -> Iterator[Expected]:
    for wanted in given or ():
        if isinstance(wanted, str):
            yield Expected(wanted)
            continue
        at = None if wanted.get("at") is None else _at(wanted["at"], start)
        also, tasks = (
            tuple(map(str, wanted[name])) if wanted.get(name) is not None else None for name in ("also", "tasks")
        )
        key, severity = (None if wanted.get(name) is None else str(wanted[name]) for name in ("key", "severity"))
        yield Expected(wanted["rule"], at, key, tasks, also, severity)


def _at(value: Any, start: datetime) -> datetime:
    moment = moment_of(value, start)
    return start if moment is None else moment  # None only beyond the end of the calendar


def _record(given: Mapping[str, Any], at: datetime, stream: str) -> dict[str, Any]:
    """A record as an agent would have written it; details may be given beside the other fields."""
    fields = {name: value for name, value in given.items() if name != "at"}
    if stream == "steps":
        return _step(fields, format_time(at))
    if stream == "log":
        return {"timestamp": format_time(at), "agent": "agent", **fields}
    details = {name: fields.pop(name) for name in list(fields) if name not in _OF_RECORD}
    record = {"timestamp": format_time(at), "task": "task-1", "reporter": "agent", **fields}
    if details:
        own = record.get("details")
        record["details"] = {**(own if isinstance(own, dict) else {}), **details}
    return record


def _step(given: Mapping[str, Any], time: str) -> dict[str, Any]:
    """A step as the daemon would have made it of a client's event."""
    from liza.clients.event import Call, Event, Kind, Outcome
    from liza.scopes.sessions.step import steps_of

    outcome = str(given.get("outcome") or "ok")
    call = Call(
        id=None,
        tool=str(given.get("tool") or "Bash"),
        input=given.get("input"),
        result=str(given.get("result") or ""),
        outcome=Outcome(outcome) if outcome in list(Outcome) else Outcome.UNKNOWN,
    )
    event = Event("claude", "PostToolUse", Kind.AFTER, str(given.get("session") or "session-1"), calls=(call,))
    return next(steps_of(event, time))
