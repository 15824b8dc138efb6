"""The hooks in a settings file of the form that Claude Code has and others took over: a list of entries an event."""

import json
from collections.abc import Mapping
from typing import Any

from liza.clients.json_edit import parse_object

SCRIPT = "hook.sh"
MARK = f"/liza/{SCRIPT}"


def entries_of(text: str, event: str, file: str) -> list[Any]:
    """The entries of an event, of everyone; empty where there are none."""
    hooks = parse_object(text, file).get("hooks")
    entries = hooks.get(event) if isinstance(hooks, dict) else None
    return entries if isinstance(entries, list) else []


def is_ours(entry: Any) -> bool:
    """Whether an entry of a settings file is liza's: it runs the script."""
    return command_of(entry) is not None


def command_of(entry: Any) -> str | None:
    """The command of an entry that is liza's."""
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    commands = [each.get("command") for each in hooks if isinstance(each, dict)] if isinstance(hooks, list) else []
    (command,) = commands if len(commands) == 1 else (None,)
    return command if isinstance(command, str) and MARK in command else None


def read_object(file: str) -> Mapping[str, Any]:
    """A settings file as it is; empty where it cannot be read, which is reported elsewhere."""
    try:
        with open(file, encoding="utf-8") as stream:
            found = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
