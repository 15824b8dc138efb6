"""What a run reports to the people who watch it, and asks them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from liza.run.iteration import Done
from liza.run.job import Job, Session
from liza.run.process import Outlet
from liza.scopes.loops.record import LoopResult
from liza.scopes.loops.settings import Settings
from liza.scopes.loops.states import Decision

if TYPE_CHECKING:
    from liza.run.loop import Run


class End(NamedTuple):
    """Why a run is over."""

    status: str  # completed, stopped, open, checkpoint, interrupted
    code: int
    reason: str


class Choice(NamedTuple):
    """What a person decides about a loop that is open."""

    what: str  # continue, skip, abort, retry
    model: str | None = None


class Totals(NamedTuple):
    """What all iterations of a session took."""

    iterations: int = 0
    seconds: float = 0.0
    files_changed: int | None = None  # as far as known
    tokens: int = 0
    cost: float = 0.0

    def plus(self, done: Done) -> "Totals":
        return Totals(
            self.iterations + 1,
            self.seconds + done.ran.seconds,
            _sum(self.files_changed, done.iteration.files_changed),
            self.tokens + (done.answer.tokens or 0),
            self.cost + (done.answer.cost or 0.0),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else (one or 0) + other


class View(Protocol):
    """Shows a run to people, and asks them."""

    outlet: Outlet
    can_ask: bool

    def began(self, job: Job, session: Session, settings: Settings) -> None: ...
    def iterates(self, number: int, model: str | None, state: LoopResult) -> None: ...
    def recorded(self, done: Done, state: LoopResult) -> None: ...
    def says(self, text: str) -> None: ...
    def tripped(self, state: LoopResult, task: str | None, error: str | None) -> None: ...
    def continues(self, state: LoopResult, decision: Decision) -> None: ...
    def choose(self, run: "Run", is_over: Callable[[], bool]) -> Choice | None: ...
    def notify(self, state: LoopResult) -> None: ...
