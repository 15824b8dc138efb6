"""`liza install CLIENT`."""

import difflib
import os
import shutil
import sys
from collections.abc import Mapping

import click

from liza.cli import envelope
from liza.cli.group import Call, untimed
from liza.clients import install
from liza.clients.install import CLIENTS, Edit
from liza.errors import NoBlackboard, Refused, WrongUsage
from liza.git.command import ask
from liza.store import paths
from liza.text import printable, suggestion, value_text


@click.command("install")
@click.argument("clients", metavar="[CLIENT]...", nargs=-1)
@click.option("--user", is_flag=True, help="For all projects of this user.")
@click.option("--project", "shared", is_flag=True, help="In the committed settings, for the whole team.")
@click.option("--dry-run", is_flag=True, help="Show the change, and write nothing.")
@click.option("--uninstall", is_flag=True, help="Remove the hooks again.")
@untimed
def command(call: Call, clients: tuple[str, ...], user: bool, shared: bool, dry_run: bool, uninstall: bool) -> int:
    """Put liza's hook into the settings of a coding agent.

    CLIENT is claude, codex, gemini, qwen or opencode. Every tool call then asks first whether work may continue, and
    is recorded as a step. Without CLIENT, it finds those that are used here, and asks for each. The default is this
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
        raise WrongUsage("only one of --user and --project at a time")
    place = "user" if user else "project" if shared else "local"
    project = _project(call.root, place)
    plan = install.plan_uninstall if uninstall else install.plan_install
    edits = {name: plan(name, place, project) for name in clients or _found(project)}
    if not clients and not dry_run:
        edits = _confirmed(edits, place, uninstall)
    if not dry_run:
        if edits and not uninstall:
            install.write_script()
        for edit in edits.values():
            install.apply(edit)
    notes = {name: [] if uninstall else _notes(name, edit, place, project) for name, edit in edits.items()}
    if call.as_json:
        listed = [
            {"client": name, "file": edit.file, "changed": edit.changes, "notes": notes[name]}
            for name, edit in edits.items()
        ]
        envelope.write("install", "ok", clients=listed, script=install.script_path(), written=not dry_run)
        return 0
    for name, edit in edits.items():
        if dry_run:
            _print_diff(edit)
        else:
            _print_done(name, edit, notes[name], uninstall)
    return 0


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


def _confirmed(edits: Mapping[str, Edit], place: str, uninstall: bool) -> dict[str, Edit]:
    """The changes that a person agrees to. Without a terminal the commands are only listed."""
    wanted = [name for name, edit in edits.items() if edit.changes]
    option = ("" if place == "local" else f" --{place}") + (" --uninstall" if uninstall else "")
    if wanted and not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "; ".join(f"liza install {name}{option}" for name in wanted)
        raise WrongUsage(f"no terminal to ask on; used here: {', '.join(wanted)}", hint=hint)
    verb = "remove the hook from" if uninstall else "put the hook into"
    return {
        name: edit
        for name, edit in edits.items()
        if not edit.changes or click.confirm(f"{name}: {verb} {_shown(edit.file)}?", default=True)
    }


def _shown(file: str) -> str:
    """A file as it is shown: relative where it is below the current folder."""
    relative = os.path.relpath(file)
    return printable(file if relative.startswith("..") else relative)


def _notes(client: str, edit: Edit, place: str, project: str) -> list[str]:
    """What a person still has to do or to know."""
    if not edit.changes or edit.after is None:
        return []
    notes = list(CLIENTS[client].notes)
    if place != "user":
        notes.append(f"{CLIENTS[client].reach}: liza install {client} --user")
    if place == "local" and CLIENTS[client].shared is not None:
        own = os.path.relpath(edit.file, project)
        if ask(project, "ls-files", "--cached", "--others", "--exclude-standard", "--", own):
            notes.append(f"git does not ignore {own}, which has paths of this machine: echo /{own} >> .gitignore")
    return notes


def _print_diff(edit: Edit) -> None:
    before, after = (edit.before or "").splitlines(), (edit.after or "").splitlines()
    for line in difflib.unified_diff(before, after, edit.file, edit.file, lineterm=""):
        click.echo(printable(line))
    if not edit.changes:
        click.echo(f"nothing to change in {_shown(edit.file)}")


def _print_done(client: str, edit: Edit, notes: list[str], uninstall: bool) -> None:
    done = "removed from" if uninstall else "installed in"
    already = "no hook in" if uninstall else "hook already installed in"
    click.echo(f"{client}: {f'hook {done}' if edit.changes else already} {_shown(edit.file)}")
    for note in notes:
        click.echo(f"  to do: {note}")
