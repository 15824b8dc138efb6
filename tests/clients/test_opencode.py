"""opencode: its plugin, run by node as the client runs it, and what becomes of its events."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from liza.clients.event import Kind, Outcome
from liza.clients.opencode import read_event
from liza.clients.usage import Usage
from tests.cli.run import environment, installed, liza, new_board
from tests.docs.pages import ROOT
from tests.tools import needs

SESSION = "ses_e12475ff6ffeOSH5I7HLBR8Nh0"
ARGS = {"command": "pytest -q", "description": "Run the tests"}
ERROR = "E   ModuleNotFoundError: No module named 'shop.orders'"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    needs("node")
    project = tmp_path / "shop"
    new_board(project)
    assert installed(project, "install", "opencode").code == 0
    shutil.copy(project / ".opencode/plugins/liza.js", tmp_path / "liza.mjs")
    return project


def plugin(folder: Path, *calls: tuple[str, Any, Any], **env: str) -> list[dict[str, Any]]:
    """What the plugin answers to these calls of opencode."""
    shell = {**environment(folder), "LIZA_HOOK_LIMIT": "60.1", **env}
    done = subprocess.run(
        ["node", Path(__file__).with_name("opencode.mjs"), folder.parent / "liza.mjs", folder],
        input="\n".join(map(json.dumps, calls)), env=shell, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def before(number: int, session: str = SESSION) -> tuple[str, Any, Any]:
    return "tool.execute.before", {"tool": "bash", "sessionID": session, "callID": f"call_{number}"}, {"args": ARGS}


def after(number: int, output: str = ERROR, code: int = 1) -> tuple[str, Any, Any]:
    given = {"tool": "bash", "sessionID": SESSION, "callID": f"call_{number}", "args": ARGS}
    return "tool.execute.after", given, {"title": "pytest", "output": output, "metadata": {"exit": code}}


def happened(kind: str, **properties: Any) -> tuple[str, Any, Any]:
    return "event", {"event": {"type": kind, "properties": properties}}, None


def look(folder: Path) -> None:
    installed(folder, "watch", "--once")


def sessions(folder: Path) -> dict[str, Any]:
    return {each["session"]: each for each in liza(folder, "sessions", "--json").json["sessions"]}


def test_same_failing_command_is_warned_then_stopped(folder: Path) -> None:
    texts = []
    for number in range(5):
        first, second = plugin(folder, before(number), after(number))
        assert first == {"output": {"args": ARGS}}
        texts.append(second["output"]["output"])
        look(folder)
    assert texts[:3] == [ERROR] * 3
    assert texts[3].startswith(f"{ERROR}\n\nliza: ")
    assert sessions(folder)[SESSION]["session_status"] == "STOPPED"
    held, other, prompt = plugin(
        folder, before(6), before(7, "ses_another"), ("chat.message", {"sessionID": SESSION}, {}), LIZA_ON_HALT="block"
    )
    assert "liza session resume" in held["refused"]
    assert "refused" not in other
    assert "liza session resume" in prompt["refused"]


def test_everything_that_begins_is_refused_while_halted(folder: Path) -> None:
    (folder / ".liza" / "CHECKPOINT").write_text("2026-01-01T00:00:00Z\n")
    about = {"sessionID": SESSION}
    calls = [before(1), ("chat.message", about, {}), ("chat.params", about, {}), happened("session.idle", **about)]
    assert ["refused" in each for each in plugin(folder, *calls, LIZA_ON_HALT="block")] == [True, True, True, False]


def test_missing_script_refuses_every_call(folder: Path) -> None:
    shutil.rmtree(folder / ".local" / "share" / "liza")
    (found,) = plugin(folder, before(1))
    assert "liza install opencode" in found["refused"]


def test_usage_subagents_and_refused_edits_are_recorded(folder: Path) -> None:
    tokens = {"input": 100, "output": 20, "reasoning": 5, "cache": {"read": 1000, "write": 10}}
    message = {
        "id": "msg_1",
        "sessionID": SESSION,
        "role": "assistant",
        "modelID": "gpt-5",
        "tokens": tokens,
        "cost": 0,
    }
    finished = {**message, "time": {"created": 1, "completed": 2}}
    error = {"status": "error", "input": {"filePath": "a.py", "oldString": "x"}, "error": "oldString not found"}
    part = {"type": "tool", "tool": "edit", "callID": "call_9", "sessionID": "ses_child", "state": error}
    plugin(
        folder,
        happened("session.created", info={"id": SESSION}),
        happened("session.created", info={"id": "ses_child", "parentID": SESSION}),
        happened("message.updated", info={**message, "time": {"created": 1}}),
        happened("message.updated", info=finished),
        happened("message.updated", info=finished),
        happened("message.part.updated", part=part),
        happened("message.part.updated", part={**part, "state": {"status": "running", "input": {}}}),
        LIZA_START_DAEMON="false",
    )
    look(folder)
    found = sessions(folder)
    assert (found[SESSION]["tokens"], found[SESSION]["steps"]) == (1135, 0)
    assert found[SESSION]["cost"] == pytest.approx((110 * 1.25 + 1000 * 0.125 + 25 * 10) / 1e6)
    child = found["ses_child"]
    assert (child["parent"], child["steps"], child["last_error"]) == (SESSION, 1, "oldString not found")


def test_call_that_was_refused_is_no_failure_of_the_agent(folder: Path) -> None:
    (folder / ".liza" / "CHECKPOINT").write_text("2026-01-01T00:00:00Z\n")
    state = {"status": "error", "input": ARGS, "error": "liza: halted"}
    part = {"type": "tool", "tool": "bash", "callID": "call_1", "sessionID": SESSION, "state": state}
    plugin(folder, before(1), happened("message.part.updated", part=part), LIZA_ON_HALT="block")
    look(folder)
    assert sessions(folder) == {}


@pytest.mark.parametrize(
    ("response", "result", "outcome"),
    [
        ({"output": "3 passed", "exit": 0}, "3 passed", Outcome.OK),
        ({"output": "1 failed", "exit": 1}, "Exit code 1\n1 failed", Outcome.FAILED),
        ({"output": "a file"}, "a file", Outcome.OK),
        ({"failed": "not found"}, "not found", Outcome.REFUSED),
        ({"output": "x", "error": "boom"}, "x", Outcome.FAILED),
        (None, "", Outcome.OK),
    ],
)
def test_response_says_how_a_call_ended(response: Any, result: str, outcome: Outcome) -> None:
    given = {"hook_event_name": "tool.execute.after", "session_id": "s", "tool_name": "bash", "tool_response": response}
    (call,) = read_event(given).calls
    assert (call.result, call.outcome) == (result, outcome)


@pytest.mark.parametrize(
    ("tokens", "usage"),
    [
        ({"input": 1, "output": 2, "cache": {"read": "3"}}, Usage(1, 2, 0, "m", 0.5)),
        ({"input": 0, "output": 0}, None),
        ({"input": -1, "cache": 5}, None),
        (None, None),
    ],
)
def test_tokens_of_a_message_are_usage(tokens: Any, usage: Usage | None) -> None:
    given = {"hook_event_name": "message.updated", "session_id": "s", "model": "m", "tokens": tokens, "cost": 0.5}
    event = read_event(given)
    assert (event.kind, event.usage) == (Kind.NOTE, usage)


def test_file_of_another_with_that_name_is_left_alone(folder: Path) -> None:
    file = folder / ".opencode/plugins/liza.js"
    file.write_text("export const Mine = async () => ({})\n")
    assert installed(folder, "install", "opencode").code == 1
    assert installed(folder, "install", "opencode", "--uninstall").code == 0
    assert file.read_text() == "export const Mine = async () => ({})\n"


def test_uninstall_takes_the_folders_that_were_made(folder: Path) -> None:
    assert (folder / ".opencode/plugins/liza.js").read_bytes() == (ROOT / "templates/opencode.js").read_bytes()
    assert installed(folder, "install", "opencode", "--uninstall").code == 0
    assert not (folder / ".opencode").exists()
    assert installed(folder, "install", "opencode", "--user").code == 0
    assert (folder / ".config/opencode/plugins/liza.js").is_file()
