"""Cases for rules: a file that says what happens, minute by minute, and which trips must come of it.

    cases:
      - name: the third of its kind trips
        anomalies:
          - {at: 5m, type: retry_loop, task: task-3, error_pattern: timeout after 30 s}
          ...
        trips:
          - {at: 15m, rule: retry_cluster}

Time is virtual, so a case of a week takes a millisecond. Everything wrong with a file is found in one go.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from liza.errors import Unreadable
from liza.model import Path, Problem, format_time, parse_duration, parse_time
from liza.replay.playback import CHECK, RECORD, RESOLVE, SET, Event, Played, Trip, play
from liza.rules.evaluate import RuleSet
from liza.rules.same import same_key
from liza.store.document import Document, parse
from liza.store.versions import read_stable
from liza.text import closest_match, value_text

START = datetime(2025, 1, 1, tzinfo=UTC)

_FILE_KEYS = ("rules", "cases")
_CASE_KEYS = ("name", "start", "board", "anomalies", "log", "set", "resolves", "checks", "trips", "alarms")
_TRIP_KEYS = ("at", "rule", "key", "tasks", "also", "severity")
_OF_RECORD = ("timestamp", "task", "reporter", "type", "details")


class Expected(NamedTuple):
    """A trip that must come; what is None is not asked for."""

    rule: str
    at: datetime | None = None
    key: str | None = None
    tasks: tuple[str, ...] | None = None
    also: tuple[str, ...] | None = None
    severity: str | None = None


class Case(NamedTuple):
    """What happens, and what must come of it."""

    name: str
    file: str
    line: int | None
    column: int | None
    start: datetime
    board: Mapping[str, Any]
    events: tuple[Event, ...]
    trips: tuple[Expected, ...]
    alarms: tuple[Expected, ...] | None = None  # None: whatever alarms there are


class CaseFile(NamedTuple):
    """The cases of a file, and the file of rules that they are about; None for the shipped ones alone."""

    file: str
    rules: str | None
    cases: tuple[Case, ...]


class Outcome(NamedTuple):
    """A case that was tried: nothing in `wrong` means that all came as expected."""

    case: Case
    played: Played
    wrong: tuple[str, ...]


def read_cases(file: str) -> CaseFile:
    """The cases of a file; `Unreadable` with everything that is wrong in it."""
    try:
        document = parse(read_stable(file).raw, file)
    except Unreadable as error:
        error.hint = "a file of cases holds 'cases:' and a list; see docs/rules.md for how a case is written"
        raise
    reader = _Reader(document)
    found = reader.file()
    if reader.problems:
        problems = sorted(reader.problems, key=lambda each: (each.line or 0, each.column or 0))
        first = problems[0]
        raise Unreadable(
            first.message, hint=first.hint, file=file, line=first.line, column=first.column, problems=problems
        )
    return found


def run_case(case: Case, rules: RuleSet) -> Outcome:
    """Play a case and compare."""
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
            yield f"no further trip is expected, but {_said(case, found)}"
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
            yield f"there should be the alarm {rule}{_when(case, at)}, but {_nearest(played, rule)}"
        elif at is not None and found[rule] != at:
            yield f"the alarm {rule} should come{_when(case, at)}, it comes{_when(case, found[rule])}"
    for rule in found.keys() - wanted.keys():
        yield f"no alarm {rule} is expected, but it comes{_when(case, found[rule])}"


def _compared(case: Case, wanted: Expected, found: Trip) -> Iterator[str]:
    if wanted.rule != found.rule.name or (wanted.at is not None and wanted.at != found.at):
        yield f"{wanted.rule} should trip{_when(case, wanted.at)}, but {_said(case, found)}"
        return
    also = {each.match.rule.name for each in found.joined}
    if wanted.key is not None and same_key(wanted.key) != same_key(found.match.key or ""):
        yield f"{wanted.rule}: the key should be {value_text(wanted.key)}, it is {value_text(found.match.key)}"
    if wanted.tasks is not None and set(wanted.tasks) != set(found.match.tasks):
        yield f"{wanted.rule}: the tasks should be {_list(wanted.tasks)}, they are {_list(found.match.tasks)}"
    if wanted.also is not None and set(wanted.also) != also:
        yield f"{wanted.rule}: {_list(wanted.also)} should match while it is open; these do: {_list(sorted(also))}"
    if wanted.severity is not None and wanted.severity != found.rule.severity:
        yield f"{wanted.rule}: the severity should be {wanted.severity}, it is {found.rule.severity}"


def _said(case: Case, trip: Trip) -> str:
    return f"{trip.rule.name} trips{_when(case, trip.at)} ({value_text(trip.match.key or trip.rule.description)})"


def _when(case: Case, moment: datetime | None) -> str:
    return "" if moment is None else f" at {span(moment - case.start)}"


def _nearest(played: Played, rule: str) -> str:
    """How near a rule that did not trip came to it."""
    for each in played.last.progress:
        if each.rule.name == rule:
            about = f" ({value_text(each.key)})" if each.key else ""
            return f"it does not: {each.value:g} of {each.threshold:g}{about}, {each.reason}"
    return "there is no such rule"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def span(length: timedelta) -> str:
    """A length of time as it is written in a case: 90m, 5m, 12s."""
    seconds = length.total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds}s" if seconds else "0s"


# --- reading --------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads a file of cases and collects what is wrong with it."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def wrong(self, path: Path, message: str, hint: str | None = None) -> None:
        line, column = self.document.locate(path) or (None, None)
        self.problems.append(Problem(message, self.document.file, line, column, hint))

    def file(self) -> CaseFile:
        data = self.document.data
        self.known(data, _FILE_KEYS, ())
        rules = data.get("rules")
        if rules is not None and not isinstance(rules, str):
            self.wrong(("rules",), f"rules is {value_text(rules)}, expected is the path of a file of rules")
            rules = None
        elif rules is not None:
            rules = os.path.join(os.path.dirname(self.document.file), rules)
        cases = []
        for index, given in self.items(data.get("cases"), ("cases",), "cases"):
            cases.append(self.case(given, ("cases", index)))
        if not cases and not self.problems:
            self.wrong(("cases",), "there are no cases in it", "see docs/rules.md for how a case is written")
        names = [case.name for case in cases]
        for index, name in enumerate(names):
            if name in names[:index]:
                self.wrong(("cases", index, "name"), f"another case is already called {value_text(name)}")
        return CaseFile(self.document.file, rules, tuple(cases))

    def case(self, given: Mapping[str, Any], path: Path) -> Case:
        self.known(given, _CASE_KEYS, path)
        start = START
        if given.get("start") is not None:
            start = parse_time(given["start"]) or START
            if parse_time(given["start"]) is None:
                self.wrong((*path, "start"), f"start is {value_text(given['start'])}, expected is an ISO 8601 time")
        name = given.get("name")
        if not isinstance(name, str) or not name.strip():
            self.wrong((*path, "name") if "name" in given else path, "a case needs a name")
            name = ""
        board = given.get("board")
        if board is not None and not isinstance(board, Mapping):
            self.wrong((*path, "board"), f"board is {value_text(board)}, expected is a mapping of sections")
        board = board if isinstance(board, Mapping) else {}
        if not isinstance(board.get("anomalies"), list | None):
            self.wrong((*path, "board", "anomalies"), "anomalies is not a list")
            board = {**board, "anomalies": []}
        if "trips" not in given and "alarms" not in given:
            self.wrong(
                path, f"the case {value_text(name)} does not say what it expects", "trips: [] if nothing is to trip"
            )
        line, column = self.document.locate(path) or (None, None)
        events = sorted(self.events(given, path, start), key=lambda event: event.at)
        # On a blackboard records stand in the order in which they came, whatever their order here.
        events = [event._replace(key=index) for index, event in enumerate(events)]
        expected = tuple(self.trips(given.get("trips"), (*path, "trips"), start))
        alarms = tuple(self.trips(given["alarms"], (*path, "alarms"), start)) if "alarms" in given else None
        return Case(name, self.document.file, line, column, start, board, tuple(events), expected, alarms)

    def events(self, given: Mapping[str, Any], path: Path, start: datetime) -> Iterator[Event]:
        for stream in ("anomalies", "log"):
            for index, record in self.items(given.get(stream), (*path, stream), stream):
                at = self.moment(record, (*path, stream, index), start)
                yield Event(at, RECORD, stream, _record(record, at, stream), key=index)
        for index, change in self.items(given.get("set"), (*path, "set"), "set"):
            at = self.moment(change, (*path, "set", index), start)
            if "circuit_breaker" in change:
                self.wrong((*path, "set", index), "circuit_breaker cannot be set in between", "say it with resolves:")
            yield Event(at, SET, fields={name: value for name, value in change.items() if name != "at"})
        for index, decision in self.items(given.get("resolves"), (*path, "resolves"), "resolves"):
            self.known(decision, ("at", "text", "by"), (*path, "resolves", index))
            at = self.moment(decision, (*path, "resolves", index), start)
            yield Event(at, RESOLVE, text=str(decision.get("text") or "resolved"), by=str(decision.get("by") or "test"))
        checks = given.get("checks")
        for index, check in enumerate(checks if isinstance(checks, list) else ()):
            yield Event(self.moment({"at": check}, (*path, "checks"), start, (*path, "checks", index)), CHECK)
        if checks is not None and not isinstance(checks, list):
            self.wrong((*path, "checks"), f"checks is {value_text(checks)}, expected is a list of times like [30m, 2h]")

    def trips(self, given: Any, path: Path, start: datetime) -> Iterator[Expected]:
        if given is not None and not isinstance(given, list):
            self.wrong(path, f"{path[-1]} is {value_text(given)}, expected is a list", "[] if nothing is to come")
            return
        for index, wanted in enumerate(given or ()):
            where = (*path, index)
            if isinstance(wanted, str):
                yield Expected(wanted)
                continue
            if not isinstance(wanted, Mapping) or not isinstance(wanted.get("rule"), str):
                self.wrong(where, "a trip is the name of a rule, or a mapping with rule: in it")
                continue
            self.known(wanted, _TRIP_KEYS, where)
            at = self.moment(wanted, where, start) if wanted.get("at") is not None else None
            also, tasks = (
                self.names(wanted[name], (*where, name)) if name in wanted else None for name in ("also", "tasks")
            )
            key, severity = (None if wanted.get(name) is None else str(wanted[name]) for name in ("key", "severity"))
            yield Expected(wanted["rule"], at, key, tasks, also, severity)

    def names(self, given: Any, path: Path) -> tuple[str, ...]:
        if isinstance(given, list):
            return tuple(map(str, given))
        self.wrong(path, f"{path[-1]} is {value_text(given)}, expected is a list of names")
        return ()

    def moment(self, given: Mapping[str, Any], path: Path, start: datetime, where: Path | None = None) -> datetime:
        """When something happens: so long after the start, or at a time."""
        at = given.get("at")
        if type(at) is int and at == 0:
            return start
        seconds = parse_duration(at) if isinstance(at, str) else None
        moment = parse_time(at)
        try:
            if seconds is not None:
                return start + timedelta(seconds=seconds)
        except OverflowError:
            moment = None
        if moment is None:
            where = where or ((*path, "at") if "at" in given else path)
            message = "at is missing" if at is None else f"at is {value_text(at)}"
            self.wrong(where, f"{message}: a time since the start is expected, like 5m or 2h")
            return start
        return moment

    def items(self, given: Any, path: Path, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        if given is not None and not isinstance(given, list):
            self.wrong(path, f"{name} is {value_text(given)}, expected is a list")
            return
        for index, item in enumerate(given or ()):
            if isinstance(item, Mapping):
                yield index, item
            else:
                self.wrong((*path, index), f"a mapping is expected here, this is {value_text(item)}")

    def known(self, given: Mapping[str, Any], keys: Sequence[str], path: Path) -> None:
        for key in given:
            if key not in keys:
                meant = closest_match(key, keys)
                hint = f"did you mean {meant}?" if meant else f"known are: {', '.join(keys)}"
                self.wrong((*path, key), f"the key {value_text(key)} is not known", hint)


def _record(given: Mapping[str, Any], at: datetime, stream: str) -> dict[str, Any]:
    """A record as an agent would have written it then; details may be written beside the other fields."""
    fields = {name: value for name, value in given.items() if name != "at"}
    if stream == "log":
        return {"timestamp": format_time(at), "agent": "agent", **fields}
    details = {name: fields.pop(name) for name in list(fields) if name not in _OF_RECORD}
    record = {"timestamp": format_time(at), "task": "task-1", "reporter": "agent", **fields}
    if details:
        own = record.get("details")
        record["details"] = {**(own if isinstance(own, dict) else {}), **details}
    return record
