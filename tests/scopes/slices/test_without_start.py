"""Reports of tests without a start: failures count, a flapping test reaches the ceiling, a report counts once."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.run import BIN, Result, environment
from tests.run.repositories import SETTINGS, repository
from tests.scopes.slices.run import Slices

FAILS = "<failure>assert 500 == 409</failure>"


def case(name: str, inside: str = "", group: str = "shop.Cart") -> str:
    return f"<testcase classname='{group}' name='{name}'>{inside}</testcase>"


def write(slices: Slices, *cases: str, age: int = 0) -> Path:
    """A report of one run; `age` shifts its time."""
    file = slices.root / "report.xml"
    file.write_text(f"<testsuite name='s'>{''.join(cases)}</testsuite>")
    os.utime(file, (1_700_000_000 + age, 1_700_000_000 + age))
    return file


def junit(slices: Slices, *words: str | Path) -> Result:
    return slices.attempt("junit", "--slice", "S-1", *map(str, words))


def runs(slices: Slices, *results: str) -> list[int]:
    """The exit codes of runs of one test with a report each: `failed` or `passed`."""
    codes = []
    for result in results:
        age = len(slices.at().get("reports_read", [])) if b"slices" in slices.state.read_bytes() else 0
        codes.append(junit(slices, write(slices, case("adds", FAILS if result == "failed" else ""), age=age)).code)
    return codes


# --- slices without a start -----------------------------------------------------------------------------------------


def test_three_failures_stop_an_unstarted_slice(slices: Slices) -> None:
    assert runs(slices, "failed", "failed", "failed") == [0, 0, 3]
    assert slices.counts() == ({"shop.Cart::adds": 3}, 3, 0)
    assert slices.at()["current_trip"]["rules"] == ["test_trip"]
    assert slices.reported() == ["shop.Cart::adds"]


def test_seven_failing_tests_in_one_run_reach_the_ceiling(slices: Slices) -> None:
    cases = [case(f"t{n}", FAILS) for n in range(30)]
    assert junit(slices, write(slices, *cases, case("fine"))).code == 3
    assert slices.at()["current_trip"]["rules"] == ["slice_ceiling"]
    assert slices.at()["attempts"][-1]["failed"] == 10, "more than twenty are only counted"


def test_parameters_of_a_test_are_one_failure(slices: Slices) -> None:
    ran = junit(slices, write(slices, case("adds[1]", FAILS), case("adds[2]", FAILS), case("adds[3]")), "--json")
    assert ran.json["counted"] == {"shop.Cart::adds": "failed"}
    assert slices.counts() == ({"shop.Cart::adds": 1}, 1, 0)


def test_test_that_passed_on_rerun_does_not_count(slices: Slices) -> None:
    ran = junit(slices, write(slices, case("adds", FAILS), case("adds")), "--json")
    assert (ran.json["counted"], ran.json["observed"]["passed"]) == ({}, 1)


def test_passing_run_creates_a_slice_and_counts_nothing(slices: Slices) -> None:
    assert runs(slices, "passed") == [0]
    assert (slices.counts(), slices.results()) == (({}, 0, 0), ["observed"])
    assert runs(slices, "failed", "failed", "failed") == [0, 0, 3]


def test_new_failures_count_until_a_test_is_started(slices: Slices) -> None:
    junit(slices, write(slices, case("a", FAILS)))
    junit(slices, write(slices, case("a", FAILS), case("b", FAILS), age=1))
    assert slices.counts() == ({"shop.Cart::a": 2, "shop.Cart::b": 1}, 3, 0)
    slices.does("start c")
    junit(slices, write(slices, case("b"), case("a"), case("d", FAILS), age=2))
    assert slices.counts()[1] == 3


def test_exec_without_start_warns_that_base_is_unknown(slices: Slices) -> None:
    repository(slices.root)
    slices.env |= SETTINGS
    (slices.root / "ran.xml").write_text(f"<testsuite>{case('adds', FAILS)}</testsuite>")
    words = ("exec", "--slice", "S-1", "--json", "--", "sh", "-c", "cp ran.xml {report}; exit 1")
    ran = slices.attempt(*words)
    assert (ran.code, ran.json["counted"]) == (1, {"shop.Cart::adds": "failed"})
    assert [each["level"] for each in ran.json["problems"]] == ["warning"]
    assert "base is unknown" in ran.json["problems"][0]["message"]
    assert (ran.json["checkpoint_tag"], ran.json["checkpoint"]) == ("", None)
    assert slices.attempt(*words).json["problems"] == [], "reported once"
    assert slices.attempt(*words).code == 3
    ran = slices.attempt("reset", "--slice", "S-1", "-m", "again", "--rollback")
    assert (ran.code, slices.at()["status"]) == (1, "STOPPED")


def test_other_spelling_of_a_test_continues_its_count(slices: Slices) -> None:
    """One failure is counted once, and a new name does not start at 0."""
    runs(slices, "failed", "failed")
    slices.does("start adds")
    ran = junit(slices, write(slices, case("adds", FAILS), age=9), "--test", "Cart.adds")
    assert (ran.code, slices.counts()[1]) == (3, 3)
    assert slices.at()["current_trip"]["rules"] == ["test_trip"]


# --- the ceiling ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("started", [True, False])
def test_flapping_test_in_reports_reaches_the_ceiling(slices: Slices, started: bool) -> None:
    slices.does(*(["start adds"] if started else []))
    codes = runs(slices, *["failed", "passed"] * 6, "failed")
    assert codes == [0] * 12 + [3]
    assert slices.at()["current_trip"]["rules"] == ["slice_ceiling"]


# --- a report counts once -------------------------------------------------------------------------------------------


def test_unchanged_report_counts_once(slices: Slices) -> None:
    file = write(slices, case("adds", FAILS))
    codes = [junit(slices, file, "--strategy", "first").code for _ in range(4)]
    assert (codes, slices.counts()[1], len(slices.results())) == ([0] * 4, 1, 1)
    ran = junit(slices, file, file, "--json")
    assert (ran.json["counted"], [each["level"] for each in ran.json["problems"]]) == ({}, ["warning"] * 2)
    copy = slices.root / "copy.xml"
    shutil.copy2(file, copy)
    junit(slices, copy)
    assert slices.counts()[1] == 1, "a copy with the same time is the same report"


def test_same_bytes_from_a_later_run_count(slices: Slices) -> None:
    for age in range(3):
        code = junit(slices, write(slices, case("adds", FAILS), age=age)).code
    assert (code, slices.counts()[1]) == (3, 3)


def test_of_several_reports_only_new_ones_count(slices: Slices) -> None:
    old = slices.root / "old.xml"
    shutil.copy2(write(slices, case("a", FAILS)), old)
    junit(slices, old)
    junit(slices, old, write(slices, case("b", FAILS), age=1))
    assert slices.counts() == ({"shop.Cart::a": 1, "shop.Cart::b": 1}, 2, 0)


def test_report_is_known_after_a_reset(slices: Slices) -> None:
    file = write(slices, case("adds", FAILS))
    junit(slices, file)
    slices.attempt("reset", "--slice", "S-1", "-m", "again")
    junit(slices, file)
    assert slices.counts()[1] == 0


def test_report_read_by_exec_does_not_count_again(slices: Slices) -> None:
    write(slices, case("adds", FAILS))
    run = f"cp '{slices.root}/report.xml' out.xml; exit 1"
    slices.attempt("exec", "--slice", "S-1", "--report", "out.xml", "--", "sh", "-c", run)
    junit(slices, slices.root / "out.xml")
    assert slices.counts()[1] == 1


def test_concurrent_imports_count_a_report_once(slices: Slices) -> None:
    file = write(slices, case("adds", FAILS))
    words = [str(BIN / "liza"), "attempt", "junit", str(file), "--slice", "S-1"]
    started = [
        subprocess.Popen(words, cwd=slices.root, env=environment(slices.root), stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [process.wait(60) for process in started] == [0] * 4
    assert slices.counts() == ({"shop.Cart::adds": 1}, 1, 0)


def test_report_from_a_pipe_counts_each_time(slices: Slices) -> None:
    file = write(slices, case("adds", FAILS))
    words = [str(BIN / "liza"), "attempt", "junit", "/dev/stdin", "--slice", "S-1"]
    for _ in range(2):
        piped = subprocess.run(
            ["sh", "-c", 'cat "$0" | "$@"', file, *words], cwd=slices.root, env=environment(slices.root), check=False
        )
        assert piped.returncode == 0
    assert slices.counts()[1] == 2
