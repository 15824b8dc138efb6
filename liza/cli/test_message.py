"""`liza watch --test-message`: whether people would be reached, tried before the night in which they should be."""

import os
from datetime import UTC, datetime
from typing import Any

import click

from liza.cli import envelope, show
from liza.errors import LizaError, Refused
from liza.model import format_time
from liza.notify.message import Message, NotSent
from liza.notify.targets import Target, read_targets, unique_name
from liza.scopes.rules_file import read_rules
from liza.store.board import Board
from liza.store.paths import Paths
from liza.text import one_line

_HINT = "add a target to .liza/rules.yaml, for example:  notify: {desktop: true}   (see docs/operations.md)"


def run(paths: Paths, as_json: bool) -> int:
    """Send one message to every target, and print the result of each; 1 if one failed."""
    project = os.path.dirname(os.path.abspath(paths.folder))
    places, faults = read_targets(read_rules(paths.rules).notify, _config(paths), project)
    if not places and not faults:
        raise Refused("no notifications are set up: notify: names no target", hint=_HINT)
    name = one_line(os.path.basename(project))
    text = "A test: you will be notified here when agents are halted."
    message = Message("test", f"liza: test in {name}", text, format_time(datetime.now(UTC)), project)
    outcome: dict[str, str | None] = {}
    for place in places:
        outcome[one_line(unique_name(place, outcome), 200)] = _send(place, message)
    failed = [why for why in outcome.values() if why is not None]
    if as_json:
        problems = [{"message": fault.message, "hint": fault.hint} for fault in faults]
        sent = [{"place": called, "sent": why is None, "why": why} for called, why in outcome.items()]
        envelope.write("watch", "not sent" if failed or faults else "sent", problems, places=sent)
    else:
        for called, why in outcome.items():
            click.echo(f"{called}: " + (click.style("sent", fg="green") if why is None else show.bold(why, "red")))
        show.warnings(f"{fault.message}" + (f" ({fault.hint})" if fault.hint else "") for fault in faults)
    return 1 if failed or faults else 0


def _config(paths: Paths) -> Any:
    try:
        return Board(paths).read().data.get("config")
    except LizaError:
        return None  # the rest can be tried all the same


def _send(place: Target, message: Message) -> str | None:
    try:
        place.send(message)
    except NotSent as error:
        return error.why
    return None
