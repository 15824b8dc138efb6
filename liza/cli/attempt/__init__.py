"""`liza attempt`: a test that is worked on, and what comes of it, until the slice is done or stopped.

Its commands, each in a module of its own, which is loaded when the command is called.
"""

import click

from liza.cli.group import LazyFamily, common

_MODULES = {
    "record": ("start", "fail", "pass", "infra", "arch-stop"),
    "test_runs": ("junit", "exec"),
    "scope": ("scope", "justify"),
    "allow": ("allow",),
    "reset": ("diagnose", "reset"),
    "status": ("status",),
}
_PLACES = {
    name: (f"liza.cli.attempt.{module}", f"{name.replace('-', '_')}_command")
    for module, names in _MODULES.items()
    for name in names
}


@click.group("attempt", cls=LazyFamily, places=_PLACES)
@common
def command() -> None:
    """Record test attempts; stop a slice that makes no progress.

    A slice is stopped by the first of these that applies: an agent's arch-stop, a test that failed three times in a
    row, or seven failures in all. Until then, the agent fixes bugs, gaps and blockers without asking.

    \b
    Examples:
      liza attempt start --slice S-3 --test test_conflict_on_duplicate_email
      liza attempt status --slice S-3
    """
