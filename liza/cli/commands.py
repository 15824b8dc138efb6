"""Which commands there are. `liza --help` is printed from this table, so that it imports none of them."""

from typing import NamedTuple


class Command(NamedTuple):
    """Where a command is defined: `module` is loaded when it is called, and has a click command called `command`."""

    name: str
    group: str
    module: str
    help: str


COMMANDS = (
    Command("analyze", "watching", "liza.cli.analyze_options", "Check the blackboard for systemic patterns, once."),
    Command("watch", "watching", "liza.cli.watch", "Watch the blackboard, and check it on every change."),
    Command("status", "watching", "liza.cli.status", "Show the breaker, and how close each pattern is to tripping."),
    Command("sessions", "watching", "liza.cli.sessions", "List the agents' sessions of the last day."),
    Command("serve", "watching", "liza.cli.serve", "Serve a live page of the breaker and the sessions."),
    Command("report", "watching", "liza.cli.report", "Print the report on the open trip, or save the page as a file."),
    Command("gate", "watching", "liza.cli.gate_options", "For agents' hooks: may work continue? Exit code 0 or 2."),
    Command("replay", "watching", "liza.cli.replay", "Replay the records: when would each rule have tripped?"),
    Command("stats", "watching", "liza.cli.stats", "Show the trips, false alarms and decision times of each rule."),
    Command("doctor", "watching", "liza.cli.doctor", "Diagnose the setup and suggest fixes."),
    Command("resolve", "deciding", "liza.cli.resolve", "Record the decision on a trip, and let the agents continue."),
    Command("trip", "deciding", "liza.cli.trip", "Halt all agents by hand."),
    Command("session", "deciding", "liza.cli.session", "Stop one session of an agent, or let it continue."),
    Command("silence", "deciding", "liza.cli.silence", "Silence a known match for a few hours."),
    Command("log", "recording", "liza.cli.log", "Record an anomaly or a log entry."),
    Command("loop", "recording", "liza.cli.loop", "Record iterations; stop a loop that makes no progress."),
    Command("run", "recording", "liza.cli.run", "Run an agent in a loop until it is done or stuck."),
    Command(
        "claim",
        "recording",
        "liza.cli.claim",
        "Record the review of claims; freeze one that is in dispute.",
    ),
    Command("stage", "recording", "liza.cli.stage", "Move a pipeline of claims through its stages."),
    Command("attempt", "recording", "liza.cli.attempt", "Record test attempts; stop a slice that makes no progress."),
    Command("rules", "rules", "liza.cli.rules", "List, check, explain and test rules."),
    Command("install", "agents", "liza.cli.install", "Put liza's hook into the settings of a coding agent."),
    Command("ingest", "agents", "liza.cli.ingest", "Import transcripts of sessions that liza did not follow."),
    Command("mcp", "agents", "liza.cli.mcp", "Serve tools for agents over MCP, for a client that starts it."),
    Command("team", "agents", "liza.cli.team", "Share one blackboard between several machines."),
    Command("init", "setting up", "liza.cli.init", "Create a blackboard in this folder."),
    Command("validate", "setting up", "liza.cli.validate", "Check the blackboard and list all errors."),
    Command("completion", "setting up", "liza.cli.completion", "Print the completion script for bash, zsh or fish."),
)
GROUPS = ("watching", "deciding", "recording", "rules", "agents", "setting up")
