"""`liza run` on the command line: its options, refusals and output."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Result
from tests.run.projects import CLAIMS, IDLES, WORKS, Project, lines
from tests.run.repositories import SETTINGS
from tests.run.terminals import Terminal


def objects(result: Result) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in result.out.splitlines()]
    assert {(each["schema"], each["command"]) for each in found} == {(1, "run")}
    return found


# --- options --------------------------------------------------------------------------------------------------------


def test_single_iteration_is_reported(tmp_path: Path) -> None:
    assert "stopped: not completed after 1 iteration (--max 1)" in Project(tmp_path / "p", WORKS).run("--max", "1").err


def test_missing_command_gets_an_example(tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    result = project.liza("run", "--max", "3")
    assert result.code == 2
    assert result.hint().startswith("for example: liza run")


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--max", "0"], "--max"), (["--max", "many"], "--max"), (["--timeout", "soon"], "--timeout"),
     (["--timeout", "0"], "--timeout"), (["--idle-timeout", "-3"], "--idle-timeout"),
     (["--on-stagnation", "panic"], "--on-stagnation"), (["--stagnation-threshold", "0"], "threshold"),
     (["--project", "nothing"], "--project"), (["--workdir", "nowhere"], "--workdir"),
     (["--plan", ".liza"], "--plan"), (["--loop", "a\nb"], "invalid loop name"),
     (["--loop", "a" * 201], "invalid loop name")],
)  # fmt: skip
def test_invalid_option_is_refused_before_running(tmp_path: Path, options: list[str], message: str) -> None:
    project = Project(tmp_path / "p", "touch ran")
    result = project.run(*options)
    assert result.code == (1 if options[0] in ("--workdir", "--plan", "--loop") else 2)
    assert message in result.err
    assert result.hint()
    assert not (project.folder / "ran").exists()


def test_unknown_command_is_refused_before_recording(tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    for command in ("no-such-program", "./no-such-script", str(tmp_path)):
        result = project.liza("run", "--loop", "l", "--", command)
        assert result.code == 1
        assert "command not found" in result.err
    assert "loops" not in project.board


def test_unwritable_runs_folder_is_reported(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "touch ran")
    (project.folder / ".liza" / "runs").write_text("no folder")
    result = project.run("--max", "1")
    assert result.code == 1
    assert "runs cannot be kept" in result.err
    assert not (project.folder / "ran").exists()


def test_command_without_dashes_keeps_its_options(tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    result = project.liza("run", "--max", "1", "echo", "--max", "9", "--json", "-x")
    assert result.out == "--max 9 --json -x\n"


def test_options_after_dashes_belong_to_the_command(tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    result = project.liza("run", "--max", "none", "--", "echo", "--json", "--debug")
    assert result.code == 2
    assert result.out == ""
    assert "Traceback" not in result.err


def test_loop_is_named_by_option_task_or_program(tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    for options in (["--loop", "a", "--task", "b"], ["--task", "b"], []):
        project.liza("run", "--max", "1", *options, "--", "/bin/echo")
    assert list(project.board["loops"]) == ["a", "b", "echo"]


def test_times_are_in_seconds_or_with_unit(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    project.run("--max", "1", "--timeout", "90", "--idle-timeout", "2m")
    assert project.facts["job"]["limits"] == {"total": 90, "idle": 120}


def test_workdir_is_measured(tmp_path: Path) -> None:
    other = Project(tmp_path / "other")
    project = Project(tmp_path / "p", f"echo x >> {other.folder}/x; echo x >> y")
    project.run("--max", "1", "--workdir", str(other.folder))
    assert project.recorded[0]["files_changed"] == 1


def test_root_is_passed_to_the_agent(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", 'echo "$LIZA_ROOT"')
    other = Project(tmp_path / "other")
    result = other.liza("--root", str(project.folder), "run", "--loop", "l", "--max", "1", *project.words)
    assert result.out == f"{project.folder}\n"
    assert len(project.recorded) == 1
    assert "loops" not in other.board


def test_disabled_breaker_warns_and_stops_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    result = project.run("--max", "5", "--on-stagnation", "abort", CIRCUIT_BREAKER_DISABLED="true")
    assert result.code == 1
    assert "warning: CIRCUIT_BREAKER_DISABLED" in result.err
    assert len(project.recorded) == 5


# --- output ---------------------------------------------------------------------------------------------------------


def test_piped_output_has_a_line_per_iteration(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    result = project.run("--verify", "true")
    message = [re.sub(r"\d+ s\b", "N s", line) for line in result.err.splitlines()]
    name = project.session.name
    assert message[0].startswith(f"liza run  loop l, run {name}: sh ")
    assert message[1:] == [
        "  Circuit breaker: CLOSED",
        "  Max loops: 10 without progress, 20 in all",
        "Loop 1 of 20", "Loop 1: ok, 1 file changed, progress 25%, N s, CLOSED",
        "Loop 2 of 20", "Loop 2: ok, 1 file changed, progress 50%, N s, CLOSED",
        "Loop 3 of 20", "Loop 3: ok, 1 file changed, progress 75%, N s, CLOSED",
        "Loop 4 of 20", "Loop 4: ok, 1 file changed, progress 100%, verify passed, N s, completed",
        "liza run  completed: the work is done, and there is evidence for it",
        "  4 iterations, N s, 4 files changed, progress 100%",
        f"  kept in .liza/runs/{name}/",
    ]  # fmt: skip


def test_stagnation_is_counted_and_logged(tmp_path: Path) -> None:
    agent = "echo x >> x; echo Progress: $((10 + LIZA_ITERATION))%"
    project = Project(tmp_path / "p", agent)
    rules = "circuit_breaker: {max_loops_no_progress: 4}\n"
    (project.folder / ".liza" / "rules.yaml").write_text(rules)
    result = project.run("--max", "9", "--on-stagnation", "abort")
    assert lines(result, "  ! Stagnation count:") == [
        f"  ! Stagnation count: {count} of 4 (progress rose by less than 3 points)" for count in (1, 2, 3)
    ]
    assert lines(result, "Loop 5 of") == ["Loop 5 of 9"]
    logged = [line.partition("] ")[2] for line in (project.folder / ".liza/runs/loops/l.log").read_text().splitlines()]
    assert [line.partition(":")[0] for line in logged] == ["INIT", "LOOP", *["STAGNATION"] * 4, "TRIGGER"]
    assert logged[3] == "STAGNATION: Loop 3, progress 13%, count 2"
    assert logged[-1].endswith("Stagnation: 4 loops without progress")


def test_loop_number_and_last_one_count_on_after_a_resume(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    project.run("--max", "2")
    result = project.liza("run", "--resume", project.session.name, "--max", "2")
    assert lines(result, "Loop 3 of") == ["Loop 3 of 4"]
    result = project.liza("run", "--loop", "other", "--max", "30", *project.words)
    assert lines(result, "Loop 1 of") == ["Loop 1 of 20"]
    result = project.run("--max", "30", "--verify", "true", CIRCUIT_BREAKER_DISABLED="true")
    assert lines(result, "Loop 1 of") == ["Loop 1 of 30"]
    assert "Circuit breaker: CLOSED (turned off)" in result.err


def test_changed_files_are_unknown_without_git(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    result = Project(tmp_path / "p", CLAIMS, git=False).run("--max", "2")
    assert result.err.count("not a git worktree") == 1
    assert "file changed" not in result.err
    assert "files changed" not in result.err
    result = Project(tmp_path / "q", CLAIMS).run("--max", "2")
    assert "git worktree" not in result.err
    assert "2 iterations, 0 s, 2 files changed" in result.err


def test_command_is_shown_quoted_for_a_shell(tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    result = project.liza("run", "--loop", "l", "--max", "1", "--", "sh", "-c", "echo one; echo two")
    assert result.err.splitlines()[0].endswith(": sh -c 'echo one; echo two'")


def test_incomplete_run_shows_how_to_continue(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    result = project.run("--max", "1")
    assert result.err.splitlines()[-1] == f"  to continue: liza run --resume {project.session.name}"
    result = project.run("--on-stagnation", "abort")
    going_on = result.err.splitlines()[-1].removeprefix("  to continue: ")
    assert going_on == f"liza loop reset l && liza run --resume {project.session.name}"


def test_run_that_a_trip_ended_shows_how_to_continue(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    project.liza("trip", "-m", "stop")
    result = project.run("--max", "1")
    resume = f"liza run --resume {project.session.name}"
    assert result.err.splitlines()[-1] == f"  to continue: liza resolve -m 'what was decided' && {resume}"
    project.liza("resolve", "-m", "go on")
    (project.folder / ".liza" / "CHECKPOINT").touch()  # a person's own
    result = project.run("--max", "1")
    assert "resolve" not in result.err.splitlines()[-1]


def test_json_has_an_object_per_iteration(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", CLAIMS)
    found = objects(project.run("--json", "--verify", "false", "--on-stagnation", "abort"))
    assert [each["status"] for each in found] == ["began", "iteration", "iteration", "open", "note", "open"]
    first, last = found[1], found[-1]
    assert (first["iteration"], first["outcome"], first["loop_status"], first["completed"]) == (
        1,
        "ok",
        "CLOSED",
        False,
    )
    assert (first["claims_done"], first["evidence"], first["files_changed"]) == (True, {"verify": False}, 1)
    assert (last["reason"], last["session"]) == (
        "Completion claimed 2 times in a row, and not accepted",
        project.session.name,
    )
    assert last["totals"]["iterations"] == 2


def test_json_error_is_the_common_envelope(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo x > .liza/state.yaml; echo '{[' > .liza/state.yaml")
    found = objects(project.run("--json", "--max", "3"))
    assert found[-1]["status"] == "waiting"
    assert (project.folder / found[-1]["waiting"]["file"]).is_file()


def test_terminal_shows_a_live_line(tmp_path: Path) -> None:
    agent = f"{WORKS}\nwhile ! [ -e .git/go$LIZA_ITERATION ]; do sleep 0.02; done"
    project = Project(tmp_path / "p", agent)
    words = ("run", "--loop", "l", "--max", "2", "--model", "opus", *project.words)
    with Terminal(project.folder, *words, **SETTINGS) as terminal:
        terminal.shows("iteration 1 of l\n")
        terminal.shows("▸ Loop 1 of 2  progress unknown  CLOSED  ")
        (project.folder / ".git" / "go1").touch()
        terminal.shows("Loop 1: ok, 1 file changed, progress 25%")
        terminal.shows("▸ Loop 2 of 2  25%  CLOSED  ")
        (project.folder / ".git" / "go2").touch()
        terminal.shows("2 iterations")
        assert terminal.code() == 1
    assert terminal.raw.count(b"\x1b[?25l") == terminal.raw.count(b"\x1b[?25h")  # the cursor is restored


def test_terminal_obeys_only_colours_of_the_agent(tmp_path: Path) -> None:
    agent = r"printf '\033[31mred\033[0m \033]0;title\007 \033[2J\tx\n50%%\r100%%\r\nlast'; echo x > x"
    project = Project(tmp_path / "p", agent)
    with Terminal(project.folder, "run", "--loop", "l", "--max", "1", *project.words, **SETTINGS) as terminal:
        assert terminal.code() == 1
    assert b"\x1b]0" not in terminal.raw
    assert b"\x1b[2J" not in terminal.raw
    assert re.search(rb"\x1b\[31mred\x1b\[0m", terminal.raw)
    assert any(line.startswith("red \\x1b]0;title\\x07 \\x1b[2J") for line in terminal.lines)
    assert {"100%", "last"} <= set(terminal.lines)
    assert (project.iteration(1) / "output.log").read_bytes().startswith(b"\x1b[31mred")


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"TERM": ""}])
def test_dumb_terminal_gets_plain_lines(tmp_path: Path, env: dict[str, str]) -> None:
    project = Project(tmp_path / "p", WORKS)
    with Terminal(project.folder, "run", "--loop", "l", "--max", "1", *project.words, **SETTINGS, **env) as terminal:
        assert terminal.code() == 1
    assert "▸" not in terminal.text
    assert "iteration 1 of l\n" in terminal.text


def test_no_color_is_respected(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", r"printf '\033[31mred\033[0m \033[48;5;9mbox\033[0m\n'")
    words = ("run", "--loop", "l", "--max", "1", *project.words)
    with Terminal(project.folder, *words, **SETTINGS, NO_COLOR="1") as terminal:
        assert terminal.code() == 1
    assert "red box" in terminal.lines
    assert not re.search(rb"\x1b\[[0-9;]*[34][0-9]", terminal.raw)


def test_long_output_is_shown_whole(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "seq 1 20000; echo x > x")
    with Terminal(project.folder, "run", "--loop", "l", "--max", "1", *project.words, **SETTINGS) as terminal:
        assert terminal.code() == 1
    assert [line for line in terminal.lines if line.isdigit()] == [str(n) for n in range(1, 20001)]
