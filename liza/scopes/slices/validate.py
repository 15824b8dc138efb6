"""The schema of the section `slices`, and its faults. A fault found here does not stop the evaluation."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from liza.model import MAPPINGS, Fault
from liza.schema import state
from liza.schema.state import Kind
from liza.scopes.records import list_of, named_records
from liza.scopes.slices import derived
from liza.scopes.slices.fields import ACTIVE, LISTS, RESULTS, STATUSES, open_trip
from liza.store.document import Path
from liza.text import closest_match, text_of, value_text
from liza.toolerrors import results

Faults = Iterator[Fault]


def _tag(value: Any) -> str | None:
    return None if isinstance(value, str) else "a commit or a tag, or an empty text"


def _words(value: Any) -> str | None:
    return None if isinstance(value, str) else "a text"


def _paths(value: Any) -> str | None:
    fine = isinstance(value, list) and all(isinstance(each, str) and each.strip() for each in value)
    return None if fine else "a list of paths"


_SLICE: dict[str, Kind] = {
    "slice_id": state.label, "total_failed_attempts": state.natural, "infra_errors": state.natural,
    "checkpoint_tag": _tag, "checkpoint": state.mapping, "current_trip": state.mapping, "files_in_scope": _paths,
    "tests": state.sequence, "attempts": state.sequence, "history": state.sequence,
    "justifications": state.sequence, "scope_violations": state.sequence,
    "reports_read": state.sequence, "without_start": state.flag,
}  # fmt: skip
_TEST: dict[str, Kind] = {
    "attempt_count": state.natural, "files_touched": state.sequence, "description": _words, "last_error": _words,
    "checkpoint_tag": _tag, "open": state.flag,
}  # fmt: skip
_ATTEMPT: dict[str, Kind] = {
    "attempt": state.positive, "timestamp": state.time, "test": state.label, "strategy": _words, "error": _words,
    "files": state.sequence,
}  # fmt: skip
_FOUR = ("file", "failing_test", "reason", "relationship")


def faults(section: Any) -> Faults:
    """Everything that is wrong with the slices of a blackboard; that each is a record is checked elsewhere."""
    seen: dict[str, Any] = {}
    entries = named_records(section, "slice") if isinstance(section, list | tuple | dict) else ()
    for where, name, record in entries:
        path: Path = ("slices", where)
        if not isinstance(record, MAPPINGS):
            continue
        if not name:
            yield Fault(path, "this slice has no name", "add slice_id")
        elif name in seen:
            yield Fault(path, f"the slice {value_text(name)} is there twice", "only the first is used")
        seen.setdefault(name, where)
        yield from _slice(name, record, path)


def _slice(name: str, record: Mapping[str, Any], path: Path) -> Faults:
    status = record.get("status")
    if status is not None and status not in STATUSES:
        hint = _meant(status, STATUSES)
        yield Fault(
            (*path, "status"), f"status is {value_text(status)}, which is not known: the slice is stopped", hint
        )
    yield from _kinds(record, path, _SLICE)
    yield from _entries(record, path, "tests", _test)
    yield from _entries(record, path, "attempts", _attempt)
    yield from _entries(record, path, "justifications", _justification)
    if all(isinstance(record.get(field), list | None) for field in LISTS):
        yield from _counters(name, record, path)
    if status in (None, ACTIVE) and open_trip(record) is not None:
        message = "the status is ACTIVE beside a trip: reset by hand, which the next command completes"
        yield Fault((*path, "current_trip"), message, "liza attempt status", "warning")


def _counters(name: str, record: Mapping[str, Any], path: Path) -> Faults:
    """Counters that do not agree with the attempts."""
    listed = derived.count_listed(record)
    hint = "what counts is the higher of the two; the next attempt puts the counters right"
    total = record.get("total_failed_attempts")
    if type(total) is int and total != listed.failed:
        message = f"total_failed_attempts is {value_text(total)}, but the attempts have {listed.failed}"
        yield Fault((*path, "total_failed_attempts"), message, hint, "warning")
    for index, test in enumerate(list_of(record, "tests")):
        count = test.get("attempt_count") if isinstance(test, MAPPINGS) else None
        streak = listed.streaks.get(text_of(test.get("test_name")), 0) if isinstance(test, MAPPINGS) else 0
        if type(count) is int and count != streak:
            message = f"attempt_count is {value_text(count)}, but the attempts have {streak}"
            yield Fault((*path, "tests", index, "attempt_count"), message, hint, "warning")


def _test(test: Mapping[str, Any], path: Path) -> Faults:
    if (wanted := state.label(test.get("test_name"))) is not None:
        yield Fault(path, f"test_name is missing: {wanted} is expected")
    yield from _kinds(test, path, _TEST)


def _attempt(entry: Mapping[str, Any], path: Path) -> Faults:
    result = entry.get("result")
    if result not in RESULTS:
        message = f"result is {value_text(result)}, so this attempt does not count"
        yield Fault((*path, "result") if "result" in entry else path, message, _meant(result, RESULTS))
    elif result in (results.FAILED, results.PASSED) and entry.get("test") is None:
        yield Fault(path, "an attempt without a test counts for the slice alone", "add the name of its test", "warning")
    yield from _kinds(entry, path, _ATTEMPT)


def _justification(entry: Mapping[str, Any], path: Path) -> Faults:
    missing = [name for name in _FOUR if state.text(entry.get(name)) is not None]
    if missing:
        yield Fault(path, f"this justification has no {' and no '.join(missing)}", "liza attempt justify --help")


def _entries(
    record: Mapping[str, Any], path: Path, field: str, check: Callable[[Mapping[str, Any], Path], Faults]
) -> Faults:
    for index, entry in enumerate(list_of(record, field)):
        where = (*path, field, index)
        if isinstance(entry, MAPPINGS):
            yield from check(entry, where)
        else:
            yield Fault(where, f"a record with fields is expected, this is {value_text(entry)}")


def _kinds(record: Mapping[str, Any], path: Path, kinds: Mapping[str, Kind]) -> Faults:
    for name, kind in kinds.items():
        if record.get(name) is not None and (wanted := kind(record[name])) is not None:
            yield Fault((*path, name), f"{name} is {value_text(record[name])}, expected is {wanted}")


def _meant(value: Any, known: tuple[str, ...]) -> str:
    meant = closest_match(value, known)
    return f"did you mean {meant}?" if meant else f"one of: {', '.join(known)}"
