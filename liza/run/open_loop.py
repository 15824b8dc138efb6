"""Handle an open loop as `--on-stagnation` asks: pause, report, abort, or hand over to the next model."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from liza.errors import Unreadable
from liza.run.block_task import block, title_of
from liza.run.end import End, Ending
from liza.run.model_progression import Progression
from liza.run.state import RunState
from liza.run.view import Choice, View
from liza.scopes.loops import states
from liza.scopes.loops.fields import status_of
from liza.scopes.loops.record import LoopResult, reset_loop
from liza.store.versions import identity_at

POLL = 0.25  # seconds between two looks at the blackboard while we wait
_LOOK = 2.0  # seconds after which an unchanged blackboard is read too: the cooldown may be over
AUTOMATIC = "liza run"  # who closes a loop without a person


class OpenLoop:
    """What a run does while its loop is open."""

    def __init__(self, run: RunState, view: View) -> None:
        self.run, self.view = run, view
        self._looked: Any = None  # the version of the blackboard that was read last, and when

    def handle(self, loop: LoopResult) -> End | None:
        """Act as it was asked for; None if the run continues."""
        run = self.run
        self.view.tripped(loop, self._task(), self._last_error())
        if loop.opened:
            self.view.notify(loop)
        action, is_final = run.settings.action, states.needs_reset(loop.loop)
        if run.is_last and action != "abort":
            return End(Ending.OPEN, loop.reason)  # no iteration is left
        if action == "alert" and not is_final and run.unattended < run.settings.absolute_max_loops:
            self._close_automatically(loop, "reported, and continuing (--on-stagnation alert)")
            return None
        if action == "abort":
            return self._give_up(loop, skip=True)
        if action == "alert":
            self.view.note(f"{run.unattended} iterations without a decision by a person: pausing (absolute_max_loops)")
        if action == "escalate" and not is_final and self._escalate(loop):
            return None
        return self._pause(loop)

    def _last_error(self) -> str | None:
        """The newest error, with its iteration if it is not that of the last one."""
        tried = self.run.tried
        failed = next((each for each in reversed(tried) if each.errors), None)
        if failed is None:
            return None
        return failed.errors[0] if failed is tried[-1] else f"{failed.errors[0]} (in iteration {failed.number})"

    def _task(self) -> str | None:
        """The task with its title, if it is on the blackboard."""
        task = self.run.job.task
        title = None if task is None else title_of(self.run.board.read().data.get("tasks"), task)
        return f'{task} "{title}"' if title else task

    # --- closing it -------------------------------------------------------------------------------------------------

    def _close(self, loop: LoopResult, why: str) -> None:
        """Reset the loop, as the person at the terminal decided."""
        run = self.run
        reset_loop(run.board, loop.name, why, run.by, run.rules, run.settings, datetime.now(UTC))

    def _close_automatically(self, loop: LoopResult, why: str) -> None:
        """Reset the loop without a person: the log must not name one."""
        run, now = self.run, datetime.now(UTC)
        reset_loop(run.board, loop.name, why, AUTOMATIC, run.rules, run.settings, now, how="automatic")

    def _escalate(self, loop: LoopResult) -> bool:
        """Hand over to the next model; False if there is none, or it is not wanted."""
        following = self.run.progression.following()
        if self.run.settings.escalation and following is not None:
            self._retry(loop, following, self._close_automatically)
            return True
        enabled = self.run.settings.escalation
        why = f"there is no further model after {self.run.model}" if enabled else "escalation is not enabled"
        self.view.note(f"{why}: pausing")
        return False

    def _retry(self, loop: LoopResult, progression: Progression, close: Callable[[LoopResult, str], None]) -> None:
        """Try again with another model, which gets a report of what happened."""
        run, model = self.run, progression.model
        run.escalated = f"The loop was stuck with {run.model or 'another model'}: {loop.reason}"
        self.view.note(f"trying again with {model} after {run.model or 'the command'}: {loop.reason}")
        close(loop, f"trying again with {model}: {loop.reason}")
        run.progression = progression

    def _give_up(self, loop: LoopResult, *, skip: bool) -> End:
        """Stop and leave the loop open; with `skip` its task is marked as blocked."""
        if skip:
            task = self.run.job.task
            why_not = "no task was named with --task, so none is marked as blocked"
            if task is not None:
                why_not = block(self.run.board, task, f"loop {loop.name}: {loop.reason}", datetime.now(UTC)) or ""
            self.view.note(why_not or f"task {task} is marked as BLOCKED")
        return End(Ending.OPEN, loop.reason)

    # --- waiting for a person ---------------------------------------------------------------------------------------

    def _pause(self, loop: LoopResult) -> End | None:
        """Ask, or wait until the loop is closed."""
        run = self.run
        run.unattended = 0
        run.save("paused", loop.reason)
        self._looked = None
        if self.view.can_ask:
            choice = self.view.choose(run, lambda: self._has_changed(cooled=False))
            if choice is not None:
                return self._chosen(choice, loop)
        if not self.view.can_ask:
            self.view.note(f"paused; {loop.how_to_continue}")
        self._looked = None
        while not self._has_changed():
            run.interrupts.wait(POLL)
        with suppress(Unreadable):  # the next turn reports that
            now = run.look()
            if not run.is_open(now):
                self.view.continues(now, states.last_decision(now.loop))
        return None  # the next turn reads the loop again

    def _chosen(self, choice: Choice, loop: LoopResult) -> End | None:
        if choice.what == "continue":
            self._close(loop, "continued from the menu")
            return None
        if choice.what == "retry" and choice.model is not None:
            self._retry(loop, self.run.progression.chosen(choice.model), self._close)
            return None
        return self._give_up(loop, skip=choice.what == "skip")

    def _has_changed(self, *, cooled: bool = True) -> bool:
        """Whether the loop is closed, or something else stops the run.

        Without `cooled` only if a person closed it: a menu is not left because time has passed.
        """
        run, paths = self.run, self.run.board.paths
        if run.interrupts.number is not None or any(map(os.path.lexists, (paths.abort, paths.checkpoint))):
            return True
        looked = (identity_at(paths.state), int(time.monotonic() / _LOOK))
        if looked == self._looked:
            return False
        self._looked = looked
        try:
            loop = run.look()
            return not run.is_open(loop if cooled else loop._replace(status=status_of(loop.loop)))
        except Unreadable:
            return False  # until it can be read again, the loop counts as open
