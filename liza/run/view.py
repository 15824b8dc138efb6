"""What a run reports to the people who watch it, and asks them."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from liza.run.iteration import Done
from liza.run.job import Job, Session
from liza.run.process import Outlet
from liza.run.state import RunState
from liza.scopes.loops.record import LoopResult
from liza.scopes.loops.settings import Settings
from liza.scopes.loops.states import Decision


class Choice(NamedTuple):
    """A person's decision about an open loop."""

    what: str  # continue, skip, abort, retry
    model: str | None = None


class View(Protocol):
    """Shows a run to people, and asks them."""

    outlet: Outlet
    can_ask: bool

    def began(self, job: Job, session: Session, settings: Settings, state: LoopResult) -> None: ...
    def iterates(self, number: int, last: int | None, model: str | None, state: LoopResult) -> None: ...
    def recorded(self, done: Done, state: LoopResult) -> None: ...
    def note(self, text: str) -> None: ...
    def tripped(self, state: LoopResult, task: str | None, error: str | None) -> None: ...
    def continues(self, state: LoopResult, decision: Decision) -> None: ...
    def choose(self, run: RunState, is_over: Callable[[], bool]) -> Choice | None: ...
    def notify(self, state: LoopResult) -> None: ...
