"""`liza claim`: its commands, each in a module of its own."""

import click

from liza.cli.claim import read, record, resolve
from liza.cli.group import Family, common


@click.group("claim", cls=Family)
@common
def command() -> None:
    """Record the review of claims; freeze one that is in dispute.

    \b
    Examples:
      liza claim list
      liza claim show C-001
    """


for _module in (record, resolve, read):
    for _command in _module.COMMANDS:
        command.add_command(_command)
