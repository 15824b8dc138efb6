"""Gemini CLI: its hook events, and the answers that it understands.

AfterTool fires for every call that was made, with the text that the model will read: the exit code of a command is in
it only if it is not 0. A call has no id, so the time of its event is used as one. Before each request to the model
there is an event, too: what is refused there is not paid for, and ends the turn.
"""

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from liza.clients.event import (
    Answer,
    Call,
    Event,
    Kind,
    Outcome,
    event_of,
    required,
    text_field,
)
from liza.clients.settings import DAY, HookProblem, McpServers, Settings, Setup, Transcripts

NAME = "gemini"
ROOT = "../.project_root"  # from a transcript: the file with the folder of its session
SETTINGS = Settings(
    home=("GEMINI_CLI_HOME", ".gemini", ".gemini"),
    user="settings.json",
    local=".gemini/settings.json",
    shared=None,
    events={
        "BeforeTool": "before",
        "BeforeModel": "before",
        "BeforeAgent": "prompt",
        "AfterTool": "after",
        "SessionStart": "start",
        "SessionEnd": "note",
        "AfterAgent": "note",
    },
    warns=("AfterTool", "BeforeAgent"),
    reach="for sessions that start in a subfolder or a linked worktree",
    tested="0.61.0",
    mcp=McpServers(".gemini/settings.json", "settings.json"),
    notes=("Gemini CLI runs hooks only in folders that you have trusted: start gemini here, and trust the folder",),
    timeout=DAY * 1000,
    transcripts=Transcripts(
        files="tmp/*/chats/session-*.jsonl",
        session=rb'"sessionId": ?"([^"\\]{1,100})"',
        root=ROOT,
        below=1,
        is_dated=True,
    ),
)
_KINDS = {
    "BeforeTool": Kind.BEFORE,
    "BeforeModel": Kind.BEFORE,
    "BeforeAgent": Kind.PROMPT,
    "AfterTool": Kind.AFTER,
    "SessionStart": Kind.START,
    "SessionEnd": Kind.END,
    "AfterAgent": Kind.TURN,
}


def read_event(payload: Mapping[str, Any]) -> Event:
    """The event that a payload is; `InvalidEvent` where it lacks what every event has."""
    return event_of(NAME, payload, lambda name: _calls(name, payload), _KINDS)


def _calls(name: str, payload: Mapping[str, Any]) -> tuple[Call, ...]:
    if name not in ("BeforeTool", "AfterTool"):
        return ()
    tool, given = required(payload, "tool_name"), payload.get("tool_input")
    if name == "BeforeTool":
        return (Call(None, tool, given),)
    result, outcome = read_response(tool, payload.get("tool_response"))
    return (Call(_id_of(payload, tool, given), tool, given, result, outcome),)


def _id_of(payload: Mapping[str, Any], tool: str, given: Any) -> str | None:
    """The same for two hooks that are given the same event, as in the settings of a project and of its user."""
    time = text_field(payload, "timestamp")
    text = json.dumps([tool, given], sort_keys=True, default=str)
    return f"{time} {zlib.crc32(text.encode()):08x}" if time is not None else None


# --- results, which Qwen Code gives in the same form ------------------------------------------------------------------

SHELL = "run_shell_command"
_REFUSED = re.compile(r"edit_|policy_violation$|permission_denied$|invalid_tool_params$|path_not_in_workspace$")
_UNTRUSTED = re.compile(r"\A<untrusted_context>\n(.*)\n</untrusted_context>\s*\Z", re.DOTALL)
_FIELD = re.compile(r"(Error|Exit Code|Signal|Background PIDs|Process Group PGID): (.*)")
_NOTHING = ("(none)", "0", "")


def read_response(tool: str, response: Any) -> tuple[str, Outcome]:
    """What the model sees of a result, and how the call ended."""
    given = response if isinstance(response, Mapping) else {}
    result, error = _text_of(given.get("llmContent", response)), given.get("error")
    if isinstance(error, Mapping):
        kind = str(error.get("type"))
        return result, Outcome.REFUSED if _REFUSED.match(kind) else Outcome.FAILED
    return _read_shell(result) if tool == SHELL else (result, Outcome.OK)


def _text_of(content: Any) -> str:
    """The text of a result, which may be in parts; without the marks that are put around what tools print."""
    if isinstance(content, list):
        return "\n".join(map(_text_of, content))
    if isinstance(content, Mapping) and isinstance(content.get("text"), str):
        content = content["text"]
    if not isinstance(content, str):
        return json.dumps(content, ensure_ascii=False, default=str, sort_keys=True)
    found = _UNTRUSTED.match(content)
    return found[1] if found is not None else content


def _read_shell(text: str) -> tuple[str, Outcome]:
    """The output of a command, and how it ended: fields at the end say so, of which a process's number is left out."""
    lines = text.rstrip().split("\n")
    fields: dict[str, str] = {}
    while lines and (found := _FIELD.fullmatch(lines[-1])) is not None and found[1] not in fields:
        fields[found[1]] = found[2]
        del lines[-1]
    if not fields:
        return text, Outcome.OK
    while lines and lines[0].startswith(("Command: ", "Directory: ")):
        del lines[0]
    output = "\n".join(lines).removeprefix("Output: ")
    output = "" if output == "(empty)" else output
    error, code, signal = (fields.get(name, "") for name in ("Error", "Exit Code", "Signal"))
    parts = [f"Exit code {code}"] if code not in _NOTHING else []
    parts += [f"Signal {signal}"] if signal not in _NOTHING else []
    parts += [part for part in (output, error) if part not in _NOTHING[::2]]
    is_failed = code not in _NOTHING or signal not in _NOTHING
    return "\n".join(parts), Outcome.FAILED if is_failed else Outcome.OK


# --- answering --------------------------------------------------------------------------------------------------------

_ENDS = ("BeforeTool", "AfterTool", "BeforeModel")


def end_turn(name: str, text: str) -> Answer | None:
    """What ends a turn also refuses, for versions that do not know how to end one."""
    if name not in _ENDS:
        return None
    ends = {"continue": False, "stopReason": text, "decision": "deny", "reason": text}
    return Answer(json.dumps(ends) + "\n", f"{text}\n", 2 if name.startswith("Before") else 0)


# --- health -----------------------------------------------------------------------------------------------------------


def problems(setup: Setup) -> Iterator[HookProblem]:
    """Whether hooks are switched off, and whether the folder is trusted: in others not even a user's hooks run."""
    from liza.clients.hook_entries import read_object

    yield from _switched_off(setup)
    user = read_object(os.path.join(setup.folder, SETTINGS.user))
    trust = os.environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or os.path.join(setup.folder, "trustedFolders.json")
    is_named = os.environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true"
    if setting(user, "security", "folderTrust", "enabled") is not False and not is_named:
        yield from untrusted(NAME, setup.project, trust)


def _switched_off(setup: Setup) -> Iterator[HookProblem]:
    """All hooks, or ours by their commands."""
    from liza.clients.hook_entries import command_of, entries_of, read_object

    ours = {
        command_of(entry)
        for file, text in setup.installed.items()
        for event in SETTINGS.events
        for entry in entries_of(text, event, file)
    } - {None}
    for file in setup.files:
        settings = read_object(file)
        disabled = setting(settings, "hooksConfig", "disabled")
        if setting(settings, "hooksConfig", "enabled") is False:
            hint = f"remove enabled: false under hooksConfig in {file}"
            yield HookProblem(NAME, "all hooks are disabled", hint, file)
        elif isinstance(disabled, list) and ours & {str(each) for each in disabled}:
            hint = f"remove liza's commands from disabled under hooksConfig in {file}"
            yield HookProblem(NAME, "its hook is disabled", hint, file)


def untrusted(client: str, project: str, file: str) -> Iterator[HookProblem]:
    """Whether a person has trusted the folder: of all that are named above it, the longest decides."""
    from liza.clients.hook_entries import read_object

    own, best, trusts = os.path.realpath(project), -1, False
    for folder, level in read_object(file).items():
        above = os.path.realpath(os.path.dirname(folder) if level == "TRUST_PARENT" else folder)
        if len(folder) > best and os.path.commonpath((own, above)) == above:
            best, trusts = len(folder), level in ("TRUST_FOLDER", "TRUST_PARENT")
    if not trusts:
        message = "this folder is not trusted, so its hook does not run"
        yield HookProblem(client, message, f"start {client} in {project}, and trust the folder", file)


def setting(settings: Mapping[str, Any], *path: str) -> Any:
    """A value in nested settings; None where there is none."""
    found: Any = settings
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
