"""How people stop a run (files, signals, commands), and how it continues."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import environment, liza
from tests.daemon.daemon import until
from tests.daemon.writers import save
from tests.run.projects import CLAIMS, HANGS, IDLES, WORKS, Project, alive, lines
from tests.run.repositories import SETTINGS
from tests.run.terminals import Terminal

WAITS = """\
echo "$LIZA_ITERATION" >> work.txt
echo "Progress: $((LIZA_ITERATION * 5))%"
[ "$LIZA_ITERATION" != 2 ] || touch "$1"
"""


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "code", "status"), [("CHECKPOINT", 3, "checkpoint"), ("ABORT", 1, "stopped")])
def test_checkpoint_or_abort_ends_the_run_before_the_next_iteration(
    tmp_path: Path, name: str, code: int, status: str
) -> None:
    project = Project(tmp_path / "p", WAITS.replace("$1", f".liza/{name}"))
    result = project.run()
    assert result.code == code
    assert len(project.recorded) == 2
    assert lines(result, f"liza run  {status}: .liza/{name} ")
    assert {"CHECKPOINT": "a person created it", "ABORT": "to continue: rm .liza/ABORT"}[name] in result.err
    again = project.run()
    assert again.code == code
    assert len(project.recorded) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_paused_run_reports_how_to_continue(tmp_path: Path, number: int) -> None:
    project = Project(tmp_path / "p", IDLES)
    with project.running() as running:
        running.wait_for("paused; to continue: liza loop reset l")
        running.send(number)
        assert running.code() == 130
    said = running.err.read_text().splitlines()[-1]
    assert said == f"  to continue: liza loop reset l && liza run --resume {project.session.name}"


def test_run_waits_while_a_pause_file_exists(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WAITS.replace("$1", ".liza/PAUSE"))
    with project.running("--max", "3") as running:
        running.wait_for("PAUSE exists: waiting until it is removed")
        assert len(project.recorded) == 2
        (project.folder / ".liza" / "PAUSE").unlink()
        assert running.code() == 1
    assert len(project.recorded) == 3


def test_run_waiting_for_pause_still_sees_the_checkpoint(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WAITS.replace("$1", ".liza/PAUSE"))
    with project.running() as running:
        running.wait_for("PAUSE exists")
        (project.folder / ".liza" / "CHECKPOINT").touch()
        assert running.code() == 3


def test_run_stops_at_its_maximum_of_iterations(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    result = project.run("--max", "2")
    assert result.code == 1
    assert len(project.recorded) == 2
    assert "(--max 2)" in result.err


# --- signals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("agent", [HANGS, "trap '' TERM INT; " + HANGS], ids=["kind", "stubborn"])
def test_signal_ends_the_agents_processes_within_a_second(tmp_path: Path, number: int, agent: str) -> None:
    """No record is lost."""
    project = Project(tmp_path / "p", f'if [ "$LIZA_ITERATION" = 1 ]; then echo 1 > work.txt; exit; fi\n{agent}')
    with project.running() as running:
        until(lambda: len(project.pids()) == 2, "the agent hangs")
        pids = project.pids()
        sent = time.monotonic()
        running.send(number)
        until(lambda: not any(alive(pid) for pid in pids), "all its processes have ended")
        took = time.monotonic() - sent
        assert running.code() == 130
    assert took < 1
    assert [each.get("outcome", "ok") for each in project.recorded] == ["ok", "interrupted"]
    assert "files_changed" in project.recorded[1]  # it recorded its processes in a file
    assert project.loop["error_history"] == []
    assert project.facts["status"] == "interrupted"
    assert project.facts["pending"] is None


def test_signal_while_evidence_is_checked_accepts_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", CLAIMS)
    (project.folder / "PLAN.md").write_text("- [x] one\n")
    with project.running("--plan", "PLAN.md", "--verify", "touch verifying; sleep 100") as running:
        until((project.folder / "verifying").exists, "the evidence is checked")
        running.send(signal.SIGTERM)
        assert running.code() == 130
    assert project.recorded[0]["unproven"] is True
    assert "completed_at" not in project.loop


def test_closed_output_pipe_stops_the_run(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo 1 > work.txt; exec yes")
    script = f"liza run --loop l -- sh {project.agent} 2>/dev/null | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=project.folder, env=environment(project.folder, **SETTINGS),
        capture_output=True, timeout=30, check=True,
    )  # fmt: skip
    assert done.stdout == b"y\n1\n"
    assert [each["outcome"] for each in project.recorded] == ["interrupted"]


def test_closed_terminal_stops_the_agent_and_loses_no_record(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", f"seq 1 1000; {HANGS}")
    with Terminal(project.folder, "run", "--loop", "l", *project.words, **SETTINGS) as terminal:
        until(lambda: len(project.pids()) == 2, "the agent hangs")
        terminal.hang_up()
    until(lambda: not any(alive(pid) for pid in project.pids()), "all its processes have ended")
    assert [each["outcome"] for each in project.recorded] == ["interrupted"]


def test_killed_run_takes_all_agent_processes_with_it(tmp_path: Path) -> None:
    """From when its output is passed on: the guard is started right after the agent."""
    project = Project(tmp_path / "p", HANGS)
    with project.running() as run:
        until(lambda: run.out.read_text() and len(project.pids()) == 2, "the agent is at work")
        run.send(signal.SIGKILL)
        assert run.code() == -signal.SIGKILL
        until(lambda: not any(map(alive, project.pids())), "the agent and its child have ended")


def test_killed_run_can_be_resumed_and_records_the_cut_iteration(tmp_path: Path) -> None:
    project = Project(
        tmp_path / "p", f'[ -e go ] && exit; echo 1 >> work.txt; [ "$LIZA_ITERATION" = 1 ] || {{\n{HANGS}}}'
    )
    with project.running() as running:
        until(lambda: len(project.pids()) == 2, "the second iteration hangs")
        output = project.iteration(2) / "output.log"
        until(lambda: output.read_text() == "begun\n", "its output is kept")
        running.process.kill()
        running.code()
        until(lambda: not any(map(alive, project.pids())), "nothing of the agent is left")
    assert project.facts["status"] == "running"
    (project.folder / "go").touch()
    assert project.liza("run", "--resume", project.session.name, "--max", "1").code == 1
    assert [each.get("outcome", "ok") for each in project.recorded] == ["ok", "crash", "ok"]
    assert project.facts["iterations"] == 3
    assert output.read_text() == "begun\n", "its output was overwritten"


NO_COOLDOWN = "circuit_breaker: {cooldown_seconds: 0}\n"


# --- people with commands -------------------------------------------------------------------------------------------


def test_paused_run_waits_for_a_reset_and_halts_no_other_agent(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    with project.running("--max", "4") as running:
        running.wait_for("liza run: paused; to continue: liza loop reset l")
        assert project.loop["status"] == "OPEN"
        assert not (project.folder / ".liza" / "CHECKPOINT").exists()
        assert project.facts["status"] == "paused"
        assert liza(project.folder, "loop", "reset", "l").code == 0
        assert running.code() == 1
    assert project.loop["loop_count"] == 1


def test_paused_run_probes_once_on_command(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", f"{IDLES}; [ ! -e go ] || date > work.txt", rules=NO_COOLDOWN)
    with project.running("--max", "4") as running:
        running.wait_for("liza run: paused; to continue")
        (project.folder / "go").touch()
        assert liza(project.folder, "loop", "probe", "l").code == 0
        assert running.code() == 1
    assert project.loop["status"] == "CLOSED"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("loop", "reset", "l", "--by", "ann", "-m", "new fixture"), ("reset", "ann", "new fixture", "CLOSED")),
        (("loop", "probe", "l", "--by", "bob"), ("probe", "bob", None, "HALF_OPEN")),
    ],
)
def test_run_reports_who_let_it_continue(tmp_path: Path, words: tuple[str, ...], said: tuple[Any, ...]) -> None:
    project = Project(tmp_path / "p", IDLES, rules=NO_COOLDOWN)
    with project.running("--json", "--max", "4") as running:
        until(lambda: '"paused; ' in running.out.read_text(), "it pauses")
        assert project.liza(*words).code == 0
        running.code()
    found = [json.loads(line) for line in running.out.read_text().splitlines()]
    [one] = [each for each in found if each["status"] == "continued"]
    assert (one["how"], one["by"], one["why"], one["loop_status"]) == said


def test_run_reports_that_its_loop_was_closed_by_hand(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    with project.running("--json", "--max", "4") as running:
        until(lambda: '"paused; ' in running.out.read_text(), "it pauses")
        save(project.state, project.state.read_text().replace("status: OPEN", "status: CLOSED"))
        running.code()
    found = [json.loads(line) for line in running.out.read_text().splitlines()]
    assert [(each["how"], each["by"]) for each in found if each["status"] == "continued"] == [("by hand", None)]


def test_paused_run_probes_once_after_the_cooldown(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES, rules="circuit_breaker: {auto_probe: true}\n")
    with project.running("--max", "4") as running:
        running.wait_for("liza run: paused; to continue")
        text = project.state.read_text()
        save(project.state, re.sub(r"last_trigger_time: \d{4}", "last_trigger_time: 2001", text))
        assert running.code() == 3
    assert (project.loop["status"], project.loop["trigger_count"]) == ("OPEN", 2)


def test_run_does_not_start_with_an_open_loop(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    assert project.run("--on-stagnation", "abort").code == 3
    result = project.run("--on-stagnation", "alert", "--max", "1")
    assert result.code == 3
    assert result.out == ""
    assert "liza loop reset l" in result.err
    assert len(project.recorded) == 3


def test_loop_is_run_only_once_at_a_time(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", HANGS)
    with project.running() as running:
        until(project.pids, "it runs")
        result = project.run("--max", "1")
        assert result.code == 1
        assert f"is being run by process {running.process.pid}" in result.err
        assert "--loop NAME" in result.hint()


# --- the blackboard -------------------------------------------------------------------------------------------------


def test_iteration_refused_by_the_board_is_recorded_on_resume(tmp_path: Path) -> None:
    spoil = "mv .liza/state.yaml keep; echo '{[' > .liza/state.yaml"
    project = Project(tmp_path / "p", f"echo $LIZA_ITERATION >> work.txt; [ $LIZA_ITERATION != 2 ] || {{ {spoil}; }}")
    result = project.run()
    assert result.code == 4
    assert project.facts["status"] == "failed"
    assert project.facts["pending"] is None  # it waits in the inbox
    (project.folder / "keep").rename(project.state)
    assert len(project.recorded) == 1
    resumed = project.liza("run", "--resume", project.session.name, "--max", "1")
    assert resumed.code == 1, resumed.err
    assert [each["files_changed"] for each in project.recorded] == [1, 2, 1]


def test_iteration_recorded_before_a_kill_is_not_recorded_twice(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    project.run("--max", "2")
    last = project.recorded[-1]
    pending = {"duration": last["duration"], "files_changed": 1, "progress": 50, "session": project.session.name}
    facts = {**project.facts, "pending": {**pending, "completion": 50, "confidence": 0.5, "errors": 0, "error": None}}
    (project.session / "session.json").write_text(json.dumps(facts))
    project.liza("run", "--resume", project.session.name, "--max", "1")
    assert [each["progress"] for each in project.recorded] == [25, 50, 75]


def test_unreadable_blackboard_starts_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    project.state.write_text("{[")
    result = project.run()
    assert result.code == 4
    assert result.out == ""


# --- resuming -------------------------------------------------------------------------------------------------------


def test_resumed_run_continues_where_it_stopped(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    assert project.run("--max", "2", "--verify", "true", "--task", "task-1", "--model", "opus").code == 1
    first = project.session
    resumed = project.liza("run", "--resume", first.name, "--max", "9")
    assert resumed.code == 0, resumed.err
    assert project.session == first
    assert [each["progress"] for each in project.recorded] == [25, 50, 75, 100]
    assert {(each["task"], each["model"]) for each in project.recorded} == {("task-1", "opus")}
    assert "4 iterations" in resumed.err
    assert "- Iteration 1 (opus): ok" in (first / "context.md").read_text()


def test_resumed_run_accepts_other_options(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    project.run("--max", "1", "--model", "haiku")
    name = project.session.name
    result = project.liza("run", "--resume", name, "--max", "1", "--model", "opus", "--", "echo", "other {model}")
    assert result.out == "other opus\n"
    wrong = project.liza("run", "--resume", name, "--loop", "another")
    assert wrong.code == 2


@pytest.mark.parametrize("name", ["nowhere", "../../etc", "loops", ""])
def test_unknown_session_is_refused_with_the_known_ones(tmp_path: Path, name: str) -> None:
    project = Project(tmp_path / "p", WORKS)
    project.run("--max", "1")
    result = project.liza("run", "--resume", name)
    assert result.code == 1
    assert project.session.name in result.hint()


def test_broken_session_is_refused(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", WORKS)
    project.run("--max", "1")
    faults = ({"totals": None}, {"tried": [1]}, {"iterations": "many"}, {"pending": {"odd": 1}})
    texts = ["", "[]", "{}", '{"schema": 1, "job": {}}', '{"schema": 1, "job": {"loop": 1}}']
    for text in (*texts, *(json.dumps({**project.facts, **fault}) for fault in faults)):
        (project.session / "session.json").write_text(text)
        result = project.liza("run", "--resume", project.session.name)
        assert (result.code, "cannot be resumed" in result.err) == (1, True), text
