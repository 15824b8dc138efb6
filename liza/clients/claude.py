"""Claude Code: its hook events, and the answers that it understands.

A call that failed fires PostToolUseFailure and never PostToolUse. One that was refused (an edit whose text was not
found, a permission) fires only PostToolBatch, which has every call of a turn without saying how each ended: a call
that the batch is the first to mention was refused.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from liza.clients.event import (
    Answer,
    Call,
    Event,
    Outcome,
    event_of,
    required,
    seconds_of,
    text_field,
)
from liza.clients.settings import HookProblem, McpServers, Settings, Setup, Transcripts
from liza.model import mappings_in

NAME = "claude"
SETTINGS = Settings(
    home=("CLAUDE_CONFIG_DIR", "", ".claude"),
    user="settings.json",
    local=".claude/settings.local.json",
    shared=".claude/settings.json",
    events={
        "PreToolUse": "before",
        "UserPromptSubmit": "prompt",
        "PostToolUse": "after",
        "PostToolUseFailure": "after",
        "PostToolBatch": "after",
        "SessionStart": "start",
        "SessionEnd": "note",
        "SubagentStart": "note",
        "SubagentStop": "note",
        "Stop": "note",
    },
    warns=(
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "UserPromptSubmit",
        "SessionStart",
    ),
    reach="for sessions that start in a subfolder or a linked worktree",
    tested="2.1.197",
    mcp=McpServers(".mcp.json", "../.claude.json", notes=("start claude here, and allow its new MCP server liza",)),
    matcher="*",
    transcripts=Transcripts(
        files="projects/*/*.jsonl",
        session=rb'"sessionId": ?"([^"\\]{1,100})"',
        version=rb'"version": ?"(\d[\w.-]{0,40})"',
    ),
)


def read_event(payload: Mapping[str, Any]) -> Event:
    """The event that a payload is; `InvalidEvent` where it lacks what every event has."""
    return event_of(NAME, payload, lambda name: _calls(name, payload), expected=_EXPECTED)


_CALL = ("tool_name", "tool_input", "tool_use_id")
_EXPECTED = {
    "PostToolUse": (*_CALL, "tool_response"),
    "PostToolUseFailure": (*_CALL, "error"),
    "PostToolBatch": ("tool_calls",),
}


def _calls(name: str, payload: Mapping[str, Any]) -> tuple[Call, ...]:
    if name == "PostToolBatch":
        calls = mappings_in(payload.get("tool_calls"))
        return tuple(_call(each, result_text(each.get("tool_response")), Outcome.REFUSED) for each in calls)
    if name == "PostToolUse":
        return (_call(payload, result_text(payload.get("tool_response")), Outcome.OK),)
    if name == "PostToolUseFailure":
        return (_call(payload, result_text(payload.get("error")), Outcome.FAILED),)
    return (_call(payload, None, Outcome.UNKNOWN),) if name == "PreToolUse" else ()


def _call(payload: Mapping[str, Any], result: str | None, outcome: Outcome) -> Call:
    return Call(
        id=text_field(payload, "tool_use_id"),
        tool=required(payload, "tool_name"),
        input=payload.get("tool_input"),
        result=result,
        outcome=outcome,
        seconds=seconds_of(payload.get("duration_ms")),
    )


def result_text(response: Any) -> str:
    """What the model sees of a result: a tool gives text, the streams of a command, or fields of its own."""
    if isinstance(response, str):
        return response
    if isinstance(response, Mapping) and isinstance(response.get("stdout"), str):
        return "\n".join(
            part for part in (response["stdout"], response.get("stderr")) if isinstance(part, str) and part
        )
    import json

    return json.dumps(response, ensure_ascii=False, default=str, sort_keys=True)


# --- answering --------------------------------------------------------------------------------------------------------


def end_turn(name: str, text: str) -> Answer | None:
    """Only PostToolBatch ends a turn."""
    if name != "PostToolBatch":
        return None
    import json

    return Answer(json.dumps({"continue": False, "stopReason": text}) + "\n")


# --- health -----------------------------------------------------------------------------------------------------------


def problems(setup: Setup) -> Iterator[HookProblem]:
    """Whether a person has switched all hooks off."""
    from liza.clients.hook_entries import read_object

    for file in setup.files:
        if read_object(file).get("disableAllHooks") is True:
            yield HookProblem(NAME, "all hooks are disabled", f"remove disableAllHooks from {file}", file)
