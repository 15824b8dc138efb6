"""The name of a trip: the same for the same rule and the same first records, whoever finds it and however often."""

from typing import Any

import pytest

from liza.model import Match, Record
from liza.rules.acknowledged import trip_id
from liza.rules.evaluate import evaluate
from liza.rules.evidence import fingerprint
from tests.rules.boards import NOW, Fields, anomaly, matches, rule, rules, snapshot


def blocker(at: int, **fields: Any) -> Fields:
    return anomaly("external_blocker", at, blocker_service="payments-api", **fields)


def named(match: Match) -> str:
    return trip_id(match.rule.name, match.evidence, match.threshold)


def one(*records: Fields, name: str = "own") -> Match:
    (match,) = evaluate(rules(rule("count(same(blocker_service)) >= 2", name)), snapshot(*records), NOW).matches
    return match


def test_a_trip_is_named_by_its_rule_and_its_first_records() -> None:
    first = one(blocker(0), blocker(1))
    assert len(named(first)) == 12
    assert set(named(first)) <= set("0123456789abcdef")
    assert named(one(blocker(0), blocker(1), name="other")) != named(first)
    assert named(one(blocker(0), blocker(2))) != named(first)


def test_the_name_of_a_trip_is_stable_under_later_records() -> None:
    first = named(one(blocker(0), blocker(1)))
    assert named(one(blocker(0), blocker(1), blocker(2), anomaly("retry_loop", 3), blocker(4))) == first
    assert named(one(anomaly("retry_loop", 0), blocker(0), anomaly("retry_loop", 1), blocker(1))) == first


def test_a_name_needs_no_evidence() -> None:
    (match,) = matches("metric(config.n) >= 1", config={"n": 1})
    assert len(named(match)) == 12


@pytest.mark.parametrize("key", [404, 1.5, True, None])
def test_a_record_with_keys_that_are_no_texts_has_a_fingerprint(key: object) -> None:
    fields = {"type": "x", "details": {key: "a", "b": "c"}}
    assert fingerprint(Record("anomalies", 0, fields)) == fingerprint(Record("anomalies", 7, fields))


def test_a_fingerprint_tells_values_of_different_types_apart() -> None:
    prints = {fingerprint(Record("anomalies", 0, {"a": value})) for value in (1, "1", True, None, "null", [1], 1.5)}
    assert len(prints) == 7
