"""Transcripts of the form that Claude Code and Codex write, made line by line."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

Line = dict[str, Any]
SESSION = "5b1d9c62-7e0a-4c3f-8a54-90c1d2e3f4a5"
CODEX_SESSION = "0199c0de-1a2b-7c3d-8e4f-5a6b7c8d9e0f"
ERROR = "ModuleNotFoundError: No module named 'shop.orders'"
FAILED = f"E   {ERROR}\n1 failed in 0.03s"
START = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
NAMES = {"claude": SESSION, "codex": CODEX_SESSION}


class Clock:
    """The time of each line: `start`, and a second later with every line; without a start the real time."""

    def __init__(self, start: datetime | None = START) -> None:
        self.start = start
        self._seconds = count()

    def __call__(self) -> str:
        now = self.start + timedelta(seconds=next(self._seconds)) if self.start is not None else datetime.now(UTC)
        return now.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class ClaudeWriter:
    """A session of Claude Code; with `agent` one of its subagents."""

    client = "claude"

    def __init__(
        self, cwd: Path | str, session: str = SESSION, agent: str | None = None, clock: Clock | None = None
    ) -> None:
        self.session, self.agent, self.cwd = session, agent, str(cwd)
        self.clock = clock or Clock()
        self._messages = count(1)

    def line(self, kind: str, **fields: Any) -> Line:
        about = {"agentId": self.agent} if self.agent else {}
        return {
            "uuid": str(uuid4()), "parentUuid": None, "isSidechain": self.agent is not None, "type": kind,
            "timestamp": self.clock(), "cwd": self.cwd, "sessionId": self.session, "version": "2.1.197",
            "gitBranch": "task-7", **about, **fields,
        }  # fmt: skip

    def begin(self) -> list[Line]:
        return [
            {"type": "queue-operation", "operation": "enqueue", "timestamp": self.clock(), "sessionId": self.session},
            self.line("user", message={"role": "user", "content": "Fix the orders"}),
        ]

    def answer(self, *parts: Line, stop: str = "tool_use", tokens: int = 100, message: str | None = None) -> Line:
        name = message or f"msg_{self.agent or 'main'}_{next(self._messages)}"
        usage = {"input_tokens": tokens - 10, "cache_read_input_tokens": 6, "output_tokens": 4}
        return self.line(
            "assistant",
            message={"id": name, "role": "assistant", "model": "model-a", "content": list(parts), "stop_reason": stop,
                     "usage": usage},
        )  # fmt: skip

    def call(
        self, call: str, command: str = "pytest -q", text: str = f"Exit code 1\n{FAILED}", *, ok: bool = False
    ) -> list[Line]:
        """A command with its result."""
        given = {"command": command, "description": "Run it"}
        return self.tool(call, "Bash", given, text, {"stdout": text, "stderr": ""} if ok else f"Error: {text}", ok=ok)

    def tool(self, call: str, tool: str, given: Any, text: str, about: Any = None, *, ok: bool = True) -> list[Line]:
        result = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": not ok}
        return [
            self.answer({"type": "tool_use", "id": call, "name": tool, "input": given}),
            self.line("user", message={"role": "user", "content": [result]}, toolUseResult=about),
        ]

    def end(self) -> list[Line]:
        return [self.answer({"type": "text", "text": "Done."}, stop="end_turn")]


class CodexWriter:
    """A session of Codex; with `parent` one that another has started."""

    client = "codex"

    def __init__(
        self, cwd: Path | str, session: str = CODEX_SESSION, parent: str | None = None, clock: Clock | None = None
    ) -> None:
        self.session, self.parent, self.cwd = session, parent, str(cwd)
        self.clock = clock or Clock()
        self._total = 0

    def line(self, kind: str, **payload: Any) -> Line:
        return {"timestamp": self.clock(), "type": kind, "payload": payload}

    def begin(self) -> list[Line]:
        parent = {"parent_thread_id": self.parent} if self.parent else {}
        return [
            self.line("session_meta", session_id=self.parent or self.session, id=self.session, cwd=self.cwd,
                      cli_version="0.169.0", base_instructions={"text": "You are careful. " * 50},
                      git={"branch": "task-7"}, **parent),
            self.line("turn_context", cwd=self.cwd, model="model-b"),
            self.line("response_item", type="message", role="user", content=[{"type": "input_text", "text": "Fix it"}]),
        ]  # fmt: skip

    def used(self, tokens: int = 100) -> list[Line]:
        """The two lines about one answer."""
        self._total += tokens
        usage = {"input_tokens": tokens - 4, "cached_input_tokens": 6, "output_tokens": 4, "total_tokens": tokens}
        total = {"total_tokens": self._total}
        info = {"total_token_usage": total, "last_token_usage": usage}
        return [
            self.line("token_usage_record", usage=usage, thread_token_usage=total),
            self.line("event_msg", type="token_count", info=info),
        ]

    def asked(self, call: str, command: str) -> Line:
        arguments = json.dumps({"cmd": command, "yield_time_ms": 1000})
        return self.line("response_item", type="function_call", name="exec_command", arguments=arguments, call_id=call)

    def ended(self, call: str, command: str, text: str, code: int) -> Line:
        item = {
            "type": "CommandExecution", "id": call, "command": ["/bin/bash", "-lc", command], "aggregated_output": text,
            "exit_code": code, "status": "failed" if code else "completed", "duration": {"secs": 1, "nanos": 5 * 10**8},
        }  # fmt: skip
        return self.line("event_msg", type="item_completed", item=item)

    def printed(self, call: str, text: str, code: int) -> Line:
        output = f"Chunk ID: 1a2b3c\nWall time: 1.5 seconds\nProcess exited with code {code}\nOutput:\n{text}"
        return self.line("response_item", type="function_call_output", call_id=call, output=output)

    def call(self, call: str, command: str = "pytest -q", text: str = FAILED, *, ok: bool = False) -> list[Line]:
        code = 0 if ok else 1
        return [
            self.asked(call, command),
            *self.used(),
            self.ended(call, command, text, code),
            self.printed(call, text, code),
        ]

    def end(self) -> list[Line]:
        return [self.line("event_msg", type="task_complete", last_agent_message="Done.")]


Writer = ClaudeWriter | CodexWriter


def writer(client: str, cwd: Path | str, session: str | None = None, clock: Clock | None = None) -> Writer:
    made = ClaudeWriter if client == "claude" else CodexWriter
    return made(cwd, session or NAMES[client], clock=clock)


def raw(lines: Iterable[Line]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def place(home: Path, made: Writer) -> Path:
    """Where the client writes that transcript."""
    if isinstance(made, CodexWriter):
        return home / ".codex" / "sessions" / "2026" / "11" / "18" / f"rollout-2026-11-18T09-00-00-{made.session}.jsonl"
    project = home / ".claude" / "projects" / made.cwd.replace("/", "-")
    if made.agent is not None:
        return project / made.session / "subagents" / f"agent-{made.agent}.jsonl"
    return project / f"{made.session}.jsonl"


def append(file: Path, lines: Iterable[Line]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as stream:
        stream.write(raw(lines))


# --- clients of whose transcripts only what was used is read ----------------------------------------------------------


def gemini_head(session: str, *, is_subagent: bool = False) -> Line:
    kind = "subagent" if is_subagent else "main"
    return {"sessionId": session, "projectHash": "070e1592", "startTime": "2026-11-18T09:00:00.000Z", "kind": kind}


def gemini_answer(name: str, tokens: int, *calls: Line, text: str = "") -> Line:
    """An answer: first as it came, and once its calls have ended with them."""
    used = {"input": tokens - 10, "output": 4, "cached": 6, "thoughts": 6, "tool": 0, "total": tokens}
    line = {
        "id": name,
        "timestamp": Clock(None)(),
        "type": "gemini",
        "content": text,
        "tokens": used,
        "model": "model-c",
    }
    return {**line, **({"toolCalls": list(calls)} if calls else {})}


def qwen_line(session: str, cwd: Path | str, kind: str, **more: Any) -> Line:
    common = {"uuid": str(uuid4()), "sessionId": session, "timestamp": Clock(None)(), "type": kind, "cwd": str(cwd)}
    return {**common, "version": "0.15.10", **more}


def qwen_report(session: str, cwd: Path | str, name: str, tokens: int, **more: Any) -> Line:
    """What says of each answer what it used."""
    counts = {"input_token_count": tokens - 10, "output_token_count": 10, "cached_content_token_count": 6}
    event = {
        "event.name": "qwen-code.api_response",
        "response_id": name,
        "model": "model-d",
        "total_token_count": tokens,
    }
    payload = {"uiEvent": {**event, **counts, **more}}
    return qwen_line(session, cwd, "system", subtype="ui_telemetry", systemPayload=payload)


def qwen_answer(session: str, cwd: Path | str, tokens: int, *parts: Line) -> Line:
    """An answer to the session itself."""
    counts = {"promptTokenCount": tokens - 10, "candidatesTokenCount": 10, "totalTokenCount": tokens}
    return qwen_line(session, cwd, "assistant", model="model-d", message={"parts": list(parts)}, usageMetadata=counts)
