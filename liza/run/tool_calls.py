"""The tool calls in the JSON lines that Claude Code, Qwen Code, Codex, Gemini CLI and opencode print."""

from collections.abc import Iterator, Mapping
from typing import Any

from liza.clients.event import Call, Outcome
from liza.clients.opencode import read_response
from liza.run.agent_output import json_values


def calls_of(output: str) -> Iterator[Call]:
    """The calls that have a result, in the order of their results; none in plain text."""
    asked: dict[str, tuple[str, Any]] = {}  # tool and input, by the call's id
    for line in json_values(output):
        if isinstance(line, str):
            continue
        for part in _parts(line):
            call = part.get("id") or part.get("tool_id")
            if (wanted := _asked(part)) is not None and isinstance(call, str):
                asked[call] = wanted
            elif (found := _finished(part, asked)) is not None:
                yield found


def asked_in(line: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The tool and the input of each call that one line asks for."""
    return (found for part in _parts(line) if (found := _asked(part)) is not None)


def results_in(line: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    """Each result in one line: whether it is marked as failed, and its text."""
    for part in _parts(line):
        kind = part.get("type")
        if kind == "tool_result":
            failed = part.get("is_error") is True or part.get("status") == "error"
            yield failed, _text(part.get("content", part.get("output")))
        elif kind == "command_execution":
            yield part.get("exit_code") != 0, f"{part.get('command')}\n{_text(part.get('aggregated_output'))}"


def _asked(part: Mapping[str, Any]) -> tuple[str, Any] | None:
    if part.get("type") != "tool_use":
        return None
    return str(part.get("name") or part.get("tool_name")), part.get("input") or part.get("parameters")


def _parts(line: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What may be a call or a result: the line itself, its item, or the parts of its message."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    item = line.get("item") if line.get("type") == "item.completed" else None
    for part in (line, item, line.get("part"), *(content if isinstance(content, list) else ())):
        if isinstance(part, Mapping):
            yield part


def _finished(part: Mapping[str, Any], asked: dict[str, tuple[str, Any]]) -> Call | None:
    if part.get("type") == "command_execution":
        outcome = Outcome.OK if part.get("exit_code") == 0 else Outcome.FAILED
        return Call(None, "shell", {"command": part.get("command")}, _text(part.get("aggregated_output")), outcome)
    if part.get("type") == "tool":
        return _of_opencode(part)
    known = asked.pop(str(part.get("tool_use_id") or part.get("tool_id")), None)
    if part.get("type") != "tool_result" or known is None:
        return None
    failed = part.get("is_error") is True or part.get("status") == "error"
    # Gemini reports success also for a command that failed: then what the result shows decides.
    outcome = Outcome.FAILED if failed else Outcome.UNKNOWN if "status" in part else Outcome.OK
    return Call(None, *known, _text(part.get("content", part.get("output"))), outcome)


def _of_opencode(part: Mapping[str, Any]) -> Call | None:
    """opencode prints a call once it has ended, with its state."""
    state = part.get("state")
    if not isinstance(state, Mapping) or state.get("status") not in ("completed", "error"):
        return None
    more = state.get("metadata")
    code = more.get("exit") if isinstance(more, Mapping) else None
    result, outcome = read_response({"output": state.get("output"), "exit": code, "failed": state.get("error")})
    return Call(None, str(part.get("tool")), state.get("input"), result, outcome)


def _text(content: Any) -> str:
    """A result: a text, or a list of parts of which some are text."""
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and "text" in part)
    return content if isinstance(content, str) else ""
