"""Codex: its hook events, and the answers that it understands.

PostToolUse fires for a failing call, too, and has the output without the exit code, so the outcome is unknown until the
session's rollout file gives it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from liza.clients.claude import result_text
from liza.clients.event import (
    Call,
    Event,
    event_of,
    required,
    text_field,
)
from liza.clients.settings import HookProblem, McpServers, Settings, Setup, Transcripts

NAME = "codex"
SETTINGS = Settings(
    home=("CODEX_HOME", "", ".codex"),
    user="hooks.json",
    local=".codex/hooks.json",
    shared=None,
    events={
        "PreToolUse": "before",
        "UserPromptSubmit": "prompt",
        "PostToolUse": "after",
        "SessionStart": "start",
        "SessionEnd": "note",
        "SubagentStart": "note",
        "SubagentStop": "note",
        "Stop": "note",
    },
    warns=("PreToolUse", "PostToolUse"),
    reach="for sessions that start in a linked worktree",
    tested="0.169.0",
    mcp=McpServers(".codex/config.toml", "config.toml", path=None),
    notes=("Codex runs a hook only after you have trusted it: start codex, and trust the hooks (later: /hooks)",),
    transcripts=Transcripts(
        files="sessions/*/*/*/rollout-*.jsonl",
        session=rb'"session_id": ?"([^"\\]{1,100})"',
        version=rb'"cli_version": ?"(\d[\w.-]{0,40})"',
        is_dated=True,
    ),
)


def read_event(payload: Mapping[str, Any]) -> Event:
    """The event that a payload is; `InvalidEvent` where it lacks what every event has."""
    expected = {"PostToolUse": ("tool_name", "tool_input", "tool_use_id", "tool_response")}
    return event_of(NAME, payload, lambda name: _calls(name, payload), expected=expected)


def _calls(name: str, payload: Mapping[str, Any]) -> tuple[Call, ...]:
    if name not in ("PreToolUse", "PostToolUse"):
        return ()
    result = result_text(payload.get("tool_response")) if name == "PostToolUse" else None
    tool = required(payload, "tool_name")
    return (Call(text_field(payload, "tool_use_id"), tool, payload.get("tool_input"), result),)


def end_turn(name: str, text: str) -> None:
    """It has no answer that ends a turn: each further call is refused."""


def problems(setup: Setup) -> Iterator[HookProblem]:
    """What a person has to trust before any hook runs."""
    from liza.clients.codex_trust import untrusted

    return untrusted(setup)
