"""The schema of the section `slices`, and its faults. A fault found here does not stop the evaluation."""

from collections.abc import Mapping
from typing import Any

from liza.model import MAPPINGS, Fault, Path, mappings_in
from liza.schema import kinds
from liza.schema.kinds import OneOf
from liza.schema.walker import Each, Faults, Table, walk
from liza.scopes.records import list_of, named_records
from liza.scopes.slices import derived
from liza.scopes.slices.fields import ACTIVE, RESULTS, SLICES, STATUSES, open_trip
from liza.scopes.slices.scope_lock import JUSTIFICATION
from liza.text import text_of, value_text
from liza.toolerrors import results


def _untested(entry: Mapping[str, Any], path: Path) -> Faults:
    if entry.get("result") in (results.FAILED, results.PASSED) and entry.get("test") is None:
        yield Fault(path, "an attempt without a test counts for the slice alone", "add the name of its test", "warning")


_TEST = Table(
    {
        "test_name": kinds.label,
        "attempt_count": kinds.natural,
        "files_touched": kinds.sequence,
        "description": kinds.string,
        "last_error": kinds.string,
        "checkpoint_tag": kinds.string,
        "open": kinds.flag,
    },
    required=("test_name",),
)
_ATTEMPT = Table(
    {
        "attempt": kinds.positive,
        "timestamp": kinds.time,
        "test": kinds.label,
        "result": OneOf(RESULTS, "a result"),
        "strategy": kinds.string,
        "error": kinds.string,
        "files": kinds.sequence,
    },
    required=("result",),
    check=_untested,
)
_JUSTIFICATION = Table(dict.fromkeys(JUSTIFICATION, kinds.text), required=JUSTIFICATION)
_SLICE = Table(
    {
        "slice_id": kinds.label,
        "status": OneOf(STATUSES, "a slice status"),
        "total_failed_attempts": kinds.natural,
        "infra_errors": kinds.natural,
        "checkpoint_tag": kinds.string,
        "checkpoint": kinds.mapping,
        "current_trip": kinds.mapping,
        "files_in_scope": kinds.texts,
        "tests": Each(_TEST),
        "attempts": Each(_ATTEMPT),
        "justifications": Each(_JUSTIFICATION),
        "history": kinds.sequence,
        "scope_violations": kinds.sequence,
        "reports_read": kinds.sequence,
        "without_start": kinds.flag,
    }
)


def faults(section: Any) -> Faults:
    """Everything that is wrong with the slices of a blackboard; that each is a record is checked elsewhere."""
    entries = named_records(section, "slice") if isinstance(section, list | tuple | dict) else ()
    for where, name, record in entries:
        if isinstance(record, MAPPINGS):
            yield from _slice(name, record, ("slices", where))


def _slice(name: str, record: Mapping[str, Any], path: Path) -> Faults:
    yield from walk(record, path, _SLICE)
    if all(isinstance(record.get(field), list | None) for field in SLICES.lists):
        yield from _counters(name, record, path)
    if files := [text_of(each.get("file")) for each in mappings_in(record.get("scope_violations"))]:
        message = f"files were changed that are not allowed, and not justified: {', '.join(files[:5])}"
        yield Fault((*path, "scope_violations"), message, f"liza attempt scope --slice {name} --changed", "warning")
    if record.get("status") in (None, ACTIVE) and open_trip(record) is not None:
        message = "the status is ACTIVE but the trip is open: reset by hand; the next command completes it"
        yield Fault((*path, "current_trip"), message, "liza attempt status", "warning")


def _counters(name: str, record: Mapping[str, Any], path: Path) -> Faults:
    """Counters that do not agree with the attempts."""
    listed = derived.count_listed(record)
    hint = "the higher of the two counts; the next attempt corrects the counters"
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
