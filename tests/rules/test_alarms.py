"""The alarms pack: each rule on its smallest firing board, and on boards where it stays quiet."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from liza.model import format_time
from liza.rules.evaluate import evaluate
from liza.scopes.rules_file import read_rules
from tests.rules.boards import NOW, SYSTEMIC, Fields, anomaly, snapshot

ALARMS = SYSTEMIC.only_alarms()
LOW = {"max_review_cycles": 5}
CODERS = {"coder-1": {"role": "coder", "status": "WORKING"}}


def ago(**span: float) -> str:
    return format_time(NOW - timedelta(**span))


def task(status: str = "CLAIMED", **fields: Any) -> dict[str, Any]:
    """One task, and an agent working on it."""
    return {"tasks": [{"id": "task-1", "status": status, **fields}], "agents": CODERS}


def replaced(status: str, **fields: Any) -> dict[str, Any]:
    """A task, and two that are superseded and have its specification."""
    old = {"status": "SUPERSEDED", "spec_ref": "users.md", "created": "2024-01-01T00:00:00Z"}
    return {"tasks": [{"id": "a", **old}, {"id": "b", **old}, *task(status, **fields)["tasks"]]}


def agent(**fields: Any) -> dict[str, Any]:
    return {"agents": {"coder-1": {"role": "coder", "status": "WORKING", **fields}}}


def discovery(**fields: Any) -> dict[str, Any]:
    return {"discovered": [{"id": "d-1", "description": "no backups", **fields}]}


def claims(*names: str | None) -> dict[str, Any]:
    return task(history=[{"time": ago(hours=1), "event": "claimed", "agent": name} for name in names])


def alarms_of(board: Mapping[str, Any], *anomalies: Fields) -> dict[str, str | None]:
    """The rules that raise an alarm, each with its key."""
    verdict = evaluate(ALARMS, snapshot(*anomalies, **board), NOW)
    assert verdict.matches == (), "an alarm never halts"
    return {match.rule.name: match.key for match in verdict.observed}


FIRES: list[tuple[str, str, dict[str, Any]]] = [
    ("coder_lease_expired", "coder-1", agent(lease_expires=ago(seconds=121))),
    ("coder_lease_expired", "coder-1", agent(lease_expires=ago(days=400), status="WAITING")),
    (
        "review_lease_expired",
        "task-1",
        task("READY_FOR_REVIEW", reviewing_by="r-1", review_lease_expires=ago(minutes=3)),
    ),
    ("task_blocked", "task-1", task("BLOCKED")),
    ("rejected_without_coder", "task-1", task("REJECTED", assigned_to="coder-9")),
    (
        "rejected_without_coder",
        "task-1",
        {**task("REJECTED", assigned_to="coder-1"), "agents": {"coder-1": {"status": "dead"}}},
    ),
    ("review_cycles_near_limit", "task-1", task(review_cycles_current=3)),
    ("review_cycles_near_limit", "task-1", task(review_cycles_current=4)),
    ("review_cycles_near_limit", "task-1", {**task(review_cycles_current=8), "config": {"max_review_cycles": 10}}),
    ("review_cycles_near_limit", "task-1", {**task(review_cycles_current=2, max_review_cycles=3), "config": {}}),
    ("review_cycles_used_up", "task-1", task(review_cycles_current=5)),
    ("review_cycles_used_up", "task-1", {**task(review_cycles_current=2), "config": {"max_review_cycles": 2}}),
    (
        "review_cycles_used_up",
        "task-1",
        {**task(review_cycles_current=2, max_review_cycles=2), "config": {"max_review_cycles": 9}},
    ),
    ("review_churn", "task-1", task(history=[{"event": "rejected", "agent": "r-1"}] * 4)),
    ("review_churn", "task-1", {**task("REJECTED", review_cycles_current=4), "config": {"max_review_cycles": 20}}),
    ("replacement_chain", "task-1", replaced("BLOCKED", supersedes=["a", "b"])),
    ("replacement_chain", "task-1", replaced("BLOCKED", spec_ref="users.md")),
    ("iterations_near_limit", "task-1", task(iteration=8)),
    ("iterations_near_limit", "task-1", {**task(iteration=3), "config": {"max_coder_iterations": 5}}),
    (
        "iterations_near_limit",
        "task-1",
        {**task(iteration=3, max_iterations=4), "config": {"max_coder_iterations": 50}},
    ),
    ("iterations_used_up", "task-1", task(iteration=10)),
    ("integration_failed", "task-1", task("INTEGRATION_FAILED")),
    ("two_coders_failed", "task-1", task(failed_by=["coder-1", "coder-2"])),
    ("task_reassigned", "task-1", claims("coder-1", "coder-2")),
    ("draft_stale", "task-1", task("DRAFT", created=ago(minutes=31))),
    ("discovery_immediate", "d-1", discovery(urgency="immediate", converted_to_task=None)),
    ("discovery_immediate", "d-1", discovery(urgency="immediate")),
]
QUIET: list[tuple[str, dict[str, Any]]] = [
    ("coder_lease_expired", agent(lease_expires=ago(seconds=119))),
    ("coder_lease_expired", agent(lease_expires=ago(hours=-1))),
    ("coder_lease_expired", agent(lease_expires=ago(hours=1), status="IDLE")),
    ("coder_lease_expired", agent(lease_expires=None)),
    ("coder_lease_expired", agent(lease_expires="soon")),
    ("review_lease_expired", task(reviewing_by="r-1", review_lease_expires=ago(seconds=119))),
    ("review_lease_expired", task(reviewing_by=None, review_lease_expires=ago(hours=1))),
    ("task_blocked", task("CLAIMED", blocked_reason="once was")),
    ("rejected_without_coder", task("REJECTED", assigned_to="coder-1")),
    ("rejected_without_coder", task("CLAIMED", assigned_to="coder-9")),
    ("review_cycles_near_limit", task(review_cycles_current=2)),
    ("review_cycles_near_limit", task(review_cycles_current=5)),
    ("review_cycles_near_limit", task("MERGED", review_cycles_current=4)),
    (
        "review_cycles_near_limit",
        {**task(review_cycles_current=4, max_review_cycles=9), "config": LOW},
    ),
    ("review_cycles_near_limit", {**task(), "config": {"max_review_cycles": 2}}),
    ("review_cycles_near_limit", task(review_cycles_current=1, max_review_cycles=3)),
    ("iterations_near_limit", task(max_iterations=1)),
    ("iterations_near_limit", {**task(iteration=1), "config": {"max_coder_iterations": 3}}),
    ("coder_lease_expired", agent(lease_expires=ago(hours=1), status="idle")),
    ("coder_lease_expired", agent(lease_expires=ago(hours=1), status="crashed")),
    ("review_lease_expired", task("MERGED", reviewing_by="r-1", review_lease_expires=ago(hours=1))),
    ("two_coders_failed", task("MERGED", failed_by=["coder-1", "coder-2"])),
    ("review_cycles_used_up", task(review_cycles_current=4)),
    ("review_cycles_used_up", task("ABANDONED", review_cycles_current=9)),
    ("review_churn", task(review_cycles_current=3, rejections=9, history=[{"event": "rejected"}] * 3)),
    ("review_churn", task("MERGED", history=[{"event": "rejected"}] * 9)),
    ("replacement_chain", replaced("CLAIMED", supersedes=["a", "b"])),
    ("replacement_chain", replaced("BLOCKED", supersedes=["a", "a", "task-1", "gone"], replacements=9)),
    ("replacement_chain", replaced("BLOCKED", spec_ref="users.md", created="2020-01-01T00:00:00Z")),
    ("iterations_near_limit", task(iteration=7)),
    ("iterations_near_limit", task("MERGED", iteration=10)),
    ("iterations_near_limit", task(iteration=10)),
    ("iterations_used_up", task(iteration=9)),
    ("iterations_near_limit", {**task(iteration=8), "config": {"max_coder_iterations": 20}}),
    ("integration_failed", task("APPROVED")),
    ("two_coders_failed", task(failed_by=["coder-1", "coder-1"])),
    ("two_coders_failed", task(failed_by=[])),
    ("two_coders_failed", task(failed_by="coder-1, coder-2")),
    ("task_reassigned", claims("coder-1", "coder-1")),
    ("task_reassigned", task(history="claimed twice")),
    ("draft_stale", task("DRAFT", created=ago(minutes=29))),
    ("draft_stale", task("DRAFT")),
    ("draft_stale", task("UNCLAIMED", created=ago(days=3))),
    ("discovery_immediate", discovery(urgency="immediate", converted_to_task="task-4")),
    ("discovery_immediate", discovery(urgency="deferred", converted_to_task=None)),
]


@pytest.mark.parametrize(("rule", "key", "board"), FIRES, ids=[f"{rule}-{n}" for n, (rule, *_) in enumerate(FIRES)])
def test_alarm_fires_on_its_smallest_board(rule: str, key: str, board: dict[str, Any]) -> None:
    assert alarms_of(board).get(rule) == key


@pytest.mark.parametrize(("rule", "board"), QUIET, ids=[f"{rule}-{n}" for n, (rule, _) in enumerate(QUIET)])
def test_alarm_is_quiet_on_look_alike_board(rule: str, board: dict[str, Any]) -> None:
    assert rule not in alarms_of(board)


@pytest.mark.parametrize("kind", ["hypothesis_exhaustion", "review_deadlock"])
def test_alarm_type_anomaly_is_reported_for_its_task(kind: str) -> None:
    assert alarms_of({}, anomaly(kind, task="task-7")) == {kind: "task-7"}
    assert alarms_of({}, anomaly("retry_loop", task="task-7")) == {}


def test_quiet_team_causes_no_alarm() -> None:
    board = {**task(assigned_to="coder-1", iteration=1, review_cycles_current=0), "discovered": []}
    assert alarms_of(board, anomaly("retry_loop"), anomaly("note")) == {}


def test_alarm_rules_never_halt() -> None:
    assert not {each.rule.name for each in ALARMS.rules} & {each.rule.name for each in SYSTEMIC.rules}
    assert {each.rule.action for each in ALARMS.rules} == {"ALERT"}
    assert read_rules(None, protocol="loops").alarms == ()


def test_alarms_are_separate_per_task() -> None:
    both: dict[str, Any] = {"tasks": [{"id": "a", "status": "BLOCKED"}, {"id": "b", "status": "BLOCKED"}]}
    verdict = evaluate(ALARMS, snapshot(**both), NOW)
    assert sorted(str(match.key) for match in verdict.observed) == ["a", "b"]


@pytest.mark.parametrize(
    "section",
    [
        {"tasks": "none"},
        {"tasks": [1, None, "x", {}]},
        {"tasks": [{"id": None, "status": ["BLOCKED"], "history": [1], "failed_by": {"a": 1}, "iteration": "9"}]},
        {"agents": ["coder-1"]},
        {"agents": {"coder-1": None}},
        {"config": [], "tasks": [{"id": "t", "status": "CLAIMED", "max_iterations": "many"}]},
        {"config": {"max_review_cycles": 0}, "tasks": [{"id": "t", "status": "CLAIMED"}]},
        {"discovered": {"urgency": "immediate"}},
    ],
    ids=str,
)
def test_odd_board_causes_no_alarm_or_error(section: dict[str, Any]) -> None:
    assert alarms_of(section) == {}


def test_task_cannot_set_its_own_cycles_left() -> None:
    board = task(review_cycles_current=5, review_cycles_left=99, iterations_left=99, iteration=10)
    assert {"review_cycles_used_up", "iterations_used_up"} <= alarms_of(board).keys()


def test_claim_without_agent_is_not_a_second_agent() -> None:
    assert "task_reassigned" not in alarms_of(claims("coder-1", None))


def test_unassigned_rejected_task_is_reported() -> None:
    assert "rejected_without_coder" in alarms_of(task("REJECTED", assigned_to=None))
