"""A rule about a number is acknowledged at its value, and counts again when it is worse."""

from typing import Any

import pytest

from liza.model import Verdict
from liza.rules.evaluate import evaluate
from liza.rules.fingerprints import format_evidence
from liza.scopes.history import section
from tests.rules.boards import NOW, Fields, anomaly, names, rules, snapshot
from tests.rules.test_acknowledged import blocker, resolved, verdict_after


def numbered(value: Any, breaker: Any = None, condition: str = "metric(config.n) >= 2") -> Verdict:
    return evaluate(rules(condition), snapshot(config={"n": value}, circuit_breaker=breaker), NOW)


def acknowledged_at(value: Any, condition: str = "metric(config.n) >= 2") -> Fields:
    return resolved(snapshot(config={"n": value}), rules(condition))


@pytest.mark.parametrize(
    ("condition", "at", "quiet", "worse"),
    [
        ("metric(config.n) >= 2", 5, [5, 4, 2], [6, 5.5]),
        ("metric(config.n) > 2", 5, [5, 3], [6]),
        ("metric(config.n) <= 2", 1, [1, 2], [0, -1]),
        ("metric(config.n) < 2", 1, [1, 1.5], [0.5]),
        ("NOT metric(config.n) >= 2", 1, [1, 1.5], [0]),
        ("NOT metric(config.n) = 2", 1, [1], [0, 3]),
        ("metric(config.n) = 2", 2, [2], []),
        ("metric(config.n) >= 2 OR count(type=x) >= 9", 5, [5, 2], [6]),
        ("metric(config.n) + count(type=x) >= 2", 5, [5, 2], [6]),
        ("count(type=x) < 1", 0, [0, 7], []),
        ("count(type=x) = 0", 0, [0, 7], []),
        ("NOT count(type=x) >= 1", 0, [0, 7], []),
    ],
)
def test_number_counts_again_when_worse(condition: str, at: float, quiet: list[float], worse: list[float]) -> None:
    breaker = acknowledged_at(at, condition)
    assert [value for value in quiet if names(numbered(value, breaker, condition))] == []
    assert [value for value in worse if not names(numbered(value, breaker, condition))] == []


def lost(*minutes: float, per: str = "") -> list[Fields]:
    return [anomaly("retry_loop", place, f"task-{per}", minutes=each) for place, each in enumerate(minutes)]


@pytest.mark.parametrize(
    ("condition", "at", "quiet", "worse"),
    [
        ("sum(minutes) >= 5", [5], [[5], [4, 1], [2], [6, -1], []], [[5, 1], [6]]),
        ("sum(minutes, type=retry_loop) > 5", [3, 3], [[3, 3], [6, 0]], [[3, 3, 0.5]]),
        ("sum(minutes) <= 5", [4], [[4], [5], [4, 1]], [[3], [4, -1]]),
        ("NOT sum(minutes) >= 5", [4], [[4], [4, 0.5]], [[3.5]]),
        ("sum(minutes, per(task)) >= 5", [5], [[5], [2, 3]], [[5, 1]]),
        ("sum(minutes, same(type)) + count(same(type)) >= 6", [5], [[5]], [[5, 1]]),
        ("sum(minutes) >= 5 OR metric(config.n) >= 9", [5], [[5]], [[6]]),
    ],
)
def test_sum_counts_again_when_worse(
    condition: str, at: list[float], quiet: list[list[float]], worse: list[list[float]]
) -> None:
    breaker = resolved(snapshot(*lost(*at)), rules(condition))

    def tripped(minutes: list[float]) -> bool:
        return bool(names(evaluate(rules(condition), snapshot(*lost(*minutes), circuit_breaker=breaker), NOW)))

    assert [each for each in quiet if tripped(each)] == []
    assert [each for each in worse if not tripped(each)] == []


def test_each_group_of_a_sum_is_acknowledged_at_its_own_value() -> None:
    ruleset = rules("sum(minutes, per(task)) >= 5")
    first = resolved(snapshot(*lost(5, per="a")), ruleset)
    both = [*lost(5, per="a"), *lost(7, per="b")]
    board = snapshot(*both, circuit_breaker=first)
    assert [match.key for match in evaluate(ruleset, board, NOW).matches] == ["task-b"]
    second = resolved(board, ruleset)
    assert names(evaluate(ruleset, snapshot(*both, circuit_breaker=second), NOW)) == []
    worse = evaluate(ruleset, snapshot(*both, *lost(1, per="a"), circuit_breaker=second), NOW)
    assert [match.key for match in worse.matches] == ["task-a"]


def test_two_sums_of_one_rule_are_acknowledged_apart() -> None:
    ruleset = rules("sum(minutes, task=task-a) >= 5 AND sum(minutes, task=task-b) >= 1")
    old = [*lost(9, per="a"), *lost(1, per="b")]
    breaker = resolved(snapshot(*old), ruleset)
    assert names(evaluate(ruleset, snapshot(*old, circuit_breaker=breaker), NOW)) == []
    assert names(evaluate(ruleset, snapshot(*old, *lost(1, per="b"), circuit_breaker=breaker), NOW)) == ["own"]


def test_count_beside_a_sum_is_acknowledged_by_its_records() -> None:
    ruleset = rules("sum(minutes) >= 1 AND count(type=retry_loop) >= 2")
    old = lost(1, 1)
    breaker = resolved(snapshot(*old), ruleset)
    assert names(evaluate(ruleset, snapshot(*old, *lost(0), circuit_breaker=breaker), NOW)) == []
    assert names(evaluate(ruleset, snapshot(*old, *lost(0, 0), circuit_breaker=breaker), NOW)) == ["own"]


def test_recovered_number_counts_from_threshold() -> None:
    breaker = acknowledged_at(5)
    back = numbered(1, breaker)
    assert back.recovered == ("own",)
    recovered = section.follow_numbers(breaker, back.recovered, {})
    assert numbered(1, recovered).recovered == ()
    assert names(numbered(2, recovered)) == ["own"]
    assert numbered(None, breaker).recovered == (), "an absent number has not recovered"


def test_number_acknowledged_twice_counts_from_later_value() -> None:
    breaker = acknowledged_at(2)
    again = resolved(snapshot(config={"n": 5}, circuit_breaker=breaker), rules("metric(config.n) >= 2"))
    assert names(numbered(5, again)) == []
    assert names(numbered(6, again)) == ["own"]


def test_number_without_recorded_value_counts_from_first_seen() -> None:
    breaker = acknowledged_at(5)
    breaker["history"][0]["evidence"] = {"own": ""}
    found = numbered(4, breaker)
    assert names(found) == []
    values = {name: format_evidence((), numbers) for name, numbers in found.unvalued.items()}
    known = section.follow_numbers(breaker, (), values)
    assert names(numbered(4, known)) == []
    assert names(numbered(5, known)) == ["own"]


def test_low_count_is_acknowledged_with_its_records() -> None:
    ruleset = rules("count(type=external_blocker) < 3")
    old = [blocker(0), blocker(1)]
    assert names(verdict_after(old, old, ruleset)) == []
    assert names(verdict_after(old, old[:1], ruleset)) == ["own"]
    assert names(verdict_after(old, [*old, blocker(2)], ruleset)) == []


def test_unacknowledged_metric_of_two_counts() -> None:
    ruleset = rules("metric(config.a) >= 2 OR metric(config.b) >= 2")
    breaker = resolved(snapshot(config={"a": 2, "b": 0}), ruleset)
    assert names(evaluate(ruleset, snapshot(config={"a": 2, "b": 2}, circuit_breaker=breaker), NOW)) == ["own"]
