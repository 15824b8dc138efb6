"""The menu of a run whose loop is open."""

import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from liza.run import context
from liza.run.open_loop import POLL
from liza.run.state import RunState
from liza.run.view import Choice
from liza.text import printable

if TYPE_CHECKING:
    from liza.cli.run_output import Plain


class Menu:
    """Ask what to do about an open loop until there is an answer or nothing to ask about."""

    TEXT = """
Options:
  [c] Continue (reset counter)
  [s] Skip task (mark as blocked, and end this run)
  [a] Abort run
  [r] Retry with different model
  [h] Get help (show context)
"""

    def __init__(self, view: "Plain", run: RunState, is_over: Callable[[], bool]) -> None:
        self.view, self.run, self.is_over = view, run, is_over

    def choose(self) -> Choice | None:
        """The decision; None if the loop is no longer open, or the person has gone."""
        _forget_typed()
        self.view.line(self.TEXT)
        while True:
            answer = self._asked("Choice: ")
            letter = (answer or "").strip().lower()[:1]
            if answer is None:
                return None
            if letter == "c":
                return Choice("continue")
            if letter == "a":
                return Choice("abort")
            if letter == "s":
                if self.run.job.task is not None:
                    return Choice("skip")
                self.view.line("no task was named with --task, so there is none to mark as blocked")
            elif letter == "r":
                model = self._model()
                if model is not None:
                    return Choice("retry", model)
            elif letter == "h":
                self._help()
            else:
                self.view.line("expected c, s, a, r or h")

    def _model(self) -> str | None:
        next_one = self.run.progression.following()
        following = None if next_one is None else next_one.model
        known = ", ".join(map(printable, self.run.settings.models))
        default = f" [{printable(following)}]" if following else ""
        answer = self._asked(f"Model ({known}){default}: ")
        return None if answer is None else answer.strip() or following

    def _help(self) -> None:
        run = self.run
        page = context.context(run.number + 1, run.job.task, run.model, run.look(), run.tried, run.escalated)
        self.view.line("\n" + page)
        self.view.line(f"output: {printable(os.path.relpath(run.session.iteration(run.number)))}/output.log")

    def _asked(self, prompt: str) -> str | None:
        """A line that is typed; None where there is nothing left to ask about."""
        click.echo(prompt, nl=False, err=True)
        typed = b""
        while not typed.endswith(b"\n"):
            if self.is_over():
                self.view.line("")
                return None
            ready, _, _ = select.select([sys.stdin.fileno(), self.run.interrupts.wakes], [], [], POLL)
            if sys.stdin.fileno() in ready:
                piece = os.read(sys.stdin.fileno(), 4096)
                if not piece:
                    self.view.can_ask = False
                    self.view.line("")
                    return None
                typed += piece
        return typed.decode(errors="replace")


def _forget_typed() -> None:
    """What was typed while the agent ran was not meant as an answer."""
    import termios

    with suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
