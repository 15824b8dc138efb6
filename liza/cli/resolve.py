"""`liza resolve`."""

import os

import click

from liza.cli import envelope, show
from liza.cli.group import Call, by_option, plain
from liza.cli.options import person
from liza.clients.caller import has_terminal, require_person
from liza.schema.severities import CAUSES
from liza.scopes.history.section import also_matched
from liza.scopes.sprint.resolve import resolve
from liza.store.board import Board
from liza.store.checkpoint import removal
from liza.text import one_line, printable


@click.command("resolve")
@click.option("-m", "--message", metavar="TEXT", required=True, help="The decision, and where it is documented.")
@by_option
@click.option(
    "--cause",
    type=click.Choice(list(CAUSES)),
    metavar="CAUSE",
    help=f"What was at fault, for liza stats: {', '.join(CAUSES)}.",
)
@plain
def command(call: Call, message: str, by: str | None, cause: str | None) -> int:
    """Record the decision on a trip, and let the agents continue.

    The trip moves into the history with the decision, its CHECKPOINT is removed, and its evidence no longer counts for
    the patterns that it tripped. A CHECKPOINT that a person created stays.

    \b
    Examples:
      liza resolve -m "ADR-003: entities are flattened on import" --by alice
      liza resolve -m "the sandbox was restarted on purpose" --cause false_alarm
    """
    board = call.board
    require_person(board.paths, "liza resolve")
    _require_may_resolve(board)
    done = resolve(board, message, person(by), call.at, cause=cause, terminal=has_terminal())
    show.warnings(board.stuck, err=True)
    if call.as_json:
        status = "resolved" if done.trigger else "already" if not done.finished else "finished"
        envelope.write("resolve", status, trigger=envelope.trigger(done.trigger), checkpoint_left=done.left is not None)
        return 0
    if done.trigger is not None:
        pattern = printable(str(done.trigger.get("pattern") or "no pattern named"))
        click.echo(f"{click.style('resolved', fg='green')}: {pattern}")
        if others := also_matched(done.trigger):
            click.echo(f"also resolved: {printable(', '.join(others))}")
    elif done.finished:
        click.echo("already resolved; the report, the log and CHECKPOINT are up to date now")
    else:
        click.echo("nothing to resolve: the breaker is not open")
    if done.earlier is not None:
        who, at, decision = (done.earlier.get(name) for name in ("resolved_by", "resolved_at", "resolution"))
        click.echo(
            f"  the last decision, by {one_line(who or '?', 60)} at {one_line(at, 40)}: {one_line(decision, 200)}"
        )
        if str(decision or "").strip() != message.strip():
            click.echo(f"  not recorded: {one_line(message, 200)}")
    if done.left is not None and done.left.is_degraded:
        click.echo("still halted until the blackboard can be evaluated (on_degraded: halt): see liza status")
    elif done.left is not None and done.left.is_partition:
        click.echo("still halted until this host reaches its team (on_partition: halt): see liza team status")
    elif done.left is not None and done.left.trip_id is None:
        click.echo(f"still halted by a CHECKPOINT not made by liza; to continue: {removal(board.paths.checkpoint)}")
    elif done.left is not None:
        click.echo(f"still halted by trip {done.left.trip_id}, which is not on the blackboard: run liza analyze,")
        click.echo(f"or, if agents may continue: {removal(board.paths.checkpoint)}")
    elif done.trigger is not None:
        click.echo("agents may continue")
    return 0


def _require_may_resolve(board: Board) -> None:
    """`Refused` on an agents' host of a team."""
    if os.path.isdir(board.paths.team):
        from liza.store.team_files import require_may_resolve  # few blackboards belong to a team

        require_may_resolve(board.paths)
