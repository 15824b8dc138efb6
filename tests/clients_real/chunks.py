"""The APIs that stream chunks without names: Gemini's generateContent, and OpenAI's chat completions."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence

from tests.clients_real.turns import DONE, Conversations, Json, Own, Poll, Read, Shell, Spawn, Tool, Write

# --- Gemini -----------------------------------------------------------------------------------------------------------


def gemini(model: Conversations, body: Json) -> Iterator[Json]:
    """The one chunk of an answer to `:streamGenerateContent`."""
    parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
    results = [json.dumps(part["functionResponse"]) for part in parts if "functionResponse" in part]
    tools = [each["name"] for tool in body.get("tools", []) for each in tool.get("functionDeclarations", [])]
    turn = model.turn([str(part.get("text")) for part in parts], results, body) if tools else None
    part: Json = {"text": DONE}
    if turn is not None:
        name, given = turn.call(tools) if isinstance(turn, Tool) else _gemini_call(turn, results)
        part = {"functionCall": {"name": name, "args": given}}
    usage = {"promptTokenCount": 1200, "candidatesTokenCount": 40, "totalTokenCount": 1240}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    yield {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


def _gemini_call(turn: Own, results: Sequence[str]) -> tuple[str, Json]:
    match turn:
        case Shell(command, background):
            more = {"is_background": True} if background else {}
            return "run_shell_command", {"command": command, "description": "A step of the task", **more}
        case Write(file, text):
            return "write_file", {"file_path": file, "content": text}
        case Read(file):
            return "read_file", {"file_path": file}
        case Spawn(prompt):
            return "invoke_agent", {"agent_name": "generalist", "prompt": prompt}
        case Poll():
            job = re.findall(r"PID: (\d+)", " ".join(results))
            return "read_background_output", {"pid": int(job[-1])}


# --- OpenAI chat ------------------------------------------------------------------------------------------------------


def chat(model: Conversations, body: Json) -> Iterator[Json]:
    """The chunks of an answer to `/v1/chat/completions`."""
    asked = body.get("messages", [])
    results = [json.dumps(each.get("content")) for each in asked if each.get("role") == "tool"]
    prompts = [json.dumps(each.get("content")) for each in asked if each.get("role") == "user"]
    tools = [tool["function"]["name"] for tool in body.get("tools", []) if "function" in tool]
    turn = model.turn(prompts, results, body) if tools else None
    delta: Json = {"role": "assistant", "content": DONE}
    if turn is not None:
        own = _qwen_call if "run_shell_command" in tools else _opencode_call
        name, given = turn.call(tools) if isinstance(turn, Tool) else own(turn, results)
        function = {"name": name, "arguments": json.dumps(given)}
        call = {"index": 0, "id": model.new_id("call"), "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [call]}
    reason = "stop" if turn is None else "tool_calls"
    about = {"id": model.new_id("chatcmpl"), "object": "chat.completion.chunk", "created": int(time.time())}
    about["model"] = str(body.get("model"))
    usage = {"prompt_tokens": 1200, "completion_tokens": 40, "total_tokens": 1240}
    yield {**about, "choices": [_choice(delta, None)]}
    yield {**about, "choices": [_choice({}, reason)]}
    yield {**about, "choices": [], "usage": usage}


def _choice(delta: Mapping[str, object], reason: str | None) -> Json:
    return {"index": 0, "delta": delta, "finish_reason": reason}


def _qwen_call(turn: Own, results: Sequence[str]) -> tuple[str, Json]:
    match turn:
        case Shell(command, background):
            return "run_shell_command", {"command": command, "description": "A step", "is_background": background}
        case Spawn(prompt):
            given = {"description": "A part of the task", "prompt": prompt, "subagent_type": "general-purpose"}
            return "agent", given
        case Poll():
            job = re.findall(r"output file: (\S+?\.output)", " ".join(results))
            return "read_file", {"file_path": job[-1]}
        case _:
            return _gemini_call(turn, results)


def _opencode_call(turn: Own, results: Sequence[str]) -> tuple[str, Json]:
    match turn:
        case Shell(command, background):
            command = f"({command}) > /dev/null 2>&1 &" if background else command  # it has no such tool
            return "bash", {"command": command, "description": "A step of the task"}
        case Write(file, text):
            return "write", {"filePath": file, "content": text}
        case Read(file):
            return "read", {"filePath": file}
        case Spawn(prompt):
            return "task", {"description": "A part of the task", "prompt": prompt, "subagent_type": "general"}
        case Poll():
            return "bash", {"command": "sleep 1", "description": "Wait"}
