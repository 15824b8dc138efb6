"""Codex's transcripts: `sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`; each line has a `type` and a `payload`.

A command is reported when it has ended, as by the hook: by an item with its exit code and its whole output. Looks at
one that still runs, and programs that call other tools, are not calls of their own to the hook, and not here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from liza.clients.codex import NAME
from liza.clients.event import Call, Event, Kind, Outcome, text_field
from liza.clients.transcript import remember_call, text_of
from liza.clients.usage import Usage, read_usage

_SHELLS = ("exec_command", "shell", "shell_command", "local_shell", "local_shell_call", "container.exec")
_AROUND = ("exec", "wait", "write_stdin")  # programs, and looks at a command that still runs
_ENDED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,10})$", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID ", re.MULTILINE)
_TIME = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) ", re.MULTILINE)
_OUTPUT = "Output:\n"
_HEAD = 1_000  # characters before the output in which its exit code is looked for


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
        self._counted: str | None = None  # the sum that was reported last
        self._has_items = False  # this version reports commands that have ended

    def read(self, line: Mapping[str, Any]) -> Iterator[Event]:
        """The events that a line reports."""
        payload = line.get("payload")
        if not isinstance(payload, Mapping):
            return
        kind = line.get("type")
        if kind == "session_meta":
            self._read_meta(payload)
        elif self.session is None:
            return
        elif kind == "turn_context":
            self.cwd = text_field(payload, "cwd") or self.cwd
            self._model = text_field(payload, "model") or self._model
        elif kind == "response_item":
            yield from self._read_item(payload)
        elif kind == "token_usage_record":
            yield from self._used(payload.get("usage"), payload.get("thread_token_usage"))
        elif kind == "event_msg":
            yield from self._read_message(payload)

    def _read_meta(self, payload: Mapping[str, Any]) -> None:
        if self.session is not None:
            return  # of the session that this one continues
        root = text_field(payload, "session_id")
        self.session = text_field(payload, "id") or root
        parent = text_field(payload, "parent_thread_id") or root
        self.parent = parent if parent != self.session else None
        self.cwd, self.version = text_field(payload, "cwd"), text_field(payload, "cli_version")
        git = payload.get("git")
        self.branch = text_field(git, "branch") if isinstance(git, Mapping) else None

    def _read_item(self, payload: Mapping[str, Any]) -> Iterator[Event]:
        kind = str(payload.get("type"))
        if kind not in _CALLS and kind not in _RESULTS:
            return
        call = text_field(payload, "call_id")
        if call is None:
            yield self._event(Kind.NOTE, missing=f"call_id of a {kind}")
        elif kind in _CALLS:
            tool = text_field(payload, "name") or ("local_shell" if kind == "local_shell_call" else None)
            if tool is None:
                yield self._event(Kind.NOTE, missing=f"name of a {kind}")
            else:
                remember_call(self._asked, call, (tool, _given(kind, tool, payload)))
        elif (asked := self._asked.get(call)) is not None:
            yield from self._ended(call, *asked, payload.get("output"))

    def _ended(self, call: str, tool: str, given: Any, output: Any) -> Iterator[Event]:
        text = text_of(output)
        if isinstance(output, Mapping):  # of older versions
            text = text_of(output.get("content"))
        if tool in _SHELLS:
            if self._has_items or _RUNNING.search(text, 0, _HEAD):
                return  # it was reported, or will be
            code, seconds, result = _printed(text)
            found = Call(call, "Bash", given, result, _outcome(code, result, given), seconds, code)
        elif tool in _AROUND:
            found = None
        else:
            code = _printed(text)[0]
            found = Call(call, tool, given, text, _outcome(code, text, given), exit_code=code)
        del self._asked[call]
        if found is not None:
            yield self._event(Kind.AFTER, (found,))

    def _read_message(self, payload: Mapping[str, Any]) -> Iterator[Event]:
        kind, item = payload.get("type"), payload.get("item")
        if kind == "item_completed" and isinstance(item, Mapping):
            yield from self._completed(item)
        elif kind == "exec_command_end":
            yield from self._command(text_field(payload, "call_id"), payload)
        elif kind == "token_count" and isinstance(info := payload.get("info"), Mapping):
            yield from self._used(info.get("last_token_usage"), info.get("total_token_usage"))
        elif kind in ("task_complete", "turn_aborted"):
            yield self._event(Kind.TURN if self.parent is None else Kind.END)

    def _completed(self, item: Mapping[str, Any]) -> Iterator[Event]:
        kind, call = item.get("type"), text_field(item, "id")
        if kind == "CommandExecution":
            yield from self._command(call, item)
        elif kind == "FileChange" and call is not None and call not in self._asked:  # by a program
            outcome = Outcome.OK if item.get("status") == "completed" else Outcome.REFUSED
            text = f"{text_field(item, 'stdout') or ''}{text_field(item, 'stderr') or ''}"
            found = Call(call, "apply_patch", {"changes": item.get("changes")}, text, outcome)
            yield self._event(Kind.AFTER, (found,))

    def _command(self, call: str | None, item: Mapping[str, Any]) -> Iterator[Event]:
        """A command that has ended."""
        self._has_items = True
        if call is None or "exit_code" not in item:
            yield self._event(Kind.NOTE, missing="id or exit_code of a command")
            return
        code = value if type(value := item["exit_code"]) is int else None  # none for one that was not run
        asked = self._asked.pop(call, None)
        given = asked[1] if asked is not None else {"command": _command_text(item.get("command"))}
        result = item.get("aggregated_output")
        text = result if isinstance(result, str) else ""
        outcome = Outcome.REFUSED if item.get("status") == "declined" else _outcome(code, text, given)
        yield self._event(Kind.AFTER, (Call(call, "Bash", given, text, outcome, _seconds(item.get("duration")), code),))

    def _used(self, usage: Any, total: Any) -> Iterator[Event]:
        """What one answer of the model used. Two kinds of lines say it; the sum so far is the same in both."""
        found = read_usage(usage, self._model)
        name = f"total {total.get('total_tokens')}" if isinstance(total, Mapping) else None
        if found is not None and (name is None or name != self._counted):
            self._counted = name
            yield self._event(Kind.NOTE, usage=found._replace(id=name))

    def _event(
        self, kind: Kind, calls: tuple[Call, ...] = (), usage: Usage | None = None, missing: str | None = None
    ) -> Event:
        return Event(
            NAME, "transcript", kind, str(self.session), self.parent, self.cwd, calls, self._model, usage=usage,
            missing=missing,
        )  # fmt: skip


_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")


def _given(kind: str, tool: str, payload: Mapping[str, Any]) -> Any:
    """The input of a call as the hook is given it."""
    given: Any = payload.get("arguments") if kind == "function_call" else payload.get("input") or payload.get("action")
    if kind == "function_call" and isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {"arguments": given}
    if tool in _SHELLS and isinstance(given, Mapping):
        return {"command": _command_text(given.get("cmd") or given.get("command"))}
    return {"command": given} if kind == "custom_tool_call" else given


def _command_text(command: Any) -> str:
    """The command as a person would type it: without the shell that runs it."""
    if not isinstance(command, list):
        return str(command)
    words = [str(word) for word in command]
    return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)


def _printed(text: str) -> tuple[int | None, float | None, str]:
    """Exit code, seconds and output in what the model is given of a command."""
    if text.startswith("{"):
        try:
            value = json.loads(text)
            about = value["metadata"]
            return int(about["exit_code"]), float(about.get("duration_seconds", 0)), str(value["output"])
        except (ValueError, RecursionError, TypeError, KeyError):
            return None, None, text
    head, found, rest = text[:_HEAD].partition(_OUTPUT)
    if not found:
        return None, None, text
    code, seconds = _ENDED.search(head), _TIME.search(head)
    return (
        int(code[1]) if code is not None else None,
        float(seconds[1]) if seconds is not None else None,
        rest + text[_HEAD:],
    )


# Commands that answer "no" with 1: searches, comparisons and tests.
_ASKS = re.compile(r"(?:^|[\s;&|(/])(?:[ef]?grep|rg|ag|ack|diff|cmp|test|\[{1,2}|pgrep|which)\s|\s--quiet\b")


def _outcome(code: int | None, text: str, given: Any) -> Outcome:
    """Where the answer to what was asked is no, as in a search that finds nothing, 1 and no output is not a failure."""
    command = str(given.get("command")) if isinstance(given, Mapping) else ""
    if code is None or (code == 1 and not text.strip() and _ASKS.search(command)):
        return Outcome.UNKNOWN
    return Outcome.OK if code == 0 else Outcome.FAILED


def _seconds(duration: Any) -> float | None:
    if not isinstance(duration, Mapping):
        return None
    parts = [duration.get(name) for name in ("secs", "nanos")]
    known = [part for part in parts if type(part) is int and 0 <= part < 1e12]
    return round(known[0] + known[1] / 1e9, 3) if len(known) == 2 else None
