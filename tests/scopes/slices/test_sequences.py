"""The rules of the protocol, as sequences of attempts through the command line."""

import pytest

from tests.scopes.slices.run import Slices

SEVEN = ["fail a", "fail a", "fail b", "fail b", "fail c", "fail c", "fail d"]


def test_three_failures_stop_the_slice(slices: Slices) -> None:
    assert slices.does("fail a", "fail a", "fail a") == [0, 0, 3]
    assert slices.counts() == ({"a": 3}, 3, 0)
    record = slices.at()
    assert (record["status"], record["current_trip"]["rules"]) == ("STOPPED", ["test_trip"])
    assert slices.reported() == ["a"]
    assert slices.actions == ["slice_stopped"]


def test_pass_clears_the_test_but_not_the_slice(slices: Slices) -> None:
    assert slices.does("fail a", "fail a", "pass a", "fail a", "fail a") == [0, 0, 0, 0, 0]
    assert slices.counts() == ({"a": 2}, 4, 0)
    assert slices.does("fail a") == [3]


def test_infrastructure_errors_do_not_count_or_interrupt(slices: Slices) -> None:
    assert slices.does("fail a", "infra a", "fail a", "infra a") == [0, 0, 0, 0]
    assert slices.counts() == ({"a": 2}, 2, 2)
    assert slices.does("fail a") == [3]
    assert slices.counts() == ({"a": 3}, 3, 2)


def test_repeated_infrastructure_errors_are_reported_only(slices: Slices) -> None:
    answers = [slices.attempt("infra", "--slice", "S-1", "--error", "no module", "--json").json for _ in range(9)]
    assert slices.counts() == ({}, 0, 9)
    assert [[each["level"] for each in answer["problems"]] for answer in answers] == [[], *[["warning"]] * 8]


def test_seventh_failure_over_four_tests_stops_the_slice(slices: Slices) -> None:
    assert slices.does(*SEVEN) == [0] * 6 + [3]
    assert slices.counts() == ({"a": 2, "b": 2, "c": 2, "d": 1}, 7, 0)
    assert slices.at()["current_trip"]["rules"] == ["slice_ceiling"]
    assert slices.reported() == ["a", "b", "c", "d"]


def test_third_and_seventh_failure_reports_both_rules(slices: Slices) -> None:
    assert slices.does("fail a", "fail a", "fail b", "fail b", "fail c", "fail c", "fail a") == [0] * 6 + [3]
    trip = slices.at()["current_trip"]
    assert trip["rules"] == ["test_trip", "slice_ceiling"]
    assert slices.reported() == ["a", "b", "c"]
    assert trip["reason"] == "test 'a' failed 3 times in a row; 7 failed attempts in the slice"


def test_flapping_test_reaches_the_ceiling(slices: Slices) -> None:
    assert slices.does(*["fail a", "pass a"] * 6, "fail a") == [0] * 12 + [3]
    assert slices.counts() == ({"a": 1}, 7, 0)
    assert slices.at()["current_trip"]["rules"] == ["slice_ceiling"]


def test_arch_stop_stops_at_once(slices: Slices) -> None:
    assert slices.does("fail a", "fail a") == [0, 0]
    assert slices.attempt("arch-stop", "--slice", "S-1", "-m", "needs a new table").code == 3
    record = slices.at()
    assert (record["status"], record["current_trip"]["reason"]) == ("ARCH_STOP", "needs a new table")
    assert slices.does("fail a") == [3]
    assert slices.counts() == ({"a": 2}, 2, 0)
    assert slices.at()["status"] == "ARCH_STOP"


def test_arch_stop_replaces_a_trip_once(slices: Slices) -> None:
    slices.does("fail a", "fail a", "fail a")
    assert slices.attempt("arch-stop", "--slice", "S-1", "-m", "no such service").code == 3
    assert slices.at()["current_trip"]["rules"] == ["arch_stop", "test_trip"]
    assert slices.reported() == ["a"]
    assert "already stopped" in slices.attempt("arch-stop", "--slice", "S-1", "-m", "again").out
    assert slices.at()["current_trip"]["reason"] == "no such service"
    assert slices.actions == ["slice_stopped", "slice_arch_stopped"]


def test_unknown_slice_can_be_arch_stopped(slices: Slices) -> None:
    assert slices.attempt("arch-stop", "--slice", "S-9", "-m", "needs a queue").code == 3
    assert slices.does("start a", name="S-9") == [3]


def test_arch_stop_needs_a_reason(slices: Slices) -> None:
    ran = slices.attempt("arch-stop", "--slice", "S-1", "-m", "  ")
    assert (ran.code, "needs a reason" in ran.err) == (1, True)


def test_attempts_after_a_trip_are_refused_and_not_counted(slices: Slices) -> None:
    slices.does("fail a", "fail a", "fail a")
    assert slices.does("fail a", "pass a", "infra a", "fail b", "start b") == [3] * 5
    assert slices.counts() == ({"a": 3}, 3, 0)
    record = slices.at()
    assert slices.results() == ["failed"] * 3 + ["refused"] * 4
    assert [each.get("would_be") for each in record["attempts"][3:]] == ["failed", "passed", "infra", "failed"]
    assert [test["test_name"] for test in record["tests"]] == ["a"]


def test_gate_stops_a_stopped_slice_with_reason(slices: Slices) -> None:
    assert slices.run("gate", "--slice", "S-1").code == 0, "an unknown slice may continue"
    slices.does("fail a", "fail a")
    assert slices.run("gate", "--slice", "S-1").code == 0
    slices.does("fail a")
    ran = slices.run("gate", "--slice", "S-1")
    assert ran.code == 2
    assert "slice S-1 is STOPPED: test 'a' failed 3 times in a row" in ran.err
    assert "liza attempt status --slice S-1" in ran.err
    slices.attempt("arch-stop", "--slice", "S-3", "-m", "needs a queue")
    assert "slice S-3 is ARCH_STOP: needs a queue" in slices.run("gate", "--slice", "S-3").err


@pytest.mark.parametrize("option", ["--slice", "--claim", "--loop", "--stage"])
def test_gate_stops_for_an_empty_name(slices: Slices, option: str) -> None:
    ran = slices.run("gate", option, "")
    assert (ran.code, ran.err.startswith(f"liza: {option}"), f"{option} NAME" in ran.err) == (2, True, True)
