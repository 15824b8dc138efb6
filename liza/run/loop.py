"""`liza run`: iterations until the work is done or something stops it.

An iteration is recorded before anything else is decided. Then, in this order: completed work ends the run; a person who
stops liza does; an open loop is paused, reported, aborted or handed to the next model; and before the next iteration
liza looks for the files with which people stop agents.
"""

import os
import signal
from contextlib import suppress
from datetime import UTC, datetime
from shlex import quote

from liza.errors import LizaError
from liza.halt import halt_reason
from liza.run import context
from liza.run.completion_checks import read_plan
from liza.run.end import End, Ending
from liza.run.iteration import Done, Workplace, iterate
from liza.run.old_runs import delete_old
from liza.run.open_loop import POLL, OpenLoop
from liza.run.plan import Plan
from liza.run.state import RunState
from liza.run.stuck import RunSteps, StuckResult
from liza.run.view import View
from liza.scopes.inbox import apply_waiting, record_or_queue
from liza.scopes.loops.files_changed import delete_snapshot
from liza.scopes.loops.record import Iteration, LoopResult, record_iteration
from liza.store.inbox import NotEvaluated
from liza.text import plural


def run_loop(run: RunState, view: View) -> End:
    """Iterate until there is a reason to stop; whatever happens, the session is saved."""
    reason = "liza ended unexpectedly"
    loop = _Loop(run, view)
    try:
        run.save("running")
        view.began(run.job, run.session, run.settings, run.look())
        loop.delete_old_runs()
        loop.check_plan(read_plan(run.job.plan, run.job.optional_sections))
        loop.record_pending()
        run.end = loop.already_open()
        while run.end is None:
            run.end = loop.step()
        return run.end
    except LizaError as error:
        reason = error.message
        raise
    finally:
        with suppress(LizaError):  # the first failure is the one to report
            run.save(run.end.status if run.end else "failed", run.end.reason if run.end else reason)


class _Loop:
    def __init__(self, run: RunState, view: View) -> None:
        self.run, self.view = run, view
        self.when_open = OpenLoop(run, view)
        self.boxes = self.most_boxes = 0  # in the plan: at the last look, and the most there were
        about = {"name": os.environ.get("LIZA_AGENT"), "task": run.job.task, "loop": run.job.loop}
        self.about = {key: value for key, value in about.items() if value is not None}
        self.steps = RunSteps(run.board.paths, run.session.name, self.about)
        self.stuck = StuckResult()  # after the last iteration

    def delete_old_runs(self) -> None:
        run = self.run
        count, limits = delete_old(run.board.paths.runs, run.rules.blocks.get("keep_runs", {}), datetime.now(UTC))
        if count:
            self.view.note(f"{plural(count, 'old run')} deleted ({limits})")

    def already_open(self) -> End | None:
        """A loop that was open before is for a person to close: no run begins with it."""
        loop = self.run.look()
        if not self.run.is_open(loop):
            return None
        reason = f"the loop was open before this run: {loop.reason}; see: {loop.command('status')}"
        return End(Ending.OPEN, reason)

    def step(self) -> End | None:
        """One iteration, or the reason to stop."""
        run = self.run
        if end := self._halted():
            return end
        loop = run.look()
        if run.is_open(loop):
            return self.when_open.handle(loop)
        if run.is_last:
            return End(Ending.STOPPED, f"not completed after {plural(run.here, 'iteration')} (--max {run.job.maximum})")
        page = context.context(
            run.number + 1, run.job.task, run.model, loop, run.tried, run.escalated, self.stuck.warning
        )
        run.session.write_context(page)
        self.view.iterates(run.number + 1, run.last_number(loop), run.model, loop)
        self._begin()
        place = Workplace(run.job, run.session, os.environ, run.interrupts, self.view.outlet, self.most_boxes)
        done = iterate(place, run.number, run.model)
        return self._end_after(done, self._recorded(done))

    def _begin(self) -> None:
        """Save the iteration as cut short, which a later run records if liza is killed now."""
        run = self.run
        run.session.iteration(run.number + 1)
        run.number += 1
        run.pending = Iteration(
            task=run.job.task, outcome="crash", model=run.model, duration=0.0, confidence=0.0, errors=0,
            session=run.session.name,
        )  # fmt: skip
        run.save("running")

    def _recorded(self, done: Done) -> LoopResult:
        self.run.add(done)
        self.check_plan(done.plan)
        self.run.save("running")  # if the blackboard does not take it, a later run records it
        loop = self._record(done.iteration)
        self.run.save("running")
        self.view.recorded(done, loop)
        for each in done.unkept:
            self.view.note(each)
        self._record_calls(done)
        return loop

    def _record_calls(self, done: Done) -> None:
        """What the agent called and used, as far as its output says."""
        try:
            self.stuck = self.steps.add(done)
        except OSError as error:
            self.view.note(f"the steps of session {self.run.session.name} could not be written: {error.strerror}")
        for text in filter(None, self.stuck):
            self.view.note(text)

    def check_plan(self, plan: Plan | None) -> None:
        """Report boxes that are gone from the plan: they count as open until a person ends the run."""
        if plan is None:
            return
        if plan.boxes < self.boxes:
            lost = self.boxes - plan.boxes
            left = f"{plan.boxes} of {self.boxes} left"
            self.view.note(f"the plan lost {lost} box{'es'[: 2 * (lost != 1)]}, which count as open: {left}")
        self.boxes = plan.boxes
        self.most_boxes = max(self.most_boxes, plan.boxes)

    def _record(self, iteration: Iteration) -> LoopResult:
        run = self.run
        try:
            at = run.board, run.job.loop, iteration, run.rules, run.settings, datetime.now(UTC)
            loop = record_or_queue(record_iteration(*at))
        except NotEvaluated:
            run.pending = None  # it waits in the inbox: a later run must not record it again
            raise
        delete_snapshot(run.board.paths, run.job.loop)
        run.pending = None
        return loop

    def record_pending(self) -> None:
        """Record what an earlier run could not, unless that was killed right after it had."""
        run = self.run
        if run.pending is not None:
            apply_waiting(run.board)  # where it may wait, if the run was killed right after that
            entries = run.look().loop.get("iterations") or [{}]
            fields = run.pending.fields(datetime.now(UTC))
            del fields["timestamp"]
            if not fields.items() <= entries[-1].items():
                self._record(run.pending)
            run.pending = None

    def _end_after(self, done: Done, loop: LoopResult) -> End | None:
        if loop.completed:
            return End(
                Ending.COMPLETED,
                "the work is done, and there is evidence for it" if done.evidence.results else "progress is 100 %",
            )
        if done.ran.stopped and self.run.interrupts.number is None:
            return End(Ending.STOPPED, "standard output was closed")
        if self.run.interrupts.number is not None:
            return self._interrupted()
        if self.run.is_open(loop):
            return self.when_open.handle(loop)
        return End(Ending.OPEN, f"the agent is stuck: {self.stuck.stop}") if self.stuck.stop else None

    def _halted(self) -> End | None:
        """The files and signals with which people stop agents. PAUSE is waited for."""
        paths = self.run.board.paths
        announced = False
        while True:
            if self.run.interrupts.number is not None:
                return self._interrupted()
            if os.path.lexists(paths.abort):
                abort = os.path.relpath(paths.abort)
                return End(Ending.STOPPED, f"{abort} exists; to continue: rm {quote(abort)}")
            if os.path.lexists(paths.checkpoint) and (held := halt_reason(paths.folder)):
                checkpoint = os.path.relpath(paths.checkpoint)
                return End(Ending.CHECKPOINT, f"{checkpoint} exists: all agents are halted; {held[1]}")
            if not os.path.lexists(paths.pause):
                return None
            if not announced:
                self.view.note(f"{os.path.relpath(paths.pause)} exists: waiting until it is removed")
                announced = True
            self.run.interrupts.wait(POLL)

    def _interrupted(self) -> End:
        number = self.run.interrupts.number
        return End(Ending.INTERRUPTED, f"by {signal.Signals(number).name}" if number else "")
