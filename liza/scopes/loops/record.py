"""Record an iteration, reset a loop or probe it: each is one change of the blackboard under the lock."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused, Unreadable
from liza.model import format_time
from liza.rules.evaluate import RuleSet
from liza.schema.loop_statuses import HALF_OPEN, OPEN, OUTCOMES
from liza.scopes.change import change_known, change_record, read_usable
from liza.scopes.evaluator import Evaluator
from liza.scopes.loops import evaluate, event_log, states
from liza.scopes.loops.fields import COMPLETE, LOOPS, status_of
from liza.scopes.loops.settings import Settings
from liza.scopes.records import check_name
from liza.scopes.transition import Transition
from liza.store.board import Board
from liza.store.document import Document
from liza.store.inbox import EntryBoard, Recording
from liza.store.payload import dump, load_fields
from liza.text import printable, value_text
from liza.toolerrors.errors import Error

_MOST = 1e12  # the largest count that is accepted


class Iteration(NamedTuple):
    """What is known of one iteration; None is unknown, and counts neither for nor against it."""

    task: str | None = None
    progress: float | None = None
    files_changed: int | None = None
    error: Error | None = None
    claims_done: bool = False
    evidence: Mapping[str, bool] = {}
    test_only: bool | None = None
    outcome: str = "ok"
    model: str | None = None
    tokens: int | None = None
    duration: float | None = None
    completion: float | None = None
    confidence: float | None = None
    errors: int | None = None
    session: str | None = None
    unproven: bool = False  # it claims to be done, and the program that ran it could not verify that

    def fields(self, now: datetime) -> dict[str, Any]:
        """The entry on the blackboard, without what is unknown."""
        evidence = {name: "pass" if passed else "fail" for name, passed in self.evidence.items()}
        values = {
            **self._asdict(),
            "evidence": evidence or None,
            "outcome": self.outcome if self.outcome != "ok" else None,
        }
        del values["error"]
        return {
            "timestamp": format_time(now),
            **{name: value for name, value in values.items() if value is not None and value is not False},
        }


class LoopResult(NamedTuple):
    """A loop after a command, or as it is now."""

    name: str
    status: str
    reason: str
    loop: Mapping[str, Any]
    opened: bool = False  # by this command
    completed: bool = False
    signals: tuple[evaluate.Signal, ...] = ()
    notes: tuple[str, ...] = ()
    probe_from: datetime | None = None  # an open loop may be probed only then; None: now

    def command(self, verb: str) -> str:
        """The `liza loop` command about this loop, shell_quoted for a shell."""
        from shlex import quote

        return f"liza loop {verb} {'-- ' if self.name.startswith('-') else ''}{printable(quote(self.name))}"

    @property
    def how_to_continue(self) -> str:
        """The commands that let an open loop continue."""
        reset = f"to continue: {self.command('reset')}"
        if states.needs_reset(self.loop):
            return reset
        since = f"or, after {format_time(self.probe_from)}," if self.probe_from is not None else "or"
        return f"{reset}   ({since} try one iteration: {self.command('probe')})"


def record_iteration(
    board: Board, name: str, iteration: Iteration, rules: RuleSet, settings: Settings, now: datetime
) -> Recording[LoopResult]:
    """Add one iteration and evaluate the loop at once."""
    _check_iteration(name, iteration)
    error = iteration.error
    found = None if error is None else {key: value for key, value in error._asdict().items() if value is not None}
    evaluator = evaluate.evaluator_for(rules, settings, now)

    def change(document: Document, loop: Mapping[str, Any] | None) -> Transition:
        return states.add_iteration(name, loop or states.new_loop(), iteration.fields(now), found, evaluator)

    def make() -> LoopResult:
        done = change_record(board, LOOPS, name, change, now)
        return _result(name, done, evaluator, event_log.log_iteration(board.paths, name, done, settings, now))

    fields = {"loop": name, "iteration": dump(iteration), "project": settings.project}
    return Recording(board, "iteration", fields, format_time(now), make)


def enter_iteration(board: EntryBoard, fields: Mapping[str, Any], now: datetime) -> None:
    """Make the change that an iteration in the inbox asks for."""
    given = load_fields(fields, loop=str, iteration=Iteration, project=str | None)
    rules, settings = evaluate.load_rules(board.paths, {"project": given["project"]})
    record_iteration(board, given["loop"], given["iteration"], rules, settings, now).make()


def reset_loop(
    board: Board, name: str, why: str | None, by: str, rules: RuleSet, settings: Settings, now: datetime,
    how: str = "reset",
) -> LoopResult:  # fmt: skip
    """Close a loop and set its counters to 0. `how` goes into the history: reset, or automatic."""

    def change(loop: Mapping[str, Any]) -> Transition:
        return states.close_loop(name, loop, how, why, now, by)

    transition = change_known(board, LOOPS, name, change, now, ignored=None)  # a reset fixes what cannot be used
    fault = event_log.log_events(board.paths, name, transition.events, now)
    return _result(name, transition, evaluate.evaluator_for(rules, settings, now), fault)


def probe_loop(board: Board, name: str, by: str, rules: RuleSet, settings: Settings, now: datetime) -> LoopResult:
    """Let an open loop try one iteration, once it has cooled down; any other loop stays as it is."""

    def change(loop: Mapping[str, Any]) -> Transition:
        if status_of(loop) != OPEN:
            return Transition(dict(loop))
        _require_probe(name, loop, settings, now)
        return states.start_probe(name, loop, "probe", now, by)

    transition = change_known(board, LOOPS, name, change, now)
    fault = event_log.log_events(board.paths, name, transition.events, now)
    done = _result(name, transition, evaluate.evaluator_for(rules, settings, now), fault)
    if transition.events:
        return done
    following = "is the probe" if done.status == HALF_OPEN else "is recorded as usual"
    text = f"loop {name} is {done.status} already: its next iteration {following}"
    return done._replace(notes=(text,))


def _require_probe(name: str, loop: Mapping[str, Any], settings: Settings, now: datetime) -> None:
    """`Refused` where an open loop may not be probed, or not yet."""
    hint = LoopResult(name, OPEN, "", loop).command("reset")
    if states.needs_reset(loop):
        raise Refused(f"only a reset closes a trip of {states.RESET_ONLY}", hint=hint)
    since = states.probe_from(loop, settings)
    if now < since:
        raise Refused(f"loop {value_text(name)} is cooling down until {format_time(since)}", hint=f"wait, or: {hint}")


def read_loop(board: Board, name: str, rules: RuleSet, settings: Settings, now: datetime) -> LoopResult:
    """A loop as it is now; a new name is a closed loop.

    What other programs wrote into it is evaluated, and not written.
    """
    try:
        loop = read_usable(board.read(), LOOPS, name) or states.new_loop()
    except Unreadable as error:
        raise board.with_backup(error) from None
    return evaluate_loop(name, loop, rules, settings, now)


def evaluate_loop(name: str, loop: Mapping[str, Any], rules: RuleSet, settings: Settings, now: datetime) -> LoopResult:
    """The same for a loop that was read before."""
    evaluator = evaluate.evaluator_for(rules, settings, now)
    return _result(name, states.reconcile_record(name, loop, evaluator)._replace(events=()), evaluator)


def _result(name: str, transition: Transition, evaluator: Evaluator[Settings], fault: str | None = None) -> LoopResult:
    loop, settings, now = transition.record, evaluator.settings, evaluator.now
    since = states.probe_from(loop, settings)
    kinds = {event.kind for event in transition.events}
    return LoopResult(
        name=name,
        status=states.effective_status(loop, settings, now),
        reason=str(loop.get("trigger_reason") or ""),
        loop=loop,
        opened="opened" in kinds,
        completed=bool(loop.get("completed_at")),
        signals=evaluate.signals(name, loop, evaluator),
        notes=(*(event.text for event in transition.events if event.kind != "opened"), *([fault] if fault else [])),
        probe_from=since if since > now else None,
    )


def _check_iteration(name: str, iteration: Iteration) -> None:
    check_name(LOOPS, name)
    if iteration.outcome not in OUTCOMES:
        raise Refused(f"unknown outcome {value_text(iteration.outcome)}", hint=f"one of: {', '.join(OUTCOMES)}")
    for field, most in (("progress", COMPLETE), ("files_changed", _MOST), ("tokens", _MOST), ("duration", _MOST)):
        number = getattr(iteration, field)
        if number is not None and not (type(number) in (int, float) and 0 <= number <= most):
            raise Refused(f"{field}: expected a number from 0 to {most:g}, got {value_text(number)}")
