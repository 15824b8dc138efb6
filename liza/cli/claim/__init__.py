"""`liza claim`: its commands, each in the module of what it is for."""

import click

from liza.cli.claim import deciding, reading, recording
from liza.cli.group import common


@click.group("claim")
@common
def command() -> None:
    """Record the review of claims, and freeze one when its review cannot agree."""


for _module in (recording, deciding, reading):
    for _command in _module.COMMANDS:
        command.add_command(_command)
