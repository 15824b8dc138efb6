"""Gemini CLI: events of the form that it sends, and what becomes of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from liza.clients.event import Outcome
from liza.clients.gemini import read_event
from tests.cli.run import installed, liza, new_board
from tests.clients.hook import SESSION, run

COMMAND = {"command": "pytest -q", "description": "Run the tests"}
FAILED = "Output: E   ModuleNotFoundError: No module named 'shop.orders'\n1 failed in 0.03s\nExit Code: 1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "shop"
    new_board(project)
    return project


def event(name: str, number: int = 0, **fields: Any) -> dict[str, Any]:
    """One event as Gemini CLI 0.61 sends it."""
    return {
        "session_id": SESSION,
        "transcript_path": "/home/dev/.gemini/tmp/shop/chats/session-2026-11-18T08-11-7c1f2a90.jsonl",
        "cwd": "/home/dev/shop",
        "hook_event_name": name,
        "timestamp": f"2026-11-18T08:11:{number:02}.678Z",
        **fields,
    }


def after(text: Any, number: int = 0, tool: str = "run_shell_command", **response: Any) -> dict[str, Any]:
    response = {"llmContent": text, "returnDisplay": "", **response}
    return event("AfterTool", number, tool_name=tool, tool_input=COMMAND, tool_response=response)


def untrusted(text: str, process: int) -> str:
    """How the output of a command is marked; the number of its process differs each time."""
    return f"<untrusted_context>\n{text}\nProcess Group PGID: {process}\n</untrusted_context>"


@pytest.mark.parametrize(
    ("text", "result", "outcome"),
    [
        (untrusted("Output: 3 passed", 12), "3 passed", Outcome.OK),
        (untrusted("Output: (empty)", 12), "", Outcome.OK),
        (untrusted("Output: a\nb\nExit Code: 2", 12), "Exit code 2\na\nb", Outcome.FAILED),
        (
            untrusted("Output: (empty)\nError: spawn EACCES\nExit Code: 1", 12),
            "Exit code 1\nspawn EACCES",
            Outcome.FAILED,
        ),
        (untrusted("Output: half\nSignal: 9", 12), "Signal 9\nhalf", Outcome.FAILED),
        ([{"text": "Output: a\nExit Code: 1"}], "Exit code 1\na", Outcome.FAILED),
        ("Command moved to background (PID: 12). Output hidden.", None, Outcome.OK),
        ("", "", Outcome.OK),
    ],
)
def test_result_of_a_command_says_how_it_ended(text: Any, result: str | None, outcome: Outcome) -> None:
    (call,) = read_event(after(text)).calls
    assert (call.result, call.outcome) == (text if result is None else result, outcome)


@pytest.mark.parametrize(
    ("kind", "outcome"), [("edit_no_occurrence_found", Outcome.REFUSED), ("file_not_found", Outcome.FAILED)]
)
def test_call_with_an_error_failed_or_was_refused(kind: str, outcome: Outcome) -> None:
    error = {"message": "Failed to edit, could not find the string to replace.", "type": kind}
    (call,) = read_event(after(error["message"], tool="replace", error=error)).calls
    assert (call.result, call.outcome) == (error["message"], outcome)


def test_two_hooks_for_one_event_are_one_step(folder: Path) -> None:
    """As where the settings of the project and of its user both have it: a call has no id."""
    for number in (1, 1, 2):
        assert run(folder, "after", after(untrusted(FAILED, 12), number), "gemini").code == 0
    installed(folder, "watch", "--once")
    (session,) = liza(folder, "sessions", "--json").json["sessions"]
    assert (session["client"], session["steps"]) == ("gemini", 2)


def test_same_failing_command_is_warned_then_stopped(folder: Path) -> None:
    """Its results are equal although each has the number of another process."""
    warnings = []
    for number in range(5):
        found = run(folder, "after", after(untrusted(FAILED, number), number), "gemini", LIZA_HOOK_LIMIT="60.1")
        warnings += [json.loads(found.out)["hookSpecificOutput"]] if found.out else []
        installed(folder, "watch", "--once")
    warning = warnings[0]
    assert (warning["hookEventName"], "shop.orders" in warning["additionalContext"]) == ("AfterTool", True)
    call = event("BeforeTool", tool_name="run_shell_command", tool_input=COMMAND)
    for given in (call, event("BeforeModel", llm_request={"model": "gemini-2.5-pro"})):
        assert run(folder, "before", given, "gemini", LIZA_HOOK_LIMIT="60.1").code == 2
        assert run(folder, "before", {**given, "session_id": "another"}, "gemini").code == 0


def test_warning_waits_for_an_answer_that_reaches_the_model(folder: Path) -> None:
    for number in range(3):
        assert run(folder, "after", after(untrusted(FAILED, number), number), "gemini").out == ""
    installed(folder, "watch", "--once")
    for kind, name in (("before", "BeforeTool"), ("before", "BeforeModel"), ("note", "AfterAgent")):
        assert run(folder, kind, event(name, tool_name="x"), "gemini").out == "", name
    found = run(folder, "prompt", event("BeforeAgent", prompt="go on"), "gemini")
    assert json.loads(found.out)["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
