"""A slice as it stands on the blackboard: its tests, its attempts, and the counts that follow from them.

What counts are the attempts. The counters beside them are written for people; one that says more than the attempts
do was written by somebody else, and is believed: a failure that nobody listed is a failure all the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Record
from liza.text import text_of
from liza.toolerrors.results import FAILED, INFRA, PASSED

ACTIVE, STOPPED, ARCH_STOP = "ACTIVE", "STOPPED", "ARCH_STOP"
STATUSES = (ACTIVE, STOPPED, ARCH_STOP)
REFUSED, OBSERVED = "refused", "observed"  # these only tell
COUNTED = (FAILED, PASSED, INFRA)
RESULTS = (*COUNTED, REFUSED, OBSERVED)
PER_TEST, PER_SLICE = 3, 7  # to show how far it is; the rules have the word
LISTS = ("tests", "attempts", "history", "files_in_scope", "justifications", "scope_violations")
_UNLISTED = 10  # failures that nobody listed, of one test or slice, that are counted

Slice = dict[str, Any]


class Counts(NamedTuple):
    """How the attempts of a slice stand since its last reset."""

    streaks: Mapping[str, int]  # of each test: failures since it last passed
    failed: int
    infra: int

    @property
    def failing(self) -> tuple[str, ...]:
        """The tests that failed last, in the order of the attempts."""
        return tuple(name for name, streak in self.streaks.items() if streak)


def status_of(record: Mapping[str, Any]) -> str:
    """What a slice's status says. A word that is none of ours stops it: nobody knows what was meant."""
    status = record.get("status")
    return ACTIVE if status is None else status if status in STATUSES else STOPPED


def list_of(record: Mapping[str, Any], field: str) -> list[Any]:
    value = record.get(field)
    return list(value) if isinstance(value, list | tuple) else []


def records_of(record: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    return [each for each in list_of(record, field) if isinstance(each, MAPPINGS)]


def tests_of(record: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The tests that have a name, with it."""
    return [(text_of(each["test_name"]), each) for each in records_of(record, "tests") if _has(each, "test_name")]


def test_of(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What is known of a test; nothing, if nobody has attempted it."""
    return next((test for label, test in tests_of(record) if label == name), {})


def open_tests(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The tests that somebody is at work on: started or failed, and not passed since."""
    return tuple(name for name, test in tests_of(record) if test.get("open", _whole(test.get("attempt_count")) > 0))


def trip_of(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The trip that stopped the slice, while nobody has reset it."""
    trip = record.get("current_trip")
    return trip if isinstance(trip, MAPPINGS) and trip else None


def _has(entry: Mapping[str, Any], field: str) -> bool:
    return isinstance(entry.get(field), str | int)


# --- what is judged -------------------------------------------------------------------------------------------------


def derived(name: str, record: Mapping[str, Any]) -> list[Record]:
    """The attempts that rules see, each with the name of its slice."""
    entries = [each for each in records_of(record, "attempts") if each.get("result") in COUNTED]
    about = {"slice": name, "details": None}  # nothing is looked up in details, whatever somebody put there
    return [
        Record("attempts", index, {**entry, **about, "test": text_of(entry["test"]) if _has(entry, "test") else None})
        for index, entry in enumerate([*_unlisted(record, entries), *entries])
    ]


def with_unlisted(record: Mapping[str, Any]) -> Slice:
    """The same with failures that only the counters told of in the list, where the next ones are added."""
    entries = [each for each in records_of(record, "attempts") if each.get("result") in COUNTED]
    missing = [dict(each) for each in _unlisted(record, entries)]
    return {**record, "attempts": [*missing, *list_of(record, "attempts")]} if missing else dict(record)


def _unlisted(record: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Failures that only the counters tell of, as if they had come first."""
    listed = _counted(entries)
    told = 0
    for name, test in tests_of(record):
        if not any(each["result"] == PASSED and text_of(each.get("test")) == name for each in entries):
            missing = _few(_whole(test.get("attempt_count")) - listed.streaks.get(name, 0))
            told += missing
            yield from ({"test": name, "result": FAILED, "unlisted": n + 1} for n in range(missing))
    missing = _few(_whole(record.get("total_failed_attempts")) - listed.failed - told)
    yield from ({"result": FAILED, "unlisted": n + 1} for n in range(missing))


def _few(number: int) -> int:
    return min(max(number, 0), _UNLISTED)


def _whole(value: Any) -> int:
    return value if type(value) is int else 0


def counts_of(name: str, record: Mapping[str, Any]) -> Counts:
    """The counters as the attempts have them."""
    found = _counted([each.fields for each in derived(name, record)])
    return found._replace(infra=max(found.infra, _whole(record.get("infra_errors"))))


def listed_counts(record: Mapping[str, Any]) -> Counts:
    """The same from the list alone, to compare with what is written beside it."""
    return _counted([each for each in records_of(record, "attempts") if each.get("result") in COUNTED])


def _counted(entries: Sequence[Mapping[str, Any]]) -> Counts:
    streaks: dict[str, int] = {}
    failed = infra = 0
    for entry in entries:
        test = text_of(entry["test"]) if _has(entry, "test") else None
        failed += entry["result"] == FAILED
        infra += entry["result"] == INFRA
        if test is not None and entry["result"] == FAILED:
            streaks[test] = streaks.get(test, 0) + 1
        elif test is not None and entry["result"] == PASSED:
            streaks[test] = 0
    return Counts(streaks, failed, infra)


# --- what is kept ---------------------------------------------------------------------------------------------------


def trimmed(entries: Sequence[Any], most: int) -> tuple[list[Any], tuple[Mapping[str, Any], ...]]:
    """The attempts that stay on the blackboard, and the older ones that go.

    Only what changes no count can go: never a failure, and never the pass that ended a row of them.
    """
    spare = len(entries) - most
    if spare <= 0:
        return list(entries), ()
    kept: list[Any] = []
    gone: list[Mapping[str, Any]] = []
    last: dict[str, Any] = {}
    for entry in entries:
        result, test = (entry.get("result"), text_of(entry.get("test"))) if isinstance(entry, MAPPINGS) else (None, "")
        tells = result in (INFRA, REFUSED, OBSERVED) or (result == PASSED and last.get(test) != FAILED)
        if spare > len(gone) and tells:
            gone.append(entry)
        else:
            kept.append(entry)
        if result in (FAILED, PASSED):
            last[test] = result
    return kept, tuple(gone)
