"""`liza gate` with options: `--root`, or for one claim, slice, loop or stage. The bare form is in `gate.py`."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from liza.cli import gate
from liza.cli.group import common, root_of
from liza.protocols import scopes

if TYPE_CHECKING:
    from liza.blackboard.board import Board

# The section of each other scope, and the statuses in which nothing may be done to it.
_SCOPES = {
    "slice": ("slices", ("STOPPED", "ARCH_STOP")),
    "loop": ("loops", ("OPEN",)),
}
_SEE = {"slice": "liza attempt status --slice", "loop": "liza loop status"}  # why, and what is to be done


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

    board = Board.find(root)
    data = board.read().data
    for scope, name in wanted.items():
        if scope in ("claim", "stage"):
            held = _disputed(board, scope, name)
            if held is not None:
                return gate.stop(*held)
            continue
        section, stopped = _SCOPES[scope]
        found = scopes.find(data.get(section), name, scope)
        if found is None:
            continue  # what is not on the blackboard has nothing against it
        judges = {"loop": _loop, "slice": _slice}  # what the status alone does not say
        why = judges[scope](board, name) if scope in judges else _status(found[1], scope, name, stopped)
        if why is not None:
            return gate.stop(why, f"see what it waits for: {_SEE[scope]} {shlex.quote(name)}")
    return gate.GO_ON


def _status(record: Mapping[str, Any], scope: str, name: str, stopped: tuple[str, ...]) -> str | None:
    status = record.get("status")
    return f"{scope} {name} is {status}" if status in stopped else None


def _disputed(board: "Board", scope: str, name: str) -> tuple[str, str] | None:
    """A dispute freezes its claim, and keeps the last stage from closing."""
    from datetime import UTC, datetime

    from liza.blackboard.rulesfile import read_rules
    from liza.protocols.disputes import gating
    from liza.protocols.disputes.guarding import Context

    context = Context(board, read_rules(board.paths.rules), datetime.now(UTC))
    return gating.claim_held(context, name) if scope == "claim" else gating.stage_held(context, name)


def _loop(board: "Board", name: str) -> str | None:
    """A loop that has cooled down may try again, which its status alone does not say."""
    from datetime import UTC, datetime

    from liza.cli.iteration import in_force
    from liza.protocols.loops import states
    from liza.protocols.loops.recording import look

    rules, settings = in_force(board.paths)
    found = look(board, name, rules, settings, datetime.now(UTC))
    is_open = found.status == states.OPEN and not settings.disabled
    return f"loop {name} is OPEN: {found.reason}" if is_open else None


def _slice(board: "Board", name: str) -> str | None:
    """A slice that others wrote, and nobody has judged yet, is stopped by what stands there."""
    from datetime import UTC, datetime

    from liza.blackboard.rulesfile import read_rules
    from liza.protocols.attempts.recording import look

    found = look(board, name, read_rules(board.paths.rules), datetime.now(UTC))
    return f"slice {name} is {found.status}: {found.reason}" if found.is_stopped else None
