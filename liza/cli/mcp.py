"""`liza mcp`."""

import gc

import click

from liza.cli.group import common, root_of
from liza.extras import require_extra


@click.command("mcp")
@common
@click.pass_context
def command(ctx: click.Context) -> int:
    """Serve tools for agents over MCP, on standard input and output.

    A coding agent starts it, with what `liza install CLIENT --mcp` puts into its settings. Its tools report anomalies,
    record attempts and rounds of review, and show the status and earlier decisions; none resolves anything.

    \b
    Examples:
      liza install claude --mcp
      liza mcp --root shop
    """
    require_extra("mcp", "liza mcp")
    from liza.mcp.server import serve

    gc.enable()  # unlike other commands this one runs for long
    serve(root_of(ctx))
    return 0
