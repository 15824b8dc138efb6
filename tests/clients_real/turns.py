"""What a scripted model does: conversations, each with its script, and the turns that scripts are made of.

Each conversation has a script, found by a word in its prompt: what the model does in its first, second, ... turn, and
then it is done. Which turn it is follows from the number of results in the request, so a call that was refused counts.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

DONE = "I am done."
Json = dict[str, Any]


class Shell(NamedTuple):
    """Run a command."""

    command: str
    background: bool = False


class Write(NamedTuple):
    """Write a file with the client's own tool."""

    file: str
    text: str


class Read(NamedTuple):
    """Read a file."""

    file: str


class Spawn(NamedTuple):
    """Start a subagent."""

    prompt: str


class Poll(NamedTuple):
    """Look at the job in the background that was started last."""


class Tool(NamedTuple):
    """Call a tool of liza's MCP server; each client puts the server's name before it in its own way."""

    ending: str
    arguments: Mapping[str, Any]

    def call(self, names: Iterable[str]) -> tuple[str, Json]:
        """Its whole name, and its arguments. Some clients offer such tools only after a search for them."""
        hidden = f"mcp__liza__{self.ending}"
        return next((name for name in names if name.endswith(self.ending)), hidden), dict(self.arguments)


Own = Shell | Write | Read | Spawn | Poll
Turn = Own | Tool
Scripts = Mapping[str, Sequence[Turn]]


class Request(NamedTuple):
    """A request for the next turn of a conversation."""

    at: float  # monotonic
    script: str  # the word by which its script was found
    results: tuple[str, ...]  # of the calls so far
    text: str  # all of it


class Conversations:
    """The scripts, with what was asked so far."""

    def __init__(self, scripts: Scripts, seconds: float = 0.0) -> None:
        self.scripts = scripts
        self.seconds = seconds  # that the model takes for a turn
        self.requests: list[Request] = []
        self._ids = count(1)

    def turn(self, prompts: Iterable[str], results: Sequence[str], body: Json) -> Turn | None:
        """What to do next; None when the script is at its end."""
        asked = "\n".join(prompts)
        script = next((word for word in self.scripts if word in asked), "")
        text = json.dumps(body, ensure_ascii=False)
        self.requests.append(Request(time.monotonic(), script, tuple(results), text))
        time.sleep(self.seconds)
        turns = self.scripts.get(script, ())
        return turns[len(results)] if len(results) < len(turns) else None

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self._ids):06d}"
