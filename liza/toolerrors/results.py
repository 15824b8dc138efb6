"""How tests ended. A run that shows nothing about the code (a missing module, a crashed runner) is `INFRA`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

PASSED, FAILED, INFRA, SKIPPED = "passed", "failed", "infra", "skipped"


class Outcome(NamedTuple):
    result: str  # failed, passed, infra or skipped
    text: str = ""  # what the runner printed about it


class Totals(NamedTuple):
    """The tests of a report, counted by outcome."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0

    @property
    def all(self) -> int:
        return sum(self)


class Report(NamedTuple):
    """The reports of one run, reduced to the requested tests."""

    found: Mapping[str, Outcome]  # by requested name
    several: Mapping[str, Sequence[str]]  # ambiguous names, each with the tests that it matches
    others: Totals  # tests that were not requested
    failing: tuple[str, ...]  # some of those that failed
    broken: tuple[str, ...]  # messages of what could not be run and belongs to no requested test
    same: Mapping[str, str] = {}  # names of a test that was already found by another name
    unnamed: Outcome | None = None  # a failure of an unknown test
    note: str = ""  # why this is not from a report
