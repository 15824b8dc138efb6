"""liza, killed at one moment: `python doomed.py MOMENT NUMBER WHEN EPITAPH watch FOLDER ...`.

It runs `liza watch FOLDER ...`. MOMENT and NUMBER are one of those in `steps`, or "sending" and "sent", which are about
the message of a trip. WHEN says from when on steps are counted: "at once", or "when it changes", after another program
has written the blackboard. Where it was killed is written to the file EPITAPH.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

from liza.cli import main
from liza.notify.message import Message
from liza.notify.webhook import Webhook
from liza.store import rotating_log
from liza.store.versions import identity
from tests.faults import steps

MOMENTS = {"before": steps.before, "half_way": steps.half_way}


class Doom:
    """Kills the process once, at the given moment."""

    def __init__(self, moment: str, number: int, when: str, epitaph: str, state: str) -> None:
        self.moment = moment
        self._epitaph = epitaph
        self._state = state
        self._is_it = MOMENTS[moment](number) if moment in MOMENTS else lambda step: False
        self._first = identity(os.stat(state)) if when == "when it changes" else None

    def __call__(self, step: steps.Step, call: Callable[[], Any]) -> Any:
        if identity(os.stat(self._state)) != self._first and self._is_it(step):
            self.die(f"{step.number} {step.name} {os.path.basename(str(step.arguments[:1]))[:60]}")
        return call()

    def die(self, where: str) -> None:
        with open(self._epitaph, "w") as file:
            file.write(where)
        steps.die()


def at_the_message(doom: Doom) -> None:
    """Just before a message leaves, or as soon as it has arrived."""
    send = Webhook.send

    def doomed(self: Webhook, message: Message) -> None:
        if doom.moment == "sending":
            doom.die("the message")
        send(self, message)
        if doom.moment == "sent":
            doom.die("the message")

    setattr(Webhook, "send", doomed)  # noqa: B010 - mypy refuses a plain assignment


if __name__ == "__main__":
    moment, number, when, epitaph, *arguments = sys.argv[1:]
    doom = Doom(moment, int(number), when, epitaph, os.path.join(arguments[1], ".liza", "state.yaml"))
    at_the_message(doom)
    steps.MODULES = (*steps.MODULES, *steps.BREAKER, rotating_log)
    sys.argv = [os.path.join(os.path.dirname(sys.executable), "liza"), *arguments]
    with steps.around_each(doom):
        code = main.main()
    sys.exit(code)
