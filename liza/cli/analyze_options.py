"""The options of `liza analyze`; what it does is in `analyze.py`."""

import click

from liza.cli import analyze
from liza.cli.group import Call, exact_option, rules_option, untimed, window_option


@click.command("analyze")
@click.argument("directory", metavar="[DIR]", required=False)
@click.option("--dry-run", is_flag=True, help="Evaluate only: write nothing, halt no agent.")
@exact_option
@window_option
@rules_option
@click.option("--now", metavar="TIME", help="Evaluate as of this time.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; only set the exit code.")
@untimed
def command(
    call: Call,
    directory: str | None,
    dry_run: bool,
    exact: bool,
    window: str | None,
    rules_file: str | None,
    quiet: bool,
) -> int:
    """Check the blackboard for systemic patterns, once.

    A pattern that matches halts the agents (.liza/CHECKPOINT), writes the report and records the trip on the
    blackboard. Exit code 0 if all is well, 3 if the breaker is open, 4 if it could not be evaluated.

    \b
    Examples:
      liza analyze --dry-run
    """
    given = {"directory": directory, "window": window, "rules": rules_file, "now": call.now}
    flags = {"dry_run": dry_run, "exact": exact, "quiet": quiet}
    return analyze.run(call.root, given | flags, call.as_json)
