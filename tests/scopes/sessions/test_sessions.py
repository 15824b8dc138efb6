"""Sessions from the hook to the halt: seen, warned, stopped, and resumed by a person."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import installed, liza
from tests.clients.hook import SESSION, event, failing, run, spooled
from tests.daemon.daemon import until
from tests.run.repositories import git
from tests.store.oracle import libyaml_value

BEFORE = event("PreToolUse", tool_name="Bash", tool_input={"command": "pytest -q"}, tool_use_id="next")
OTHER = "0b9e8d7c-1111-2222-3333-444455556666"


def fail(folder: Path, times: int, session: str = SESSION, start: int = 0) -> None:
    for number in range(start, start + times):
        assert run(folder, "after", failing(f"{session}-{number}", session)).code == 0


def look(folder: Path) -> None:
    """One look of the daemon."""
    installed(folder, "watch", "--once")


def sessions(folder: Path) -> dict[str, dict[str, object]]:
    found = liza(folder, "sessions", "--json").json["sessions"]
    return {each["session"]: each for each in found}


def record(folder: Path) -> dict[str, Any]:
    board: Any = libyaml_value((folder / ".liza" / "state.yaml").read_bytes())
    found = board["sessions"][SESSION]
    assert isinstance(found, dict)
    return found


def test_steps_become_a_session(folder: Path) -> None:
    run(folder, "after", failing("t1"), LIZA_AGENT="coder-1", LIZA_TASK="task-3")
    look(folder)
    (found,) = sessions(folder).values()
    wanted = {"client": "claude", "name": "coder-1", "task": "task-3", "steps": 1, "state": "running"}
    assert {name: found[name] for name in wanted} == wanted
    assert "ModuleNotFoundError" in str(found["last_error"])
    assert spooled(folder) == []
    assert ((folder / ".liza/steps" / f"{SESSION}.jsonl").stat().st_mode & 0o777) == 0o600


def test_one_call_reported_twice_is_one_step(folder: Path) -> None:
    call = {
        "tool_name": "Bash",
        "tool_input": {"command": "pytest -q"},
        "tool_use_id": "t1",
        "tool_response": "Exit code 1",
    }
    run(folder, "after", failing("t1"))
    run(folder, "after", event("PostToolBatch", tool_calls=[{**call, "tool_response": "Exit code 1"}]))
    look(folder)
    assert sessions(folder)[SESSION]["steps"] == 1


def test_event_that_was_entered_and_is_still_there_is_one_step(folder: Path) -> None:
    """As after a daemon that was killed before it took the event away; a call without an id has nothing else."""
    payload = failing("t1")
    del payload["tool_use_id"]
    run(folder, "after", payload)
    (name,) = spooled(folder)
    file = folder / ".liza" / "spool" / name
    raw = file.read_bytes()
    for _ in range(2):
        look(folder)
        file.write_bytes(raw)
    look(folder)
    assert (sessions(folder)[SESSION]["steps"], spooled(folder)) == (1, [])


def test_repeated_failure_warns_once_and_then_stops(folder: Path) -> None:
    fail(folder, 3)
    look(folder)
    warned = run(folder, "before", BEFORE)
    assert warned.code == 0
    context = json.loads(warned.out)["hookSpecificOutput"]
    assert context["hookEventName"] == "PreToolUse"
    assert "ModuleNotFoundError" in context["additionalContext"]
    assert run(folder, "before", BEFORE) == (0, "", "")
    for number in (3, 4):
        fail(folder, 1, start=number)
        look(folder)
    lines = (folder / ".liza" / "steps" / f"{SESSION}.jsonl").read_text().splitlines()
    causes = [each["cause"] for each in map(json.loads, lines) if each.get("note") == "warned"]
    assert len(causes) == 1, "two warnings for one cause"
    assert record(folder)["status"] == "STOPPED"
    assert run(folder, "before", BEFORE, LIZA_HOOK_LIMIT="60.5").code == 2
    assert run(folder, "before", {**BEFORE, "session_id": OTHER}).code == 0
    assert liza(folder, "sessions").code == 3
    assert liza(folder, "gate", "--session", SESSION).code == 2
    assert not (folder / ".liza" / "CHECKPOINT").exists()


def test_subagent_of_a_stopped_session_is_stopped(folder: Path) -> None:
    liza(folder, "watch", "--once")
    fail(folder, 5)
    look(folder)
    child = {**BEFORE, "agent_id": "a2a82035f41a272c1"}
    assert run(folder, "before", child, LIZA_HOOK_LIMIT="60.5").code == 2


def test_gate_knows_a_session_by_name_and_by_prefix(folder: Path) -> None:
    fail(folder, 5)
    look(folder)
    (folder / ".liza" / "state.yaml").write_text(
        (folder / ".liza" / "state.yaml").read_text().replace("status: STOPPED", "name: coder-7\n    status: STOPPED")
    )
    assert record(folder)["name"] == "coder-7"
    codes = {name: liza(folder, "gate", "--session", name).code for name in ("coder-7", SESSION[:8], "coder-8", "c")}
    assert codes == {"coder-7": 2, SESSION[:8]: 2, "coder-8": 0, "c": 0}


def test_gate_of_a_subagent_asks_for_those_above_it(folder: Path) -> None:
    fail(folder, 5)
    for child, parent in (("agent-1", SESSION), ("agent-2", "agent-1")):
        line = {"v": 1, "session": child, "parent": parent, "time": "2026-01-01T00:00:00Z", "note": "start"}
        (folder / ".liza" / "steps").mkdir(exist_ok=True)
        (folder / ".liza" / "steps" / f"{child}.jsonl").write_text(json.dumps(line) + "\n")
    assert liza(folder, "gate", "--session", "agent-2").code == 0
    look(folder)
    stopped = liza(folder, "gate", "--session", "agent-2")
    assert (stopped.code, SESSION in stopped.err) == (2, True)
    assert liza(folder, "gate", "--session", OTHER).code == 0
    assert liza(folder, "session", "resume", SESSION, "-m", "go on", "--by", "ann").code == 0
    assert liza(folder, "gate", "--session", "agent-2").code == 0


def test_resumed_session_starts_over(folder: Path) -> None:
    fail(folder, 5)
    look(folder)
    assert liza(folder, "session", "resume", SESSION[:8], "-m", "the module moved", "--by", "alice").code == 0
    assert run(folder, "before", BEFORE) == (0, "", "")
    found = record(folder)
    assert (found["status"], found["history"][-1]["why"]) == ("ACTIVE", "the module moved")
    look(folder)
    assert record(folder)["status"] == "ACTIVE"


def test_session_resumed_by_an_edit_continues(folder: Path) -> None:
    fail(folder, 5)
    look(folder)
    state = folder / ".liza" / "state.yaml"
    state.write_text(state.read_text().replace("status: STOPPED", "status: ACTIVE"))
    look(folder)
    assert run(folder, "before", BEFORE) == (0, "", "")
    assert record(folder)["history"]


@pytest.mark.parametrize("check", [("watch", "--once"), ("analyze",)])
def test_missing_halt_file_of_a_stopped_session_is_restored(folder: Path, check: tuple[str, ...]) -> None:
    fail(folder, 5)
    look(folder)
    halt = folder / ".liza" / "stopped" / SESSION
    halt.unlink()
    assert "it was restored" in installed(folder, *check).out
    assert halt.exists()


def test_an_agent_cannot_resume_a_session(folder: Path) -> None:
    fail(folder, 5)
    look(folder)
    assert liza(folder, "session", "resume", SESSION, "-m", "fine", CLAUDECODE="1").code == 1
    assert record(folder)["status"] == "STOPPED"


def test_edits_between_failures_are_normal_work(folder: Path) -> None:
    for number in range(10):
        edit: dict[str, Any] = {"tool_name": "Edit", "tool_input": {"file_path": "a.py", "new_string": str(number)}}
        run(folder, "after", event("PostToolUse", **edit, tool_use_id=f"e{number}", tool_response="updated"))
        run(folder, "after", failing(f"t{number}"))
    look(folder)
    assert sessions(folder)[SESSION]["session_status"] == "ACTIVE"
    assert not (folder / ".liza" / "stopped").exists()


EDITS_BY_SHELL = ["sed -i 's/{n}/x/' shop.py", "git apply change-{n}.patch", "cat > new.py <<'END'\ntotal = {n}\nEND"]


@pytest.mark.parametrize("command", EDITS_BY_SHELL)
@pytest.mark.parametrize("seconds", [30, None])
def test_edits_by_shell_commands_between_failures_are_normal_work(
    folder: Path, command: str, seconds: int | None
) -> None:
    """The times of files show them: of those that git tracks, and of one that is written whole."""
    for words in (["init", "-q"], ["add", "shop.py"]):
        (folder / "shop.py").write_text("total = 0\n")
        subprocess.run(["git", *words], cwd=folder, check=True)
    for number in range(10):
        os.utime(folder / "shop.py", (1e9, 1e9))
        check = {**failing(f"t{number}"), "cwd": str(folder)}
        run(folder, "after", check)
        look(folder)
        (folder / ("new.py" if "new.py" in command else "shop.py")).write_text(f"total = {number}\n")
        made: dict[str, Any] = {
            "tool_name": "Bash",
            "tool_input": {"command": command.format(n=number)},
            "tool_response": "",
        }
        made |= {} if seconds is None else {"duration_ms": seconds * 1000}
        edit = {**event("PostToolUse", **made, tool_use_id=f"e{number}"), "cwd": str(folder)}
        run(folder, "after", edit)
        look(folder)
    assert sessions(folder)[SESSION]["steps"] == 20
    assert sessions(folder)[SESSION]["session_status"] == "ACTIVE"
    assert '"warned"' not in (folder / ".liza/steps" / f"{SESSION}.jsonl").read_text()


@pytest.mark.parametrize("command", ["cat shop.py", "pytest -q > test.log; tail -n 3 test.log"])
def test_command_that_changes_no_source_is_not_an_edit(folder: Path, command: str) -> None:
    for name in ("shop.py", "test.log"):
        (folder / name).write_text("total = 0\n")
    os.utime(folder / "shop.py", (1e9, 1e9))
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", "shop.py"], cwd=folder, check=True)
    made: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": "total = 0"}
    run(folder, "after", {**event("PostToolUse", **made, tool_use_id="t1"), "cwd": str(folder)})
    look(folder)
    assert '"edits"' not in (folder / ".liza/steps" / f"{SESSION}.jsonl").read_text()


def test_same_error_in_three_sessions_halts_everyone(folder: Path) -> None:
    for number in range(3):
        fail(folder, 2, session=f"{number}{SESSION[1:]}")
    look(folder)
    look(folder)
    assert (folder / ".liza" / "CHECKPOINT").exists()
    report = (folder / ".liza" / "circuit_breaker_report.md").read_text()
    assert "shared_failure" in report
    assert all(f"{number}{SESSION[1:]}" in report for number in range(3))


@pytest.mark.parametrize("result", ["Exit code 1", "Exit code 1\n{n} differs from what was expected in step {n}{n}"])
def test_exit_code_alone_is_not_an_error_that_sessions_share(folder: Path, result: str) -> None:
    for number in range(6):
        step = failing(f"t{number}", f"{number % 3}{SESSION[1:]}", command=f"./check-{number % 3}.sh")
        run(folder, "after", {**step, "error": result.format(n="abc"[number % 3] * 9)})
    look(folder)
    look(folder)
    assert all(each["steps"] == 2 for each in sessions(folder).values())
    assert not (folder / ".liza" / "CHECKPOINT").exists()


def test_running_daemon_sees_an_error_that_sessions_share(folder: Path) -> None:
    """The last of the steps comes when the daemon has evaluated the others."""
    try:
        run(folder, "start", event("SessionStart", source="startup"))
        for number in range(6):
            step = failing(f"t{number}", f"{number % 3}{SESSION[1:]}")
            run(folder, "after", step, LIZA_HOOK_LIMIT="60.5")  # the daemon may halt before the hook has ended
            until(lambda: not spooled(folder), "the step is entered")
        until((folder / ".liza" / "CHECKPOINT").exists, "everyone is halted")
    finally:
        installed(folder, "watch", "--stop")


def test_stopped_by_hand(folder: Path) -> None:
    run(folder, "after", failing("t1"), LIZA_AGENT="coder-1")
    look(folder)
    assert liza(folder, "session", "stop", "coder-1", "-m", "wrong branch").code == 3
    assert run(folder, "before", BEFORE, LIZA_HOOK_LIMIT="60.5").code == 2
    assert "stopped by hand: wrong branch" in run(folder, "before", BEFORE, LIZA_ON_HALT="block").err


def test_stop_by_hand_leaves_the_reason_of_a_rule(folder: Path) -> None:
    fail(folder, 5)
    look(folder)
    (halt,) = (folder / ".liza/stopped").iterdir()
    before = halt.read_bytes()
    ran = liza(folder, "session", "stop", SESSION, "-m", "wrong branch")
    assert (ran.code, "not recorded: wrong branch" in ran.out) == (3, True)
    assert halt.read_bytes() == before
    assert "stopped by repeated_failure: " in run(folder, "before", BEFORE, LIZA_ON_HALT="block").err


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\nb", "x" * 10_000, "-rf", "."])
def test_hostile_session_name_is_one_file_in_the_folder(folder: Path, name: str) -> None:
    fail(folder, 5, session=name)
    look(folder)
    assert [file.parent for file in (folder / ".liza").rglob("*.jsonl")] == [folder / ".liza" / "steps"]
    assert len(list((folder / ".liza" / "stopped").iterdir())) == 1
    assert run(folder, "before", {**BEFORE, "session_id": name}, LIZA_HOOK_LIMIT="60.5").code == 2


def test_unreadable_event_is_reported_and_holds_up_no_other(folder: Path) -> None:
    run(folder, "after", b"not json")
    run(folder, "after", failing("t1"))
    look(folder)
    assert sessions(folder)[SESSION]["steps"] == 1
    assert len(spooled(folder)) == 1


def test_secrets_are_not_written(folder: Path) -> None:
    run(folder, "after", failing("t1", command="API_KEY=hunter2hunter2 pytest -q"))
    look(folder)
    assert b"hunter2" not in b"".join(file.read_bytes() for file in (folder / ".liza" / "steps").iterdir())


def test_old_steps_are_deleted(folder: Path) -> None:
    run(folder, "after", failing("t1"))
    look(folder)
    (folder / ".liza" / "rules.yaml").write_text("keep_steps: {days: 1}\n")
    (kept,) = (folder / ".liza" / "steps").iterdir()
    os.utime(kept, (1, 1))
    look(folder)
    assert not kept.exists()


def test_session_that_no_hook_reports_is_only_asked_to_stop(folder: Path) -> None:
    (folder / ".liza/steps").mkdir()
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    step = {"v": 1, "time": now, "session": OTHER, "client": "claude", "tool": "Bash", "call": "c", "outcome": "ok"}
    (folder / f".liza/steps/{OTHER}.jsonl").write_text(f"{json.dumps(step)}\n")
    run(folder, "after", failing("t1"))
    look(folder)
    for session in (OTHER, SESSION):
        assert liza(folder, "session", "stop", session, "-m", "wrong branch").code == 3
    found = sessions(folder)
    assert (found[OTHER]["state"], found[SESSION]["state"]) == ("stop requested, no hook", "stopped")


# --- names and tasks --------------------------------------------------------------------------------------------------


def task_in(folder: Path, cwd: Path, **env: str) -> object:
    """The task of a session that works in a folder."""
    run(folder, "after", {**failing("t1"), "cwd": str(cwd)}, **env)
    look(folder)
    return sessions(folder)[SESSION]["task"]


@pytest.fixture
def repository(folder: Path) -> Path:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    (folder / "packages/shop").mkdir(parents=True)
    return folder


def test_task_is_the_branch_of_the_worktree(repository: Path) -> None:
    assert task_in(repository, repository / "packages/shop") == "main"


@pytest.mark.parametrize("relative", [False, True])
def test_linked_worktree_has_its_own_branch_and_the_same_blackboard(repository: Path, relative: bool) -> None:
    linked = repository.parent / "two"
    git(repository, "worktree", "add", "-q", "-b", "fix/orders", str(linked))
    if relative:
        (linked / ".git").write_text("gitdir: ../shop/.git/worktrees/two\n")
    (linked / ".liza").mkdir()  # as where the blackboard is in git
    (linked / ".liza/state.yaml").write_text("version: 1\n")
    (linked / "src").mkdir()
    for env in ({}, {"LIZA_ROOT": str(linked)}):
        assert run(linked / "src", "after", {**failing("t1"), "cwd": str(linked / "src")}, **env).code == 0
    assert len(spooled(repository)) == 2
    look(repository)
    assert sessions(repository)[SESSION]["task"] == "fix/orders"


def test_detached_head_and_no_git_give_no_task(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert task_in(repository, repository) == ""
    assert task_in(repository, repository.parent) == ""
    assert task_in(repository, Path("/nonexistent")) == ""  # the client runs in a container
    assert task_in(repository, repository, LIZA_TASK="task-3") == "task-3"


def test_hostile_git_files_hold_nothing_up(folder: Path) -> None:
    os.mkfifo(folder / ".git")
    assert task_in(folder, folder) == ""


def test_folder_without_a_state_does_not_hide_the_blackboard(folder: Path) -> None:
    inner = folder / "src"
    (inner / ".liza").mkdir(parents=True)
    (folder / ".liza" / "CHECKPOINT").touch()
    assert run(inner, "before", BEFORE, LIZA_ON_HALT="block").code == 2


def test_hook_without_a_home_finds_liza_beside_its_script(folder: Path) -> None:
    assert installed(folder, "install", "claude").code == 0
    hooks = json.loads((folder / ".claude/settings.local.json").read_text())["hooks"]
    (folder / ".liza" / "CHECKPOINT").touch()
    done = subprocess.run(
        ["/bin/sh", "-c", hooks["PreToolUse"][0]["hooks"][0]["command"]],
        cwd=folder, env={"LIZA_ON_HALT": "block"}, input=json.dumps(BEFORE).encode(), capture_output=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert b"cannot be started" not in done.stderr
