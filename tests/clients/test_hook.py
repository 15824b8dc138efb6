"""The hook: what it keeps, what it blocks, and what it does where something is missing."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from liza.clients.install import CLIENTS
from liza.clients.settings import STARTS
from tests.cli.run import BIN, LIZA, environment, installed, liza
from tests.clients.hook import SCRIPT, SESSION, event, failing, run, spooled

BEFORE = event("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t1")


def test_free_call_passes_and_starts_nothing(folder: Path) -> None:
    (folder.parent / "shop.data" / "liza").mkdir(parents=True)
    (folder.parent / "shop.data" / "liza" / "program").write_text("/nonexistent\n")
    assert run(folder, "before", BEFORE) == (0, "", "")
    assert spooled(folder) == []


def test_event_after_call_is_kept_whole(folder: Path) -> None:
    given = failing("t1")
    assert run(folder, "after", given, LIZA_AGENT="coder-1\nx", LIZA_TASK="task 3").code == 0
    (name,) = spooled(folder)
    assert name.startswith("claude-after-")
    file = folder / ".liza" / "spool" / name
    header, agent, task, payload = file.read_text().split("\n", 3)
    assert (header, agent, task, json.loads(payload)) == ("liza 1", "coder-1", "task 3", given)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_folder_without_blackboard_is_left_alone(tmp_path: Path) -> None:
    assert run(tmp_path, "before", BEFORE).code == 0
    assert run(tmp_path, "after", failing("t1")).code == 0
    assert os.listdir(tmp_path) == []


def test_linked_worktree_uses_the_main_blackboard(folder: Path) -> None:
    tree = folder.parent / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {folder}/.git/worktrees/tree\n")
    assert run(tree, "after", failing("t1")).code == 0
    assert len(spooled(folder)) == 1


def test_named_root_without_blackboard_blocks(folder: Path) -> None:
    assert run(folder, "before", BEFORE, LIZA_ROOT=str(folder.parent / "typo")).code == 2


@pytest.mark.parametrize("kind", STARTS)
def test_halt_blocks_even_without_liza(folder: Path, kind: str) -> None:
    (folder.parent / "shop.data" / "liza").mkdir(parents=True)
    (folder.parent / "shop.data" / "liza" / "program").write_text("/nonexistent\n")
    (folder / ".liza" / "CHECKPOINT").write_text("2026-01-01T00:00:00Z\n")
    assert run(folder, kind, BEFORE).code == 2
    (folder / ".liza" / "CHECKPOINT").unlink()
    assert run(folder, kind, BEFORE).code == 0


def test_prompt_is_refused_with_the_reason(folder: Path) -> None:
    installed(folder, "trip", "-m", "payments is down")
    found = run(folder, "prompt", event("UserPromptSubmit", prompt="go on"))
    assert found.code == 2
    assert "liza resolve" in found.err


HELD = 0.5  # seconds for which a call is held in these tests
LIMIT = {"LIZA_HOOK_LIMIT": str(60 + HELD)}


ENDS = {"claude": ("PostToolBatch",), "gemini": ("BeforeTool", "BeforeModel", "AfterTool")}  # whose answer ends a turn


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("policy", ["wait", "block", "end"])
def test_policy_decides_what_a_halt_does_to_each_event(folder: Path, client: str, policy: str) -> None:
    (folder / ".liza" / "rules.yaml").write_text(f"on_halt: {policy}\nstart_daemon: false\n")
    (folder / ".liza" / "CHECKPOINT").touch()
    for name, kind in CLIENTS[client].events.items():
        started = time.monotonic()
        given = event(name, tool_name="Bash", tool_input={}, tool_use_id="t1", tool_calls=[], error="x", prompt="x")
        found = run(folder, kind, given, client, **LIMIT)
        refuses, holds = kind in STARTS, policy == "wait" and kind in ("before", "after")
        assert found.code == (2 if refuses else 0), (name, found)
        assert time.monotonic() - started >= HELD or not holds, name
        ends = policy == "end" and name in ENDS.get(client, ())
        assert (json.loads(found.out) if found.out else {}).get("continue", True) is not ends, (name, found)


@pytest.mark.parametrize("broken", ["no liza", "not json", "no blackboard"])
def test_end_of_a_turn_is_never_refused(folder: Path, broken: str) -> None:
    """An agent that is refused to stop goes on, and is paid for."""
    (folder / ".liza" / "CHECKPOINT").touch()
    if broken == "no liza":
        (folder.parent / "shop.data" / "liza").mkdir(parents=True)
        (folder.parent / "shop.data" / "liza" / "program").write_text("/nonexistent\n")
    env = {"LIZA_ROOT": "/nonexistent"} if broken == "no blackboard" else {}
    for kind, code in (("note", 0), ("start", 0), ("after", 0), ("before", 2), ("prompt", 2)):
        payload: dict[str, object] | bytes = b"not json" if broken == "not json" else event("Stop")
        assert run(folder, kind, payload, **env, **LIMIT).code == code, kind


def test_held_call_is_refused_before_the_client_gives_up(folder: Path) -> None:
    installed(folder, "trip", "-m", "payments is down")
    assert run(folder, "before", BEFORE, LIZA_HOOK_LIMIT="60.5").code == 2


def test_held_call_continues_after_the_decision(folder: Path) -> None:
    installed(folder, "trip", "-m", "payments is down")
    from tests.cli.run import environment

    data = folder.parent / "held.data" / "liza"
    data.mkdir(parents=True)
    (data / "program").write_text(f"{LIZA}\n")
    shell = {**environment(folder), "XDG_DATA_HOME": str(data.parent)}
    held = subprocess.Popen(
        ["sh", str(SCRIPT), "claude", "before"], cwd=folder, env=shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert held.stdin is not None
    assert held.stderr is not None
    held.stdin.write(json.dumps(BEFORE).encode())
    held.stdin.close()
    assert b"halted" in held.stderr.readline()  # it says so once it waits
    assert held.poll() is None
    assert liza(folder, "resolve", "-m", "payments is back").code == 0
    assert held.wait(30) == 0
    held.stderr.close()
    assert held.stdout is not None
    held.stdout.close()


@pytest.mark.parametrize("payload", [b"", b"not json", b"[]", b"{}", b'{"hook_event_name": 5}'])
def test_unreadable_event_blocks_only_while_halted(folder: Path, payload: bytes) -> None:
    assert run(folder, "before", payload).code == 0
    (folder / ".liza" / "CHECKPOINT").touch()
    assert run(folder, "before", payload).code == 2


def test_spool_that_is_a_link_is_not_followed(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (folder / ".liza" / "spool").symlink_to(outside)
    found = run(folder, "after", failing("t1"))
    assert (found.code, os.listdir(outside)) == (0, [])
    assert "liza doctor" in found.err


def test_stopped_session_alone_is_blocked_without_liza(folder: Path) -> None:
    stopped = folder / ".liza" / "stopped"
    stopped.mkdir()
    (stopped / SESSION).write_text("2026-01-01T00:00:00Z\naction: stop\n")
    (folder.parent / "shop.data" / "liza").mkdir(parents=True)
    (folder.parent / "shop.data" / "liza" / "program").write_text("/nonexistent\n")
    assert run(folder, "before", BEFORE).code == 2
    assert run(folder, "before", {**BEFORE, "session_id": "another"}).code == 0
    (stopped / SESSION).write_text(f"2026-01-01T00:00:00Z\nsession: {SESSION}\naction: warn\nreason: again\n")
    assert run(folder, "before", BEFORE).code == 0  # a warning needs liza to be given


@pytest.mark.parametrize("kind", ["before", "prompt", "after", "note"])
def test_liza_is_started_for_the_stopped_session_alone(folder: Path, kind: str) -> None:
    """Others go on for hours beside a stopped one, and make two calls of the hook for each of theirs."""
    data, stopped = folder.parent / "shop.data" / "liza", folder / ".liza" / "stopped"
    for each in (data, stopped):
        each.mkdir(parents=True)
    program = data / "stand-in"
    program.write_text(f'#!/bin/sh\ncat > "{data}/asked"\n')
    program.chmod(0o755)
    (data / "program").write_text(f"{program}\n")
    (stopped / SESSION).write_text("2026-01-01T00:00:00Z\naction: stop\n")
    assert run(folder, kind, {**BEFORE, "session_id": "another", "tool_input": {"command": f"cat {SESSION}"}}).code == 0
    assert not (data / "asked").exists()
    given = {**BEFORE, "session_id": "another", "agent_id": SESSION, "tool_input": {"command": "printf '\\n%s'"}}
    assert run(folder, kind, given).code == 0
    text = (data / "asked").read_text()
    assert json.loads(text[text.index("{") :]) == given


def test_start_of_a_session_starts_the_daemon(folder: Path) -> None:
    start = event("SessionStart", source="startup")
    assert run(folder, "start", start, LIZA_START_DAEMON="false") == (0, "", "")
    assert installed(folder, "watch", "--status").code == 1
    try:
        assert run(folder, "start", start) == (0, "", "")
        assert installed(folder, "watch", "--status").code == 0
    finally:
        installed(folder, "watch", "--stop")


@pytest.fixture
def waiting(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A shell loop's gate while agents are halted."""
    installed(folder, "trip", "-m", "payments is down")
    command = [str(BIN / "liza-gate"), "--wait"]
    process = subprocess.Popen(command, cwd=folder, env=environment(folder), stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert b"waiting" in process.stderr.readline()
    assert process.poll() is None
    yield process
    process.kill()
    process.wait(10)
    process.stderr.close()


def test_gate_waits_until_the_halt_is_over(folder: Path, waiting: subprocess.Popen[bytes]) -> None:
    assert liza(folder, "resolve", "-m", "payments is back").code == 0
    assert waiting.wait(30) == 0


def test_waiting_gate_ends_on_sigterm_and_lets_nothing_through(waiting: subprocess.Popen[bytes]) -> None:
    waiting.terminate()
    assert waiting.wait(30) not in (0, None)


def test_waiting_gate_gives_up_after_its_timeout(folder: Path) -> None:
    installed(folder, "trip", "-m", "payments is down")
    assert installed(folder, "gate", "--wait", "--timeout", "0.1").code == 2
    assert installed(folder, "gate", "--wait", "--timeout", "x").code == 2
    liza(folder, "resolve", "-m", "payments is back")
    assert installed(folder, "gate", "--wait", "--timeout", "0.1").code == 0


def test_waiting_gate_holds_one_session(folder: Path) -> None:
    assert run(folder, "after", failing("t1")).code == 0
    installed(folder, "watch", "--once")
    assert installed(folder, "session", "stop", SESSION, "-m", "wrong branch").code == 3
    assert installed(folder, "gate", "--session", SESSION, "--wait", "--timeout", "0.1").code == 2
    assert installed(folder, "gate", "--session", "another", "--wait", "--timeout", "0.1").code == 0


KILLED = "#!/bin/sh\ncat > /dev/null\nkill -9 $$\n"  # after it has read the event


@pytest.mark.parametrize("kind", [*STARTS, "after", "start", "note"])
@pytest.mark.parametrize("cause", ["interpreter", "package", "killed", "missing"])
def test_hook_alone_refuses_calls_and_prompts_while_halted(folder: Path, kind: str, cause: str) -> None:
    """Code 2 at the end of a turn would make the client continue, and every other code lets a call through."""
    script = {"interpreter": "#!/nonexistent/python\n", "package": "#!/bin/sh\nexit 1\n", "killed": KILLED}.get(cause)
    data = folder.parent / "shop.data" / "liza"
    data.mkdir(parents=True)
    program = data / "stand-in"
    (data / "program").write_text(f"{program}\n")
    if script is not None:
        program.write_text(script)
        program.chmod(0o755)
    refused = 2 if kind in STARTS else 0
    (folder / ".liza" / "CHECKPOINT").write_text("2026-01-01T00:00:00Z\n")
    assert run(folder, kind, event("Stop")).code == refused
    (folder / ".liza" / "CHECKPOINT").unlink()
    stopped = folder / ".liza" / "stopped"
    stopped.mkdir()
    (stopped / SESSION).write_text("2026-01-01T00:00:00Z\naction: stop\n")
    assert run(folder, kind, event("Stop")).code == refused
    assert run(folder, kind, event("Stop", session="another")).code == 0


CLIENT = """
import subprocess, sys
streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
hook = subprocess.Popen(["sh", sys.argv[1], "claude", "before"], pass_fds=[int(sys.argv[2])], **streams)
hook.stdin.write(sys.argv[3].encode())
hook.stdin.close()
print(hook.stderr.readline().decode(), flush=True)
sys.stdin.read()
"""


def test_hold_ends_with_the_client(folder: Path) -> None:
    """A hook whose client was killed does not wait."""
    installed(folder, "trip", "-m", "payments is down")
    reads, writes = os.pipe()
    data = folder.parent / "data"
    (data / "liza").mkdir(parents=True)
    (data / "liza" / "program").write_text(f"{LIZA}\n")
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, SCRIPT, str(writes), json.dumps(BEFORE)], cwd=folder, pass_fds=[writes],
        env={**environment(folder), "XDG_DATA_HOME": str(data)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    os.close(writes)
    assert client.stdin is not None
    assert client.stdout is not None
    with client.stdin, client.stdout, open(reads, "rb") as held:
        assert b"halted" in client.stdout.readline()
        client.kill()
        client.wait(30)
        held.read()  # until the hook has ended, too
