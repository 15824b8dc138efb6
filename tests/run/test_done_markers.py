"""Progress and completion claims in an iteration's output."""

import pytest

from liza.run.done_markers import claims_done, is_test_file, is_test_only, progress_in, progress_of_file, score


@pytest.mark.parametrize(
    ("line", "percent"),
    [("Progress: 40%", 40), ("progress: 0%", 0), ("  **Progress:** 12.5 %", 12.5), ("## Progress: 100%", 100),
     ("- Progress = 7%", 7), ("> Progress: 40% (4 of 10)", 40), ("PROGRESS:40%.", 40), ("`Progress: 3%`", 3)],
)  # fmt: skip
def test_progress_line_is_read(line: str, percent: float) -> None:
    assert progress_in(["before", line, "after"]) == percent


@pytest.mark.parametrize(
    "line",
    ["made progress: 40 files", "The progress: 40%", "Progress: 140%", "Progress: -5%", "Progress: 40%er", "40%",
     "Progress: good", "Progress: 4000%", "Progress bar: 40%", "Progress: 40% " + "x" * 500],
)  # fmt: skip
def test_other_lines_give_no_progress(line: str) -> None:
    assert progress_in([line]) is None


def test_last_progress_line_counts() -> None:
    assert progress_in(["Progress: 40%", "Progress: 60%", "Progress: 900%"]) == 60


@pytest.mark.parametrize(("text", "percent"), [("45", 45), ("45%\n", 45), (" 4.5 % ", 4.5), ("x\nProgress: 9%\n", 9)])
def test_progress_file_holds_a_number_or_a_progress_line(text: str, percent: float) -> None:
    assert progress_of_file(text) == percent


@pytest.mark.parametrize("text", ["", "half", "101", "-1", "1e9", "4 5", "nan"])
def test_other_progress_files_give_no_progress(text: str) -> None:
    assert progress_of_file(text) is None


@pytest.mark.parametrize(
    "line",
    ["DONE", "COMPLETE", "COMPLETED", "FINISHED", "DONE.", "**DONE**", "  COMPLETE!", "# COMPLETE", "✅ DONE",
     "TASK COMPLETE", "Task complete.", "The task is complete", "All tasks are done.", "ALL TASKS COMPLETE",
     "<promise>COMPLETE</promise>", "<promise>DONE</promise>", "<promise> all tasks complete </promise>",
     "STATUS: COMPLETE", "Status: done", "**STATUS:** COMPLETED", "EXIT_SIGNAL: true", "`EXIT_SIGNAL: true`"],
)  # fmt: skip
def test_completion_line_is_a_claim(line: str) -> None:
    assert claims_done(["working", line, "bye"])


@pytest.mark.parametrize(
    "line",
    ["abandoned", "ABANDONED", "done", "Done.", "Done with step 1", "DONE with step 1", "I am done", "step 1: DONE",
     "is it DONE?", "DONE?", "Should I mark the task complete?", "complete the task", "INCOMPLETE", "NOT DONE",
     "STATUS: IN_PROGRESS", "STATUS: INCOMPLETE", "EXIT_SIGNAL: false", "+DONE", "- [x] DONE", "print('DONE')",
     "<promise>later</promise>", "the <promise>COMPLETE</promise> tag", "task complete: no", "DONE" + " " * 300 + "x"],
)  # fmt: skip
def test_other_lines_are_not_a_claim(line: str) -> None:
    assert not claims_done(["working", line, "bye"])


def test_later_exit_signal_cancels_a_claim() -> None:
    assert not claims_done(["STATUS: COMPLETE", "EXIT_SIGNAL: false"])
    assert claims_done(["EXIT_SIGNAL: false", "EXIT_SIGNAL: true"])


@pytest.mark.parametrize(
    "path",
    ["/r/tests/x.py", "test/x.go", "/r/src/__tests__/a.ts", "a/test_x.py", "a/x_test.go", "a/x.test.ts", "a/x.spec.js",
     "a/x_spec.rb", "a/ThingTest.java", "a/ThingTests.cs", "conftest.py", "a/x.snap"],
)  # fmt: skip
def test_files_are_recognised_by_name(path: str) -> None:
    assert is_test_file(path)


@pytest.mark.parametrize("path", ["a/x.py", "latest.py", "contest.py", "specs/a.md", "a/testimony.md"])
def test_other_files_are_not_test_files(path: str) -> None:
    assert not is_test_file(path)


def test_writing_only_tests_is_test_only() -> None:
    assert is_test_only(["tests/test_a.py", "a_test.go"], ()) is True
    assert is_test_only(["tests/test_a.py", "a.py"], ()) is False


@pytest.mark.parametrize(
    "command",
    ["pytest -x", "cd app && npm test", "CI=1 npm run test | tail -5", "python -m pytest tests", "go test ./...",
     "cargo test --all", "make test; echo $?", "python3.11 -m unittest"],
)  # fmt: skip
def test_running_only_tests_without_changes_is_test_only(command: str) -> None:
    assert is_test_only([], [command]) is True


@pytest.mark.parametrize("command", ["ls", "npm install", "pytest && rm -rf build", "go build ./...", "pytester"])
def test_running_other_commands_is_not_test_only(command: str) -> None:
    assert is_test_only([], [command]) is False


def test_only_is_unknown_if_the_changes_are_unknown() -> None:
    assert is_test_only(None, ["pytest"]) is None
    assert is_test_only([], ()) is False


def test_score_is_the_known_progress() -> None:
    assert score(40.0, False, False, {}, "ok") == (40.0, 0.5)
    assert score(40.0, True, False, {}, "ok") == (40.0, 0.8)
    assert score(40.0, True, True, {"verify": False}, "ok") == (40.0, 1.0)


def test_claim_scores_by_its_evidence() -> None:
    assert score(None, False, True, {}, "ok") == (50.0, 0.2)
    assert score(None, False, True, {"verify": True, "plan": False}, "ok") == (50.0, 1.0)
    assert score(None, False, True, {"verify": True}, "ok") == (100.0, 1.0)


def test_score_is_unknown_without_progress_or_claim() -> None:
    assert score(None, False, False, {}, "ok") == (None, 0.0)


def test_failed_command_halves_the_confidence() -> None:
    assert score(40.0, True, False, {}, "timeout") == (40.0, 0.4)
