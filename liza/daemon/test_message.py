"""One message to every target, tried before the night in which people should be reached."""

import os
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused
from liza.model import Fault, format_time
from liza.notify.message import Message, NotSent, Target
from liza.notify.targets import read_targets, unique_name
from liza.scopes.rules_file import read_rules
from liza.store.board import Board
from liza.store.paths import Paths
from liza.text import one_line

_HINT = "add a target to .liza/rules.yaml, for example:  notify: {desktop: true}   (see docs/operations.md)"


class Sent(NamedTuple):
    outcome: dict[str, str | None]  # by the name of the target: why the message did not arrive
    faults: list[Fault]  # in what rules.yaml and the blackboard have about targets

    @property
    def is_complete(self) -> bool:
        return not self.faults and not any(self.outcome.values())


def send_test_message(paths: Paths, now: datetime) -> Sent:
    """`Refused` where no target is set up."""
    project = paths.project
    targets, faults = read_targets(read_rules(paths.rules).notify, _config(paths), project)
    if not targets and not faults:
        raise Refused("no notifications are set up: rules.yaml has no target under notify:", hint=_HINT)
    name = one_line(os.path.basename(project))
    text = "A test: you will be notified here when agents are halted."
    message = Message("test", f"liza: test in {name}", text, format_time(now), project)
    outcome: dict[str, str | None] = {}
    for target in targets:
        outcome[one_line(unique_name(target, outcome), 200)] = _send(target, message)
    return Sent(outcome, faults)


def _config(paths: Paths) -> Any:
    try:
        return Board(paths).read().data.get("config")
    except LizaError:
        return None  # the rest can still be tried


def _send(target: Target, message: Message) -> str | None:
    try:
        target.send(message)
    except NotSent as error:
        return error.why
    return None
