"""`liza trip`."""

import click

from liza.cli import envelope, show
from liza.cli.group import Call, by_option, plain
from liza.cli.options import person
from liza.schema.severities import SEVERITIES
from liza.scopes.sprint.chosen_evidence import Choice
from liza.scopes.sprint.manual_trip import trip


@click.command("trip")
@click.option("-m", "--message", metavar="TEXT", required=True, help="What is wrong.")
@click.option("--pattern", metavar="RULE", help="The rule that should have matched.")
@click.option(
    "--evidence",
    "selectors",
    metavar="SELECTOR",
    multiple=True,
    help="Its records: 'anomalies[3]', or filters as in a rule; may be repeated. Default: what the rule counts.",
)
@click.option(
    "--severity",
    type=click.Choice(list(SEVERITIES)),
    metavar="SEVERITY",
    help=f"One of {', '.join(SEVERITIES)}; default: that of RULE, else ARCHITECTURE_FLAW.",
)
@by_option
@plain
def command(
    call: Call, message: str, pattern: str | None, selectors: tuple[str, ...], severity: str | None, by: str | None
) -> int:
    """Halt all agents by hand.

    Halts the agents, writes a report and records the trip, as if a rule had matched. With --pattern and --evidence, you
    decide that records are a pattern although the rule counts too few; the decision on the trip then covers them.
    Exit code 3.

    \b
    Examples:
      liza trip -m "the payment sandbox is down, all three are mocking it differently" --severity EXTERNAL_DEPENDENCY
      liza trip -m "the same timeout" --pattern retry_cluster --evidence 'error_pattern =~ "time(out|d out)"'
    """
    board = call.board
    choice = Choice(pattern, selectors, severity, person(by))
    trigger, ours = trip(board, message, call.at, choice)
    if call.as_json:
        envelope.write("trip", "triggered" if ours else "already", trigger=envelope.trigger(trigger))
    else:
        show.trigger(trigger, "TRIGGERED" if ours else "ALREADY TRIGGERED")
    return 3
