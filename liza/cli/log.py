"""`liza log anomaly` and `liza log entry`."""

from inspect import cleandoc
from typing import Any

import click

from liza.cli import log_record
from liza.cli.group import Family, common, root_of
from liza.schema import anomalies


@click.group("log", cls=Family)
@common
def command() -> None:
    """Record an anomaly or a log entry.

    \b
    Examples:
      liza log anomaly --type spec_gap --task task-3 --reporter coder-1 spec_ref=specs/import.md
      liza log entry --agent coder-1 --action claimed --task task-3
    """


def _with_types(function: Any) -> Any:
    """The help of the command with the table of the types."""
    rows = "\n".join(f"  {name:<22} {needed}".rstrip() for name, needed, _ in anomalies.rows())
    table = f"Types, and the details that their patterns need:\n{rows}"
    function.__doc__ = cleandoc(function.__doc__).replace("{types}", table)
    return function


@command.command("anomaly")
@click.option("--type", metavar="TYPE", help="One of these types, or your own.")
@click.option("--task", metavar="ID", help="The task it happened on.")
@click.option("--reporter", metavar="NAME", help="The agent that reports it.")
@click.option("--timestamp", metavar="TIME", help="When, in ISO 8601; default: now.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON; without --type, read the record as JSON from standard input."
)
@click.argument("words", metavar="[KEY=VALUE]...", nargs=-1)
@common
@click.pass_context
@_with_types
def anomaly(ctx: click.Context, /, words: tuple[str, ...], as_json: bool, **options: str | None) -> int:
    """Check an anomaly and add it to the blackboard.

    Details are given as KEY=VALUE; KEY=@FILE takes the text of a file, KEY=- that of standard input.

    \b
    {types}

    \b
    Examples:
      liza log anomaly --type retry_loop --task task-3 --reporter coder-1 \\
        count=3 error_pattern="serialization failure on nested entity"
    """
    return log_record.anomaly(root_of(ctx), options, words, as_json)


@command.command("entry")
@click.option("--agent", metavar="NAME", help="Who did it.")
@click.option("--action", metavar="WORD", help="What was done, in a word: claimed, committed, rejected, ...")
@click.option("--task", metavar="ID", help="The task it was done on.")
@click.option("--detail", metavar="TEXT", help="Details; - reads standard input.")
@click.option("--timestamp", metavar="TIME", help="When, in ISO 8601; default: now.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON; without other options, read the entry as JSON from standard input.",
)
@common
@click.pass_context
def entry(ctx: click.Context, /, as_json: bool, **options: str | None) -> int:
    """Add an entry to log.yaml.

    \b
    Examples:
      liza log entry --agent coder-1 --action claimed --task task-3 --detail "starting with the parser"
    """
    return log_record.entry(root_of(ctx), options, as_json)
