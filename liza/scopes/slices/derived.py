"""The attempts of a slice that rules see, and the counts that follow from them.

What counts are the attempts. The counters beside them are for people. A counter that is higher than the list of
attempts was written by another program, and counts: a failure that is not listed is still a failure.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Record
from liza.scopes.records import list_of, mappings_of
from liza.scopes.slices.fields import COUNTED, OBSERVED, REFUSED, Slice, has_label, int_or_zero, named_tests
from liza.text import text_of
from liza.toolerrors.results import FAILED, INFRA, PASSED

_MAX_UNLISTED = 10  # unlisted failures of one test or slice that are counted


class Counts(NamedTuple):
    """The counts of a slice since its last reset."""

    streaks: Mapping[str, int]  # of each test: failures since it last passed
    failed: int
    infra: int

    @property
    def failing(self) -> tuple[str, ...]:
        """The tests whose last attempt failed, in the order of the attempts."""
        return tuple(name for name, streak in self.streaks.items() if streak)


def derive_attempts(name: str, record: Mapping[str, Any]) -> list[Record]:
    """The attempts that rules see, each with the name of its slice."""
    listed = _counted_entries(record)
    entries = [*_unlisted(record, listed), *listed]
    computed = {"slice": name, "details": None}  # rules look a field up in details too, and anything may be in there
    return [
        Record("attempts", index, {**entry, **computed, "test": _test_of(entry), "fixed": fixed})
        for index, (entry, fixed) in enumerate(zip(entries, _fixed(entries), strict=True))
    ]


def _fixed(entries: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Whether each is an infrastructure error after which the same test ran; any test, if it named none."""
    found: list[bool] = []
    ran: set[str | None] = set()
    for entry in reversed(entries):
        test = _test_of(entry)
        is_infra = entry["result"] == INFRA
        found.append(is_infra and (test in ran or (test is None and bool(ran))))
        ran |= set() if is_infra else {test}
    return found[::-1]


def list_unlisted(record: Mapping[str, Any]) -> Slice:
    """The slice with the failures that only its counters have in the list, so that new attempts are counted on top."""
    missing = [dict(each) for each in _unlisted(record, _counted_entries(record))]
    return {**record, "attempts": [*missing, *list_of(record, "attempts")]} if missing else dict(record)


def count_attempts(name: str, record: Mapping[str, Any]) -> Counts:
    """The counts, with failures that are not listed."""
    found = _count([each.fields for each in derive_attempts(name, record)])
    return found._replace(infra=max(found.infra, int_or_zero(record.get("infra_errors"))))


def count_listed(record: Mapping[str, Any]) -> Counts:
    """The counts from the list alone, to compare with the counters beside it."""
    return _count(_counted_entries(record))


def _counted_entries(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in mappings_of(record, "attempts") if each.get("result") in COUNTED]


def _unlisted(record: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Failures that only the counters have, as if they had come first."""
    listed = _count(entries)
    found = 0
    for name, test in named_tests(record):
        if not any(each["result"] == PASSED and text_of(each.get("test")) == name for each in entries):
            missing = _limited(int_or_zero(test.get("attempt_count")) - listed.streaks.get(name, 0))
            found += missing
            yield from ({"test": name, "result": FAILED, "unlisted": n + 1} for n in range(missing))
    missing = _limited(int_or_zero(record.get("total_failed_attempts")) - listed.failed - found)
    yield from ({"result": FAILED, "unlisted": n + 1} for n in range(missing))


def _limited(number: int) -> int:
    return min(max(number, 0), _MAX_UNLISTED)


def _count(entries: Sequence[Mapping[str, Any]]) -> Counts:
    streaks: dict[str, int] = {}
    failed = infra = 0
    for entry in entries:
        test = _test_of(entry)
        failed += entry["result"] == FAILED
        infra += entry["result"] == INFRA
        if test is not None and entry["result"] == FAILED:
            streaks[test] = streaks.get(test, 0) + 1
        elif test is not None and entry["result"] == PASSED:
            streaks[test] = 0
    return Counts(streaks, failed, infra)


def _test_of(entry: Mapping[str, Any]) -> str | None:
    return text_of(entry["test"]) if has_label(entry, "test") else None


def trim_attempts(entries: Sequence[Any], most: int) -> tuple[list[Any], tuple[Mapping[str, Any], ...]]:
    """The attempts that stay on the blackboard, and the older ones that leave it.

    Only one that changes no count may leave: never a failure, and never the pass that ended a streak of them.
    """
    spare = len(entries) - most
    if spare <= 0:
        return list(entries), ()
    kept: list[Any] = []
    gone: list[Mapping[str, Any]] = []
    last: dict[str, Any] = {}
    for entry in entries:
        result, test = (entry.get("result"), text_of(entry.get("test"))) if isinstance(entry, MAPPINGS) else (None, "")
        is_spare = result in (INFRA, REFUSED, OBSERVED) or (result == PASSED and last.get(test) != FAILED)
        if spare > len(gone) and is_spare:
            gone.append(entry)
        else:
            kept.append(entry)
        if result in (FAILED, PASSED):
            last[test] = result
    return kept, tuple(gone)
