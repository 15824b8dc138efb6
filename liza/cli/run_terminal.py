"""How a run is shown on a terminal: the agent's lines, and a live line below them."""

import os
import sys
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from liza.cli.agent_lines import harmless, readable
from liza.cli.run_output import COLOURS, Json, Plain, loop_text
from liza.model import span_text
from liza.run.interrupts import Interrupts
from liza.run.iteration import Done
from liza.run.process import Outlet
from liza.run.state import RunState
from liza.schema.loop_statuses import CLOSED
from liza.scopes.loops.record import LoopResult
from liza.scopes.loops.settings import Settings
from liza.store.paths import Paths
from liza.text import printable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

_REFRESH = 0.25  # seconds between two pictures of the live line
_LONGEST = 4096  # bytes without a line break that are held back


def view(as_json: bool, settings: Settings, paths: Paths, interrupts: Interrupts) -> "Plain":
    if as_json:
        return Json(settings, paths, interrupts)
    if sys.stdout.isatty() and sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb"):
        return Lively(settings, paths, interrupts)
    return Plain(settings, paths, interrupts)


class Lively(Plain):
    """On a terminal: the agent's output made harmless, and below it a line that shows the present state."""

    def __init__(self, settings: Settings, paths: Paths, interrupts: Interrupts) -> None:
        super().__init__(settings, paths, interrupts)
        self.outlet = Outlet(show=self._show, tick=self._tick)
        self._live: Live | None = None
        self._held = b""  # the beginning of a line
        self._drawn = 0.0
        self._began = self._first = time.monotonic()
        self._about: tuple[str, str | None, str] = ("", None, CLOSED)
        self._progress: float | None = None

    def iterates(self, number: int, last: int | None, model: str | None, state: LoopResult) -> None:
        from rich.console import Console
        from rich.live import Live

        super().iterates(number, last, model, state)
        self._began = time.monotonic()
        self._about = (loop_text(number, last), model, state.status)
        console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._live = Live(self._picture(), console=console, auto_refresh=False, transient=True)
        self._live.start(refresh=True)

    def recorded(self, done: Done, state: LoopResult) -> None:
        self._progress = done.iteration.progress
        self._stop()
        super().recorded(done, state)

    def ended(self, run: RunState) -> None:
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

        heading, model, status = self._about
        progress = f"{self._progress:g}%" if self._progress is not None else "progress unknown"
        now = time.monotonic()
        spans = (span_text(timedelta(seconds=now - since)) for since in (self._began, self._first))
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append_text(self._begun())
        text.append(f"▸ {heading}", style="bold")
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
        if self._live is not None:
            self._live.update(self._picture())  # what was begun is whole now
            if lines:
                self._print(self._live, b"\n".join(lines))

    def _print(self, live: "Live", raw: bytes) -> None:
        from rich.text import Text

        lines = [each for line in raw.decode(errors="replace").split("\n") for each in readable(line)]
        if lines:
            live.console.print(Text.from_ansi("\n".join(lines)), soft_wrap=True)

    def _begun(self) -> "Text":
        """The line that the agent has begun, such as a question or a progress bar; JSON is shown once it is whole."""
        from rich.text import Text

        held = self._held.decode(errors="replace")
        begun = "" if held.lstrip().startswith("{") else harmless(held)
        return Text.from_ansi(f"{begun}\n", no_wrap=True, overflow="ellipsis") if begun else Text(no_wrap=True)
