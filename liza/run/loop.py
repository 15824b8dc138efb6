"""`liza run`: iterations until the work is done or something stops it.

An iteration is recorded before anything else is decided. Then, in this order: work that is done ends the run; a
person who stops liza does; an open loop is paused, reported, aborted or handed to the next model; and before the next
iteration the files are looked for with which people stop agents.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from shlex import quote
from typing import Any

from liza.errors import LizaError, Refused, Unreadable
from liza.halt import halt_reason
from liza.model import parse_time
from liza.rules.evaluate import RuleSet
from liza.run import context
from liza.run.block_task import block, title_of
from liza.run.context import Tried
from liza.run.evidence import read_plan
from liza.run.iteration import Done, Workplace, iterate
from liza.run.job import Job, Session
from liza.run.models import PLACEHOLDER, Progression
from liza.run.plan import Plan
from liza.run.process import Interrupts
from liza.run.view import Choice, End, Totals, View
from liza.scopes.inbox import enter_waiting, record_or_queue
from liza.scopes.loops import states
from liza.scopes.loops.fields import OPEN, status_of
from liza.scopes.loops.files_changed import delete_snapshot
from liza.scopes.loops.record import Iteration, LoopResult, read_loop, record_iteration, reset_loop
from liza.scopes.loops.settings import Settings
from liza.store import versions
from liza.store.board import Board
from liza.store.inbox import NotEvaluated
from liza.text import plural
from liza.toolerrors.errors import Error

POLL = 0.25  # seconds between two looks at the blackboard while we wait
_LOOK = 2.0  # seconds after which also an unchanged blackboard is looked at: the cooldown may be over
AUTOMATIC = "liza run"  # who closes a loop where no person does
_REMEMBERED = 20  # iterations, for the context


class Run:
    """A run in progress."""

    def __init__(
        self, board: Board, rules: RuleSet, settings: Settings, job: Job, session: Session,
        interrupts: Interrupts, view: View, by: str,
    ) -> None:  # fmt: skip
        self.board, self.rules, self.settings = board, rules, settings
        self.job, self.session, self.interrupts, self.view, self.by = job, session, interrupts, view, by
        self.number = 0  # of the last iteration in this session
        self.here = 0  # iterations of this call
        self.unattended = 0  # iterations since a person decided about this loop
        first = settings.models[0] if self._needs_model() and settings.models else None
        self.progression = Progression(settings.models).chosen(job.model or first)
        self.totals = Totals()
        self.tried: list[Tried] = []
        self.boxes: int | None = None  # in the plan, at the last look
        self.escalated: str | None = None  # what the next model gets to read
        self.pending: Iteration | None = None  # an iteration that could not be recorded
        self.started = datetime.now(UTC)
        self.end: End | None = None
        self._looked: Any = None  # the version of the blackboard that was looked at last, and when

    def _needs_model(self) -> bool:
        return self.settings.action == "escalate" or any(PLACEHOLDER in word for word in self.job.command)

    @property
    def model(self) -> str | None:
        return self.progression.model

    # --- what is kept between two calls -----------------------------------------------------------------------------

    def save(self, status: str, reason: str = "") -> None:
        """All that a later run needs to continue from here."""
        error = None if self.pending is None or self.pending.error is None else self.pending.error._asdict()
        pending = None if self.pending is None else {**self.pending._asdict(), "error": error}
        self.session.save(
            {
                "status": status,
                "reason": reason,
                "job": self.job.dump(),
                "model": self.model,
                "model_place": self.progression.place,
                "iterations": self.number,
                "started": self.started,
                "updated": datetime.now(UTC),
                "totals": self.totals._asdict(),
                "escalated": self.escalated,
                "tried": [each._asdict() for each in self.tried],
                "pending": pending,
            }
        )

    def resume(self, facts: Mapping[str, Any]) -> None:
        """Go on where a session stopped; an iteration that could not be recorded then is recorded now."""
        try:
            self._resume(facts)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            hint = "start a new run: liza run ... -- COMMAND"
            raise Refused(f"the session cannot be resumed: {error!r}", hint=hint, file=self.session.folder) from None

    def _resume(self, facts: Mapping[str, Any]) -> None:
        self.number = int(facts["iterations"])
        self.started = parse_time(facts["started"]) or self.started
        is_new = self.job.model != Job.load(facts["job"]).model
        model, place = (self.job.model, None) if is_new else (facts["model"], facts.get("model_place"))
        self.progression = Progression(self.settings.models).chosen(model, place if type(place) is int else None)
        self.totals = Totals(**facts["totals"])
        self.tried = [context.loaded(each) for each in facts["tried"]]
        self.escalated = facts["escalated"]
        if facts["pending"] is not None:
            error = facts["pending"]["error"]
            self.pending = Iteration(**{**facts["pending"], "error": None if error is None else Error(**error)})

    # --- the loop itself --------------------------------------------------------------------------------------------

    def go(self) -> End:
        """Iterate until there is a reason to stop; whatever happens, the session is saved."""
        reason = "liza ended unexpectedly"
        try:
            self.save("running")
            self.view.began(self.job, self.session, self.settings)
            self._look_at(read_plan(self.job.plan, self.job.optional_sections))
            self._record_pending()
            self.end = self._already_open()
            while self.end is None:
                self.end = self._step()
            return self.end
        except LizaError as error:
            reason = error.message
            raise
        finally:
            with suppress(LizaError):  # the first failure is the one to report
                self.save(self.end.status if self.end else "failed", self.end.reason if self.end else reason)

    def _already_open(self) -> End | None:
        """A loop that was open before is for a person to close: no run begins with it."""
        state = self.look()
        if not self._is_open(state):
            return None
        return End("open", 3, f"loop {state.name} is OPEN: {state.reason}; {state.ways_on}")

    def _step(self) -> End | None:
        """One turn: an iteration, or a reason to stop."""
        if end := self._halted():
            return end
        state = self.look()
        if self._is_open(state):
            return self._stuck(state)
        if self._is_last():
            return End(
                "stopped", 1, f"{plural(self.here, 'iteration')}, and it is not completed (--max {self.job.maximum})"
            )
        self._write_context(state)
        self.view.iterates(self.number + 1, self.model, state)
        self._begin()
        place = Workplace(self.job, self.session, os.environ, self.interrupts, self.view.outlet)
        done = iterate(place, self.number, self.model)
        return self._decided(done, self._recorded(done))

    def _begin(self) -> None:
        """Should liza itself be killed now, a later run records that the iteration was cut short."""
        self.session.iteration(self.number + 1)
        self.number += 1
        self.pending = Iteration(
            task=self.job.task, outcome="crash", model=self.model, duration=0.0, confidence=0.0, errors=0,
            session=self.session.name,
        )  # fmt: skip
        self.save("running")

    def _is_last(self) -> bool:
        return self.job.maximum is not None and self.here >= self.job.maximum

    def _recorded(self, done: Done) -> LoopResult:
        self.here += 1
        self.unattended += 1
        self.tried = [*self.tried, done.tried()][-_REMEMBERED:]
        self._look_at(done.plan)
        self.totals = self.totals.plus(done)
        self.pending = done.iteration
        self.save("running")  # should the blackboard not take it, a later run will record it
        state = self._record(done.iteration)
        self.save("running")
        self.view.recorded(done, state)
        for each in done.unkept:
            self.view.says(each)
        return state

    def _look_at(self, plan: Plan | None) -> None:
        """Say when boxes are gone from the plan: an open item that was deleted is as good as ticked."""
        boxes = None if plan is None else plan.total + plan.optional
        if boxes is not None and self.boxes is not None and boxes < self.boxes:
            self.view.says(f"the plan has {self.boxes - boxes} boxes less than before: {boxes} of {self.boxes}")
        self.boxes = boxes if boxes is not None else self.boxes

    def _record(self, iteration: Iteration) -> LoopResult:
        now = datetime.now(UTC)
        try:
            at = self.board, self.job.loop, iteration, self.rules, self.settings, now
            state = record_or_queue(record_iteration(*at))
        except NotEvaluated:
            self.pending = None  # it waits in the inbox: a later run must not record it again
            raise
        delete_snapshot(self.board.paths, self.job.loop)
        self.pending = None
        return state

    def _record_pending(self) -> None:
        """What an earlier run could not record, unless it was killed right after it had."""
        if self.pending is not None:
            enter_waiting(self.board)  # where it may wait, if the run was killed right after that
            entries = self.look().loop.get("iterations") or [{}]
            said = self.pending.fields(datetime.now(UTC))
            del said["timestamp"]
            if not said.items() <= entries[-1].items():
                self._record(self.pending)
            self.pending = None

    def _decided(self, done: Done, state: LoopResult) -> End | None:
        if state.completed:
            return End("completed", 0, "the work is done, and there is evidence for it")
        if done.ran.stopped and self.interrupts.number is None:
            return End("stopped", 1, "the reader of the output has gone")
        if self.interrupts.number is not None:
            return self._interrupted()
        return self._stuck(state) if self._is_open(state) else None

    def look(self) -> LoopResult:
        """The loop as it is now."""
        return read_loop(self.board, self.job.loop, self.rules, self.settings, datetime.now(UTC))

    def stuck(self) -> LoopResult | None:
        """The loop, if it is open now, so that no run continues before it is closed."""
        with suppress(LizaError):
            state = self.look()
            return state if self._is_open(state) else None
        return None

    def _is_open(self, state: LoopResult) -> bool:
        return state.status == OPEN and not self.settings.disabled

    def _write_context(self, state: LoopResult) -> None:
        number, task = self.number + 1, self.job.task
        self.session.write_context(context.context(number, task, self.model, state, self.tried, self.escalated))

    # --- what stops it ----------------------------------------------------------------------------------------------

    def _halted(self) -> End | None:
        """The files and signals with which people stop agents. PAUSE is waited for."""
        paths = self.board.paths
        announced = False
        while True:
            if self.interrupts.number is not None:
                return self._interrupted()
            if os.path.lexists(paths.abort):
                abort = os.path.relpath(paths.abort)
                return End("stopped", 1, f"{abort} exists; to continue: rm {quote(abort)}")
            if os.path.lexists(paths.checkpoint) and (held := halt_reason(paths.folder)):
                checkpoint = os.path.relpath(paths.checkpoint)
                return End("checkpoint", 3, f"{checkpoint} is there: all agents stop; {held[1]}")
            if not os.path.lexists(paths.pause):
                return None
            if not announced:
                self.view.says(f"{os.path.relpath(paths.pause)} is there: waiting until it is removed")
                announced = True
            self.interrupts.wait(POLL)

    def _interrupted(self) -> End:
        number = self.interrupts.number
        return End("interrupted", 130, f"by {signal.Signals(number).name}" if number else "")

    # --- a loop that is open ----------------------------------------------------------------------------------------

    def _stuck(self, state: LoopResult) -> End | None:
        """Do about an open loop what was asked for; None where the run goes on."""
        errors = next((each.errors for each in reversed(self.tried) if each.errors), ())
        self.view.tripped(state, self._task(), errors[0] if errors else None)
        if state.opened:
            self.view.notify(state)
        action, is_final = self.settings.action, states.needs_reset(state.loop)
        if self._is_last() and action != "abort":
            return End("open", 3, state.reason)  # no iteration is left
        if action == "alert" and not is_final and self.unattended < self.settings.absolute_max_loops:
            self._close_automatically(state, "reported, and continuing (--on-stagnation alert)")
            return None
        if action == "abort":
            return self.give_up(state, skip=True)
        if action == "alert":
            self.view.says(f"{self.unattended} iterations without a decision by a person: pausing (absolute_max_loops)")
        if action == "escalate" and not is_final and self._escalate(state):
            return None
        return self._pause(state)

    def _task(self) -> str | None:
        """The task with its words, if it is on the blackboard."""
        if self.job.task is None:
            return None
        title = title_of(self.board.read().data.get("tasks"), self.job.task)
        return f'{self.job.task} "{title}"' if title else self.job.task

    def _close(self, state: LoopResult, why: str) -> None:
        """Reset the loop, as the person at the terminal decided."""
        reset_loop(self.board, state.name, why, self.by, self.rules, self.settings, datetime.now(UTC))

    def _close_automatically(self, state: LoopResult, why: str) -> None:
        """Reset the loop without a person: the log must not name one."""
        now = datetime.now(UTC)
        reset_loop(self.board, state.name, why, AUTOMATIC, self.rules, self.settings, now, how="automatic")

    def _escalate(self, state: LoopResult) -> bool:
        """Hand over to the next model; False where there is none, or it is not wanted."""
        following = self.progression.following()
        if self.settings.escalation and following is not None:
            self._retry(state, following, self._close_automatically)
            return True
        if not self.settings.escalation:
            why = "escalation is not enabled"
        else:
            why = f"there is no further model after {self.model}"
        self.view.says(f"{why}: pausing")
        return False

    def _retry(self, state: LoopResult, progression: Progression, close: Callable[[LoopResult, str], None]) -> None:
        """Try again with another model, which gets a report of what happened."""
        model = progression.model
        self.escalated = f"The loop was stuck with {self.model or 'another model'}: {state.reason}"
        self.view.says(f"trying again with {model} after {self.model or 'the command'}: {state.reason}")
        close(state, f"trying again with {model}: {state.reason}")
        self.progression = progression

    def give_up(self, state: LoopResult, *, skip: bool) -> End:
        """Stop, with the loop left open; with `skip` its task is marked as blocked."""
        if skip:
            reason = f"loop {state.name}: {state.reason}"
            why = "no task was named with --task, so none is marked as blocked"
            if self.job.task is not None:
                why = block(self.board, self.job.task, reason, datetime.now(UTC)) or ""
            self.view.says(why or f"task {self.job.task} is marked as BLOCKED")
        return End("open", 3, state.reason)

    def _pause(self, state: LoopResult) -> End | None:
        """Ask, or wait until the loop is closed."""
        self.unattended = 0
        self.save("paused", state.reason)
        self._looked = None
        if self.view.can_ask:
            choice = self.view.choose(self, lambda: self._has_moved(cooled=False))
            if choice is not None:
                return self._chosen(choice, state)
        if not self.view.can_ask:
            self.view.says(f"paused; {state.ways_on}")
        self._looked = None
        while not self._has_moved():
            self.interrupts.wait(POLL)
        with suppress(Unreadable):  # the next turn reports that
            now = self.look()
            if not self._is_open(now):
                self.view.continues(now, states.last_decision(now.loop))
        return None  # the next turn sees what it is

    def _chosen(self, choice: Choice, state: LoopResult) -> End | None:
        if choice.what == "continue":
            self._close(state, "continued from the menu")
            return None
        if choice.what == "retry" and choice.model is not None:
            self._retry(state, self.progression.chosen(choice.model), self._close)
            return None
        return self.give_up(state, skip=choice.what == "skip")

    def _has_moved(self, *, cooled: bool = True) -> bool:
        """Whether there is something else to do than to wait for this loop.

        Without `cooled` only if a person made it so: a menu is not left because time has passed.
        """
        paths = self.board.paths
        if self.interrupts.number is not None or any(map(os.path.lexists, (paths.abort, paths.checkpoint))):
            return True
        looked = (_version(paths.state), int(time.monotonic() / _LOOK))
        if looked == self._looked:
            return False
        self._looked = looked
        try:
            state = self.look()
            return not self._is_open(state if cooled else state._replace(status=status_of(state.loop)))
        except Unreadable:
            return False  # until it can be read again, the loop counts as open


def _version(path: str) -> versions.Identity | None:
    try:
        return versions.identity(os.stat(path))
    except OSError:
        return None
