"""`liza run` with agents of every kind: how it ends, its exit code, and the kept artifacts."""

import json
from pathlib import Path

import pytest

from tests.daemon.daemon import until
from tests.run.projects import CLAIMS, CRASHES, FAILS, HANGS, IDLES, REFUSED, WORKS, Project, alive, lines

ARTIFACTS = {"changes.patch", "errors.json", "metrics.json", "completion_signals.json", "output.log"}


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# --- one that works -------------------------------------------------------------------------------------------------


def test_working_agent_is_run_until_it_is_done(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    result = project.run("--verify", "test -s work.txt")
    assert result.code == 0, result.err
    assert [each["progress"] for each in project.recorded] == [25, 50, 75, 100]
    assert [each["files_changed"] for each in project.recorded] == [1, 1, 1, 1]
    assert project.recorded[-1]["evidence"] == {"verify": "pass"}
    assert project.loop["status"] == "CLOSED"
    assert project.loop["completed_at"]
    assert lines(result, "liza run  completed")


def test_output_passes_through_unchanged_and_alone(tmp_path: Path) -> None:
    agent = r"printf '\033[31mred\033[0m\tnot text: \001\n'; printf 'no line end'; echo x > x; echo; echo DONE"
    project = Project(tmp_path / "p", agent)
    result = project.run("--verify", "true")
    assert result.out == "\x1b[31mred\x1b[0m\tnot text: \x01\nno line end\nDONE\n"
    assert result.out.encode() == (project.iteration(1) / "output.log").read_bytes()
    assert "\x1b" not in result.err


def test_each_iteration_leaves_its_artifacts(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    project.run("--verify", "true", "--model", "sonnet", "--task", "task-1")
    assert files(project.session / "iterations") == {"1", "2", "3", "4"}
    assert files(project.iteration(2)) == ARTIFACTS
    assert files(project.iteration(4)) == ARTIFACTS | {"verify.log"}
    assert "+2\n" in (project.iteration(2) / "changes.patch").read_text()
    metrics = project.kept(2, "metrics")
    assert (metrics["outcome"], metrics["exit_code"], metrics["model"]) == ("ok", 0, "sonnet")
    assert (metrics["files_changed"], metrics["progress"], metrics["progress_from"]) == (1, 50, "output")
    assert project.kept(2, "errors") == {"iteration": 2, "errors": []}
    assert project.kept(4, "completion_signals")["evidence"] == {"verify": "pass"}
    assert project.facts["status"] == "completed"
    assert [(each["task"], each["model"]) for each in project.recorded] == [("task-1", "sonnet")] * 4
    assert {each["session"] for each in project.recorded} == {project.session.name}


def test_unwritable_artifact_is_reported_and_loses_no_record(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", 'mkdir "$(dirname "$LIZA_CONTEXT_FILE")/iterations/1/metrics.json"; echo x > x')
    result = project.run("--max", "1")
    assert lines(result, "liza run: metrics.json could not be written: it is a folder")
    assert [each["files_changed"] for each in project.recorded] == [1]


def test_each_iteration_keeps_score_confidence_and_error_count(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    project.run("--verify", "true")
    kept = [(each["completion"], each["confidence"], each["errors"]) for each in project.recorded]
    assert kept == [(25, 0.5, 0), (50, 0.5, 0), (75, 0.5, 0), (100, 1.0, 0)]


def test_costs_of_the_agent_are_added_up(tmp_path: Path) -> None:
    usage = '{"type":"result","result":"DONE","total_cost_usd":0.5,"usage":{"input_tokens":1000,"output_tokens":1}}'
    project = Project(tmp_path / "p", f"echo x > x; echo '{usage}'")
    result = project.run("--verify", "true")
    assert result.code == 0
    assert project.recorded[0]["tokens"] == 1001
    assert project.kept(1, "metrics")["cost_usd"] == 0.5
    assert "1,001 tokens, $0.50" in result.err


def test_usage_of_the_agent_is_recorded_with_its_session(tmp_path: Path) -> None:
    used = '"usage":{"input_tokens":1000,"cache_read_input_tokens":500,"output_tokens":1}'
    start = '{"type":"system","session_id":"5139","model":"opus"}'
    usage = f'{{"type":"result","result":"DONE","session_id":"5139","total_cost_usd":0.5,{used}}}'
    project = Project(tmp_path / "p", f"echo x > x; echo '{start}'; echo '{usage}'")
    assert project.run("--verify", "true", "--task", "task-1").code == 0
    (line,) = (project.folder / ".liza" / "steps" / "5139.jsonl").read_text().splitlines()
    wanted = {"session": "5139", "task": "task-1", "model": "opus", "tokens": 1501, "tokens_cached": 500, "cost": 0.5}
    found = json.loads(line)
    assert {name: found[name] for name in wanted} == wanted


def test_tokens_of_opencode_are_recorded(tmp_path: Path) -> None:
    part = '"part":{"type":"step-finish","cost":0,"tokens":{"input":100,"output":20,"reasoning":5,"cache":{"read":30}}}'
    line = f'{{"type":"step_finish","sessionID":"ses_1",{part}}}'
    project = Project(tmp_path / "p", f"echo x > x; echo '{line}'; echo '{line}'")
    project.run("--max", "1")
    (kept,) = map(json.loads, (project.folder / ".liza" / "steps" / "ses_1.jsonl").read_text().splitlines())
    assert (kept["tokens_in"], kept["tokens_cached"], kept["tokens_out"], "cost" in kept) == (260, 60, 50, False)


# --- one that does nothing ------------------------------------------------------------------------------------------


def test_idle_agent_is_stopped(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    result = project.run("--on-stagnation", "abort")
    assert result.code == 3
    assert [each["files_changed"] for each in project.recorded] == [0, 0, 0]
    assert (project.loop["status"], project.loop["trigger_reason"]) == ("OPEN", "No progress for 3 iterations")
    assert lines(result, "[STAGNATION DETECTED] No progress for 3 iterations")


def test_dirty_tree_and_blackboard_writes_are_not_progress(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION >> .liza/notes.txt")
    (project.folder / "readme.md").write_text("changed by a person\n")
    (project.folder / "untracked").write_text("by a person\n")
    assert project.run("--on-stagnation", "abort").code == 3
    assert len(project.recorded) == 3


def test_threshold_option_is_used(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    assert project.run("--on-stagnation", "abort", "--stagnation-threshold", "2").code == 3
    assert len(project.recorded) == 2


def test_changes_are_unknown_without_git(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    project = Project(tmp_path / "p", IDLES, git=False)
    result = project.run("--max", "4", "--on-stagnation", "abort", GIT_CEILING_DIRECTORIES=str(tmp_path))
    assert result.code == 1
    assert all("files_changed" not in each for each in project.recorded)


# --- one that repeats an error --------------------------------------------------------------------------------------


def test_agent_repeating_an_error_is_stopped_despite_changes(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", FAILS)
    result = project.run("--on-stagnation", "abort")
    assert result.code == 3
    assert [each["outcome"] for each in project.recorded] == ["error"] * 3
    errors = [each["signature"] for each in project.loop["error_history"]]
    assert errors == ["TypeError: undefined is not a function"] * 3
    assert project.kept(3, "errors")["errors"][0]["signature"] == "TypeError: undefined is not a function"
    assert lines(result, "Last error: ")[0].endswith("TypeError: undefined is not a function")


def test_agent_failing_without_output_is_stopped(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION >> work.txt; exit 9")
    assert project.run("--on-stagnation", "abort").code == 3
    assert project.loop["error_history"][0]["signature"] == "the agent's command ended with exit code 9"


# --- one that claims to be done -------------------------------------------------------------------------------------


def test_claim_is_accepted_with_evidence(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", CLAIMS)
    assert project.run("--verify", "true").code == 0
    assert len(project.recorded) == 1
    assert project.recorded[0]["claims_done"] is True


def test_repeated_claim_against_the_evidence_stops_the_loop(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", CLAIMS)
    result = project.run("--verify", "echo 3 tests fail; exit 5", "--on-stagnation", "abort")
    assert result.code == 3
    assert len(project.recorded) == 2
    assert project.recorded[0]["evidence"] == {"verify": "fail"}
    assert project.loop["trigger_reason"] == "Completion claimed 2 times in a row, and not accepted"
    assert "not accepted: verify failed" in result.err
    faults = project.kept(1, "completion_signals")["faults"]
    assert faults == ["verify failed: echo 3 tests fail; exit 5\nexit code 5\n3 tests fail"]


def test_claim_without_evidence_is_never_accepted(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", CLAIMS)
    result = project.run("--on-stagnation", "abort")
    assert result.code == 3
    assert [each["unproven"] for each in project.recorded] == [True, True]
    assert "no evidence option" in result.err.partition("Loop 1")[0]


def test_hundred_percent_progress_is_a_claim(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION > work.txt; echo 'Progress: 100%'")
    assert project.run("--max", "1", "--require", "never.txt").code == 1
    assert project.recorded[0]["evidence"] == {"require": "fail"}
    assert project.run("--max", "1", "--verify", "true").code == 0


def test_hundred_percent_completes_if_no_evidence_is_asked_for(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION > work.txt; echo 'Progress: 100%'")
    assert project.run("--max", "3").code == 0
    assert len(project.recorded) == 1


def test_patience_holds_for_repeated_claims_too(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", CLAIMS)
    assert project.run("--stagnation-threshold", "5", "--on-stagnation", "abort").code == 3
    assert len(project.recorded) == 5


def test_required_files_are_evidence(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", CLAIMS)
    result = project.run("--require", "work.txt", "--require", "docs/manual.md", "--max", "1")
    assert result.code == 1
    assert project.recorded[0]["evidence"] == {"require": "fail"}
    assert "docs/manual.md" in result.err
    assert project.run("--require", "work.txt", "--max", "1").code == 0


def test_evidence_is_not_checked_without_a_claim(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION > work.txt; echo done with step 1")
    assert project.run("--verify", "touch verified", "--max", "2").code == 1
    assert not (project.folder / "verified").exists()


def test_loop_with_failing_tests_is_stopped(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION > work.txt")
    result = project.run("--test", "echo ran >> ../ran; exit 1", "--on-stagnation", "abort")
    assert result.code == 3
    assert (tmp_path / "ran").read_text() == "ran\n" * 3
    assert project.loop["trigger_reason"] == "Tests failing for 3 iterations despite changes"


# --- one that hangs, one that crashes, one that is refused by its service -------------------------------------------


@pytest.mark.parametrize("option", ["--timeout", "--idle-timeout"])
def test_hanging_agent_is_ended_and_recorded(tmp_path: Path, option: str) -> None:
    project = Project(tmp_path / "p", HANGS)
    result = project.run(option, "0.3", "--max", "2")
    assert result.code == 1
    assert [each["outcome"] for each in project.recorded] == ["timeout", "timeout"]
    assert result.out == "begun\nbegun\n"
    pids = project.pids()
    assert len(pids) == 4
    until(lambda: not any(alive(pid) for pid in pids), "all that it started has ended")


def test_agent_that_always_hangs_is_stopped(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION > work.txt; sleep 100")
    assert project.run("--timeout", "0.2", "--on-stagnation", "abort").code == 3
    assert project.loop["trigger_reason"].startswith("Same error for 3 iterations")


def test_crashing_agent_is_recorded_and_stopped(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", CRASHES)
    assert project.run("--on-stagnation", "abort").code == 3
    assert [each["outcome"] for each in project.recorded] == ["crash"] * 3
    assert project.loop["error_history"][0]["signature"] == "the agent's command: killed by SIGSEGV"
    assert project.kept(1, "metrics")["note"] == "killed by SIGSEGV"


def test_api_error_in_the_answer_counts_despite_exit_code_zero(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", REFUSED)
    result = project.run("--on-stagnation", "abort")
    assert result.code == 3
    assert [each["outcome"] for each in project.recorded] == ["error"] * 3
    assert {each["signature"] for each in project.loop["error_history"]} == {"API Error: 529 overloaded"}
    assert project.kept(1, "metrics")["exit_code"] == 0


def test_error_in_the_answer_cancels_a_claim(tmp_path: Path) -> None:
    answer = json.dumps({"type": "result", "is_error": True, "result": "DONE"})
    project = Project(tmp_path / "p", f"echo x > x; echo '{answer}'")
    assert project.run("--verify", "true", "--max", "1").code == 1
    assert "claims_done" not in project.recorded[0]


# --- the agent's input ----------------------------------------------------------------------------------------------


def test_placeholders_and_variables_are_filled_in(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", 'echo "$@"; env | grep ^LIZA_ | sort; cat "$LIZA_CONTEXT_FILE" | head -1')
    result = project.liza(
        "run", "--loop", "l", "--model", "opus", "--max", "1", *project.words,
        "{iteration} of {model}", '{"json": {iteration}}', "{context_file}", "{other}",
    )  # fmt: skip
    printed = result.out.splitlines()
    context = str(project.session / "context.md")
    assert printed[0] == f'1 of opus {{"json": 1}} {context} {{other}}'
    assert printed[1:] == [
        f"LIZA_CONTEXT_FILE={context}", "LIZA_ITERATION=1", "LIZA_LOOP=l", "LIZA_MODEL=opus",
        f"LIZA_PROGRESS_FILE={project.session / 'progress'}", "# Iteration 1 of loop l",
    ]  # fmt: skip


def test_progress_is_read_from_the_progress_file(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", 'echo $((LIZA_ITERATION * 30)) > "$LIZA_PROGRESS_FILE"; echo "Progress: 1%"')
    project.run("--max", "2")
    assert [each["progress"] for each in project.recorded] == [30, 60]
    assert project.kept(1, "metrics")["progress_from"] == "file"


def test_progress_file_replaced_by_a_pipe_does_not_block(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", 'mkfifo "$LIZA_PROGRESS_FILE"; echo x > x; echo "Progress: 7%"')
    result = project.run("--max", "1")
    assert result.code == 1, result.err
    assert [each["progress"] for each in project.recorded] == [7]


def test_progress_is_unknown_if_not_reported(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    project.run("--max", "1")
    assert "progress" not in project.recorded[0]


def test_context_reports_errors_and_near_signals(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", FAILS)
    project.run("--max", "2", "--task", "task-1", "--model", "haiku")
    page = (project.session / "context.md").read_text()
    assert page.startswith("# Iteration 2 of loop l\n\n- Task: task-1\n- Model: haiku\n")
    assert "- repeated_errors: 1 of 3 " in page
    assert "TypeError: undefined is not a function\n```\n" in page
    assert "- Iteration 1 (haiku): error, 1 file changed, " in page


def test_context_reports_why_a_claim_was_not_accepted(tmp_path: Path) -> None:
    project = Project(
        tmp_path / "p", "echo $LIZA_ITERATION > w; [ $LIZA_ITERATION = 1 ] && echo DONE; cat $LIZA_CONTEXT_FILE"
    )
    result = project.run("--max", "2", "--verify", "echo two tests fail; false")
    assert "## Evidence against completion\n\n- verify failed: echo two tests fail; false\n" in result.out
    assert "\ntwo tests fail\n" in result.out


STEPS = "echo $LIZA_ITERATION > work.txt; echo Progress: $((LIZA_ITERATION * 7))%"


def test_context_reports_warning_and_critical_levels_before_the_trip(tmp_path: Path) -> None:
    rules = "circuit_breaker: {warning_threshold: 5, critical_threshold: 10, absolute_max_loops: 12}\n"
    agent = f"{STEPS}; grep '^## [WC][ar]' $LIZA_CONTEXT_FILE; true"
    project = Project(tmp_path / "p", agent, rules=rules)
    result = project.run("--on-stagnation", "abort")
    assert result.code == 3
    assert project.loop["trigger_reason"] == "Absolute max: 12 loops"
    headings = [line for line in result.out.splitlines() if line.startswith("##")]
    assert headings == [f"## Warning: {n} loops" for n in range(5, 10)] + [f"## Critical: {n} loops" for n in (10, 11)]
