"""`liza gate` with options: `--root`, or for one claim, slice, loop or stage. Without options: `bare_gate.py`."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import click

from liza.cli import bare_gate
from liza.cli.group import common, root_of
from liza.cli.streams import warn
from liza.scope_names import SCOPES
from liza.text import printable

_POLL = 0.25  # seconds between two looks of --wait


def _scope_options(command: Callable[..., int]) -> Callable[..., int]:
    """One option for each kind of scope that the engine knows."""
    for word, what in reversed([each for row in SCOPES for each in row.gates.items()]):
        command = click.option(f"--{word}", metavar="NAME", help=f"Also stop if {what}.")(command)
    return command


@click.command("gate")
@_scope_options
@click.option("--strict", is_flag=True, help="Also stop if a name is not on the blackboard.")
@click.option("--wait", is_flag=True, help="Wait until work may continue.")
@click.option("--timeout", metavar="SECONDS", type=float, help="With --wait: give up after this long (exit code 2).")
@common
@click.pass_context
def command(ctx: click.Context, /, strict: bool, wait: bool, timeout: float | None, **scopes: str | None) -> int:
    """For agents' hooks: may work continue?

    Exit code 0 means continue, even without a blackboard. Anything else is 2, with the reason on stderr.

    \b
    Examples:
      liza gate || exit 2
      while liza gate --wait; do ./agent.sh; done
    """
    try:
        from liza.scopes.gate import check_gate

        answer = check_gate(root_of(ctx), scopes, datetime.now(UTC))
        if wait and not answer:
            click.echo(f"liza: waiting: {printable(answer.why)}", err=True)
        until = None if timeout is None else time.monotonic() + timeout
        while wait and not answer and (until is None or time.monotonic() < until):
            time.sleep(_POLL)
            answer = check_gate(root_of(ctx), scopes, datetime.now(UTC))
        stops = strict and bool(answer.unknown)
        for note in answer.notes if stops else (*answer.notes, *answer.unknown):
            warn(note)
        if stops:
            return bare_gate.stop("; ".join(answer.unknown), "correct the name, or leave out --strict")
        return bare_gate.CONTINUE if answer else bare_gate.stop(answer.why, answer.hint)
    except Exception as error:  # noqa: BLE001 - a gate that fails must not let anything through
        return bare_gate.stop(str(error), "fix that, then try again; see: liza validate")
