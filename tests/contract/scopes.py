"""The scopes: the arguments that record a failure, ask and decide, and the resulting state on disk."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Scope(NamedTuple):
    """One thing that a trip stops. Tuples of strings are arguments of `liza`."""

    name: str
    record: tuple[str, ...]  # one more failure of the same kind
    other: tuple[str, ...]  # the same for another one, which must not be stopped
    evaluate: tuple[tuple[str, ...], ...]  # after a record; empty where recording evaluates at once
    gate: tuple[str, ...]
    gate_of_other: tuple[str, ...]
    resolve: tuple[str, ...]
    by_hand: str  # the yq program with which a person ends it
    place: tuple[str, ...]  # of the mapping in state.yaml that has its `status`
    stopped: str  # the status while it is stopped
    free: str  # before, and after a decision
    actions: tuple[str, str]  # of the log entries for the trip and the decision
    set_up: tuple[tuple[str, ...], ...] = ()
    by_hand_is_refused: bool = False  # an editor cannot end a frozen claim
    threshold: int = 3
    check: tuple[str, ...] = ("analyze",)
    is_seen_by_hook: bool = False  # `record` is the session of a failed call, which its client's hook reports

    def status(self, board: Mapping[str, Any]) -> str | None:
        """The status as another program reads it; None if not on the blackboard yet."""
        found: Any = board
        for name in self.place:
            found = (found or {}).get(name)
        if found is None and self.is_seen_by_hook:
            return self.free  # only what was stopped is entered
        return None if found is None else found["status"]

    def history(self, board: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Its history, without OK checks."""
        found: Any = board
        for name in self.place:
            found = found[name]
        return [each for each in found.get("history") or [] if each.get("result") != "OK"]


def _anomaly(kind: str, task: str, *details: str) -> tuple[str, ...]:
    return ("log", "anomaly", "--type", kind, "--task", task, "--reporter", "coder", *details)


def _round(claim: str) -> tuple[str, ...]:
    response = "the dataset has no such annotation"
    return ("claim", "round", claim, "--objection", "run the harness", "--response", response)


SPRINT = Scope(
    "sprint",
    record=_anomaly("retry_loop", "t-1", "count=3", "error_pattern=connection refused by db"),
    other=_anomaly("scope_deviation", "t-2"),
    evaluate=(("analyze",),),
    gate=("gate",),
    gate_of_other=("gate", "--loop", "other"),
    resolve=("resolve", "-m", "use the local fixture", "--by", "alice"),
    by_hand='.circuit_breaker |= (.status = "OK" | .current_trigger = null | .history[-1].resolution = "a fixture")',
    place=("circuit_breaker",),
    stopped="TRIGGERED",
    free="OK",
    actions=("tripped", "resolved"),
)
LOOP = Scope(
    "loop",
    record=("loop", "record", "night", "--files-changed", "0"),
    other=("loop", "record", "other", "--files-changed", "2"),
    evaluate=(),
    gate=("gate", "--loop", "night"),
    gate_of_other=("gate", "--loop", "other"),
    resolve=("loop", "reset", "night", "-m", "the fixture was wrong", "--by", "alice"),
    by_hand='.loops.night.status = "CLOSED"',
    place=("loops", "night"),
    stopped="OPEN",
    free="CLOSED",
    actions=("loop_opened", "loop_closed"),
)
SLICE = Scope(
    "slice",
    record=("attempt", "fail", "--slice", "S-1", "--test", "test_a", "--error", "assert 1 == 2"),
    other=("attempt", "fail", "--slice", "S-2", "--test", "test_a", "--error", "assert 1 == 2"),
    evaluate=(),
    gate=("gate", "--slice", "S-1"),
    gate_of_other=("gate", "--slice", "S-2"),
    resolve=("attempt", "reset", "--slice", "S-1", "-m", "the contract means 409", "--by", "alice"),
    by_hand='.slices["S-1"].status = "ACTIVE"',
    place=("slices", "S-1"),
    stopped="STOPPED",
    free="ACTIVE",
    actions=("slice_stopped", "slice_reset"),
)
CLAIM = Scope(
    "claim",
    record=_round("C-1"),
    other=_round("C-2"),
    evaluate=(),
    gate=("gate", "--claim", "C-1"),
    gate_of_other=("gate", "--claim", "C-2"),
    resolve=("claim", "resolve", "C-1", "--override", "OPEN", "-m", "ruled out by design", "--by", "alice"),
    by_hand='.claims["C-1"].status = "OPEN"',
    place=("claims", "C-1"),
    stopped="DISPUTED",
    free="OPEN",
    actions=("claim_disputed", "claim_resolved"),
    set_up=(("claim", "add", "C-1", "--text", "x causes y"), ("claim", "add", "C-2", "--text", "y causes z")),
    by_hand_is_refused=True,
)
SESSION = Scope(
    "session",
    record=("7c1f2a90-55aa-4c1e-9d7b-0a1b2c3d4e5f",),
    other=("0b9e8d7c-1111-2222-3333-444455556666",),
    evaluate=(("watch", "--once"), ("sessions",)),
    gate=("gate", "--session", "7c1f2a90-55aa-4c1e-9d7b-0a1b2c3d4e5f"),
    gate_of_other=("gate", "--session", "0b9e8d7c-1111-2222-3333-444455556666"),
    resolve=("session", "resume", "7c1f2a90", "-m", "the module moved", "--by", "alice"),
    by_hand='.sessions["7c1f2a90-55aa-4c1e-9d7b-0a1b2c3d4e5f"].status = "ACTIVE"',
    place=("sessions", "7c1f2a90-55aa-4c1e-9d7b-0a1b2c3d4e5f"),
    stopped="STOPPED",
    free="ACTIVE",
    actions=("session_stopped", "session_resumed"),
    threshold=5,
    check=("watch", "--once"),
    is_seen_by_hook=True,
)
SCOPES = (SPRINT, LOOP, SLICE, CLAIM, SESSION)
