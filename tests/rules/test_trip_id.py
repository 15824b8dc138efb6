"""The trip id: the same for the same rule and the same first records, no matter which check computes it."""

from typing import Any

import pytest

from liza.model import Match, Record
from liza.rules.acknowledged import trip_id
from liza.rules.evaluate import evaluate
from liza.rules.fingerprints import fingerprint
from tests.rules.boards import NOW, Fields, anomaly, matches, rule, rules, snapshot


def blocker(at: int, **fields: Any) -> Fields:
    return anomaly("external_blocker", at, blocker_service="payments-api", **fields)


def trip_id_of(match: Match) -> str:
    return trip_id(match.rule.name, match.evidence, match.threshold)


def one(*records: Fields, name: str = "own") -> Match:
    (match,) = evaluate(rules(rule("count(same(blocker_service)) >= 2", name)), snapshot(*records), NOW).matches
    return match


def test_trip_id_depends_on_rule_and_first_records() -> None:
    first = one(blocker(0), blocker(1))
    assert len(trip_id_of(first)) == 12
    assert set(trip_id_of(first)) <= set("0123456789abcdef")
    assert trip_id_of(one(blocker(0), blocker(1), name="other")) != trip_id_of(first)
    assert trip_id_of(one(blocker(0), blocker(2))) != trip_id_of(first)


def test_trip_id_is_stable_under_later_records() -> None:
    first = trip_id_of(one(blocker(0), blocker(1)))
    assert trip_id_of(one(blocker(0), blocker(1), blocker(2), anomaly("retry_loop", 3), blocker(4))) == first
    assert trip_id_of(one(anomaly("retry_loop", 0), blocker(0), anomaly("retry_loop", 1), blocker(1))) == first


def test_trip_id_needs_no_evidence() -> None:
    (match,) = matches("metric(config.n) >= 1", config={"n": 1})
    assert len(trip_id_of(match)) == 12


@pytest.mark.parametrize("key", [404, 1.5, True, None])
def test_record_with_non_string_keys_has_fingerprint(key: object) -> None:
    fields = {"type": "x", "details": {key: "a", "b": "c"}}
    assert fingerprint(Record("anomalies", 0, fields)) == fingerprint(Record("anomalies", 7, fields))


def test_fingerprint_distinguishes_value_types() -> None:
    prints = {fingerprint(Record("anomalies", 0, {"a": value})) for value in (1, "1", True, None, "null", [1], 1.5)}
    assert len(prints) == 7
