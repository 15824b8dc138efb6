"""The stagnation protocol: each signal with what trips it and what does not, and what is recorded."""

import json

import pytest

from tests.scopes.loops.run import Loops
from tests.store.oracle import libyaml_value

OK = "--files-changed 1"


def error(text: str) -> list[str]:
    return ["--files-changed", "1", "--error", text]


def last(loops: Loops, *iterations: list[str]) -> tuple[str, str]:
    for words in iterations:
        loops.record(*words)
    return loops.at()["status"], loops.at()["trigger_reason"]


# --- no file changes --------------------------------------------------------------------------------------------------


def test_three_iterations_without_change_trip(loops: Loops) -> None:
    assert loops.codes("--files-changed 0", "--files-changed 0", "--files-changed 0") == [0, 0, 3]
    assert loops.at()["trigger_reason"] == "No progress for 3 iterations"


def test_one_change_restarts_the_count(loops: Loops) -> None:
    assert (
        loops.codes("--files-changed 0", "--files-changed 0", OK, "--files-changed 0", "--files-changed 0") == [0] * 5
    )


def test_claiming_done_is_not_progress(loops: Loops) -> None:
    assert loops.codes("--files-changed 0", "--files-changed 0", "--files-changed 0 --claims-done")[-1] == 3


# --- the same error ---------------------------------------------------------------------------------------------------


def test_protocol_example_trips_on_the_third_error(loops: Loops) -> None:
    words = "TypeError: undefined is not a function"
    status, reason = last(loops, error(words), error(words), error(words))
    assert (status, reason) == ("OPEN", f"Same error for 3 iterations: {words}")
    assert [(each["iteration"], each["signature"]) for each in loops.at()["error_history"]] == [
        (1, words), (2, words), (3, words),
    ]  # fmt: skip


SAME = {
    "another line and column": ("src/a.py:4:17: error: x is not callable", "src/a.py:9:2: error: x is not callable"),
    "another address": ("segmentation fault at 0x7ffd10", "segmentation fault at 0x7ffe99"),
    "another temporary path": ("cp: cannot stat '/tmp/a1/x': not found", "cp: cannot stat '/tmp/b2/x': not found"),
    "another duration": ("timeout after 30 s waiting for db", "timeout after 31 s waiting for db"),
}  # fmt: skip
DIFFERENT = {
    "status 404 and 500": ("GET /users failed with HTTP 404", "GET /users failed with HTTP 500"),
    "port 80 and 443": ("connection refused on port 80", "connection refused on port 443"),
    "two codes of one compiler": ("error TS2322: wrong type", "error TS2345: wrong type"),
    "two kinds of exceptions": ("TypeError: bad value", "KeyError: bad value"),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_volatile_parts_of_an_error_are_ignored(loops: Loops, one: str, other: str) -> None:
    assert last(loops, error(one), error(other), error(one))[0] == "OPEN"


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_different_errors_are_not_a_repetition(loops: Loops, one: str, other: str) -> None:
    assert last(loops, error(one), error(one), error(other), error(one))[0] == "CLOSED"


def test_iteration_without_error_restarts_the_count(loops: Loops) -> None:
    assert last(loops, error("boom"), error("boom"), OK.split(), error("boom"))[0] == "CLOSED"


def test_crash_without_message_is_an_error(loops: Loops) -> None:
    words = [[*OK.split(), "--outcome", "crash"]] * 3
    assert last(loops, *words)[0] == "OPEN"


# --- a task that takes too long ---------------------------------------------------------------------------------------


def test_five_iterations_on_one_task_trip(loops: Loops) -> None:
    assert loops.codes(*[f"{OK} --task t-1"] * 5) == [0] * 4 + [3]
    assert loops.at()["trigger_reason"] == "Task not progressing for 5 iterations: t-1"


@pytest.mark.parametrize("other", [f"{OK} --task t-2", OK, f"{OK} --task t-1 --progress 40"])
def test_other_task_or_progress_restarts_the_count(loops: Loops, other: str) -> None:
    assert loops.codes(*[f"{OK} --task t-1"] * 4, other, f"{OK} --task t-1") == [0] * 6


# --- red tests --------------------------------------------------------------------------------------------------------


def test_changes_with_failing_tests_trip(loops: Loops) -> None:
    assert loops.codes(*[f"{OK} --evidence tests=fail"] * 3) == [0, 0, 3]
    assert loops.at()["trigger_reason"] == "Tests failing for 3 iterations despite changes"


def test_changes_with_failing_build_trip(loops: Loops) -> None:
    assert loops.codes(*[f"{OK} --evidence tests=pass --evidence build=fail"] * 3)[-1] == 3


def test_passing_tests_restart_the_count(loops: Loops) -> None:
    red, green = f"{OK} --evidence tests=fail", f"{OK} --evidence tests=pass"
    assert loops.codes(red, red, green, red, red) == [0] * 5
    assert loops.codes(OK, red) == [0, 3]


# --- claims -----------------------------------------------------------------------------------------------------------


def test_done_claimed_twice_in_a_row_trips(loops: Loops) -> None:
    assert loops.codes(f"{OK} --claims-done", f"{OK} --claims-done") == [0, 3]
    assert loops.at()["trigger_reason"] == "Completion claimed 2 times in a row, and not accepted"


def test_distant_done_claims_are_not_in_a_row(loops: Loops) -> None:
    assert loops.codes(f"{OK} --claims-done", *[OK] * 7, f"{OK} --claims-done") == [0] * 9


def test_third_done_claim_without_evidence_trips(loops: Loops) -> None:
    claim = f"{OK} --claims-done"
    assert loops.codes(claim, OK, claim, OK, claim) == [0, 0, 0, 0, 3]
    assert loops.at()["trigger_reason"] == "Completion claimed 3 times without evidence"


def test_done_claim_with_evidence_completes(loops: Loops) -> None:
    assert loops.record(*OK.split(), "--claims-done", "--evidence", "tests=pass").code == 0
    assert loops.at()["completed_at"]
    assert "completed" in loops.loop("status", "coder-1").out


def test_done_claim_against_evidence_is_ignored(loops: Loops) -> None:
    loops.record(*OK.split(), "--claims-done", "--evidence", "tests=fail")
    assert "completed_at" not in loops.at()


# --- only tests -------------------------------------------------------------------------------------------------------


def test_test_only_iterations_warn_without_tripping(loops: Loops) -> None:
    ran = [loops.record(*words.split()) for words in [f"{OK} --test-only", OK] * 2 + [f"{OK} --test-only"]]
    assert ["only ran tests" in each.out for each in ran] == [False] * 4 + [True]
    assert [each.code for each in ran] == [0] * 5


# --- derived fields ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["changed: true", "details: {changed: true}", "stagnant: false", "completed: true"])
def test_derived_fields_are_never_read_from_file(loops: Loops, field: str) -> None:
    loops.codes("--files-changed 0", "--files-changed 0")
    loops.write(loops.state.read_text().replace("files_changed: 0\n", f"files_changed: 0\n        {field}\n"))
    assert loops.codes("--files-changed 0") == [3]


# --- what is recorded -------------------------------------------------------------------------------------------------


def test_all_fields_of_an_iteration_are_kept(loops: Loops) -> None:
    loops.record(
        "--task", "t", "--progress", "12.5", "--files-changed", "3", "--model", "sonnet", "--tokens", "1200",
        "--duration", "4.5", "--outcome", "error", "--evidence", "tests=fail",
    )  # fmt: skip
    assert loops.at()["iterations"] == [
        {
            "iteration": 1, "timestamp": "2025-01-18T12:01:00Z", "task": "t", "progress": 12.5, "files_changed": 3,
            "evidence": {"tests": "fail"}, "outcome": "error", "model": "sonnet", "tokens": 1200, "duration": 4.5,
        }
    ]  # fmt: skip


def test_newest_hundred_iterations_stay_and_others_are_archived(loops: Loops) -> None:
    signals = "no_file_changes: false"
    loops.write_rules(f"stagnation: {{signals: {{{signals}}}}}\nrules: [{{name: absolute_max, enabled: false}}]\n")
    entries = "".join(f"      - {{iteration: {n}, files_changed: 1, progress: {n / 2}}}\n" for n in range(1, 101))
    loops.write(f"version: 1\nloops:\n  coder-1:\n    status: CLOSED\n    loop_count: 100\n    iterations:\n{entries}")
    loops.codes(f"{OK} --progress 60", f"{OK} --progress 70")
    loop = loops.at()
    assert (loop["loop_count"], len(loop["iterations"]), loop["iterations"][0]["iteration"]) == (102, 100, 3)
    assert [json.loads(line)["iteration"] for line in loops.archived()] == [1, 2]
    assert loop["progress_before"] == 1.0


def test_loop_in_a_list_stays_in_the_list(loops: Loops) -> None:
    loops.write("version: 1\nloops:\n  - id: coder-1  # ours\n    status: CLOSED\n    iterations: []\n")
    assert loops.codes("--files-changed 0", "--files-changed 0", "--files-changed 0")[-1] == 3
    text = loops.state.read_text()
    assert "  - id: coder-1  # ours\n    status: OPEN\n" in text


def test_hand_written_fields_and_comments_stay(loops: Loops) -> None:
    loops.record(*OK.split())
    text = loops.state.read_text().replace(
        "    status: CLOSED\n", "    # ask ann\n    owner: ann\n    status: CLOSED\n"
    )
    loops.write(text)
    loops.codes("--files-changed 0", "--files-changed 0", "--files-changed 0")
    assert "    # ask ann\n    owner: ann\n    status: OPEN\n" in loops.state.read_text()


# --- invalid input ----------------------------------------------------------------------------------------------------

WRONG = {
    "a progress over a hundred": ["--progress", "101"],
    "a negative progress": ["--progress=-1"],
    "a word for a number": ["--files-changed", "many"],
    "an unknown outcome": ["--outcome", "fine"],
    "evidence without a result": ["--evidence", "tests"],
    "both kinds of errors": ["--error", "x", "--output", "y"],
    "no number at all": ["--progress", "nan"],
}


@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG)
def test_invalid_value_is_refused(loops: Loops, words: list[str]) -> None:
    before = loops.state.read_bytes()
    ran = loops.record(*words)
    assert (ran.code, words[0].partition("=")[0] in ran.err) == (2, True)
    assert loops.state.read_bytes() == before


def test_output_with_position_before_exception_opens_loop(loops: Loops) -> None:
    """The protocol's own example: the third time the same exception comes from the same line, the loop opens."""
    output = loops.root / "out.log"
    output.write_text("src/auth.js:42: TypeError: undefined is not a function\n")
    codes = [loops.record("--output", str(output), "--files-changed", "1").code for _ in range(3)]
    assert codes == [0, 0, 3]
    last = libyaml_value(loops.state.read_bytes())["loops"]["coder-1"]["error_history"][-1]
    assert (last["signature"], last["file"]) == ("TypeError: undefined is not a function", "src/auth.js:42")


def test_missing_output_file_is_named(loops: Loops) -> None:
    ran = loops.record("--output", "gone.log")
    assert (ran.code, "gone.log" in ran.err) == (1, True)
