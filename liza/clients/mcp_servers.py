"""liza's tools among the MCP servers in a client's settings: one entry called `liza`, put in and taken out again.

The line that starts it finds liza by the file beside the hook's script, so it is the same on every machine.
Codex's settings are TOML: our table is appended at the end, as text, so that all other bytes stay.
"""

import os
import re
import tomllib
from typing import Any

from liza.clients.install import CLIENTS, EMPTY, MARK_PROGRAM, client_folder
from liza.clients.json_edit import add_member, parse_object, remove_member
from liza.clients.settings import McpServers
from liza.errors import Refused

NAME = "liza"
_START = f'exec "$(head -n 1 "${{XDG_DATA_HOME:-$HOME/.local/share}}{MARK_PROGRAM}")" mcp'
COMMAND = ("sh", "-c", _START)
_BLOCK = f"[mcp_servers.{NAME}]\ncommand = '{COMMAND[0]}'\nargs = ['{COMMAND[1]}', '{COMMAND[2]}']\n"
_TABLE = re.compile(rf"^\[mcp_servers\.{NAME}\]$.*?(?=^\[(?!mcp_servers\.{NAME}\.)|\Z)", re.MULTILINE | re.DOTALL)


def servers_file(client: str, where: str, project: str) -> str:
    """The settings file that has the MCP servers for `user`, `local` or `project`; the last two are the same."""
    servers = servers_of(client)
    if where != "user":
        return os.path.join(project, servers.project)
    is_named = bool(os.environ.get(CLIENTS[client].home[0]))  # then all of a client's files are in that folder
    below = servers.user.removeprefix("../") if is_named else servers.user
    return os.path.normpath(os.path.join(client_folder(client), below))


def servers_of(client: str) -> McpServers:
    servers = CLIENTS[client].mcp
    assert servers is not None, client
    return servers


def with_server(client: str, text: str | None, file: str) -> str:
    """The settings with our server; another one of that name is refused."""
    servers, raw = servers_of(client), text or ""
    raw = "" if servers.path is not None and not raw.strip() else raw
    found = _find(servers, raw, file)
    if found == _entry(servers):
        return raw
    if found is not None and not _is_ours(found):
        hint = f"give that server another name in {file}, then run this again"
        raise Refused(f"there is another MCP server called {NAME}", hint=hint, file=file)
    if found is not None:
        raw = without_server(client, raw, file) or ""
    if servers.path is None:
        after = f"{raw}\n{_BLOCK}" if raw else _BLOCK
        if not _is_difference(after, raw, _entry(servers)):
            raise _unsafe(file)
        return after
    return add_member(raw or EMPTY, (*servers.path, NAME), _entry(servers), file)


def without_server(client: str, text: str | None, file: str) -> str | None:
    """The settings without our server; None where nothing else was in the file."""
    servers = servers_of(client)
    if text is None or not has_server(client, text, file):
        return text
    if servers.path is not None:
        after = remove_member(text, (*servers.path, NAME), file)
        return None if after == EMPTY else after
    for found in _TABLE.finditer(text):
        is_whole = text.startswith(_BLOCK, found.start())  # else a person has changed it
        end = found.start() + len(_BLOCK) if is_whole else found.end()
        after = text[: max(found.start() - 1, 0)] + text[end:]  # with the line break that was put before it
        if _is_difference(text, after, _find(servers, text, file)):
            return after or None
    raise _unsafe(file)


def has_server(client: str, text: str, file: str) -> bool:
    """Whether settings have our server; those that do not mention it are not even parsed."""
    return MARK_PROGRAM in text and _is_ours(_find(servers_of(client), text, file))


def _entry(servers: McpServers) -> dict[str, Any]:
    if servers.is_one_list:
        return {"type": "local", "command": list(COMMAND), "enabled": True}
    return {"command": COMMAND[0], "args": list(COMMAND[1:])}


def _is_ours(entry: Any) -> bool:
    """Whether an entry starts `liza mcp` in our way; a person may have added to it."""
    return isinstance(entry, dict) and MARK_PROGRAM in str(entry.get("command")) + str(entry.get("args"))


def _find(servers: McpServers, text: str, file: str) -> Any:
    """What is under our name; None where nothing is."""
    found: Any = _parse_toml(text, file) if servers.path is None else parse_object(text or "{}", file)
    for key in (*(servers.path or ("mcp_servers",)), NAME):
        found = found.get(key) if isinstance(found, dict) else None
    return found


# --- TOML -------------------------------------------------------------------------------------------------------------


def _is_difference(longer: str, shorter: str, entry: Any) -> bool:
    """Whether the longer text is the shorter one and our entry: what looks like a table may be within a string."""
    try:
        found, expected = tomllib.loads(longer), tomllib.loads(shorter)
    except tomllib.TOMLDecodeError:
        return False
    servers = found.get("mcp_servers")
    own = servers.pop(NAME, None) if isinstance(servers, dict) else None
    if servers == {} and "mcp_servers" not in expected:
        del found["mcp_servers"]
    return (own, found) == (entry, expected)


def _unsafe(file: str) -> Refused:
    return Refused("its MCP servers cannot be changed safely", hint=f"change [mcp_servers] by hand: {file}", file=file)


def _parse_toml(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"not valid TOML: {error}", hint=f"correct it by hand: {file}", file=file) from None
