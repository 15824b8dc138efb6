"""The Python API, `import liza`: the functions that the commands call, on the same files.

`root` is the folder that has the `.liza/` (or that folder itself); the default is LIZA_ROOT, else the nearest one from
the working folder upward, as git finds its own. `now` is for tests, and must have a time zone.
Every error is a `LizaError` with a `hint` that fixes it, and also the builtin that a caller would catch anyway:
`NoBlackboard` is a FileNotFoundError, `LockTimeout` a TimeoutError, `Refused` and `Unreadable` are ValueErrors.
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from liza.errors import LizaError, Refused
from liza.scopes.anomalies import Added
from liza.scopes.scope import Gate
from liza.store.board import Board

if TYPE_CHECKING:
    from liza.check import Check
    from liza.scopes.loops.record import Iteration, LoopResult
    from liza.scopes.sprint.resolve import Resolution

__all__ = ["LizaError", "Loop", "analyze", "gate", "loop", "record", "resolve"]

Root = str | os.PathLike[str] | None


def analyze(root: Root = None, *, dry_run: bool = False, now: datetime | None = None) -> "Check":
    """Check the blackboard for systemic patterns, once, as `liza analyze` does.

    A pattern that matches halts the agents (`.liza/CHECKPOINT`), writes the report and enters the trip on the
    blackboard; `dry_run` only evaluates. In the result, `is_open` is whether the agents are halted, `trigger` is the
    open trip or None, `tripped` is whether this check opened it, and `verdict` how close every rule is.

    Raises `Unreadable` where the blackboard or its rules cannot be used: that is not an OK. With an unusable rules.yaml
    the shipped rules are evaluated first, and an open breaker is returned. Raises `FollowUpFailed` where the breaker
    tripped but some follow-up steps failed; the agents are halted.
    """
    from liza import check
    from liza.scopes.rules_file import rules_in_force

    board, at = _board(root), _moment(now)
    rules, broken = rules_in_force(board.paths.rules)
    return check.analyze(board, rules, at, broken=broken, dry_run=dry_run)


def record(
    type: str,  # noqa: A002 - the field's name on the blackboard
    *,
    task: str,
    reporter: str,
    details: Mapping[str, Any] | None = None,
    timestamp: datetime | None = None,
    root: Root = None,
) -> Added:
    """Record one anomaly on the blackboard, validated and under its lock, as `liza log anomaly` does.

    This does not evaluate: a daemon (`liza watch`) does at once, otherwise the next `analyze`. The result has what was
    written and where, and in `warnings` what looks wrong about it.

    Where state.yaml cannot be read or another program holds the lock, the record waits in `.liza/inbox/` and the next
    check enters it; `waits` is why, and `file` where. Do not record it again.

    Raises `Refused`, and writes nothing, where the type's own details are missing or a value cannot be written as YAML.
    """
    from liza.scopes.anomalies import stamped
    from liza.scopes.inbox import record_anomaly

    stamp = None if timestamp is None else _moment(timestamp).isoformat().replace("+00:00", "Z")
    fields = {"timestamp": stamp, "type": type, "task": task, "reporter": reporter, "details": details or None}
    given = {name: value for name, value in fields.items() if value is not None}
    return record_anomaly(_board(root), stamped(given))


def resolve(
    text: str, *, by: str, cause: str | None = None, root: Root = None, now: datetime | None = None
) -> "Resolution":
    """Record the decision on the open trip and let the agents continue, as `liza resolve` does.

    Only a person closes the sprint's breaker: `by` is who decided, and `text` what was decided and where it is written
    down; `cause` is what was at fault: a severity, or "false_alarm". In the result, `trigger` is what was resolved
    (None: nothing was open), and `left` a CHECKPOINT that is still there, for instance because a person made it.

    Raises `Refused` where the text or the person is empty or the cause unknown, and inside an agent. Without a
    terminal it is alarmed.
    """
    from liza.clients.caller import has_terminal, require_person
    from liza.scopes.sprint.resolve import resolve

    board = _board(root)
    require_person(board.paths, "liza resolve")
    return resolve(board, text, by.strip(), _moment(now), cause=cause, terminal=has_terminal())


def gate(
    root: Root = None,
    *,
    claim: str | None = None,
    slice: str | None = None,  # noqa: A002 - the word of the protocol
    loop: str | None = None,
    stage: str | None = None,
    now: datetime | None = None,
) -> Gate:
    """May work continue? The result is true if so; otherwise `why` says what stops it and `hint` what to do.

    Without a scope only the CHECKPOINT is checked, which takes microseconds; a claim, slice, loop or stage is looked up
    on the blackboard. Without any blackboard work may continue; a named root without one, and a blackboard that cannot
    be read, stop it. Writes nothing, and raises nothing because of the blackboard's contents.
    """
    from liza.scopes.gate import check_gate

    wanted = {"claim": claim, "slice": slice, "loop": loop, "stage": stage}
    return check_gate(None if root is None else os.fspath(root), wanted, _moment(now))


def loop(name: str, *, task: str | None = None, root: Root = None) -> "Loop":
    """A loop that ends by itself: when its work is completed, when it is stuck, or when the agents are halted.

    `name` is the loop's name on the blackboard, `task` what it works on. Nothing is written until an iteration is
    recorded.
    """
    return Loop(_board(root), name, task)


class Loop:
    """The iterations of one agent, each recorded on the blackboard and evaluated at once.

        loop = liza.loop("coder-1", task="task-3")
        for number in loop:
            answer = agent(number)
            loop.record(progress=answer.percent, output=answer.text)
        print(loop.completed, loop.why)

    `for` counts from 1 in this run. An iteration that the body did not record is recorded at its end, with the files
    that changed, so that no iteration escapes the breaker. One that raises ends the loop unrecorded: catch what the
    agent may raise, and pass it as `error`.
    """

    def __init__(self, board: Board, name: str, task: str | None) -> None:
        self.name = name
        self.last: LoopResult | None = None  # the loop as the last iteration left it
        self.why = ""  # what ended it; empty while it runs
        self._board = board
        self._task = task
        self._recorded = 0

    @property
    def completed(self) -> bool:
        """The last iteration finished the work, with evidence or a progress of 100."""
        return self.last is not None and self.last.completed

    def __iter__(self) -> Iterator[int]:
        self.why, self.last, number = "", None, 0
        while not self.why:
            answer = gate(self._board.paths.folder, loop=self.name)
            for note in answer.notes:
                warnings.warn(f"loop {self.name}: {note}", RuntimeWarning, stacklevel=2)
            if not answer:
                self.why = answer.why
                return
            number, before = number + 1, self._recorded
            yield number
            if self._recorded == before:
                self.record()
            self.why = f"loop {self.name} is completed" if self.completed else ""

    def record(
        self,
        *,
        progress: float | None = None,
        files_changed: int | None = None,
        error: str | None = None,
        output: str | None = None,
        claims_done: bool = False,
        evidence: Mapping[str, bool] | None = None,
        test_only: bool = False,
        outcome: str = "ok",
        model: str | None = None,
        tokens: int | None = None,
        duration: float | None = None,
        workdirs: Sequence[str | os.PathLike[str]] = (),
        now: datetime | None = None,
    ) -> "LoopResult":
        """Record one iteration, as `liza loop record` does; the result's `status` is OPEN if the loop is stopped now.

        `progress` is a percentage. Without `files_changed` it is measured in the git worktrees `workdirs`, by default
        in that of the `.liza/`. `error` is what went wrong; `output` is all that was printed, and is searched for the
        error. `claims_done` is accepted only with `evidence` (what was checked, and whether it passed). `outcome` is
        ok, error, timeout or crash. What is left out is unknown, and counts neither way.

        Raises `Refused` for an impossible value. Where the blackboard cannot be read or its lock is held, the iteration
        waits in `.liza/inbox/` and `NotEvaluated` (an `Unreadable`) is raised: do not record it again.
        """
        from liza.scopes.loops.record import Iteration
        from liza.toolerrors import errors

        if error is not None and output is not None:
            raise Refused("error and output are both given", hint="give one of them; output is searched for the error")
        iteration = Iteration(
            task=self._task,
            progress=progress,
            files_changed=files_changed,
            error=errors.primary_error(error, output, outcome),
            claims_done=claims_done,
            evidence=evidence or {},
            test_only=test_only or None,
            outcome=outcome,
            model=model,
            tokens=tokens,
            duration=duration,
        )
        self.last = self._enter(iteration, [os.fspath(each) for each in workdirs], _moment(now))
        self._recorded += 1
        return self.last

    def _enter(self, iteration: "Iteration", trees: Sequence[str], now: datetime) -> "LoopResult":
        from liza.scopes.inbox import record_or_queue
        from liza.scopes.loops import evaluate
        from liza.scopes.loops.files_changed import record_measured

        rules, settings = evaluate.load_rules(self._board.paths)
        return record_or_queue(record_measured(self._board, self.name, iteration, trees, rules, settings, now))


def _board(root: Root) -> Board:
    return Board.find(None if root is None else os.fspath(root))


def _moment(now: datetime | None) -> datetime:
    if now is None:
        return datetime.now(UTC)
    if now.tzinfo is None:
        raise Refused(f"{now} has no time zone", hint="for example: datetime.now(UTC)")
    return now.astimezone(UTC)
