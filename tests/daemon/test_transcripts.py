"""The daemon follows transcripts of sessions in its repository: the same verdicts as with hooks, soon after."""

import json
import os
import signal
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from liza.store import steps
from liza.store.paths import Paths
from tests.cli.run import installed, liza
from tests.clients.hook import event, run
from tests.clients.transcripts import ClaudeWriter, Clock, CodexWriter, Writer, append, place, raw, writer
from tests.daemon.daemon import until
from tests.store.oracle import libyaml_value

NOW = None  # the clock of sessions that run
SOON = 2.0  # seconds


def running(client: str, folder: Path, session: str | None = None) -> Writer:
    return writer(client, folder, session, Clock(NOW))


def start(folder: Path) -> None:
    assert installed(folder, "watch", "--background").code == 0


def look(folder: Path) -> None:
    installed(folder, "watch", "--once")


def rows(folder: Path) -> dict[str, Any]:
    return {each["session"]: each for each in liza(folder, "sessions", "--json").json["sessions"]}


def number_of_steps(folder: Path, session: str) -> int:
    row = rows(folder).get(session)
    return int(row["steps"]) if row is not None else 0


def made_steps(folder: Path, session: str) -> list[dict[str, Any]]:
    lines = steps.read_all(Paths(str(folder / ".liza")), session).lines
    return [dict(line) for line in lines if "call" in line]


def stopped(folder: Path, session: str) -> Path:
    return folder / ".liza" / "stopped" / session


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_stuck_session_is_warned_and_stopped_within_two_seconds(project: Path, client: str) -> None:
    made = running(client, project)
    file = place(project, made)
    start(project)
    append(file, made.begin())
    for number in range(4):
        append(file, made.call(f"t{number}"))
    until(lambda: number_of_steps(project, made.session) == 4)
    begin = time.monotonic()
    append(file, made.call("t4"))
    until(stopped(project, made.session).exists)
    assert time.monotonic() - begin < SOON
    row = until(lambda: rows(project)[made.session] if rows(project)[made.session]["reason"] else None)
    wanted = {"state": "stop requested, no hook", "session_status": "STOPPED", "source": "transcript", "steps": 5}
    assert {name: row[name] for name in wanted} == wanted
    assert row["tokens"] == 500
    assert [halt.name for halt in stopped(project, made.session).parent.iterdir()] == [made.session]
    kept = steps.read_all(Paths(str(project / ".liza")), made.session).lines
    causes = [line["cause"] for line in kept if line.get("note") == "warned"]
    assert sum(cause.startswith("repeated_failure_warning") for cause in causes) == 1
    reported = until(lambda: "liza install" in (project / ".liza" / "alerts.log").read_text())
    assert reported
    assert not (project / ".liza" / "CHECKPOINT").exists()


def test_same_error_in_three_sessions_halts_everyone(project: Path) -> None:
    start(project)
    for number, client in enumerate(("claude", "codex", "claude")):
        made = running(client, project, f"{number}-session")
        append(place(project, made), [*made.begin(), *made.call("t1", "a"), *made.call("t2", "b")])
    until((project / ".liza" / "CHECKPOINT").exists)
    until(lambda: "shared_failure" in (project / ".liza" / "circuit_breaker_report.md").read_text())


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_hook_and_transcript_are_counted_once(project: Path, client: str) -> None:
    """The transcript comes first, then a hook is installed, then the daemon restarts: each call is one step."""
    made = running(client, project)
    file = place(project, made)
    append(file, [*made.begin(), *made.call("t0"), *made.call("t1")])
    look(project)
    for number in (1, 2, 3):
        call = {"tool_name": "Bash", "tool_input": {"command": "pytest -q", "description": "Run it"}}
        name = "PostToolUseFailure" if client == "claude" else "PostToolUse"
        text = "error" if client == "claude" else "tool_response"
        failed = {text: "E   ModuleNotFoundError: No module named 'shop.orders'\n1 failed in 0.03s"}
        run(project, "after", event(name, made.session, tool_use_id=f"t{number}", **call, **failed), client=client)
        if number > 1:
            append(file, made.call(f"t{number}"))
        look(project)
    row = rows(project)[made.session]
    assert (row["steps"], row["tokens"], row["source"], row["session_status"]) == (4, 400, "hook", "ACTIVE")
    append(file, made.call("t4"))  # the hook has not reported this one: it is the source of this session
    look(project)
    assert rows(project)[made.session]["steps"] == 4


def test_codex_exit_code_makes_a_hooked_call_a_failure(project: Path) -> None:
    """What the commands printed looks like no error, so by the hook alone the session would only be warned."""
    made = CodexWriter(project, clock=Clock(NOW))
    append(place(project, made), made.begin())
    start(project)
    for number in range(5):
        call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": "red\n"}
        run(project, "after", event("PostToolUse", made.session, tool_use_id=f"t{number}", **call), client="codex")
        until(lambda: number_of_steps(project, made.session) == number + 1)  # noqa: B023
        append(place(project, made), made.call(f"t{number}", "make", "red\n"))
    until(stopped(project, made.session).exists)
    assert {step["outcome"] for step in made_steps(project, made.session)} == {"unknown"}
    row = until(lambda: rows(project)[made.session] if rows(project)[made.session]["reason"] else None)
    wanted = {"steps": 5, "last_error": "red", "tokens": 500, "state": "stopped"}
    assert {name: row[name] for name in wanted} == wanted
    board: Any = libyaml_value((project / ".liza" / "state.yaml").read_bytes())
    assert "repeated_failure" in board["sessions"][made.session]["current_trip"]["rules"]


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_lines_copied_from_the_session_that_is_continued_are_not_its_steps(project: Path, client: str) -> None:
    """A fork begins with the lines of the session before, whose failures a person may have dealt with."""
    made = running(client, project)
    lines = [*made.begin(), *(line for n in range(4) for line in made.call(f"t{n}"))]
    append(place(project, made), lines)
    start(project)
    until(lambda: number_of_steps(project, made.session) == 4)
    fork = running(client, project, "forked")
    copies = json.loads(json.dumps(lines[1:]).replace(made.session, "forked"))
    append(place(project, fork), [*fork.begin(), *copies, *fork.call("t9")])
    until(lambda: number_of_steps(project, "forked") == 1)
    row = rows(project)["forked"]
    assert (row["tokens"], row["session_status"]) == (100, "ACTIVE")


def test_restarted_daemon_goes_on_where_the_last_one_ended(project: Path) -> None:
    made = running("claude", project)
    file = place(project, made)
    append(file, [*made.begin(), *made.call("t0")])
    start(project)
    until(lambda: rows(project))
    os.kill(int(json.loads((project / ".liza" / "watch.json").read_text())["pid"]), signal.SIGKILL)
    append(file, made.call("t1"))
    start(project)
    until(lambda: number_of_steps(project, made.session) == 2)
    assert [step["id"] for step in made_steps(project, made.session)] == ["t0", "t1"]
    assert rows(project)[made.session]["tokens"] == 200


def test_subagents_and_linked_worktrees_are_followed(project: Path) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
                   cwd=project, check=True)  # fmt: skip
    tree = project.parent / "tree"
    subprocess.run(["git", "worktree", "add", "-q", str(tree)], cwd=project, check=True)
    made = ClaudeWriter(tree, clock=Clock(NOW))
    agent = ClaudeWriter(tree, agent="a0ff", clock=Clock(NOW))
    start(project)
    append(place(project, made), [*made.begin(), *made.call("t1")])
    until(lambda: made.session in rows(project))
    append(place(project, agent), [*agent.begin(), *agent.call("t2")])
    row = until(lambda: rows(project).get("a0ff"))
    assert (row["parent"], row["steps"], row["task"]) == (made.session, 1, "task-7")


def test_only_own_sessions_in_this_repository_are_followed(project: Path) -> None:
    other = project.parent / "other"
    other.mkdir()
    inner = project / "packages" / "cart"
    inner.mkdir(parents=True)
    for cwd, name in ((other, "of-another-project"), (inner, "in-a-subfolder"), (project / "gone", "in-a-folder-gone")):
        made = running("claude", cwd, name)
        append(place(project, made), [*made.begin(), *made.call("t1")])
    foreign = running("claude", project, "of-another-user")
    append(place(project, foreign), [*foreign.begin(), *foreign.call("t1")])
    if os.geteuid() == 0:
        os.chown(place(project, foreign), 12345, 12345)
    else:
        place(project, foreign).unlink()
    look(project)
    assert set(rows(project)) == {"in-a-subfolder", "in-a-folder-gone"}


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_folder_of_the_client_is_where_its_variable_says(project: Path, client: str) -> None:
    made = running(client, project)
    elsewhere = project.parent / "settings"
    folder = ".claude" if client == "claude" else ".codex"
    file = elsewhere / place(project, made).relative_to(project / folder)
    append(file, [*made.begin(), *made.call("t1")])
    variable = "CLAUDE_CONFIG_DIR" if client == "claude" else "CODEX_HOME"
    installed(project, "watch", "--once", **{variable: str(elsewhere)})
    assert rows(project)[made.session]["steps"] == 1


@pytest.mark.parametrize("how", ["rules.yaml", "environment"])
def test_following_can_be_turned_off(project: Path, how: str) -> None:
    made = running("claude", project)
    append(place(project, made), [*made.begin(), *made.call("t1")])
    if how == "rules.yaml":
        (project / ".liza" / "rules.yaml").write_text("transcripts: {follow: false}\n")
        look(project)
        assert "transcripts.follow is off" in liza(project, "status").out
    else:
        installed(project, "watch", "--once", LIZA_FOLLOW_TRANSCRIPTS="false")
    assert rows(project) == {}


def test_user_without_a_home_folder_has_no_transcripts(project: Path) -> None:
    for variables in ({"HOME": "none"}, {"HOME": "/nonexistent"}):
        assert installed(project, "watch", "--once", **variables).code == 0


# --- odd files --------------------------------------------------------------------------------------------------------


def test_line_that_is_being_written_is_waited_for(project: Path) -> None:
    made = running("claude", project)
    file = place(project, made)
    whole = raw([*made.begin(), *made.call("t0")])
    start(project)
    file.parent.mkdir(parents=True)
    for cut in (len(whole) // 2, len(whole) - 1, len(whole)):
        file.write_bytes(whole[:cut])
        time.sleep(0.3)
    until(lambda: number_of_steps(project, made.session) == 1)
    file.write_bytes(whole + b'{"cut for good": ' + raw(made.call("t1")) + raw(made.call("t2")))
    until(lambda: number_of_steps(project, made.session) == 2)
    assert [step["id"] for step in made_steps(project, made.session)] == ["t0", "t2"]


@pytest.mark.parametrize("change", ["truncated", "replaced", "renamed", "deleted"])
def test_file_is_followed_through_changes(project: Path, change: str) -> None:
    made = running("claude", project)
    file = place(project, made)
    append(file, [*made.begin(), *made.call("t0"), *made.call("t1")])
    start(project)
    until(lambda: number_of_steps(project, made.session) == 2)
    old, new = file.read_bytes(), raw(made.call("t2"))
    if change == "truncated":
        file.write_bytes(new)
    elif change == "replaced":
        draft = file.with_suffix(".new")
        draft.write_bytes(old + new)
        draft.rename(file)
    elif change == "renamed":
        file.rename(file.with_name("older.jsonl"))
        append(file, made.call("t2"))
    else:
        file.unlink()
        time.sleep(0.5)
        file.write_bytes(new)
    until(lambda: number_of_steps(project, made.session) == 3)
    assert [step["id"] for step in made_steps(project, made.session)] == ["t0", "t1", "t2"]


def test_odd_files_in_place_of_transcripts_harm_nothing(project: Path) -> None:
    made = running("claude", project)
    file = place(project, made)
    file.parent.mkdir(parents=True)
    secret = project.parent / "elsewhere.jsonl"
    append(secret, [*made.begin(), *made.call("t1")])
    os.mkfifo(file.with_name("pipe.jsonl"))
    file.with_name("link.jsonl").symlink_to(secret)
    file.with_name("device.jsonl").symlink_to("/dev/zero")
    file.with_name("folder.jsonl").mkdir()
    file.with_name("empty.jsonl").write_bytes(b"")
    file.with_name("binary.jsonl").write_bytes(os.urandom(100_000))
    (project / ".claude" / "projects" / "loop").symlink_to(project / ".claude")
    good = running("claude", project, "good")
    append(place(project, good), [*good.begin(), *good.call("t1", text="Exit code 1\n\x1b[2J\u202e\x00 |x|<b>")])
    look(project)
    assert set(rows(project)) == {"good"}
    assert "\x1b[2J" not in liza(project, "sessions").out


def test_secrets_and_invalid_lines_are_not_stored(project: Path) -> None:
    made = running("codex", project)
    secret = "sk-ant-0123456789abcdef0123"
    file = place(project, made)
    append(file, [*made.begin(), *made.call("t0", f"curl -H 'x: {secret}'", f"denied: {secret}\n")])
    with file.open("ab") as stream:
        stream.write(
            b'{"type": "response_item", \n\xff\xfe\n[]\n' + raw(made.call("t1")).replace(b"pytest", b"py\xfftest")
        )
    look(project)
    assert [step["id"] for step in made_steps(project, made.session)] == ["t0", "t1"]
    kept = b"".join(each.read_bytes() for each in (project / ".liza").rglob("*") if each.is_file())
    assert b"0123456789abcdef0123" not in kept
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in (project / ".liza" / "steps").iterdir())


def test_of_a_huge_transcript_the_end_is_followed(project: Path) -> None:
    made = running("claude", project)
    file = place(project, made)
    append(file, made.begin())
    with file.open("r+b") as stream:
        stream.seek(1 << 30)  # a gigabyte, most of it a hole
        stream.write(b"\n")
    begin = time.monotonic()
    append(file, made.call("t1"))
    look(project)
    assert rows(project)[made.session]["steps"] == 1
    assert time.monotonic() - begin < 10


def test_sessions_of_long_ago_are_not_read(project: Path) -> None:
    made = running("claude", project)
    file = place(project, made)
    append(file, [*made.begin(), *made.call("t1")])
    os.utime(file, (1_700_000_000, 1_700_000_000))
    start(project)
    until(lambda: json.loads((project / ".liza" / "watch.json").read_text())["checks"])
    assert rows(project) == {}
    append(file, made.call("t2"))  # it is resumed
    until(lambda: number_of_steps(project, made.session) == 2)


@pytest.mark.parametrize(("minutes", "state"), [(5, "running"), (60, "ended")])
def test_session_that_nobody_goes_on_with_has_ended(project: Path, minutes: int, state: str) -> None:
    made = writer("claude", project, clock=Clock(datetime.now(UTC) - timedelta(minutes=minutes)))
    append(place(project, made), [*made.begin(), *made.call("t0"), *made.end()])
    look(project)
    assert rows(project)[made.session]["state"] == state


def test_session_that_is_stopped_is_resumed(project: Path) -> None:
    made = running("claude", project)
    append(place(project, made), [*made.begin(), *(line for n in range(5) for line in made.call(f"t{n}"))])
    look(project)
    assert stopped(project, made.session).exists()
    assert liza(project, "session", "resume", made.session, "-m", "fixed", "--by", "ann").code == 0
    look(project)
    board: Any = libyaml_value((project / ".liza" / "state.yaml").read_bytes())
    assert board["sessions"][made.session]["status"] == "ACTIVE"
    assert rows(project)[made.session]["state"] == "running"


def test_session_with_times_of_the_future_can_be_resumed(project: Path) -> None:
    """Its clock is wrong: its steps are not after every decision that a person makes."""
    made = writer("claude", project, clock=Clock(datetime.now(UTC) + timedelta(days=365)))
    append(place(project, made), [*made.begin(), *(line for n in range(5) for line in made.call(f"t{n}"))])
    look(project)
    assert stopped(project, made.session).exists()
    assert liza(project, "session", "resume", made.session, "-m", "fixed", "--by", "ann").code == 0
    append(place(project, made), made.call("t9"))
    look(project)
    assert rows(project)[made.session]["session_status"] == "ACTIVE"


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_session_whose_transcript_lacks_what_is_needed_is_degraded(project: Path, client: str) -> None:
    made = running(client, project)
    lines = [*made.begin(), *made.call("t0"), *made.call("t1")]
    renamed = json.loads(json.dumps(lines[-1]).replace('"tool_use_id"', '"use_id"').replace('"call_id"', '"callId"'))
    append(place(project, made), [*lines[:-1], renamed, *made.call("t2")])
    look(project)
    row = rows(project)[made.session]
    assert client in row["degraded"]
    assert row["steps"] >= 2
    assert "DEGRADED" in liza(project, "status").out


def test_steps_that_cannot_be_stored_wait_and_are_entered_once(project: Path) -> None:
    made = running("claude", project)
    append(place(project, made), [*made.begin(), *made.call("t0")])
    look(project)
    folder = project / ".liza" / "steps"
    aside = folder.rename(project / "aside")
    folder.symlink_to("nowhere")  # no folder that can be written to
    append(place(project, made), made.call("t1"))
    start(project)
    until(lambda: "steps" in str(json.loads((project / ".liza" / "watch.json").read_text())["last_error"]))
    folder.unlink()
    aside.rename(folder)
    until(lambda: number_of_steps(project, made.session) == 2)
    assert [step["id"] for step in made_steps(project, made.session)] == ["t0", "t1"]


def test_thousands_of_old_transcripts_cost_little(project: Path) -> None:
    """Neither at the start, nor while nothing happens; and the one that is written is noticed."""
    old = ClaudeWriter("/home/dev/other")
    line = raw(old.begin())
    for number in range(10_000):
        file = project / ".claude" / "projects" / f"-home-dev-{number % 20}" / f"{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(line)
        os.utime(file, (1_700_000_000 + number,) * 2)
    made = running("claude", project)
    start(project)
    pid = int(json.loads((project / ".liza" / "watch.json").read_text())["pid"])
    append(place(project, made), [*made.begin(), *made.call("t0")])
    until(lambda: number_of_steps(project, made.session) == 1)
    begin = used(pid)
    time.sleep(3)
    assert used(pid) - begin < 0.3


def used(pid: int) -> float:
    """Seconds of the processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
