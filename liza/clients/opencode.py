"""opencode: a plugin in JavaScript is its only kind of hook, and what `templates/opencode.js` makes of its events.

The plugin runs inside the client and hands each event to the hook script. A call that is made is reported with its
output and exit code; one that the client could not make, such as an edit whose text was not found, with its error.
Before each request to the model there is an event, too: what is refused there ends the turn and is not paid for.
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
from liza.clients.settings import HookProblem, McpServers, Settings, Setup
from liza.clients.usage import read_tokens

NAME = "opencode"
SETTINGS = Settings(
    home=("XDG_CONFIG_HOME", "opencode", ".config/opencode"),
    user="plugins/liza.js",
    local=".opencode/plugins/liza.js",
    shared=None,
    events={
        "tool.execute.before": "before",
        "chat.params": "before",
        "chat.message": "prompt",
        "tool.execute.after": "after",
        "session.created": "start",
        "session.idle": "note",
        "message.updated": "note",
    },
    warns=("tool.execute.after",),
    reach="for sessions that start in a linked worktree",
    tested="1.18.33",
    mcp=McpServers("opencode.json", "opencode.json", ("mcp",), is_one_list=True),
    plugin="opencode.js",
)
_KINDS = {
    "tool.execute.before": Kind.BEFORE,
    "chat.params": Kind.BEFORE,
    "chat.message": Kind.PROMPT,
    "tool.execute.after": Kind.AFTER,
    "session.created": Kind.START,
    "session.idle": Kind.TURN,
}


def read_event(payload: Mapping[str, Any]) -> Event:
    """The event that a payload is; `InvalidEvent` where it lacks what every event has."""
    event = event_of(NAME, payload, lambda name: _calls(name, payload), _KINDS)
    return (
        event._replace(usage=read_tokens(payload.get("tokens"), payload.get("model"), payload.get("cost")))
        if event.name == "message.updated"
        else event
    )


def _calls(name: str, payload: Mapping[str, Any]) -> tuple[Call, ...]:
    if not name.startswith("tool."):
        return ()
    tool, result, outcome = required(payload, "tool_name"), None, Outcome.UNKNOWN
    if name == "tool.execute.after":
        result, outcome = read_response(payload.get("tool_response"))
    return (Call(text_field(payload, "tool_use_id"), tool, payload.get("tool_input"), result, outcome),)


def read_response(response: Any) -> tuple[str, Outcome]:
    """What the model reads of a call, and how it ended: tools other than the shell have no exit code."""
    given = response if isinstance(response, Mapping) else {}
    if (failed := text_field(given, "failed")) is not None:
        return failed, Outcome.REFUSED
    text, code = text_field(given, "output") or "", given.get("exit")
    if type(code) is int and code != 0:
        return f"Exit code {code}\n{text}", Outcome.FAILED
    return text, Outcome.FAILED if given.get("error") else Outcome.OK


def end_turn(name: str, text: str) -> None:
    """What is refused ends the turn with the next request to the model."""


def problems(setup: Setup) -> Iterator[HookProblem]:
    """Whether plugins are switched off; it knows no trusted folders."""
    off = ["OPENCODE_PURE", *(["OPENCODE_DISABLE_PROJECT_CONFIG"] if "user" not in setup.places.values() else [])]
    for name in off:
        if os.environ.get(name):
            yield HookProblem(NAME, f"{name} is set: its plugin is not loaded", f"unset {name}")
