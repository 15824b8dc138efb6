"""Loops on the blackboard: one more iteration, a reset, a probe, each in one change under the lock."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused, Unreadable
from liza.model import format_time
from liza.rules.evaluate import RuleSet
from liza.scopes.change import Outcome, change, unknown
from liza.scopes.inbox import or_wait
from liza.scopes.loops import derived as its
from liza.scopes.loops import evaluate, states
from liza.scopes.loops.settings import Settings
from liza.scopes.payload import dump
from liza.store.board import Board
from liza.store.document import Document
from liza.text import printable, value_text
from liza.toolerrors.errors import Error

_MOST = 1e12  # of anything that is counted


class Iteration(NamedTuple):
    """What is known of one iteration; None is unknown, and counts neither way."""

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
    unproven: bool = False  # it claims to be done, and whoever ran it could not show that

    def fields(self, now: datetime) -> dict[str, Any]:
        """As it stands on the blackboard, without what is unknown."""
        evidence = {name: "pass" if passed else "fail" for name, passed in self.evidence.items()}
        said = {
            **self._asdict(),
            "evidence": evidence or None,
            "outcome": self.outcome if self.outcome != "ok" else None,
        }
        del said["error"]
        return {
            "timestamp": format_time(now),
            **{name: value for name, value in said.items() if value is not None and value is not False},
        }


class Recorded(NamedTuple):
    """A loop after something was done to it, or as it is now."""

    name: str
    status: str
    reason: str
    loop: Mapping[str, Any]
    opened: bool = False  # just now
    completed: bool = False
    signals: tuple[evaluate.Signal, ...] = ()
    notes: tuple[str, ...] = ()
    probe_from: datetime | None = None  # an open loop may be probed only then; None: now

    def command(self, verb: str) -> str:
        """What a person types about this loop, as a shell reads it."""
        from shlex import quote

        return f"liza loop {verb} {'-- ' if self.name.startswith('-') else ''}{printable(quote(self.name))}"

    @property
    def ways_on(self) -> str:
        """What a person may type to let an open loop continue."""
        reset = f"go on with: {self.command('reset')}"
        if states.needs_reset(self.loop):
            return reset
        since = f"from {format_time(self.probe_from)} on" if self.probe_from is not None else "or"
        return f"{reset}   ({since} try one iteration: {self.command('probe')})"


def record(
    board: Board, name: str, iteration: Iteration, rules: RuleSet, settings: Settings, now: datetime
) -> Recorded:
    """Put one iteration on the blackboard, and judge the loop at once; `NotEvaluated` where it waits in the inbox."""
    _checked(name, iteration)
    error = iteration.error
    said = None if error is None else {name: value for name, value in error._asdict().items() if value is not None}
    judge = evaluate.Judge(rules, settings, now)

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        loop = evaluate.understood(document, name) or states.new()
        return states.recorded(name, loop, iteration.fields(now), said, settings, judge, now)

    def fields() -> Mapping[str, Any]:
        return {"loop": name, "iteration": dump(iteration), "project": settings.project}

    outcome = or_wait(board, "iteration", fields, format_time(now), lambda: _change(board, name, after, now))
    return _told(name, outcome, judge)


def reset(
    board: Board, name: str, why: str | None, by: str, rules: RuleSet, settings: Settings, now: datetime,
    how: str = "reset",
) -> Recorded:  # fmt: skip
    """Close a loop and set its counters to 0. `how` says whether a person did it."""

    def after(document: Document, loop: Mapping[str, Any] | None) -> Outcome:
        if loop is None:
            raise unknown(document, evaluate.SCOPE, name)
        return states.closed(name, loop, how, why, now, by)

    return _told(name, _change(board, name, after, now), evaluate.Judge(rules, settings, now))


def probe(board: Board, name: str, by: str, rules: RuleSet, settings: Settings, now: datetime) -> Recorded:
    """Let an open loop try one iteration, once it has cooled down; any other loop stays as it is."""

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        loop = evaluate.understood(document, name)
        if loop is None:
            raise unknown(document, evaluate.SCOPE, name)
        if states.status_of(loop) != states.OPEN:
            return Outcome(dict(loop))
        _require_probe(name, loop, settings, now)
        return states.probed(name, loop, "probe", now, by)

    return _told(name, _change(board, name, after, now), evaluate.Judge(rules, settings, now))


def _require_probe(name: str, loop: Mapping[str, Any], settings: Settings, now: datetime) -> None:
    """`Refused` where an open loop may not be probed, or not yet."""
    hint = Recorded(name, states.OPEN, "", loop).command("reset")
    if states.needs_reset(loop):
        raise Refused(f"a trip of {states.RESET_ONLY} is closed by a reset only", hint=hint)
    since = states.probe_from(loop, settings)
    if now < since:
        raise Refused(f"loop {value_text(name)} cools down until {format_time(since)}", hint=f"wait, or: {hint}")


def look(board: Board, name: str, rules: RuleSet, settings: Settings, now: datetime) -> Recorded:
    """A loop as it is now; one that nobody has recorded yet is closed. What others wrote is judged, and not written."""
    try:
        loop = evaluate.understood(board.read(), name) or states.new()
    except Unreadable as error:
        raise board.with_backup(error) from None
    return told(name, loop, rules, settings, now)


def told(name: str, loop: Mapping[str, Any], rules: RuleSet, settings: Settings, now: datetime) -> Recorded:
    """The same of a loop that was read before."""
    judge = evaluate.Judge(rules, settings, now)
    return _told(name, states.settled(name, loop, settings, judge, now)._replace(events=()), judge)


def _change(
    board: Board, name: str, after: Callable[[Document, Mapping[str, Any] | None], Outcome], now: datetime
) -> Outcome:
    return change(board, evaluate.SCOPE, name, after, now, evaluate.archive)


def _told(name: str, outcome: Outcome, judge: evaluate.Judge) -> Recorded:
    loop = outcome.record
    since = states.probe_from(loop, judge.settings)
    kinds = {event.kind for event in outcome.events}
    return Recorded(
        name=name,
        status=states.effective(loop, judge.settings, judge.now),
        reason=str(loop.get("trigger_reason") or ""),
        loop=loop,
        opened="opened" in kinds,
        completed=bool(loop.get("completed_at")),
        signals=judge.signals(name, loop),
        notes=tuple(event.text for event in outcome.events if event.kind != "opened"),
        probe_from=since if since > judge.now else None,
    )


def check_name(name: str) -> None:
    """`Refused` where a loop cannot have that name."""
    if not name.strip() or not name.isprintable() or len(name) > 200:
        raise Refused(f"{value_text(name)} is no name for a loop", hint="a short name on one line, like coder-1")


def _checked(name: str, iteration: Iteration) -> None:
    check_name(name)
    if iteration.outcome not in its.OUTCOMES:
        raise Refused(f"the outcome {iteration.outcome!r} is not known", hint=f"one of: {', '.join(its.OUTCOMES)}")
    for field, most in (("progress", its.COMPLETE), ("files_changed", _MOST), ("tokens", _MOST), ("duration", _MOST)):
        number = getattr(iteration, field)
        if number is not None and not (type(number) in (int, float) and 0 <= number <= most):
            raise Refused(f"{field} is {value_text(number)}", hint=f"a number from 0 to {most:g} is expected")
