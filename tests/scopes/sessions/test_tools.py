"""Which calls change a file or only wait, known by their input, and by names that rules.yaml can add."""

from pathlib import Path
from typing import Any

import pytest

from liza.scopes.sessions.tools import SHIPPED, tools_of
from tests.clients.hook import SESSION, event, run
from tests.scopes.sessions.test_sessions import look, sessions


@pytest.mark.parametrize(
    "given",
    [
        {"file_path": "a.py", "old_string": "a", "new_string": "b"},
        {"command": "create", "path": "/a.py", "file_text": ""},
        {"filename": "a.py", "content": "x"},
        {"TargetFile": "a.py", "oldText": "a", "newText": "b"},
    ],
)
def test_edit_is_known_by_its_input(given: dict[str, str]) -> None:
    assert SHIPPED.changes_file("any_tool", given)


@pytest.mark.parametrize("given", [{"path": "a.py"}, {"pattern": "x", "path": "."}, {"content": "x"}, "a.py", None])
def test_look_at_a_file_is_not_an_edit(given: object) -> None:
    assert not SHIPPED.changes_file("any_tool", given)


@pytest.mark.parametrize(
    "command", ["sleep 30 && gh run view", "make &\nwait", "for i in 1 2; do sleep 1; done", "tail -n 5 -f a.log"]
)
def test_command_that_pauses_only_waits(command: str) -> None:
    assert SHIPPED.waits_only("any_shell", {"command": command})
    assert SHIPPED.waits_only("any_shell", {"command": ["bash", "-lc", command]})


@pytest.mark.parametrize("command", ["pytest -q", "grep -rn sleep .", "cat wait.py", "tail -n 5 a.log", "git watch"])
def test_other_command_does_not_wait(command: str) -> None:
    assert not SHIPPED.waits_only("any_shell", {"command": command})


@pytest.mark.parametrize(("command", "waits"), [("sleep 0.7; false", False), ("sleep .2 && x; sleep 5", True)])
def test_failing_command_with_a_short_pause_does_not_wait(command: str, waits: bool) -> None:
    given = {"command": command}
    assert (SHIPPED.waits_only("any_shell", given, failed=True), SHIPPED.waits_only("any_shell", given)) == (
        waits,
        True,
    )


def test_names_are_added_to_the_shipped_ones() -> None:
    tools = tools_of({"waits": ["mcp__ci__status"], "edits": ["mcp__repo__commit_file"]})
    assert tools.waits_only("mcp__ci__status", {})
    assert tools.waits_only("BashOutput", {})
    assert tools.changes_file("mcp__repo__commit_file", "x")


def test_tools_of_rules_yaml_only_wait(folder: Path) -> None:
    (folder / ".liza" / "rules.yaml").write_text("tools: {waits: [mcp__ci__status]}\n")
    poll: dict[str, Any] = {"tool_name": "mcp__ci__status", "tool_input": {"run": 7}, "tool_response": "in progress"}
    for number in range(8):
        run(folder, "after", event("PostToolUse", **poll, tool_use_id=f"p{number}"))
    look(folder)
    assert not (folder / ".liza" / "stopped").exists()
    assert sessions(folder)[SESSION]["session_status"] == "ACTIVE"
