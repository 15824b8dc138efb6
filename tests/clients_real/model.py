"""A scripted model on loopback, for the APIs of Anthropic (messages), OpenAI (responses, chat) and Gemini."""

import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.clients_real import chunks
from tests.clients_real.turns import (
    DONE,
    Conversations,
    Json,
    Own,
    Poll,
    Read,
    Request,
    Scripts,
    Shell,
    Spawn,
    Tool,
    Turn,
    Write,
)


class Model(Conversations):
    """The server, with what it was asked so far."""

    def __init__(self, scripts: Scripts, seconds: float = 0.0) -> None:
        super().__init__(scripts, seconds)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"model": self}))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def of(self, script: str) -> list[Request]:
        """The requests of one conversation."""
        return [each for each in self.requests if each.script == script]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


# --- Anthropic --------------------------------------------------------------------------------------------------------


def messages(model: Conversations, body: Json) -> Iterator[Json]:
    """The events of an answer to `/v1/messages`."""
    blocks = [
        block
        for message in body.get("messages", [])
        if message.get("role") == "user" and isinstance(message.get("content"), list)
        for block in message["content"]
    ]
    results = [json.dumps(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
    prompts = [str(block.get("text")) for block in blocks if block.get("type") == "text"]
    prompts += [message["content"] for message in body.get("messages", []) if isinstance(message.get("content"), str)]
    turn = model.turn(prompts, results, body) if body.get("tools") else None
    content: Json = {"type": "text", "text": DONE}
    if turn is not None:
        offered = [str(tool.get("name")) for tool in body["tools"]]
        name, given = turn.call(offered) if isinstance(turn, Tool) else _claude_call(turn, results)
        content = {"type": "tool_use", "id": model.new_id("toolu"), "name": name, "input": given}
    usage = {"input_tokens": 1200, "output_tokens": 40}
    message = {"id": model.new_id("msg"), "type": "message", "role": "assistant", "model": body.get("model")}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    empty: Json = {"text": ""} if turn is None else {"input": {}}
    given_text = {"type": "text_delta", "text": DONE}
    if turn is not None:
        given_text = {"type": "input_json_delta", "partial_json": json.dumps(content["input"])}
    stop = {"stop_reason": "end_turn" if turn is None else "tool_use", "stop_sequence": None}
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": {**content, **empty}}
    yield {"type": "content_block_delta", "index": 0, "delta": given_text}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 40}}
    yield {"type": "message_stop"}


def _claude_call(turn: Own, results: Sequence[str]) -> tuple[str, Json]:
    match turn:
        case Shell(command, background):
            more = {"run_in_background": True} if background else {}
            return "Bash", {"command": command, "description": "A step of the task", **more}
        case Write(file, text):
            return "Write", {"file_path": file, "content": text}
        case Read(file):
            return "Read", {"file_path": file}
        case Spawn(prompt):
            return "Agent", {"description": "A part of the task", "prompt": prompt, "subagent_type": "general-purpose"}
        case Poll():
            job = re.findall(r"with ID: (\w+)", " ".join(results))
            return "TaskOutput", {"task_id": job[-1], "block": False, "timeout": 1000}


# --- OpenAI -----------------------------------------------------------------------------------------------------------


def responses(model: Conversations, body: Json) -> Iterator[Json]:
    """The events of an answer to `/v1/responses`."""
    items = [item for item in body.get("input", []) if isinstance(item, dict)]
    results = [json.dumps(item.get("output")) for item in items if str(item.get("type")).endswith("call_output")]
    prompts = [json.dumps(item.get("content")) for item in items if item.get("role") == "user"]
    turn = model.turn(prompts, results, body)
    item: Json = {"type": "message", "role": "assistant", "id": model.new_id("msg"), "status": "completed"}
    item |= {"content": [{"type": "output_text", "text": DONE, "annotations": []}]}
    if turn is not None:
        is_code = any(item.get("type") == "additional_tools" for item in items)
        given = _codex_program(turn) if is_code else _codex_tool(turn, body, results)
        item = {**given, "id": model.new_id("fc"), "call_id": model.new_id("call"), "status": "completed"}
    usage: Json = {"input_tokens": 1200, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 40}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1240}
    response: Json = {"id": model.new_id("resp"), "object": "response", "model": body.get("model"), "output": []}
    yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    completed = {**response, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": completed}


def _codex_tool(turn: Turn, body: Json, results: Sequence[str]) -> Json:
    """A call; the tools of an MCP server are together in a namespace."""
    if not isinstance(turn, Tool):
        return _codex_call(turn, results)
    spaces = [tool for tool in body.get("tools", []) if tool.get("type") == "namespace"]
    for space in spaces:
        names = [str(tool.get("name")) for tool in space.get("tools", [])]
        if any(name.endswith(turn.ending) for name in names):
            name, given = turn.call(names)
            return {**_function(name, given), "namespace": space["name"]}
    return _function(*turn.call(str(tool.get("name")) for tool in body.get("tools", [])))


def _codex_call(turn: Own, results: Sequence[str]) -> Json:
    match turn:
        case Shell(command, background):
            return _function("exec_command", {"cmd": command, "yield_time_ms": 250 if background else 30_000})
        case Read(file):
            return _function("exec_command", {"cmd": f"cat {file}", "yield_time_ms": 30_000})
        case Poll():
            job = re.findall(r"session ID (\d+)", " ".join(results))
            return _function("write_stdin", {"session_id": int(job[-1]), "chars": "", "yield_time_ms": 5000})
        case Spawn(prompt):
            return {**_function("spawn_agent", {"message": prompt}), "namespace": "multi_agent_v1"}
        case Write(file, text):
            lines = "".join(f"+{line}\n" for line in text.splitlines())
            patch = f"*** Begin Patch\n*** Add File: {file}\n{lines}*** End Patch\n"
            return {"type": "custom_tool_call", "name": "apply_patch", "input": patch}


def _codex_program(turn: Turn) -> Json:
    """A call as a program, which is how newer models make them."""
    assert isinstance(turn, Shell)
    program = f"text(JSON.stringify(await tools.exec_command({json.dumps({'cmd': turn.command})})));"
    return {"type": "custom_tool_call", "name": "exec", "input": program}


def _function(name: str, arguments: Json) -> Json:
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}


# --- HTTP -------------------------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/messages"):
            self._stream(messages(self.model, body))
        elif path.endswith("/responses"):
            self._stream(responses(self.model, body))
        elif path.endswith("/chat/completions"):
            self._stream(chunks.chat(self.model, body))
        elif path.endswith(":streamGenerateContent"):
            self._stream(chunks.gemini(self.model, body))
        elif path.endswith(":generateContent"):
            self._json(next(chunks.gemini(self.model, body)))
        else:
            self._json({"input_tokens": 10})

    def do_GET(self) -> None:
        self._json({"data": [], "models": []})

    def do_HEAD(self) -> None:
        self._json({})

    def _json(self, value: Json) -> None:
        raw = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _stream(self, events: Iterator[Json]) -> None:
        named = ((f"event: {each['type']}\n" if "type" in each else "", json.dumps(each)) for each in events)
        text = "".join(f"{name}data: {data}\n\n" for name, data in named)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        with suppress(ConnectionError):  # the client was ended meanwhile
            self.wfile.write(text.encode())
        self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        """Nothing is printed."""
