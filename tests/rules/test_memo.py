"""Evaluating with a memo after records were added gives the same as evaluating from scratch."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.model import Record
from liza.rules.acknowledged import Acknowledged
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.memo import new_memo
from tests.rules.boards import NOW, SYSTEMIC, Fields, anomaly, rule, rules, snapshot, systemic

KINDS = ("retry_loop", "trade_off", "external_blocker", "spec_gap", "workaround", "assumption_violated")
TEXTS = st.sampled_from(
    ["timeout", "Timeout.", "disk a full", "disk b full", "disk c full", "disk d full", "x", None, 7]
)


@st.composite
def records(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from([*KINDS, "odd", 3]))
    if draw(st.integers(0, 30)) == 0:
        return "no record"
    fields = anomaly(
        str(kind), draw(st.integers(0, 300)), draw(st.sampled_from(["task-1", "task-2", "task-3"])),
        error_pattern=draw(TEXTS), blocker_service=draw(TEXTS), spec_ref=draw(TEXTS), what=draw(TEXTS),
        assumption=draw(TEXTS), debt_created=draw(st.sampled_from([True, False, "true"])),
    )  # fmt: skip
    fields["type"] = kind
    if draw(st.integers(0, 10)) == 0:
        fields["timestamp"] = draw(st.sampled_from(["yesterday", None, "2029-01-01T00:00:00Z", "2025-01-10T00:00:00Z"]))
    return fields


OWN = rules(
    rule("count(steps, same(error)) >= 2", "steps"),
    rule("count(type=retry_loop, similar(error_pattern), distinct(task) >= 2) >= 2", "distinct"),
    rule("count(type=retry_loop, within(30m)) >= 3", "dense"),
    rule("streak(type=retry_loop, same(error_pattern)) >= 2", "streak"),
    rule("share(type=retry_loop) >= 0.5 AND count(type=retry_loop) >= 2", "share"),
    rule("sum(debt_created|count, type=trade_off) >= 1 OR sum(count, per(task)) >= 3", "sum"),
    rule("count(type=odd) < 2 AND count() >= 2", "few"),
    rule("count(type=spec_gap, age(timestamp) > 2h) >= 1", "old"),
    rule("count(per(task), type IN [workaround, trade_off], similar(what|error_pattern)) >= 2", "per_task"),
    rule("count(type=retry_loop, similar(error_pattern)) >= 2", "hours", window="2h"),
    rule("count(type=retry_loop) >= 2", "last", window="last 3"),
    rule("count(type=retry_loop, same(error_pattern)) >= 2", "again", rearm="any_new"),
    rule("count(type=retry_loop, same(error_pattern)) >= 3", "looking", mode="observe"),
)
EARLIER = {
    "status": "OK",
    "history": [
        {"timestamp": "2025-01-18T13:00:00Z", "pattern": name, "result": "TRIGGERED",
         "resolved_at": "2025-01-18T14:00:00Z"}
        for name in ("retry_cluster", "again", "per_task")
    ],
}  # fmt: skip
SILENCE = {"id": "s", "rule": "retry_cluster", "match": {"task": "task-1"}, "reason": "known", "by": "me"}
SILENCED = [{**SILENCE, "created": "2025-01-18T17:00:00Z", "until": "2025-01-18T18:00:02Z"}]


@given(
    st.lists(st.tuples(st.lists(records(), max_size=4), st.integers(0, 2)), min_size=2, max_size=6),
    st.sampled_from([SYSTEMIC, OWN]),
    st.sampled_from([{}, {"circuit_breaker": EARLIER}, {"silences": SILENCED}]),
    st.booleans(),
)
def test_memo_gives_the_same_verdict(
    added: list[tuple[list[Any], int]], ruleset: RuleSet, sections: Fields, exact: bool
) -> None:
    """Anomalies are added to the blackboard, and steps, which are elsewhere."""
    ruleset = ruleset._replace(exact=exact)
    memo: dict[Any, Any] = new_memo()
    board = snapshot(**sections)
    known: list[Any] = []
    steps: tuple[Record, ...] = ()
    for step, (more, count) in enumerate(added):
        known = [*known, *more]
        steps += tuple(Record("steps", f"{step}:{number}", {"error": "timeout"}) for number in range(count))
        grown = board._replace(sections={**board.sections, "anomalies": known}, derived={"steps": steps})
        now = NOW + timedelta(seconds=step)
        assert evaluate(ruleset, grown, now, memo) == evaluate(ruleset, grown, now)


@given(st.lists(records(), max_size=6), st.lists(records(), max_size=6), st.integers(0, 3))
def test_memo_sees_every_other_change(first: list[Any], second: list[Any], change: int) -> None:
    memo: dict[Any, Any] = new_memo()
    board = snapshot()
    before = board._replace(sections={**board.sections, "anomalies": first})
    evaluate(SYSTEMIC, before, NOW, memo)
    changes: list[Fields] = [
        {"anomalies": second},
        {"anomalies": first[1:]},
        {"circuit_breaker": EARLIER},
        {"sprint": {"timeline": {"started": "2025-01-18T14:00:00Z"}}},
    ]
    after = before._replace(sections={**before.sections, **changes[change]})
    assert evaluate(SYSTEMIC, after, NOW, memo) == evaluate(SYSTEMIC, after, NOW)
    assert evaluate(OWN, after, NOW, memo) == evaluate(OWN, after, NOW)


@pytest.mark.parametrize(
    ("condition", "changed"),
    [
        ("count(tasks, status=BLOCKED) >= 1", {"tasks": [{"id": "a", "status": "BLOCKED"}]}),
        ("count(agents, status=DEAD) >= 1", {"agents": {"coder-1": {"status": "DEAD"}}}),
        ("metric(config.failures) >= 1", {"config": {"failures": 1}}),
        ("count(iterations, outcome=error) >= 1", {"loops": {"l": {"iterations": [{"outcome": "error"}]}}}),
    ],
)
def test_memo_sees_changes_outside_anomalies(condition: str, changed: Fields) -> None:
    memo: dict[Any, Any] = new_memo()
    ruleset = rules(condition)
    assert evaluate(ruleset, snapshot(), NOW, memo).matches == ()
    assert evaluate(ruleset, snapshot(**changed), NOW, memo).matches != ()


def test_memo_sees_new_log_entries() -> None:
    memo: dict[Any, Any] = new_memo()
    ruleset = rules("count(log, action=failed) >= 1")
    assert evaluate(ruleset, snapshot(), NOW, memo).matches == ()
    assert evaluate(ruleset, snapshot(log=({"action": "failed"},)), NOW, memo).matches != ()


def test_memo_sees_new_steps() -> None:
    memo: dict[Any, Any] = new_memo()
    ruleset = rules("count(steps, outcome=failed) >= 1")
    assert evaluate(ruleset, snapshot()._replace(derived={"steps": ()}), NOW, memo).matches == ()
    steps = (Record("steps", "a:1", {"outcome": "failed"}),)
    assert evaluate(ruleset, snapshot()._replace(derived={"steps": steps}), NOW, memo).matches != ()


def test_memo_skips_rules_without_new_records() -> None:
    memo: dict[Any, Any] = new_memo()
    board = snapshot(*[anomaly("retry_loop", error_pattern="timeout") for _ in range(2)])
    first = evaluate(SYSTEMIC, board, NOW, memo)
    grown = [*board.sections["anomalies"], anomaly("spec_gap", spec_ref="a")]
    second = evaluate(SYSTEMIC, board._replace(sections={**board.sections, "anomalies": grown}), NOW, memo)
    assert second.progress[0] == first.progress[0]
    window = memo["previous"].windows["current_sprint"]
    assert memo["previous"].result(SYSTEMIC.rules[0], window, Acknowledged()) is not None
    assert memo["previous"].result(SYSTEMIC.rules[4], window, Acknowledged()) is None
    assert systemic(*grown) == []
