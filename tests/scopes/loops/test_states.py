"""Any sequence of iterations, resets, probes and edits by hand keeps the states consistent and reconciles once."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import settings as budget
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from liza.schema.loop_statuses import CLOSED, HALF_OPEN, OPEN
from liza.scopes.evaluator import Evaluator
from liza.scopes.loops import evaluate, states
from liza.scopes.loops.fields import iteration_count, status_of
from liza.scopes.loops.settings import Settings
from liza.scopes.rules_file import read_rules
from liza.scopes.transition import Transition

RULES = read_rules(None, protocol="loops")
SETTINGS = Settings(auto_probe=True)
FILES = st.sampled_from([None, 0, 0, 1, 5])
PERCENT = st.sampled_from([None, 0, 0, 2, 3, 10, 50, 99, 100])
EVIDENCE = st.sampled_from([None, {"tests": "pass"}, {"tests": "fail"}])
ERRORS = st.sampled_from([None, None, "TypeError: a", "KeyError: 'b'", "HTTP 500 from the api"])


class Loop(RuleBasedStateMachine):
    """A loop, and a model of ten lines: its iterations since the last reset, and its trips."""

    @initialize()
    def begin(self) -> None:
        self.loop: dict[str, Any] = states.new_loop()
        self.now = datetime(2025, 1, 1, tzinfo=UTC)
        self.count = 0
        self.trips = 0
        self.kept = 0
        self.archived = 0
        self.done = False

    def evaluator(self) -> Evaluator[Settings]:
        return evaluate.evaluator_for(RULES, SETTINGS, self.now)

    def take(self, outcome: Transition) -> list[str]:
        kinds = [event.kind for event in outcome.events]
        self.loop = outcome.record
        self.archived += len(outcome.archived)
        self.trips += kinds.count("opened")
        if "closed" in kinds:
            self.count = 0
        return kinds

    @rule(
        files=FILES, percent=PERCENT, evidence=EVIDENCE, error=ERRORS, claims=st.booleans(), minutes=st.integers(0, 8)
    )
    def iteration(
        self, files: int | None, percent: int | None, evidence: Any, error: str | None, claims: bool, minutes: int
    ) -> None:
        self.now += timedelta(minutes=minutes)
        before = states.effective_status(self.loop, SETTINGS, self.now)
        finally_open = states.needs_reset(self.loop)
        finished = bool(self.loop.get("completed_at"))
        values = {"files_changed": files, "progress": percent, "evidence": evidence, "claims_done": claims or None}
        entry = {name: value for name, value in values.items() if value is not None}
        wrong = {"signature": error, "file": None} if error else None
        outcome = states.add_iteration("x", self.loop, entry, wrong, self.evaluator())
        self.count = 1 if finished else self.count + 1
        self.kept += 1
        kinds = self.take(outcome)
        if before == OPEN:
            assert kinds == []  # only a person or the cooldown lets an open loop continue
        if finally_open:
            assert self.loop["status"] == OPEN  # only a reset closes it
        if before == HALF_OPEN:
            assert ("opened" in kinds) != ("closed" in kinds)  # exactly one iteration probes

    @rule()
    def reset(self) -> None:
        self.take(states.close_loop("x", self.loop, "reset", "decided", self.now, "ann"))
        assert (self.loop["status"], self.loop["loop_count"], self.loop["iterations"]) == (CLOSED, 0, [])
        assert self.loop["trigger_count"] == self.trips

    @precondition(lambda self: status_of(self.loop) == OPEN and not states.needs_reset(self.loop))
    @rule()
    def probe(self) -> None:
        self.take(states.start_probe("x", self.loop, "probe", self.now))
        assert self.loop["status"] == HALF_OPEN

    @precondition(lambda self: status_of(self.loop) == OPEN)
    @rule()
    def closed_by_hand(self) -> None:
        self.loop = {**self.loop, "status": CLOSED}
        kinds = self.take(states.reconcile_record("x", self.loop, self.evaluator()))
        assert kinds == ["closed"]

    @precondition(lambda self: status_of(self.loop) == OPEN)
    @rule()
    def half_opened_by_hand(self) -> None:
        final = states.needs_reset(self.loop)
        self.loop = {**self.loop, "status": HALF_OPEN}
        kinds = self.take(states.reconcile_record("x", self.loop, self.evaluator()))
        assert kinds == (["probe_refused"] if final else ["probing"])
        assert (self.loop["status"] == OPEN) == final

    @invariant()
    def counters_agree_with_the_model(self) -> None:
        assert iteration_count(self.loop) == self.loop["loop_count"] == self.count
        assert self.loop["trigger_count"] == self.trips
        assert len(self.loop["iterations"]) + self.archived == self.kept  # nothing is lost or duplicated

    @invariant()
    def it_is_reconciled(self) -> None:
        again = states.reconcile_record("x", self.loop, self.evaluator())
        assert (again.record, again.events) == (self.loop, ())

    @invariant()
    def an_open_loop_has_a_reason(self) -> None:
        if self.loop["status"] == OPEN:
            assert self.loop["trigger_reason"]
            assert self.loop["last_trigger_time"]
        if self.loop["status"] == CLOSED:
            assert self.loop["trigger_reason"] == ""


Loop.TestCase.settings = budget(max_examples=60, stateful_step_count=40)
TestLoop = Loop.TestCase
