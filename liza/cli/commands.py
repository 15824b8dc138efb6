"""Which commands there are. `liza --help` is printed from this table, so that it imports none of them."""

from typing import NamedTuple


class Command(NamedTuple):
    """Where a command lives: `module` is loaded when it is called, and has a click command called `command`."""

    name: str
    group: str
    module: str
    help: str


COMMANDS = (
    Command("analyze", "watching", "liza.cli.analyze", "Check the blackboard for systemic patterns, once."),
    Command("watch", "watching", "liza.cli.watch", "Watch the blackboard, and check it on every change."),
    Command("status", "watching", "liza.cli.status", "Show the breaker, and how close each pattern is to tripping."),
    Command("sessions", "watching", "liza.cli.sessions", "List the agents' sessions of the last day."),
    Command("gate", "watching", "liza.cli.scoped_gate", "For agents' hooks: may work continue? Exit code 0 or 2."),
    Command("replay", "watching", "liza.cli.replay", "Play the records back: when would each rule have tripped?"),
    Command("doctor", "watching", "liza.cli.doctor", "Diagnose the setup and suggest fixes."),
    Command("resolve", "deciding", "liza.cli.resolve", "Record the decision on a trip, and let the agents continue."),
    Command("trip", "deciding", "liza.cli.trip", "Stop the sprint by hand."),
    Command("session", "deciding", "liza.cli.session", "Stop one session of an agent, or let it continue."),
    Command("silence", "deciding", "liza.cli.silence", "Let a known match pass for a few hours."),
    Command("log", "recording", "liza.cli.log", "Put an anomaly or a log entry on the blackboard."),
    Command("loop", "recording", "liza.cli.loop", "Record the iterations of a loop; stop it when it goes nowhere."),
    Command("run", "recording", "liza.cli.run", "Run an agent's command again and again, until it is done or stuck."),
    Command(
        "claim",
        "recording",
        "liza.cli.claim",
        "Record the review of a claim; freeze one on which the parties cannot agree.",
    ),
    Command("stage", "recording", "liza.cli.stage", "Take a pipeline of claims from stage to stage."),
    Command("attempt", "recording", "liza.cli.attempt", "Record attempts at tests; stop a slice that gets nowhere."),
    Command("rules", "rules", "liza.cli.rules", "See the rules, check them, ask why, and try them out."),
    Command("install", "agents", "liza.cli.install", "Put liza's hook into the settings of a coding agent."),
    Command("init", "setting up", "liza.cli.init", "Make a blackboard in this folder."),
    Command("validate", "setting up", "liza.cli.validate", "Check the blackboard and list all that is wrong with it."),
    Command("completion", "setting up", "liza.cli.completion", "Print the completion script for bash, zsh or fish."),
)
GROUPS = ("watching", "deciding", "recording", "rules", "agents", "setting up")
