"""The state of a run in progress, and what a later `liza run --resume` needs of it."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused
from liza.model import parse_time
from liza.rules.evaluate import RuleSet
from liza.run import context
from liza.run.context import Tried
from liza.run.end import End
from liza.run.interrupts import Interrupts
from liza.run.iteration import Done
from liza.run.job import Job, Session
from liza.run.model_progression import PLACEHOLDER, Progression
from liza.schema.loop_statuses import OPEN
from liza.scopes.loops.fields import iteration_count
from liza.scopes.loops.record import Iteration, LoopResult, read_loop
from liza.scopes.loops.settings import Settings
from liza.store.board import Board
from liza.toolerrors.errors import Error

_REMEMBERED = 20  # iterations, for the context


class Totals(NamedTuple):
    """The sums over all iterations of a session."""

    iterations: int = 0
    seconds: float = 0.0
    files_changed: int | None = None  # as far as known
    tokens: int = 0
    cost: float = 0.0

    def plus(self, done: Done) -> "Totals":
        files = done.iteration.files_changed
        return Totals(
            self.iterations + 1,
            self.seconds + done.ran.seconds,
            self.files_changed if files is None else (self.files_changed or 0) + files,
            self.tokens + (done.answer.tokens or 0),
            self.cost + (done.answer.cost or 0.0),
        )


class RunState:
    def __init__(
        self, board: Board, rules: RuleSet, settings: Settings, job: Job, session: Session, interrupts: Interrupts,
        by: str,
    ) -> None:  # fmt: skip
        self.board, self.rules, self.settings = board, rules, settings
        self.job, self.session, self.interrupts, self.by = job, session, interrupts, by
        self.number = 0  # of the last iteration in this session
        self.here = 0  # iterations of this call
        self.unattended = 0  # iterations since a person decided about this loop
        first = settings.models[0] if self._needs_model() and settings.models else None
        self.progression = Progression(settings.models).chosen(job.model or first)
        self.totals = Totals()
        self.tried: list[Tried] = []
        self.escalated: str | None = None  # a report for the next model
        self.pending: Iteration | None = None  # an iteration that could not be recorded
        self.started = datetime.now(UTC)
        self.end: End | None = None

    def _needs_model(self) -> bool:
        return self.settings.action == "escalate" or any(PLACEHOLDER in word for word in self.job.command)

    @property
    def model(self) -> str | None:
        return self.progression.model

    @property
    def is_last(self) -> bool:
        """Whether no iteration is left."""
        return self.job.maximum is not None and self.here >= self.job.maximum

    def last_number(self, loop: LoopResult) -> int | None:
        """The number of the iteration after which the run ends at the latest; None without a limit."""
        limits = [] if self.job.maximum is None else [self.job.maximum - self.here]
        if not self.settings.disabled:
            before = 0 if loop.completed else iteration_count(loop.loop)
            limits.append(self.settings.absolute_max_loops - before)
        return self.number + max(min(limits), 1) if limits else None

    def add(self, done: Done) -> None:
        """Count an iteration; it is pending until the blackboard has it."""
        self.here += 1
        self.unattended += 1
        self.tried = [*self.tried, done.tried()][-_REMEMBERED:]
        self.totals = self.totals.plus(done)
        self.pending = done.iteration

    # --- the loop on the blackboard ---------------------------------------------------------------------------------

    def look(self) -> LoopResult:
        return read_loop(self.board, self.job.loop, self.rules, self.settings, datetime.now(UTC))

    def is_open(self, loop: LoopResult) -> bool:
        return loop.status == OPEN and not self.settings.disabled

    def open_loop(self) -> LoopResult | None:
        """The loop if it is open now, so that no run continues before it is closed."""
        with suppress(LizaError):
            loop = self.look()
            return loop if self.is_open(loop) else None
        return None

    # --- between two calls ------------------------------------------------------------------------------------------

    def save(self, status: str, reason: str = "") -> None:
        """Save all that a later run needs to continue from here."""
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
        """Continue from a saved session; an iteration that could not be recorded then is recorded now."""
        try:
            self._resume(facts)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            hint = "start a new run: liza run ... -- COMMAND"
            raise Refused(f"the run cannot be resumed: {error!r}", hint=hint, file=self.session.folder) from None

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
