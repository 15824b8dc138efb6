"""Read which tests failed from the output of a run that wrote no report."""

import re
from collections.abc import Sequence

from liza.toolerrors.requested_tests import Collected
from liza.toolerrors.results import FAILED, INFRA, Outcome, Report

_UNITTEST = re.compile(r"(?P<name>\S+) \((?P<group>\S+?)(?:\.(?P=name))?\)")
_NOT_RUN = re.compile(r"ERROR\b|.* ERROR$")  # pytest and unittest: the test did not run to its end
_ASSERTION = re.compile(
    r"AssertionError|AssertionFailed|ComparisonFailure|\bassert(?:ion)?\b.*\bfailed\b|^assert ", re.IGNORECASE
)


def read(output: str, code: int, names: Sequence[str], counted: Sequence[str], *, every: bool) -> Report | None:
    """The outcomes of the tests with these names; None if the output shows no failed assertion.

    A failure without a test's name belongs to the only test that counts, else to an unknown one.
    """
    from liza.toolerrors.errors import errors_of

    errors = errors_of(output)
    text = f"{output.rstrip()}\n[exit code {code}]"
    collected = Collected(tuple(dict.fromkeys(names)), every)
    failed = False
    for error in errors:
        if error.test is not None:
            broken = _NOT_RUN.match(error.signature) is not None
            failed = failed or not broken
            collected.take(*_named(error.test), Outcome(INFRA if broken else FAILED, text))
    if failed:
        return collected.report()
    if not any(error.test is None and _ASSERTION.search(error.signature) for error in errors):
        return None
    report = collected.report()
    outcome = Outcome(FAILED, text)
    if len(counted) == 1:
        return report._replace(found={**report.found, counted[0]: outcome})
    return report._replace(unnamed=outcome)


def _named(label: str) -> tuple[str, str]:
    """The group and the name of a test as in JUnit, so that a test has one name however it was read."""
    if found := _UNITTEST.fullmatch(label):
        return found["group"], found["name"]
    plain, bracket, parameters = label.partition("[")
    *group, name = plain.split("::")
    if group and group[0].endswith(".py"):
        group[0] = group[0].removesuffix(".py").replace("/", ".")
        return ".".join(group), f"{name}{bracket}{parameters}"
    return "", label
