"""`liza install CLIENT`."""

import difflib
import os
import shutil
import sys
from collections.abc import Mapping

import click

from liza.cli import envelope
from liza.cli.group import Call, untimed
from liza.clients import install, mcp_servers, plan
from liza.clients.install import CLIENTS, Edit
from liza.errors import NoBlackboard, Refused, WrongUsage
from liza.extras import has_extra, require_extra
from liza.git.command import ask
from liza.store import paths
from liza.text import printable, suggestion, value_text


@click.command("install")
@click.argument("clients", metavar="[CLIENT]...", nargs=-1)
@click.option("--user", is_flag=True, help="For all projects of this user.")
@click.option("--project", "shared", is_flag=True, help="In the committed settings, for the whole team.")
@click.option("--mcp", "tools", is_flag=True, help="Also let its agents report and ask, with the tools of liza mcp.")
@click.option("--dry-run", is_flag=True, help="Show the change, and write nothing.")
@click.option("--uninstall", is_flag=True, help="Remove the hooks and the tools again.")
@untimed
def command(
    call: Call, clients: tuple[str, ...], user: bool, shared: bool, tools: bool, dry_run: bool, uninstall: bool
) -> int:
    """Put liza's hook into the settings of a coding agent.

    CLIENT is claude, codex, gemini, qwen or opencode. Every tool call then asks first whether work may continue, and
    is recorded as a step. Without CLIENT, it finds those that are used here, and asks about each. The default is this
    project, for this user alone; other settings are kept.

    \b
    Examples:
      liza install
      liza install codex --user --dry-run
      liza install claude --uninstall
    """
    for name in clients:
        if name not in CLIENTS:
            raise Refused(f"unknown client {value_text(name)}", hint=suggestion(name, tuple(CLIENTS)))
    if user and shared:
        raise WrongUsage("--user and --project exclude each other")
    place = "user" if user else "project" if shared else "local"
    project = _project(call.root, place)
    if tools and not uninstall:
        require_extra("mcp", "liza mcp")
    edits = {name: _planned(name, place, project, tools, uninstall) for name in clients or _found(project)}
    if not clients and not dry_run:
        edits = _confirmed(edits, place, project, uninstall)
    if not dry_run:
        if edits and not uninstall:
            install.write_script()
        for edit in (each for some in edits.values() for each in some):
            install.apply(edit)
    notes = {name: [] if uninstall else _notes(name, some, place, project) for name, some in edits.items()}
    if call.as_json:
        _json(edits, notes, not dry_run)
        return 0
    for name, some in edits.items():
        if dry_run:
            for edit in some:
                _print_diff(edit)
        else:
            _print_done(name, some, notes[name], uninstall)
    return 0


def _planned(client: str, place: str, project: str, tools: bool, uninstall: bool) -> list[Edit]:
    if uninstall:
        return plan.plan_uninstall(client, place, project)
    return plan.plan_install(client, place, project, tools=tools)


def _json(edits: Mapping[str, list[Edit]], notes: Mapping[str, list[str]], written: bool) -> None:
    listed = [
        {
            "client": name,
            "file": some[0].file,
            "changed": any(edit.changes for edit in some),
            "files": [edit.file for edit in some if edit.changes],
            "notes": notes[name],
        }
        for name, some in edits.items()
    ]
    envelope.write("install", "ok", clients=listed, script=install.script_path(), written=written)


def _project(root: str | None, place: str) -> str:
    """The folder of the blackboard; the settings of a user do not need one."""
    try:
        return paths.find(root).project
    except NoBlackboard:
        if place != "user":
            raise
        return os.getcwd()


def _found(project: str) -> list[str]:
    """The clients that are used here: on PATH, or with a folder of their settings."""
    found = [
        name
        for name, client in CLIENTS.items()
        if shutil.which(name)
        or os.path.isdir(install.client_folder(name))
        or os.path.isdir(os.path.join(project, os.path.dirname(client.local)))
    ]
    if not found:
        hint = f"name one: liza install CLIENT   (one of {', '.join(CLIENTS)})"
        raise Refused("no coding agent was found on PATH or by its settings", hint=hint)
    return found


def _confirmed(edits: Mapping[str, list[Edit]], place: str, project: str, uninstall: bool) -> dict[str, list[Edit]]:
    """The changes that a person agrees to. Without a terminal the commands are only listed."""
    wanted = [name for name, some in edits.items() if any(edit.changes for edit in some)]
    option = ("" if place == "local" else f" --{place}") + (" --uninstall" if uninstall else "")
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if wanted and not has_terminal:
        hint = "; ".join(f"liza install {name}{option}" for name in wanted)
        raise WrongUsage(f"no terminal to ask on; used here: {', '.join(wanted)}", hint=hint)
    verb = "remove the hook from" if uninstall else "put the hook into"
    agreed: dict[str, list[Edit]] = {}
    for name, some in edits.items():
        changed = ", ".join(_shown(edit.file) for edit in some if edit.changes)
        if changed and not click.confirm(f"{name}: {verb} {changed}?", default=True):
            continue
        asks = has_terminal and not uninstall and has_extra("mcp") and not _has_tools(name, place, project)
        tools = asks and click.confirm(f"{name}: let its agents report and ask, too (MCP)?", default=False)
        agreed[name] = _planned(name, place, project, True, uninstall) if tools else some
    return agreed


def _tools_in(edits: list[Edit], client: str, place: str, project: str) -> bool:
    """Whether these changes put the tools somewhere, perhaps into the file of the hook."""
    file = mcp_servers.servers_file(client, place, project)
    after = [edit.after for edit in edits if edit.file == file and edit.after is not None]
    return any(mcp_servers.has_server(client, text, file) for text in after)


def _has_tools(client: str, place: str, project: str) -> bool:
    file = mcp_servers.servers_file(client, place, project)
    return mcp_servers.has_server(client, install.read_settings(file) or "", file)


def _shown(file: str) -> str:
    """A file as it is shown: relative where it is below the current folder."""
    relative = os.path.relpath(file)
    return printable(file if relative.startswith("..") else relative)


def _notes(client: str, edits: list[Edit], place: str, project: str) -> list[str]:
    """What a person still has to do or to know."""
    hook, changed = edits[0], any(edit.changes for edit in edits)
    if not changed or hook.after is None:
        return []
    notes = list(CLIENTS[client].notes)
    option = "" if place == "local" else f" --{place}"
    if place != "user":
        notes.append(f"{CLIENTS[client].reach}: liza install {client} --user")
    if place == "local" and CLIENTS[client].shared is not None:
        own = os.path.relpath(hook.file, project)
        if ask(project, "ls-files", "--cached", "--others", "--exclude-standard", "--", own):
            notes.append(f"git does not ignore {own}, which has paths of this machine: echo /{own} >> .gitignore")
    if _tools_in(edits, client, place, project):
        notes += mcp_servers.servers_of(client).notes
    elif has_extra("mcp") and not _has_tools(client, place, project):
        notes.append(f"optional, tools to report problems and read decisions: liza install {client}{option} --mcp")
    return notes


def _print_diff(edit: Edit) -> None:
    before, after = (edit.before or "").splitlines(), (edit.after or "").splitlines()
    for line in difflib.unified_diff(before, after, edit.file, edit.file, lineterm=""):
        click.echo(printable(line))
    if not edit.changes:
        click.echo(f"nothing to change in {_shown(edit.file)}")


def _print_done(client: str, edits: list[Edit], notes: list[str], uninstall: bool) -> None:
    done = "removed from" if uninstall else "installed in"
    already = "no hook in" if uninstall else "hook already installed in"
    for edit in edits[:1] + [each for each in edits[1:] if each.changes]:
        what = "hook" if edit is edits[0] else "tools"
        click.echo(f"{client}: {f'{what} {done}' if edit.changes else already} {_shown(edit.file)}")
    for note in notes:
        click.echo(f"  to do: {note}")
