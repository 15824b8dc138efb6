"""What kind of call it is: one that changes a file, one that only waits, or any other.

Clients name their tools differently, so an edit is known by its input: it names a file and has text to put there. The
lists have what is not known by that; `tools:` in rules.yaml adds to them.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from liza.schema.rules_yaml import TOOLS

# Keys of an input that name the file, and those that hold the text, without case and underscores, as clients and MCP
# servers have them.
_FILE = frozenset({"path", "filepath", "filename", "file", "notebookpath", "targetfile", "uri"})
_TEXT = frozenset(
    {
        *("oldstr", "oldstring", "newstr", "newstring", "newtext", "newsource", "newcontent"),
        *("content", "contents", "filetext", "inserttext", "replacement", "replace"),
        *("codeedit", "diff", "patch", "edits"),
    }
)

EDITS = frozenset(
    {"apply_patch", "edit", "insert", "Edit", "MultiEdit", "Write", "NotebookEdit", "write_file", "replace"}
)
WAITS = frozenset(
    {
        *("BashOutput", "TaskOutput", "KillShell", "AgentOutputTool"),  # Claude Code
        *("wait", "write_stdin"),  # Codex
        *("read_background_output", "list_background_processes"),  # Gemini CLI
        "sleep",
    }
)
# Commands that wait, or look once more after a pause, wherever they are in a line: `sleep 30 && gh run view`.
_PAUSE = re.compile(
    r"(?:^|[;&|(\n]|\bdo)\s*(?:sleep\s+[\d.$]|wait\b|watch\s|tail\s(?:[^;|&\n]{0,200}\s)?(?:-[fF]\b|--follow))|\s--watch\b"
)
_SHORT = re.compile(r"\bsleep\s+0?\.\d+s?")  # pauses that no one polls with: part of a command that fails
# Where clients (Qwen Code, Claude Code) put what a job in the background prints, for the agent to read.
_JOB = re.compile(r"/(?:background-shells|tasks)/(?:[^/]+/)?[^/]+\.output$")
_LONGEST = 10_000  # characters of a command that are looked at


class Tools(NamedTuple):
    """The names of tools that change files, and of those that only wait."""

    edits: frozenset[str] = EDITS
    waits: frozenset[str] = WAITS

    def changes_file(self, tool: str, given: Any) -> bool:
        """Whether a call is meant to change a file."""
        if tool in self.edits:
            return True
        keys = {plain_key(key) for key in given} if isinstance(given, Mapping) else set()
        return not _FILE.isdisjoint(keys) and not _TEXT.isdisjoint(keys)

    def waits_only(self, tool: str, given: Any, *, failed: bool = False) -> bool:
        """Whether a call only waits for something that runs elsewhere."""
        if tool in self.waits:
            return True
        if isinstance(given, Mapping) and any(plain_key(k) in _FILE and _JOB.search(str(v)) for k, v in given.items()):
            return not self.changes_file(tool, given)
        command = command_of(given)
        return bool(_PAUSE.search(_SHORT.sub("", command) if failed else command))


def plain_key(key: object) -> str:
    """A key of an input, however its words are put together: `old_string` and `oldString` are the same."""
    return str(key).replace("_", "").lower()


def command_of(given: Any) -> str:
    """The beginning of the shell command of a call; empty for a call of another kind."""
    command = given.get("command") or given.get("cmd") if isinstance(given, Mapping) else None
    if isinstance(command, list):
        command = "\n".join(str(word) for word in command)
    return command[:_LONGEST] if isinstance(command, str) else ""


SHIPPED = Tools()


def tools_of(setting: Any) -> Tools:
    """The shipped lists, with those of `tools:` in rules.yaml."""
    given = setting if isinstance(setting, Mapping) else {}
    more = {key: frozenset(str(name) for name in given.get(key) or ()) for key in TOOLS}
    return Tools(EDITS | more["edits"], WAITS | more["waits"])
