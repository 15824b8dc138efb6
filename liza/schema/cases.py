"""What belongs into a file of cases: what happens, minute by minute, and which trips it must lead to."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from liza.model import Fault, Path, list_in, parse_duration, parse_time
from liza.schema import kinds
from liza.schema.walker import Each, Faults, Table, unexpected, walk
from liza.text import value_text

START = datetime(2025, 1, 1, tzinfo=UTC)  # of a case that names no other


def moment_of(at: Any, start: datetime) -> datetime | None:
    """When something happens: a time since the start, or a date."""
    if type(at) is int and at == 0:
        return start
    seconds = parse_duration(at) if isinstance(at, str) else None
    try:
        return parse_time(at) if seconds is None else start + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _at(value: Any) -> str | None:
    return None if moment_of(value, START) is not None else "a time since the start, like 5m or 2h"


def _start(value: Any) -> str | None:
    return None if parse_time(value) is not None else "an ISO 8601 time"


def _change(change: Mapping[str, Any], path: Path) -> Faults:
    if "circuit_breaker" in change:
        yield Fault(path, "circuit_breaker cannot be set during a case", "use resolves: for a decision")


def _case(case: Mapping[str, Any], path: Path) -> Faults:
    for index, check in enumerate(list_in(case.get("checks"))):
        yield from walk(check, (*path, "checks", index), _at)
    if "trips" not in case and "alarms" not in case:
        message = f"the case {value_text(case.get('name'))} has neither trips nor alarms"
        yield Fault(path, message, "write trips: [] if no trip is expected")
    for name in ("trips", "alarms"):
        for index, wanted in enumerate(list_in(case.get(name))):
            where = (*path, name, index)
            if isinstance(wanted, Mapping):
                yield from walk(wanted, where, TRIP)
            elif not isinstance(wanted, str):
                yield unexpected(where, "the name of a rule, or a mapping with rule: in it", wanted)


def _file(file: Mapping[str, Any], path: Path) -> Faults:
    cases = file.get("cases")
    if not isinstance(cases, list):
        return
    if not cases:
        yield Fault((*path, "cases"), "no cases in this file", "see docs/rules.md for how a case is written")
    names: list[Any] = []
    for index, case in enumerate(cases):
        name = case.get("name") if isinstance(case, Mapping) else None
        if name is not None and name in names:
            yield Fault((*path, "cases", index, "name"), f"another case already has the name {value_text(name)}")
        names.append(name)


_EVENT = Table({"at": _at}, required=("at",))
TRIP = Table(
    {
        "at": _at,
        "rule": kinds.string,
        "key": kinds.anything,
        "tasks": kinds.sequence,
        "also": kinds.sequence,
        "severity": kinds.anything,
    },
    required=("rule",),
    closed=True,
)
CASE = Table(
    {
        "name": kinds.text,
        "start": _start,
        "board": Table({"anomalies": kinds.sequence}),
        "anomalies": Each(_EVENT),
        "log": Each(_EVENT),
        "steps": Each(_EVENT),
        "set": Each(Table({"at": _at}, required=("at",), check=_change)),
        "resolves": Each(
            Table({"at": _at, "text": kinds.anything, "by": kinds.anything}, required=("at",), closed=True)
        ),
        "checks": kinds.sequence,
        "trips": kinds.sequence,
        "alarms": kinds.sequence,
    },
    required=("name",),
    closed=True,
    check=_case,
)
FILE = Table({"rules": kinds.string, "cases": Each(CASE)}, required=("cases",), closed=True, check=_file)
