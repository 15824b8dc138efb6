"""Qwen Code: a fork of Gemini CLI with Claude Code's events.

Whatever limit its settings give a hook, it lets the call through after 60 seconds: calls are held for less, and then
refused. Each request to the model is a UserPromptSubmit, without a prompt where results are given back, so a refusal
there ends the turn before anything is paid. Without a terminal it reports no start of a session, so that first request
takes its place. Calls of a subagent are those of its session.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from liza.clients.event import (
    Call,
    Event,
    Kind,
    Outcome,
    event_of,
    required,
    text_field,
)
from liza.clients.gemini import read_response, setting, untrusted
from liza.clients.settings import DAY, HookProblem, McpServers, Settings, Setup, Transcripts

NAME = "qwen"
SETTINGS = Settings(
    home=("QWEN_HOME", "", ".qwen"),
    user="settings.json",
    local=".qwen/settings.json",
    shared=None,
    events={
        "PreToolUse": "before",
        "UserPromptSubmit": "request",
        "PostToolUse": "after",
        "PostToolUseFailure": "after",
        "SessionStart": "start",
        "SessionEnd": "note",
        "Stop": "note",
    },
    warns=("PostToolUse", "PostToolUseFailure", "UserPromptSubmit"),
    reach="for sessions that start in a subfolder or a linked work tree",
    tested="0.15.10",
    mcp=McpServers(".qwen/settings.json", "settings.json"),
    timeout=DAY * 1000,
    hold=50.0,
    transcripts=Transcripts(
        files="projects/*/chats/*.jsonl",
        session=rb'"sessionId": ?"([^"\\]{1,100})"',
        version=rb'"version": ?"(\d[\w.-]{0,40})"',
    ),
)


def read_event(payload: Mapping[str, Any]) -> Event:
    """The event that a payload is; `InvalidEvent` where it lacks what every event has."""
    event = event_of(NAME, payload, lambda name: _calls(name, payload))
    is_request = event.kind is Kind.PROMPT and not text_field(payload, "prompt")
    return event._replace(kind=Kind.BEFORE) if is_request else event


def _calls(name: str, payload: Mapping[str, Any]) -> tuple[Call, ...]:
    if name not in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        return ()
    tool, result, outcome = required(payload, "tool_name"), None, Outcome.UNKNOWN
    if name == "PostToolUse":
        result, outcome = read_response(tool, payload.get("tool_response"))
    elif name == "PostToolUseFailure":
        result, outcome = text_field(payload, "error"), Outcome.FAILED
    return (Call(text_field(payload, "tool_use_id"), tool, payload.get("tool_input"), result, outcome),)


def end_turn(name: str, text: str) -> None:
    """What is refused ends the turn with the next request to the model."""


def problems(setup: Setup) -> Iterator[HookProblem]:
    """Whether hooks are switched off; and, where a person has asked for trusted folders, whether this is one."""
    from liza.clients.hook_entries import read_object

    for file in setup.files:
        if read_object(file).get("disableAllHooks") is True:
            yield HookProblem(NAME, "all hooks are disabled", f"remove disableAllHooks from {file}", file)
    user = read_object(os.path.join(setup.folder, SETTINGS.user))
    trust = os.environ.get("QWEN_CODE_TRUSTED_FOLDERS_PATH") or os.path.join(setup.folder, "trustedFolders.json")
    is_asked = setting(user, "security", "folderTrust", "enabled") is True
    if is_asked and "user" not in setup.places.values():
        yield from untrusted(NAME, setup.project, trust)
