"""JUnit reports as runners write them."""

from pathlib import Path

import pytest

from liza.toolerrors.junit import read
from liza.toolerrors.results import Totals
from tests.toolerrors.xml_reports import suite, text_of

REPORTS = Path(__file__).parent / "reports"

# Each runner's name of a test, and its result.
FOUND = {
    "pytest.xml": {
        "test_lists_users": "passed",
        "tests/test_users.py::test_lists_users": "passed",
        "tests.test_users.test_conflict_on_duplicate_email": "failed",
        "test_needs_the_database": "infra",
        "test_greets": "failed",
        "test_greets[ann]": "passed",
        "test_later": "skipped",
        "test_known": "skipped",
        "TestAccount::test_closes": "failed",
        "tests/test_users.py::TestAccount::test_closes": "failed",
        "test_fails_and_breaks_afterwards": "failed",
        "test_passes_and_breaks_afterwards": "infra",
    },
    "jest.xml": {
        "users lists users": "passed",
        "users › conflict on duplicate email": "failed",
        "conflict on duplicate email": "failed",
        "users throws something else": "failed",
        "users nested & <deep> greets \x1b[31mred": "failed",
        "users later": "skipped",
        "t/broken.test.js": "infra",
    },
    "vitest.xml": {
        "users > lists users": "passed",
        "v/users.test.js > users > conflict on duplicate email": "failed",
        "users > nested & <deep> > greets \x1b[31mred": "failed",
        "later": "skipped",
        "v/broken.test.js": "infra",
    },
    "mocha.xml": {
        "users lists users": "passed",
        "lists users": "passed",
        "users conflict on duplicate email": "failed",
        'users nested "before each" hook for "greets"': "infra",
    },
    "gotestsum.xml": {
        "TestListsUsers": "passed",
        "example.org/users.TestConflictOnDuplicateEmail": "failed",
        "TestGreets": "failed",
        "TestGreets/ann": "passed",
        "TestGreets/bob_<b>_&_co": "failed",
        "TestLater": "skipped",
    },
    "gotestsum-panic.xml": {"TestPanics": "failed"},
    "go-junit-report.xml": {
        "TestListsUsers": "passed",
        "TestConflictOnDuplicateEmail": "failed",
        "TestPanics": "infra",
    },
    "surefire.xml": {
        "listsUsers": "passed",
        "com.acme.UsersTest#conflictOnDuplicateEmail": "failed",
        "UsersTest.needsTheDatabase": "infra",
        "later": "skipped",
        "flaky": "passed",
        "greets": "failed",
        "greets(String)[1]": "passed",
        "com.acme.UsersTest$Inner.greetsInside": "failed",
    },
    "node.xml": {
        "users > lists users": "passed",
        "users > conflict on duplicate email": "failed",
        "conflict on duplicate email": "failed",
        "nested & <deep> > lists users": "failed",
        "later": "skipped",
        "known": "skipped",
        "needs the database": "infra",
        "/team/t/broken.test.js": "infra",
    },
    "ctest.xml": {
        "lists_users": "passed",
        "conflict_on_duplicate_email": "failed",
        "needs_the_database": "skipped",
        "later": "skipped",
    },
}
# passed, failed, errors, skipped
TOTALS = {
    "pytest.xml": (2, 4, 3, 2),
    "pytest-collection.xml": (0, 0, 1, 0),
    "jest.xml": (1, 3, 2, 1),
    "vitest.xml": (1, 3, 1, 1),
    "mocha.xml": (1, 1, 1, 0),
    "gotestsum.xml": (2, 3, 0, 1),
    "gotestsum-panic.xml": (0, 1, 0, 0),
    "gotestsum-build.xml": (0, 0, 0, 0),
    "go-junit-report.xml": (1, 1, 2, 0),
    "surefire.xml": (3, 3, 1, 1),
    "surefire-before-all.xml": (0, 0, 1, 0),
    "node.xml": (1, 2, 2, 2),
    "ctest.xml": (1, 1, 0, 2),
}
CASES = [(file, name, result) for file, found in FOUND.items() for name, result in found.items()]


@pytest.mark.parametrize(("file", "name", "result"), CASES)
def test_is_found_by_its_runners_name(file: str, name: str, result: str) -> None:
    report = read([str(REPORTS / file)], [name])
    assert (report.found[name].result, report.several) == (result, {})


@pytest.mark.parametrize(("file", "totals"), TOTALS.items())
def test_other_tests_are_only_counted(file: str, totals: tuple[int, int, int, int]) -> None:
    report = read([str(REPORTS / file)], ["no such test"])
    assert (report.found, report.several, report.others) == ({}, {}, Totals(*totals))
    assert len(report.failing) == report.others.failed


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("pytest-collection.xml", "No module named 'nosuchmodule'"),
        ("jest.xml", "Cannot find module 'no-such-module'"),
        ("vitest.xml", "Cannot find package 'no-such-module'"),
        ("mocha.xml", "no database"),
        ("gotestsum-build.xml", "the test runner reports errors"),
        ("go-junit-report.xml", "undefined: missing"),
        ("node.xml", "/team/t/broken.test.js: "),
        ("surefire-before-all.xml", "com.acme.BrokenTest: java.lang.IllegalStateException: no server"),
    ],
)
def test_load_and_build_errors_are_not_failures(file: str, message: str) -> None:
    report = read([str(REPORTS / file)], ["never runs"])
    assert message in "\n".join(report.broken)
    assert report.found == {}


def test_failure_text_is_kept_verbatim() -> None:
    name = "test_conflict_on_duplicate_email"
    message = read([str(REPORTS / "pytest.xml")], [name]).found[name].text
    assert (
        "E       AssertionError: endpoint returns 409 when the email is there already\nE       assert 500 == 409"
        in message
    )
    name = "com.acme.UsersTest.conflictOnDuplicateEmail"
    message = read([str(REPORTS / "surefire.xml")], [name]).found[name].text
    assert message.startswith("org.opentest4j.AssertionFailedError: email is there already ==> expected: <409>")
    assert message.count("AssertionFailedError") == 1, "it was rerun, but is listed once"
    name = "conflict_on_duplicate_email"
    message = read([str(REPORTS / "ctest.xml")], [name]).found[name].text
    assert message == "expected 409, got 500", "its output, because the failure has no text"


def test_same_name_in_two_suites_is_ambiguous() -> None:
    report = read([str(REPORTS / "node.xml")], ["lists users"])
    assert (report.found, list(report.several)) == ({}, ["lists users"])


def test_several_reports_are_one_run() -> None:
    files = [str(REPORTS / name) for name in ("pytest.xml", "surefire.xml", "gotestsum-build.xml")]
    report = read(files, ["test_lists_users", "listsUsers", "TestBuilds"])
    assert {name: each.result for name, each in report.found.items()} == {
        "test_lists_users": "passed", "listsUsers": "passed",
    }  # fmt: skip
    assert "the test runner reports errors" in report.broken[-1]


def test_ambiguous_name_counts_for_no_test(tmp_path: Path) -> None:
    text = suite(
        "<testcase classname='a' name='test_x'/>", "<testcase classname='b' name='test_x'><failure/></testcase>"
    )
    report = text_of(tmp_path, text, "test_x")
    assert (report.found, report.others, report.failing) == ({}, Totals(passed=1, failed=1), ("test_x",))
    report = text_of(tmp_path, text, "test_x", "b::test_x")
    assert report.others == Totals(passed=1), "a test matched by another name is not among the others"
    assert report.several == {"test_x": ["a::test_x", "b::test_x"]}
    assert {name: each.result for name, each in report.found.items()} == {"b::test_x": "failed"}


def test_name_suffix_matches_only_at_a_boundary(tmp_path: Path) -> None:
    text = suite("<testcase classname='a' name='users rejects duplicate email'/>")
    report = text_of(tmp_path, text, "duplicate email", "plicate email", "email x", "")
    assert set(report.found) == {"duplicate email"}


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        ("<failure/>", "", "passed"),  # run again, and passed
        ("", "<failure/>", "failed"),
        ("<failure/>", "<error/>", "failed"),  # tidying up went wrong, too
        ("<error/>", "", "passed"),
        ("", "<error/>", "infra"),
        ("<failure/>", "<skipped/>", "failed"),
        ("<failure/><error/>", "<failure/>", "failed"),
    ],
)
def test_result_of_a_test_listed_twice(tmp_path: Path, first: str, second: str, result: str) -> None:
    cases = [f"<testcase classname='a' name='x'>{each}</testcase>" for each in (first, second)]
    assert text_of(tmp_path, suite(*cases), "x").found["x"].result == result
