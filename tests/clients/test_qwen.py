"""Qwen Code: events of the form that it sends, and what becomes of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from liza.clients.event import Kind, Outcome
from liza.clients.qwen import SETTINGS, read_event
from tests.cli.run import installed, liza, new_board
from tests.clients.hook import SESSION, run

COMMAND = {"command": "pytest -q", "description": "Run the tests", "is_background": False}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "shop"
    new_board(project)
    return project


def event(name: str, **fields: Any) -> dict[str, Any]:
    """One event as Qwen Code 0.15 sends it."""
    return {
        "session_id": SESSION,
        "transcript_path": f"/home/dev/.qwen/projects/-home-dev-shop/chats/{SESSION}.jsonl",
        "cwd": "/home/dev/shop",
        "hook_event_name": name,
        "timestamp": "2026-11-18T08:23:26.137Z",
        "permission_mode": "yolo",
        **fields,
    }


def after(output: str, code: int, number: int = 0) -> dict[str, Any]:
    """A command that ended; each run is a process of its own."""
    text = f"Command: pytest -q\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {code}\nSignal: 0"
    response = {"llmContent": f"{text}\nProcess Group PGID: {3165 + number}", "returnDisplay": output}
    call = {"tool_name": "run_shell_command", "tool_input": COMMAND, "tool_use_id": f"toolu_{number}"}
    return event("PostToolUse", **call, tool_response=response)


@pytest.mark.parametrize(
    ("output", "code", "result", "outcome"),
    [
        ("3 passed", 0, "3 passed", Outcome.OK),
        ("(empty)", 0, "", Outcome.OK),
        ("1 failed", 1, "Exit code 1\n1 failed", Outcome.FAILED),
    ],
)
def test_result_of_a_command_says_how_it_ended(output: str, code: int, result: str, outcome: Outcome) -> None:
    (call,) = read_event(after(output, code)).calls
    assert (call.result, call.outcome, call.id) == (result, outcome, "toolu_0")


def test_call_that_failed_has_its_error() -> None:
    given = {"file_path": "/home/dev/shop/none.py"}
    failed = event("PostToolUseFailure", tool_name="read_file", tool_input=given, error="File not found: none.py")
    (call,) = read_event(failed).calls
    assert (call.result, call.outcome) == ("File not found: none.py", Outcome.FAILED)


@pytest.mark.parametrize(("prompt", "kind"), [("Fix it", Kind.PROMPT), ("", Kind.BEFORE)])
def test_request_without_a_prompt_is_held_like_a_call(prompt: str, kind: Kind) -> None:
    assert read_event(event("UserPromptSubmit", prompt=prompt)).kind is kind


def test_same_failing_command_is_warned_then_stopped(folder: Path) -> None:
    warnings = []
    for number in range(5):
        given = after("E   ModuleNotFoundError: No module named 'shop.orders'", 1, number)
        found = run(folder, "after", given, "qwen", LIZA_HOOK_LIMIT="60.1")
        warnings += [json.loads(found.out)["hookSpecificOutput"]] if found.out else []
        installed(folder, "watch", "--once")
    assert (warnings[0]["hookEventName"], "shop.orders" in warnings[0]["additionalContext"]) == ("PostToolUse", True)
    call = event("PreToolUse", tool_name="run_shell_command", tool_input=COMMAND)
    assert run(folder, "before", call, "qwen", LIZA_HOOK_LIMIT="60.1").code == 2
    assert run(folder, "before", {**call, "session_id": "another"}, "qwen").code == 0


def test_call_is_held_for_less_than_60_seconds() -> None:
    assert 0 < SETTINGS.hold < 60 - 5  # which liza may take to start


def test_first_request_starts_the_daemon_and_others_start_nothing(folder: Path) -> None:
    """Without a terminal, no event reports the start of a session."""
    given = event("UserPromptSubmit", prompt="Fix it")
    try:
        assert run(folder, "request", given, "qwen") == (0, "", "")
        assert installed(folder, "watch", "--status").code == 0
        program = folder.parent / "shop.data" / "liza" / "program"
        program.write_text("/nonexistent\n")
        assert run(folder, "request", given, "qwen") == (0, "", "")
    finally:
        installed(folder, "watch", "--stop")
    assert "liza doctor" in run(folder, "request", given, "qwen").err


def test_output_of_a_job_in_the_background_is_polled(folder: Path) -> None:
    """The agent reads the file that the client names; that nothing is new there is no repetition."""
    job = f"/home/dev/.qwen/tmp/11ff/background-shells/{SESSION}/shell-bg_48e39729.output"
    for number in range(10):
        read = {"tool_name": "read_file", "tool_input": {"file_path": job}, "tool_use_id": f"toolu_{number}"}
        run(folder, "after", event("PostToolUse", **read, tool_response={"llmContent": "running"}), "qwen")
    installed(folder, "watch", "--once")
    (session,) = liza(folder, "sessions", "--json").json["sessions"]
    assert (session["steps"], (folder / ".liza" / "stopped").exists()) == (10, False)
