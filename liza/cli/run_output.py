"""How a run is shown: a live line on a terminal, plain lines elsewhere, JSON where a program reads."""

import os
import re
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from liza.cli import envelope, show
from liza.clients.caller import agent_sign
from liza.model import format_time
from liza.run.context import described
from liza.run.iteration import Done
from liza.run.job import Job, Session
from liza.run.loop import Run
from liza.run.models import PLACEHOLDER, VARIABLE, takes_model
from liza.run.process import Interrupts, Outlet
from liza.run.view import Choice
from liza.scopes.loops import states
from liza.scopes.loops.fields import CLOSED, HALF_OPEN, OPEN
from liza.scopes.loops.record import LoopResult
from liza.scopes.loops.settings import Settings
from liza.store.paths import Paths
from liza.text import plural, printable

if TYPE_CHECKING:
    from rich.live import Live

COLOURS = {OPEN: "red", HALF_OPEN: "yellow", CLOSED: "green"}
_REFRESH = 0.25  # seconds between two pictures of the live line
_LONGEST = 4096  # bytes without a line break that are held back
_QUIET = 60.0  # seconds in which nobody is told the same again
_COLOUR_CODE = re.compile(r"\x1b\[[0-9;]*m")


def view(as_json: bool, settings: Settings, paths: Paths, interrupts: Interrupts) -> "Plain":
    """The view that fits where we are."""
    if as_json:
        return Json(settings, paths, interrupts)
    if sys.stdout.isatty() and sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb"):
        return Lively(settings, paths, interrupts)
    return Plain(settings, paths, interrupts)


class Plain:
    """The agent's output on standard output, unchanged; what liza has to say on standard error, a line each."""

    def __init__(self, settings: Settings, paths: Paths, interrupts: Interrupts) -> None:
        self.settings, self.paths, self.interrupts = settings, paths, interrupts
        self.can_ask = _is_asked() and agent_sign(paths) is None
        self.outlet = Outlet(through=sys.stdout.fileno())
        self._notified: dict[str, float] = {}
        self._sender: Any = None
        self._is_unmeasured = False  # and that was told

    def line(self, text: str) -> None:
        with suppress(OSError):  # nobody reads it; the run itself notices by its own output
            click.echo(text, err=True)

    def says(self, text: str) -> None:
        self.line(f"liza run: {printable(text)}")

    def began(self, job: Job, session: Session, settings: Settings) -> None:
        command = show.short(shlex.join(job.command), 100)
        self.line(f"{show.bold('liza run')}  loop {printable(job.loop)}, session {session.name}: {command}")
        if not job.has_evidence:
            self.line(
                f"{show.bold('!', 'yellow')} no --verify, --require, --plan or --test is given, so a claim to be done "
                "is never believed: the run ends by --max, a person, or the breaker"
            )
        if job.plan is not None and not os.path.exists(job.plan):
            self.line(f"{show.bold('!', 'yellow')} the plan is not there yet: {printable(job.plan)}")
        escalates = settings.action == "escalate" and settings.escalation
        if (escalates or self.can_ask) and not takes_model(job.command, job.cwd):
            who = "escalate" if escalates else "[r] of the menu"
            self.line(
                f"{show.bold('!', 'yellow')} the command mentions neither {PLACEHOLDER} nor {VARIABLE}: {who} would "
                "run the same model again"
            )

    def iterates(self, number: int, model: str | None, stands: LoopResult) -> None:
        self.line(show.bold(f"iteration {number}") + (f" ({printable(model)})" if model else ""))

    def recorded(self, done: Done, stands: LoopResult) -> None:
        status = click.style(stands.status, fg=COLOURS[stands.status])
        took = show.span(timedelta(seconds=done.ran.seconds))
        words = "completed" if stands.completed else status
        self.line(f"{show.bold(f'iteration {done.number}')}: {described(done.tried())}, {took}, {words}")
        if done.says_complete and not stands.completed:
            self._disbelieved(done)
        if done.paths is None and not self._is_unmeasured:
            self._is_unmeasured = True
            self.line(
                f"  {show.bold('!', 'yellow')} this is no git work tree, so nobody knows whether files change: a loop "
                "that changes none is not stopped for it (git init, or --workdir DIR)"
            )
        for each in stands.signals:
            if each.warns:
                self.line(f"  {show.bold('!', 'yellow')} {printable(each.text)}")
        near = [each for each in stands.signals if each.action == "OPEN" and 2 * each.value >= each.threshold]
        if near:
            self.line(f"  near: {', '.join(f'{each.rule} {each.value:g} of {each.threshold:g}' for each in near)}")

    def _disbelieved(self, done: Done) -> None:
        faults = done.evidence.faults
        why = "there is nothing to believe it by" if not faults else show.short(faults[0].partition("\n")[0], 200)
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        self.line(f"  it says that it is done, which is not believed: {why}{more}")

    def tripped(self, stands: LoopResult, task: str | None, error: str | None) -> None:
        """As the protocol shows it: what, which task, and the last error."""
        self.line(f"{show.bold('[STAGNATION DETECTED]', 'red')} {show.short(stands.reason, 200)}")
        self.line(f"Loop: {printable(stands.name)}, after {stands.loop.get('loop_count')} iterations")
        if task is not None:
            self.line(f"Task: {show.short(task, 150)}")
        if error is not None:
            self.line(f"Last error: {show.short(error, 200)}")

    def continues(self, stands: LoopResult, decision: states.Decision) -> None:
        """Why a run that was paused continues."""
        by = f" by {decision.by}" if decision.by else ""
        why = f": {decision.why}" if decision.why else ""
        text = f"loop {stands.name} is {stands.status} ({decision.how}{by}){why}; continuing"
        self.says(show.short(text, 300))

    def notify(self, stands: LoopResult) -> None:
        """Tell people who are not looking; the same thing not again and again."""
        from liza.notify.desktop import Desktop
        from liza.notify.message import Message
        from liza.notify.sender import Sender
        from liza.notify.targets import Target
        from liza.notify.webhook import Webhook, is_webhook_url

        targets: list[Target] = [Desktop()] if self.settings.desktop else []
        if is_webhook_url(self.settings.webhook):
            targets.append(Webhook(str(self.settings.webhook)))
        elif self.settings.webhook:
            self.says("stagnation.notifications.webhook in rules.yaml is no http address: nobody is told there")
        now = time.monotonic()
        if not targets or now - self._notified.get(stands.reason, -_QUIET) < _QUIET:
            return
        self._notified[stands.reason] = now
        if self._sender is None:
            self._sender = Sender(self._not_told)
            self._sender.set_targets(targets)
        title = f"liza: loop {stands.name} is stuck"
        at = format_time(datetime.now(UTC))
        self._sender.send(Message("tripped", printable(title), printable(stands.reason), at, self.paths.folder))

    def _not_told(self, place: str, why: str | None) -> None:
        if why is not None:
            self.says(f"not told: {place}: {why}")

    def choose(self, run: Run, is_over: Callable[[], bool]) -> Choice | None:
        from liza.cli.menu import Menu

        return Menu(self, run, is_over).choose()

    def ended(self, run: Run) -> None:
        """What came of it, in a few lines."""
        if self._sender is not None:
            self._sender.stop()
        end, totals = run.end, run.totals
        colour = "green" if end is not None and end.code == 0 else "red"
        word = show.bold(end.status if end is not None else "failed", colour)
        reason = f": {show.short(end.reason, 300)}" if end is not None else ""
        self.line(f"{show.bold('liza run')}  {word}{reason}")
        parts = [plural(totals.iterations, "iteration"), show.span(timedelta(seconds=totals.seconds))]
        parts += [f"{plural(totals.files_changed, 'file')} changed"] if totals.files_changed is not None else []
        parts += [f"{totals.tokens:,} tokens"] if totals.tokens else []
        parts += [f"${totals.cost:.2f}"] if totals.cost else []
        if run.tried and run.tried[-1].progress is not None:
            parts.append(f"progress {run.tried[-1].progress:g} %")
        self.line(f"  {', '.join(parts)}")
        self.line(f"  kept in {printable(os.path.relpath(run.session.folder))}/")
        if end is None or end.code != 0:
            stuck = run.stuck()
            first = f"{stuck.command('reset')} && " if stuck is not None else ""
            self.line(f"  go on with: {first}liza run --resume {run.session.name}")


def _is_asked() -> bool:
    """Whether there is somebody at a terminal who can be asked, and who is not busy with another program there."""
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

    def says(self, text: str) -> None:
        self._write("note", text=text)

    def began(self, job: Job, session: Session, settings: Settings) -> None:
        self._write(
            "began",
            loop=job.loop,
            session=session.name,
            believes_claims=job.has_evidence,
            takes_model=takes_model(job.command, job.cwd),
        )

    def recorded(self, done: Done, stands: LoopResult) -> None:
        self._write(
            "iteration",
            iteration=done.number,
            loop=stands.name,
            outcome=done.iteration.outcome,
            progress=done.iteration.progress,
            files_changed=done.iteration.files_changed,
            claims_done=done.iteration.claims_done,
            evidence=dict(done.iteration.evidence),
            loop_status=stands.status,
            reason=stands.reason,
            completed=stands.completed,
        )

    def tripped(self, stands: LoopResult, task: str | None, error: str | None) -> None:
        self._write("open", loop=stands.name, reason=stands.reason, task=task, error=error)

    def continues(self, stands: LoopResult, decision: states.Decision) -> None:
        self._write("continued", loop=stands.name, loop_status=stands.status, **decision._asdict())

    def ended(self, run: Run) -> None:
        super().ended(run)
        end = run.end
        if end is not None:
            totals = run.totals._asdict()
            self._write(end.status, reason=end.reason, session=run.session.name, loop=run.job.loop, totals=totals)


class Lively(Plain):
    """On a terminal: the agent's output made harmless, and below it a line that shows how things stand."""

    def __init__(self, settings: Settings, paths: Paths, interrupts: Interrupts) -> None:
        super().__init__(settings, paths, interrupts)
        self.outlet = Outlet(show=self._show, tick=self._tick)
        self._live: Live | None = None
        self._held = b""  # the beginning of a line
        self._drawn = 0.0
        self._began = self._first = time.monotonic()
        self._about: tuple[int, str | None, str] = (0, None, CLOSED)
        self._progress: float | None = None

    def iterates(self, number: int, model: str | None, stands: LoopResult) -> None:
        from rich.console import Console
        from rich.live import Live

        super().iterates(number, model, stands)
        self._began = time.monotonic()
        self._about = (number, model, stands.status)
        console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._live = Live(self._picture(), console=console, auto_refresh=False, transient=True)
        self._live.start(refresh=True)

    def recorded(self, done: Done, stands: LoopResult) -> None:
        self._progress = done.iteration.progress
        self._stop()
        super().recorded(done, stands)

    def ended(self, run: Run) -> None:
        self._stop()
        super().ended(run)

    def _stop(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            with suppress(OSError):  # the terminal may be gone
                if self._held:
                    self._print(live, self._held)
                live.stop()
            self._held = b""

    def _picture(self) -> Any:
        from rich.text import Text

        number, model, status = self._about
        progress = f"{self._progress:g} %" if self._progress is not None else "progress unknown"
        now = time.monotonic()
        spans = (show.span(timedelta(seconds=now - since)) for since in (self._began, self._first))
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(f"▸ iteration {number}", style="bold")
        text.append(f"  {progress}  ")
        text.append(status, style=COLOURS[status])
        text.append("  {}, in all {}".format(*spans))
        text.append(f"  {printable(model)}" if model else "", style="dim")
        return text

    def _tick(self) -> None:
        now = time.monotonic()
        if self._live is not None and now - self._drawn >= _REFRESH:
            self._drawn = now
            self._live.update(self._picture(), refresh=True)

    def _show(self, piece: bytes) -> None:
        *lines, self._held = (self._held + piece).split(b"\n")
        if len(self._held) > _LONGEST:
            lines, self._held = [*lines, self._held], b""
        if lines and self._live is not None:
            self._print(self._live, b"\n".join(lines))

    def _print(self, live: "Live", raw: bytes) -> None:
        from rich.text import Text

        lines = (_harmless(line) for line in raw.decode(errors="replace").split("\n"))
        live.console.print(Text("\n".join(lines)), soft_wrap=True)


def _harmless(line: str) -> str:
    """A line of the agent's as the terminal may see it: without colours, and nothing in it that the terminal obeys."""
    return printable(_COLOUR_CODE.sub("", line).rstrip("\r").rpartition("\r")[2].expandtabs())
