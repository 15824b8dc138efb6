"""Claude Code's transcripts: `projects/FOLDER/SESSION.jsonl`, and `SESSION/subagents/agent-ID.jsonl` beside it.

Results come with what its hooks are given (`toolUseResult`), so that a step is the same from either. One message of the
model is several lines with the same usage, which may still be growing in the first of them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from liza.clients.claude import NAME, result_text
from liza.clients.event import Call, Event, Kind, Outcome, text_field
from liza.clients.transcript import remember_call, text_of
from liza.clients.usage import Usage, read_usage
from liza.model import mappings_in

_REFUSED = re.compile(
    r"\A<tool_use_error>|\A(?:Pre|Post)ToolUse:|\APermission to use |\AThe user doesn't want to "
    r"|.{0,200}haven't granted it"
)
_SILENT = ("(Bash completed with no output)", "Tool ran without output")
_INTERRUPTED = "[Request interrupted by user"


class Transcript:
    """One transcript as it is read."""

    def __init__(self, path: str) -> None:
        self.session: str | None = None
        self.parent: str | None = None
        self.cwd: str | None = None
        self.branch: str | None = None
        self.version: str | None = None
        self._model: str | None = None
        self._asked: dict[str, tuple[str, Any]] = {}  # tool and input, by the call's id
        self._counted: tuple[str | None, Usage | None] = (None, None)  # of the newest message

    def read(self, line: Mapping[str, Any]) -> Iterator[Event]:
        """The events that a line reports."""
        kind, message = line.get("type"), line.get("message")
        if kind not in ("assistant", "user") or (root := text_field(line, "sessionId")) is None:
            return
        agent = text_field(line, "agentId")
        self.session, self.parent = agent or root, root if agent else None
        self.cwd = text_field(line, "cwd") or self.cwd
        self.version = text_field(line, "version") or self.version
        branch = text_field(line, "gitBranch")
        self.branch = branch if branch != "HEAD" else None
        if not isinstance(message, Mapping):
            yield self._event(Kind.NOTE, missing=f"message in a line of type {kind}")
        elif kind == "assistant":
            yield from self._read_answer(message)
        else:
            yield from self._read_results(message.get("content"), line.get("toolUseResult"))

    def _read_answer(self, message: Mapping[str, Any]) -> Iterator[Event]:
        self._model = text_field(message, "model") or self._model
        calls = [part for part in mappings_in(message.get("content")) if part.get("type") == "tool_use"]
        for part in calls:
            call, tool = text_field(part, "id"), text_field(part, "name")
            if call is None or tool is None:
                yield self._event(Kind.NOTE, missing="id or name of a tool_use")
            else:
                remember_call(self._asked, call, (tool, part.get("input")))
        usage = read_usage(message.get("usage"), self._model)
        known = (text_field(message, "id"), usage)
        if usage is not None and known != self._counted:
            self._counted = known
            yield self._event(Kind.NOTE, usage=usage._replace(id=known[0]))
        if message.get("stop_reason") == "end_turn" and not calls:
            yield self._event(Kind.TURN if self.parent is None else Kind.END)

    def _read_results(self, content: Any, structured: Any) -> Iterator[Event]:
        parts = mappings_in(content)
        results = [part for part in parts if part.get("type") == "tool_result"]
        for part in results:
            call = text_field(part, "tool_use_id")
            if call is None:
                yield self._event(Kind.NOTE, missing="tool_use_id of a tool_result")
            elif (asked := self._asked.pop(call, None)) is not None:
                same = structured if len(results) == 1 and isinstance(structured, Mapping) else None
                yield self._event(Kind.AFTER, calls=(_finished(call, *asked, part, same),))
        if any(str(part.get("text")).startswith(_INTERRUPTED) for part in parts if part.get("type") == "text"):
            yield self._event(Kind.TURN)

    def _event(
        self, kind: Kind, calls: tuple[Call, ...] = (), usage: Usage | None = None, missing: str | None = None
    ) -> Event:
        return Event(
            NAME, "transcript", kind, str(self.session), self.parent, self.cwd, calls, self._model, usage=usage,
            missing=missing,
        )  # fmt: skip


def _finished(call: str, tool: str, given: Any, part: Mapping[str, Any], structured: Any) -> Call:
    text = text_of(part.get("content"))
    if part.get("is_error") is True:
        outcome = Outcome.REFUSED if _REFUSED.match(text) else Outcome.FAILED
        return Call(call, tool, given, text, outcome)
    result = result_text(structured) if structured is not None else "" if text in _SILENT else text
    return Call(call, tool, given, result, Outcome.OK)
