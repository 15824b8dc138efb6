"""How a run is shown: a live line on a terminal, plain lines elsewhere, JSON where a program reads."""

import os
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from liza.cli import envelope, loop_record, show
from liza.clients.caller import agent_sign
from liza.halt import trip_id_of
from liza.model import Path, format_time, span_text
from liza.run.context import described
from liza.run.end import Ending
from liza.run.interrupts import Interrupts
from liza.run.iteration import Done
from liza.run.job import Job, Session
from liza.run.model_progression import PLACEHOLDER, VARIABLE, takes_model
from liza.run.process import Outlet
from liza.run.state import RunState
from liza.run.view import Choice
from liza.schema.loop_statuses import CLOSED, HALF_OPEN, OPEN
from liza.scopes.loops import states
from liza.scopes.loops.derived import stagnant_streak
from liza.scopes.loops.record import LoopResult
from liza.scopes.loops.settings import Settings
from liza.store.paths import Paths
from liza.text import of_text, plural, printable

if TYPE_CHECKING:
    from liza.notify.sender import Sender

COLOURS = {OPEN: "red", HALF_OPEN: "yellow", CLOSED: "green"}


class Plain:
    """The agent's output on standard output, unchanged; what liza has to say on standard error, a line each."""

    def __init__(self, settings: Settings, paths: Paths, interrupts: Interrupts) -> None:
        self.settings, self.paths, self.interrupts = settings, paths, interrupts
        self.can_ask = _is_asked() and agent_sign(paths) is None
        self.outlet = Outlet(through=sys.stdout.fileno())
        self._sender: Sender | None = None
        self._is_unmeasured = False  # and that was reported

    def line(self, text: str) -> None:
        with suppress(OSError):  # no reader; the run itself notices by its own output
            click.echo(text, err=True)

    def note(self, text: str) -> None:
        self.line(f"liza run: {printable(text)}")

    def began(self, job: Job, session: Session, settings: Settings, state: LoopResult) -> None:
        command = show.short(shlex.join(job.command), 100)
        self.line(f"{show.bold('liza run')}  loop {printable(job.loop)}, run {session.name}: {command}")
        off = " (turned off)" if settings.disabled else ""
        self.line(f"  Circuit breaker: {_styled(state.status)}{off}")
        own = f", {job.maximum} in this run" if job.maximum is not None else ""
        limits = f"{settings.max_loops_no_progress} without progress, {settings.absolute_max_loops} in all"
        self.line(f"  Max loops: {limits}{own}")
        if not job.has_evidence:
            self.line(
                f"{show.bold('!', 'yellow')} no evidence option (--verify, --require, --plan, --test): the run "
                "ends only at 100% progress, --max, a halt or a trip"
            )
        if job.plan is not None and not os.path.exists(job.plan):
            self.line(f"{show.bold('!', 'yellow')} the plan does not exist yet: {printable(job.plan)}")
        escalates = settings.action == "escalate" and settings.escalation
        if (escalates or self.can_ask) and not takes_model(job.command, job.cwd):
            who = "escalate" if escalates else "[r] of the menu"
            self.line(
                f"{show.bold('!', 'yellow')} the command mentions neither {PLACEHOLDER} nor {VARIABLE}: {who} would "
                "run the same model again"
            )

    def iterates(self, number: int, last: int | None, model: str | None, state: LoopResult) -> None:
        self.line(show.bold(loop_text(number, last)) + (f" ({printable(model)})" if model else ""))

    def recorded(self, done: Done, state: LoopResult) -> None:
        took = span_text(timedelta(seconds=done.ran.seconds))
        words = "completed" if state.completed else _styled(state.status)
        self.line(f"{show.bold(loop_text(done.number))}: {described(done.tried())}, {took}, {words}")
        if done.claims_complete and not state.completed:
            self._not_accepted(done)
        if done.paths is None and not self._is_unmeasured:
            self._is_unmeasured = True
            self.line(
                f"  {show.bold('!', 'yellow')} not a git worktree: file changes are not measured "
                "(git init, or --workdir DIR)"
            )
        for text in loop_record.warnings(state, self.settings):
            self.line(f"  {show.bold('!', 'yellow')} {text}")
        if near := loop_record.near_tripping(state):
            rules = ", ".join(f"{each.rule} {of_text(each.value, each.threshold)}" for each in near)
            self.line(f"  close to tripping: {rules}")

    def _not_accepted(self, done: Done) -> None:
        faults = done.evidence.faults
        unchecked = "nothing to check it with (--verify, --test, --plan, --require)"
        why = show.short(faults[0].partition("\n")[0], 200) if faults else unchecked
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        self.line(f"  claims done; not accepted: {why}{more}")

    def tripped(self, state: LoopResult, task: str | None, error: str | None) -> None:
        """As the protocol shows it: what, which task, and the last error."""
        self.line(f"{show.bold('[STAGNATION DETECTED]', 'red')} {show.short(state.reason, 200)}")
        self.line(f"Loop: {printable(state.name)}, after {state.loop.get('loop_count')} iterations")
        if task is not None:
            self.line(f"Task: {show.short(task, 150)}")
        if error is not None:
            self.line(f"Last error: {show.short(error, 200)}")

    def continues(self, state: LoopResult, decision: states.Decision) -> None:
        """Why a run that was paused continues."""
        by = f" by {decision.by}" if decision.by else ""
        why = f": {decision.why}" if decision.why else ""
        text = f"loop {state.name} is {state.status} ({decision.how}{by}){why}; continuing"
        self.note(show.short(text, 300))

    def notify(self, state: LoopResult) -> None:
        """Notify people of a trip; the daemon, if one runs, does it for the targets in `notify:`."""
        from liza.notify.message import Message

        if self._sender is None:
            self._sender = self._new_sender()
        title = f"liza: loop {state.name} is stuck"
        at = format_time(datetime.now(UTC))
        self._sender.send(Message("tripped", printable(title), printable(state.reason), at, self.paths.folder))

    def _new_sender(self) -> "Sender":
        from liza.notify.sender import Sender
        from liza.notify.targets import read_block, split_faults
        from liza.store.daemon_process import is_daemon_running

        project = os.path.dirname(self.paths.folder)
        blocks: list[tuple[Any, Path]] = [(self.settings.notifications, ("stagnation", "notifications"))]
        if not is_daemon_running(self.paths):
            blocks.append((self.settings.notify, ("notify",)))
        targets, faults = split_faults(each for block, path in blocks for each in read_block(block, project, path))
        for fault in faults:
            self.note(f"rules.yaml: {fault.message}; {fault.hint}")
        sender = Sender(self._report_not_sent)
        sender.set_targets(targets)
        return sender

    def _report_not_sent(self, place: str, why: str | None) -> None:
        if why is not None:
            self.note(f"not delivered: {place}: {why}")

    def choose(self, run: RunState, is_over: Callable[[], bool]) -> Choice | None:
        from liza.cli.run_menu import Menu

        return Menu(self, run, is_over).choose()

    def ended(self, run: RunState) -> None:
        """The outcome, in a few lines."""
        if self._sender is not None:
            self._sender.stop()
        end, totals = run.end, run.totals
        colour = "green" if end is not None and end.code == 0 else "red"
        status = end.status if end is not None else "failed"
        word = show.bold("stopped by the breaker" if status == Ending.OPEN else status, colour)
        reason = f": {show.short(end.reason, 300)}" if end is not None else ""
        self.line(f"{show.bold('liza run')}  {word}{reason}")
        parts = [plural(totals.iterations, "iteration"), span_text(timedelta(seconds=totals.seconds))]
        parts += [f"{plural(totals.files_changed, 'file')} changed"] if totals.files_changed is not None else []
        parts += [f"{totals.tokens:,} tokens"] if totals.tokens else []
        parts += [f"${totals.cost:.2f}"] if totals.cost else []
        if run.tried and run.tried[-1].progress is not None:
            parts.append(f"progress {run.tried[-1].progress:g}%")
        self.line(f"  {', '.join(parts)}")
        self.line(f"  kept in {printable(os.path.relpath(run.session.folder))}/")
        if end is None or end.code != 0:
            stuck = run.open_loop()
            first = f"{stuck.command('reset')} && " if stuck is not None else ""
            if trip_id_of(self.paths.checkpoint) is not None:
                first = f"{show.DECIDE} && {first}"
            self.line(f"  to continue: {first}liza run --resume {run.session.name}")


def loop_text(number: int, last: int | None = None) -> str:
    """The heading of an iteration: `Loop 3 of 10`."""
    return f"Loop {number}" if last is None else f"Loop {number} of {last}"


def _styled(status: str) -> str:
    return click.style(status, fg=COLOURS[status])


def _is_asked() -> bool:
    """Whether a person at a terminal can be asked, who is not busy with another program there."""
    try:
        return sys.stdin.isatty() and sys.stderr.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


class Json(Plain):
    """One object a line for a program to read; the agent's output is only kept."""

    def __init__(self, settings: Settings, paths: Paths, interrupts: Interrupts) -> None:
        super().__init__(settings, paths, interrupts)
        self.outlet = Outlet()
        self.can_ask = False

    def line(self, text: str) -> None:
        pass

    def _write(self, status: str, **fields: Any) -> None:
        envelope.write("run", status, **fields)
        sys.stdout.flush()

    def note(self, text: str) -> None:
        self._write("note", text=text)

    def began(self, job: Job, session: Session, settings: Settings, state: LoopResult) -> None:
        self._write(
            "began",
            loop=job.loop,
            loop_status=state.status,
            session=session.name,
            believes_claims=job.has_evidence,
            takes_model=takes_model(job.command, job.cwd),
        )

    def recorded(self, done: Done, state: LoopResult) -> None:
        self._write(
            "iteration",
            iteration=done.number,
            loop=state.name,
            outcome=done.iteration.outcome,
            progress=done.iteration.progress,
            files_changed=done.iteration.files_changed,
            consecutive_no_progress_loops=stagnant_streak(state.loop, self.settings),
            claims_done=done.iteration.claims_done,
            evidence=dict(done.iteration.evidence),
            loop_status=state.status,
            reason=state.reason,
            completed=state.completed,
        )

    def tripped(self, state: LoopResult, task: str | None, error: str | None) -> None:
        self._write("open", loop=state.name, reason=state.reason, task=task, error=error)

    def continues(self, state: LoopResult, decision: states.Decision) -> None:
        self._write("continued", loop=state.name, loop_status=state.status, **decision._asdict())

    def ended(self, run: RunState) -> None:
        super().ended(run)
        end = run.end
        if end is not None:
            totals = run.totals._asdict()
            self._write(end.status, reason=end.reason, session=run.session.name, loop=run.job.loop, totals=totals)
