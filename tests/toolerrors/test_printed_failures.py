"""Runs without a JUnit report: a failed assertion in their output is an attempt, all else could not be run."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.toolerrors import printed_failures
from tests.cli.run import Result
from tests.scopes.slices.run import Slices

RULE = "-" * 70
PYTEST = "FAILED tests/test_it.py::TestA::test_bad[1-x] - assert 500 == 409\n1 failed in 0.02s\n"
UNITTEST = f"FAIL: test_bad (m.T.test_bad)\n{RULE}\nTraceback (most recent call last):\n"
UNITTEST += '  File "m.py", line 3, in test_bad\n    x\nAssertionError: 1 != 2\n'
GO = "--- FAIL: test_bad (0.00s)\n    add_test.go:9: got 1 want 2\nFAIL\n"
JEST = "  ● cart › test_bad\n\n    expect(received).toBe(expected)\n\n      at Object.<anonymous> (cart.test.js:3:5)\n"
RUST = "thread 'tests::test_bad' panicked at src/lib.rs:10:5:\nassertion `left == right` failed\n"
TAP = "not ok 1 - test_bad\n  ---\n  error: 'x'\n  ...\n"
ALONE = (
    'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n    assert 1 == 2\nAssertionError: sum\n'
)
IN_C = "a.out: x.c:5: main: Assertion `x == 1' failed.\nAborted (core dumped)\n"


def run(slices: Slices, output: str, *words: str, code: int = 1) -> Result:
    """`liza attempt exec` of a runner that prints this, and writes no report."""
    (slices.root / "printed").write_text(output)
    return slices.attempt("exec", "--slice", "S-1", *words, "--", "sh", "-c", f"cat printed; exit {code}")


@pytest.mark.parametrize(
    "output",
    [PYTEST, UNITTEST, GO, JEST, RUST, TAP, ALONE, IN_C],
    ids=["pytest", "unittest", "go", "jest", "rust", "tap", "alone", "c"],
)
def test_failed_assertion_in_the_output_is_an_attempt(slices: Slices, output: str) -> None:
    slices.does("start test_bad")
    codes = [run(slices, output, code=5).code for _ in range(3)]
    assert (codes, slices.counts()) == ([1, 1, 3], ({"test_bad": 3}, 3, 0))
    error = slices.report("test_bad")["actual_error"]
    assert output.strip() in error
    assert error.rstrip().endswith("[exit code 5]")


@pytest.mark.parametrize(
    "output",
    [
        "ERROR test_it.py - ModuleNotFoundError: No module named 'x'\n1 error in 0.1s\n",
        "ERROR tests/test_it.py::test_bad - ConnectionError: no database\n",
        "tests/test_it.py::test_bad ERROR [100%]\n",
        UNITTEST.replace("FAIL:", "ERROR:").replace("AssertionError: 1 != 2", "ImportError: no"),
        "sh: 1: pytst: not found\n",
        "  ● Test suite failed to run\n\n    Cannot find module './x'\n",
        "# x\n./a.go:3:5: undefined: y\nFAIL x [build failed]\n",
        '  File "a.py", line 1\n    def (\n        ^\nSyntaxError: invalid syntax\n',
        "",
    ],
)
def test_output_without_a_failed_assertion_could_not_be_run(slices: Slices, output: str) -> None:
    slices.does("start test_bad")
    ran = run(slices, output, "--json")
    assert (ran.code, slices.counts()) == (1, ({"test_bad": 0}, 0, 1))
    message = ran.json["problems"][0]["message"]
    assert "exit code 1" in message
    assert "$LIZA_JUNIT" in message
    ran = run(slices, output, "--report", "target/*.xml", "--json")
    assert "target/*.xml" in ran.json["problems"][0]["message"]


def test_run_with_exit_code_0_shows_no_failure(slices: Slices) -> None:
    slices.does("start test_bad")
    assert run(slices, PYTEST, code=0).code == 0
    assert slices.counts() == ({"test_bad": 0}, 0, 1)


def test_failures_of_other_tests_are_observed(slices: Slices) -> None:
    slices.does("start test_other")
    ran = run(slices, PYTEST, "--json")
    assert (ran.json["counted"], ran.json["observed"]["failed"]) == ({}, 1)
    assert slices.counts() == ({"test_other": 0}, 0, 0)


def test_failure_without_a_name_counts_for_the_slice(slices: Slices) -> None:
    slices.does("start a", "start b")
    assert [run(slices, ALONE).code for _ in range(7)] == [1] * 6 + [3]
    assert slices.counts() == ({"a": 0, "b": 0}, 7, 0)
    assert slices.at()["current_trip"]["rules"] == ["slice_ceiling"]


def test_printed_name_equals_the_reports_without_a_start(slices: Slices) -> None:
    run(slices, PYTEST)
    report = slices.root / "r.xml"
    report.write_text(
        "<testsuite><testcase classname='tests.test_it.TestA' name='test_bad[1-x]'><failure/></testcase></testsuite>"
    )
    slices.attempt("junit", str(report), "--slice", "S-1")
    assert slices.counts() == ({"tests.test_it.TestA::test_bad": 2}, 2, 0)


def test_truncated_report_falls_back_to_the_output(slices: Slices) -> None:
    slices.does("start test_bad")
    (slices.root / "printed").write_text(PYTEST)
    script = "cat printed; printf '<testsuite><testcase' > {report}; exit 1"
    slices.attempt("exec", "--slice", "S-1", "--", "sh", "-c", script)
    assert slices.counts() == ({"test_bad": 1}, 1, 0)


def test_unittest_output_is_understood(slices: Slices) -> None:
    (slices.root / "test_m.py").write_text(
        "import unittest\nclass T(unittest.TestCase):\n    def test_bad(self): self.assertEqual(1, 2)\n"
    )
    slices.does("start test_bad")
    slices.attempt("exec", "--slice", "S-1", "--", sys.executable, "-m", "unittest", "-q", "test_m")
    assert slices.counts() == ({"test_bad": 1}, 1, 0)


PIECES = st.sampled_from(
    [*f"{PYTEST}{UNITTEST}{GO}{JEST}{RUST}{TAP}{ALONE}{IN_C}".splitlines(keepends=True), "ERROR a.py::x - y\n"]
)


@given(st.lists(PIECES | st.text(max_size=20), max_size=12).map("".join), st.booleans())
def test_any_output_is_read(output: str, every: bool) -> None:
    """It never raises, names no test that was not asked for unless every one counts, and keeps the whole output."""
    found = printed_failures.read(output, 1, ["test_bad"], ["test_bad"], every=every)
    if found is not None:
        assert every or set(found.found) <= {"test_bad"}
        for outcome in found.found.values():
            assert outcome.text.strip("\n").endswith("[exit code 1]")
