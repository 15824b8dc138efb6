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


def test_a_pass_sets_the_test_to_zero_and_leaves_the_slice(slices: Slices) -> None:
    assert slices.does("fail a", "fail a", "pass a", "fail a", "fail a") == [0, 0, 0, 0, 0]
    assert slices.counts() == ({"a": 2}, 4, 0)
    assert slices.does("fail a") == [3]


def test_infrastructure_errors_count_for_nothing_and_interrupt_nothing(slices: Slices) -> None:
    assert slices.does("fail a", "infra a", "fail a", "infra a") == [0, 0, 0, 0]
    assert slices.counts() == ({"a": 2}, 2, 2)
    assert slices.does("fail a") == [3]
    assert slices.counts() == ({"a": 3}, 3, 2)


def test_infrastructure_errors_alone_never_stop_it_and_are_told_when_they_repeat(slices: Slices) -> None:
    said = [slices.attempt("infra", "--slice", "S-1", "--error", "no module").out for _ in range(9)]
    assert slices.counts() == ({}, 0, 9)
    assert ["infrastructure errors: mend" in each for each in said] == [False] + [True] * 8


def test_seven_failures_over_four_tests_stop_the_slice_at_the_seventh(slices: Slices) -> None:
    assert slices.does(*SEVEN) == [0] * 6 + [3]
    assert slices.counts() == ({"a": 2, "b": 2, "c": 2, "d": 1}, 7, 0)
    assert slices.at()["current_trip"]["rules"] == ["slice_ceiling"]
    assert slices.reported() == ["a", "b", "c", "d"]


def test_the_third_failure_that_is_also_the_seventh_is_reported_as_both_the_test_first(slices: Slices) -> None:
    assert slices.does("fail a", "fail a", "fail b", "fail b", "fail c", "fail c", "fail a") == [0] * 6 + [3]
    trip = slices.at()["current_trip"]
    assert trip["rules"] == ["test_trip", "slice_ceiling"]
    assert slices.reported() == ["a", "b", "c"]
    assert trip["reason"] == "test 'a' failed 3 times in a row; 7 failed attempts in the slice"


def test_a_test_that_flaps_is_caught_by_the_ceiling(slices: Slices) -> None:
    assert slices.does(*["fail a", "pass a"] * 6, "fail a") == [0] * 12 + [3]
    assert slices.counts() == ({"a": 1}, 7, 0)
    assert slices.at()["current_trip"]["rules"] == ["slice_ceiling"]


def test_an_arch_stop_after_two_stops_at_once_and_goes_before_the_counts(slices: Slices) -> None:
    assert slices.does("fail a", "fail a") == [0, 0]
    assert slices.attempt("arch-stop", "--slice", "S-1", "-m", "needs a new table").code == 3
    record = slices.at()
    assert (record["status"], record["current_trip"]["reason"]) == ("ARCH_STOP", "needs a new table")
    assert slices.does("fail a") == [3]
    assert slices.counts() == ({"a": 2}, 2, 0)
    assert slices.at()["status"] == "ARCH_STOP"


def test_an_arch_stop_takes_over_from_a_trip_and_is_said_once(slices: Slices) -> None:
    slices.does("fail a", "fail a", "fail a")
    assert slices.attempt("arch-stop", "--slice", "S-1", "-m", "no such service").code == 3
    assert slices.at()["current_trip"]["rules"] == ["arch_stop", "test_trip"]
    assert slices.reported() == ["a"]
    assert "stopped before" in slices.attempt("arch-stop", "--slice", "S-1", "-m", "again").out
    assert slices.at()["current_trip"]["reason"] == "no such service"
    assert slices.actions == ["slice_stopped", "slice_arch_stopped"]


def test_a_slice_that_nobody_began_can_be_arch_stopped(slices: Slices) -> None:
    assert slices.attempt("arch-stop", "--slice", "S-9", "-m", "needs a queue").code == 3
    assert slices.does("start a", name="S-9") == [3]


def test_an_arch_stop_says_why(slices: Slices) -> None:
    ran = slices.attempt("arch-stop", "--slice", "S-1", "-m", "  ")
    assert (ran.code, "needs a reason" in ran.err) == (1, True)


def test_what_comes_after_a_trip_is_recorded_as_refused_and_not_counted(slices: Slices) -> None:
    slices.does("fail a", "fail a", "fail a")
    assert slices.does("fail a", "pass a", "infra a", "fail b", "start b") == [3] * 5
    assert slices.counts() == ({"a": 3}, 3, 0)
    record = slices.at()
    assert slices.results() == ["failed"] * 3 + ["refused"] * 4
    assert [each.get("would_be") for each in record["attempts"][3:]] == ["failed", "passed", "infra", "failed"]
    assert [test["test_name"] for test in record["tests"]] == ["a"]


def test_other_slices_go_on(slices: Slices) -> None:
    slices.does("fail a", "fail a", "fail a")
    assert slices.does("fail a", "fail a", name="S-2") == [0, 0]
    assert slices.run("gate", "--slice", "S-2").code == 0


def test_the_gate_stops_a_stopped_slice_and_says_why(slices: Slices) -> None:
    assert slices.run("gate", "--slice", "S-1").code == 0, "what is not on the blackboard has nothing against it"
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
def test_the_gate_stops_where_a_name_is_empty(slices: Slices, option: str) -> None:
    ran = slices.run("gate", option, "")
    assert (ran.code, f"no {option[2:]} is named" in ran.err, f"after {option}" in ran.err) == (2, True, True)


@pytest.mark.parametrize("verb", ["start", "fail", "pass", "infra", "arch-stop", "status"])
def test_every_command_answers_in_json(slices: Slices, verb: str) -> None:
    slices.does("fail a", "fail a")
    about = {"arch-stop": ["-m", "why"], "status": []}.get(verb, ["--test", "a"])
    ran = slices.attempt(verb, "--slice", "S-1", *about, "--json")
    answer = ran.json
    assert (answer["schema"], answer["command"], answer["slice_id"]) == (1, f"attempt {verb}", "S-1")
    assert ran.code == (3 if answer["slice_status"] != "ACTIVE" else 0)
    assert answer["limits"] == {"test": 3, "slice": 7}
    assert answer["total_failed_attempts"] == (3 if verb == "fail" else 2)
    assert answer["tests"][0].keys() >= {
        "test_name", "attempt_count", "files_touched", "description", "last_error", "checkpoint_tag",
    }  # fmt: skip
