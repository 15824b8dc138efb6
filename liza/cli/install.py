"""`liza install CLIENT`."""

import difflib
import os
import shutil

import click

from liza.cli import envelope
from liza.cli.group import root_of, untimed
from liza.clients import install
from liza.clients.install import CLIENTS, Edit
from liza.errors import Refused
from liza.store import paths
from liza.text import suggestion


@click.command("install")
@click.argument("clients", metavar="[CLIENT]...", nargs=-1)
@click.option("--user", "where", flag_value="user", help="For all projects of this user.")
@click.option(
    "--project", "where", flag_value="project", help="In the settings that are committed, for the whole team."
)
@click.option("--dry-run", is_flag=True, help="Show the change, and write nothing.")
@click.option("--uninstall", is_flag=True, help="Remove the hooks again.")
@untimed
def command(
    ctx: click.Context, clients: tuple[str, ...], where: str | None, dry_run: bool, uninstall: bool, as_json: bool
) -> int:
    """Put liza's hook into the settings of CLIENT: claude, codex.

    Every tool call then asks first whether work may continue, and is recorded as a step. Without CLIENT, those that
    are installed here. The default is this project, for this user alone; other settings are kept.

    \b
    Examples:
      liza install claude
      liza install codex --user --dry-run
      liza install --uninstall
    """
    chosen = clients or tuple(name for name in CLIENTS if shutil.which(name))
    if not chosen:
        raise Refused("no coding agent was found on PATH", hint=f"name one: liza install {' or '.join(CLIENTS)}")
    for name in chosen:
        if name not in CLIENTS:
            raise Refused(f"unknown client {name!r}", hint=suggestion(name, tuple(CLIENTS)))
    project = os.path.dirname(paths.find(root_of(ctx)).folder)
    place = where or "local"
    plan = install.plan_uninstall if uninstall else install.plan_install
    edits = {name: plan(name, place, project) for name in chosen}
    if not dry_run:
        if not uninstall:
            install.write_script()
        for edit in edits.values():
            install.apply(edit)
    if as_json:
        listed = [
            {"client": name, "file": edit.file, "changed": edit.changes, "notes": _notes(name, uninstall)}
            for name, edit in edits.items()
        ]
        envelope.write("install", "ok", clients=listed, script=install.script_path(), written=not dry_run)
        return 0
    for name, edit in edits.items():
        _report(name, edit, dry_run, uninstall)
    return 0


def _notes(client: str, uninstall: bool) -> list[str]:
    return [] if uninstall else list(CLIENTS[client].notes)


def _report(client: str, edit: Edit, dry_run: bool, uninstall: bool) -> None:
    if dry_run:
        before, after = (edit.before or "").splitlines(), (edit.after or "").splitlines()
        for line in difflib.unified_diff(before, after, edit.file, edit.file, lineterm=""):
            click.echo(line)
        return
    done = "removed from" if uninstall else "installed in"
    click.echo(f"{client}: {f'hook {done}' if edit.changes else 'nothing to change in'} {os.path.relpath(edit.file)}")
    for note in _notes(client, uninstall):
        click.echo(f"  to do: {note}")
