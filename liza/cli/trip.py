"""`liza trip`."""

import click

from liza.cli import envelope, show
from liza.cli.group import Call, plain
from liza.schema.severities import SEVERITIES
from liza.scopes.sprint.manual_trip import trip


@click.command("trip")
@click.option("-m", "--message", metavar="TEXT", required=True, help="What is wrong.")
@click.option(
    "--severity",
    type=click.Choice(list(SEVERITIES)),
    default="ARCHITECTURE_FLAW",
    show_default=True,
    help="What is at fault.",
)
@plain
def command(call: Call, message: str, severity: str) -> int:
    """Halt all agents by hand.

    Halts the agents, writes a report and records the trip, as if a rule had matched. Exit code 3.

    \b
    Examples:
      liza trip -m "the payment sandbox is down, all three are mocking it differently" --severity EXTERNAL_DEPENDENCY
    """
    board = call.board
    trigger, ours = trip(board, message, severity, call.at)
    if call.as_json:
        envelope.write("trip", "triggered" if ours else "already", trigger=envelope.trigger(trigger))
    else:
        show.trigger(trigger, "TRIGGERED" if ours else "ALREADY TRIGGERED")
    return 3
