"""`liza gate` with options: `--root`, or for one claim, slice, loop or stage. The bare form is in `gate.py`."""

from collections.abc import Mapping
from typing import Any

import click

from liza.cli import gate
from liza.cli.group import common, root_of
from liza.errors import Unreadable

# The section of each scope, and the statuses in which nothing may be done to it.
_SCOPES = {
    "claim": ("claims", ("DISPUTED",)),
    "slice": ("slices", ("STOPPED", "ARCH_STOP")),
    "loop": ("loops", ("OPEN",)),
    "stage": ("stages", ("BLOCKED",)),
}


@click.command("gate")
@click.option("--claim", metavar="ID", help="Also stop if this claim is frozen.")
@click.option("--slice", metavar="ID", help="Also stop if this slice is stopped.")
@click.option("--loop", metavar="NAME", help="Also stop if this loop is open.")
@click.option("--stage", metavar="NAME", help="Also stop if this stage is blocked.")
@common
@click.pass_context
def command(ctx: click.Context, /, **scopes: str | None) -> int:
    """For agents' hooks: may work go on?

    Exit code 0 says go on, also where there is no blackboard. Everything else is 2, with the reason on standard error.

    \b
    Example:
      liza gate || exit 2
    """
    try:
        code = gate.answer(root_of(ctx) or _environment_root())
        return (
            code
            if code
            else _scoped({name: value for name, value in scopes.items() if value is not None}, root_of(ctx))
        )
    except Exception as error:  # noqa: BLE001 - a gate that fails must not let anything through
        return gate.stop(str(error), "mend it, then try again; see: liza validate")


def _environment_root() -> str | None:
    import os

    return os.environ.get("LIZA_ROOT")


def _scoped(wanted: Mapping[str, str], root: str | None) -> int:
    if not wanted or gate.find(root or _environment_root()) is None:
        return gate.GO_ON
    from liza.blackboard.board import Board

    data = Board.find(root).read().data
    for scope, name in wanted.items():
        section, stopped = _SCOPES[scope]
        status = _record(data.get(section), name, scope).get("status")
        if status in stopped:
            return gate.stop(f"{scope} {name} is {status}", f"see why with: liza status; then: liza {scope} --help")
    return gate.GO_ON


def _record(section: Any, name: str, scope: str) -> Mapping[str, Any]:
    """The record by that name; one that is not on the blackboard has nothing against it."""
    if section is None:
        return {}
    named: dict[str, Any] = {}
    if isinstance(section, Mapping):
        named = {str(key): record for key, record in section.items()}
    elif isinstance(section, list) and all(isinstance(record, Mapping) for record in section):
        for record in section:
            named |= {str(record[key]): record for key in ("name", f"{scope}_id", "id") if key in record}
    else:
        raise Unreadable(f"the section of {scope} {name} does not hold records", hint="see: liza validate")
    found = named.get(name, {})
    if not isinstance(found, Mapping):
        raise Unreadable(f"{scope} {name} is not a record", hint="see: liza validate")
    return found
