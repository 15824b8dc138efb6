"""The fields of a slice and of its tests, as they are on the blackboard."""

from collections.abc import Mapping
from typing import Any

from liza.scopes.records import Section, current_trip, mappings_of
from liza.text import text_of
from liza.toolerrors.results import FAILED, INFRA, PASSED

ACTIVE, STOPPED, ARCH_STOP = "ACTIVE", "STOPPED", "ARCH_STOP"
STATUSES = (ACTIVE, STOPPED, ARCH_STOP)
REFUSED, OBSERVED = "refused", "observed"  # recorded, and not counted
COUNTED = (FAILED, PASSED, INFRA)
RESULTS = (*COUNTED, REFUSED, OBSERVED)
PER_TEST, PER_SLICE = 3, 7  # for display only; the thresholds are in the rules

Slice = dict[str, Any]
open_trip = current_trip


def status_of(record: Mapping[str, Any]) -> str:
    """The status of a slice. An unknown word counts as STOPPED: it is not clear what was meant."""
    status = record.get("status")
    return ACTIVE if status is None else status if status in STATUSES else STOPPED


def _wanted_status(record: Mapping[str, Any]) -> str | None:
    return None if record.get("status") in (None, *STATUSES) else f"one of {', '.join(STATUSES)}"


SLICES = Section(
    scope="slice",
    name="slices",
    list_command="liza attempt status",
    while_unusable="the slice counts as STOPPED",
    example="S-3",
    longest=120,
    lists=("tests", "attempts", "history", "files_in_scope", "justifications", "scope_violations"),
    wanted_status=_wanted_status,
    leaves="attempts",
)


def stop_reason(record: Mapping[str, Any]) -> str:
    """Why a slice is stopped."""
    if _wanted_status(record) is not None:
        return f"unknown status {record.get('status')!r}"
    return str((open_trip(record) or {}).get("reason") or "by hand")


# --- tests ----------------------------------------------------------------------------------------------------------


def named_tests(record: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The tests that have a name, each with it."""
    return [(text_of(each["test_name"]), each) for each in mappings_of(record, "tests") if has_label(each, "test_name")]


def find_test(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The record of a test; empty if it was never attempted."""
    return next((test for label, test in named_tests(record) if label == name), {})


def known_tests(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Every test of a slice that was started or attempted, also before a reset."""
    found = [name for name, _ in named_tests(record)]
    for run in (*mappings_of(record, "history"), record):
        found += [text_of(each["test"]) for each in mappings_of(run, "attempts") if has_label(each, "test")]
    return tuple(dict.fromkeys(found))


def open_tests(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The tests in work: started or failed, and not passed since."""
    return tuple(
        name for name, test in named_tests(record) if test.get("open", int_or_zero(test.get("attempt_count")) > 0)
    )


def has_label(entry: Mapping[str, Any], field: str) -> bool:
    return isinstance(entry.get(field), str | int)


def int_or_zero(value: Any) -> int:
    return value if type(value) is int else 0
