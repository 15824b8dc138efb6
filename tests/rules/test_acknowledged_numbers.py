"""A rule about a number is acknowledged at its value, and counts again when it is worse."""

from typing import Any

import pytest

from liza.model import Verdict
from liza.rules.evaluate import evaluate
from liza.rules.evidence import format_evidence
from liza.scopes.sprint import section
from tests.rules.boards import NOW, Fields, names, rules, snapshot
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
