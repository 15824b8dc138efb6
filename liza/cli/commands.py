"""Which commands there are. `liza --help` is printed from this table, so that it imports none of them."""

from typing import NamedTuple


class Command(NamedTuple):
    """Where a command lives: `module` is loaded when it is called, and has a click command called `command`."""

    name: str
    group: str
    module: str
    help: str


COMMANDS = (
    Command("log", "recording", "liza.cli.log", "Put an anomaly or a log entry on the blackboard."),
    Command("init", "setting up", "liza.cli.init", "Make a blackboard in this folder."),
    Command("validate", "setting up", "liza.cli.validate", "Check the blackboard and list all that is wrong with it."),
)
GROUPS = ("watching", "deciding", "recording", "rules", "setting up")
