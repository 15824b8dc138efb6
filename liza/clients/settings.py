"""What there is to know about a client before any of its events: its settings, its transcripts, its hook's health.

Each client's module fills in a `Settings`; `install`, `health` and `recorded` work on any of them.
"""

from collections.abc import Mapping
from typing import NamedTuple

STARTS = ("before", "prompt", "request")  # events that can be refused, because something is about to begin
DAY = 86_400  # seconds that a hook may take: every client lets the call through when its hook takes longer


class Transcripts(NamedTuple):
    """Where a client records its sessions, and how their first bytes say what they are of (regular expressions)."""

    files: str  # a pattern below the client's own folder
    session: bytes
    version: bytes = b""  # empty where they do not have it
    cwd: bytes = rb'"cwd": ?"((?:[^"\\]|\\.){1,4000})"'
    root: str = ""  # instead of `cwd`: a file with the folder as its text, relative to the transcript
    below: int = 0  # levels of folders below those of `files`, which have the transcripts of subagents
    is_dated: bool = False  # the innermost folders are of one day or session: no file comes into one of the past


class McpServers(NamedTuple):
    """Where a client's MCP servers are set."""

    project: str  # below the project
    user: str  # below the client's own folder
    path: tuple[str, ...] | None = ("mcpServers",)  # to the servers in a JSON file; None for Codex's TOML
    is_one_list: bool = False  # the program and its arguments are one list
    notes: tuple[str, ...] = ()  # what a person still has to do


class Settings(NamedTuple):
    """Where a client's hook is set, and under which events."""

    home: tuple[str, str, str]  # a variable, the client's own folder below it, and the same below the home folder
    user: str  # below that folder
    local: str  # below the project: a file that is not committed
    shared: str | None  # below the project: a file that is committed; None if the client has no such pair
    events: Mapping[str, str]  # each event with what it is to the hook
    warns: tuple[str, ...]  # the events whose answer can put a text before the model
    reach: str  # which sessions a hook in the project does not cover
    tested: str  # the newest version that liza was tested with
    notes: tuple[str, ...] = ()  # what a person still has to do
    matcher: str | None = None  # that an entry must have to match every call
    timeout: int = DAY  # in the unit of the client
    hold: float = DAY - 60.0  # seconds for which a call is held; then it is refused
    transcripts: Transcripts | None = None
    mcp: McpServers | None = None
    plugin: str | None = None  # the template of a file that is the hook, for a client that has no list of them


class HookProblem(NamedTuple):
    """Why a client's hook does not do all it should, and the fix."""

    client: str
    message: str
    hint: str
    file: str | None = None
    is_off: bool = True  # nothing is seen or held; otherwise the hook works in part


class Setup(NamedTuple):
    """The settings of one client for a project."""

    project: str
    folder: str  # the client's own
    files: tuple[str, ...]  # all that the client reads
    installed: Mapping[str, str]  # the files that have our hook, each with its text
    places: Mapping[str, str]  # for which place of `install` each of them is
