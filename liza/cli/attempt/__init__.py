"""`liza attempt`: a test that is worked on, and what comes of it, until the slice is done or stopped.

Its commands, each in the module of what it is for, which is loaded when the command is called.
"""

from importlib import import_module

import click

from liza.cli.group import Family, common

_MODULES = {
    "record": ("start", "fail", "pass", "infra", "arch-stop"),
    "test_runs": ("junit", "exec"),
    "scope": ("scope", "justify"),
    "reset": ("diagnose", "reset"),
    "status": ("status",),
}


class _Family(Family):
    """Knows its commands by name only."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in _MODULES.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = next((module for module, names in _MODULES.items() if cmd_name in names), None)
        if module is None:
            return None
        loaded = import_module(f"liza.cli.attempt.{module}")
        found: click.Command = getattr(loaded, f"{cmd_name.replace('-', '_')}_command")
        return found


@click.group("attempt", cls=_Family)
@common
def command() -> None:
    """Record test attempts; stop a slice that makes no progress.

    A slice is stopped by the first of these that applies: an agent's arch-stop, a test that failed three times, seven
    failures in all. Bugs, gaps and blockers on the way are fixed without asking, as long as none of these applies.

    \b
    Examples:
      liza attempt start --slice S-3 --test test_conflict_on_duplicate_email
      liza attempt status --slice S-3
    """
