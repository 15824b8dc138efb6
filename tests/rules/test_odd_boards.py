"""Anything that parses as a blackboard is evaluated: people and other programs write it, and a crash is no verdict."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liza.rules.acknowledged import trip_id
from liza.rules.evaluate import evaluate
from liza.rules.fingerprints import fingerprint
from liza.rules.language import STREAMS
from tests.rules.boards import NOW, SYSTEMIC, anomaly, names, parse_board, rules, snapshot

EVERYTHING = rules(
    *(
        {"name": f"{kind}_{stream}", "condition": condition, "severity": "SPEC_FLAW"}
        for stream in STREAMS
        for kind, condition in {
            "count": f"count({stream}, type IN [workaround, a], similar(what|x), within(1h), distinct(task) >= 1) >= 1",
            "streak": f"streak({stream} where x != 3, per(task), same(x), age(timestamp) > 1s) >= 1",
            "sum": f"sum(n|x, {stream} where x != 3, per(task), within(1h)) >= 1 OR sum(n, {stream}) >= 5",
            "share": f"share({stream}, x =~ 'a', n >= 2, debt_created=true) >= 0.5 OR metric(sprint.metrics.x) > 1",
        }.items()
    ),
    window="current_sprint",
)

_WORDS = st.sampled_from(["a", "workaround", "external_blocker", "", "OK", "TRIGGERED", "null", "first 3", "first x"])
_TIMES = st.sampled_from(["2025-01-18T12:00:00Z", "2025-01-18", "0001-01-01T00:00:00+05:00", "9999-12-31", "soon"])
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(-9, 9), _WORDS, _TIMES)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_WORDS, inner, max_size=3)),
    max_leaves=5,
)


def _mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 3).flatmap(lambda number: usual if number else _VALUES)


_FIELDS = {
    "type": _mostly(_WORDS),
    "task": _mostly(_WORDS),
    "timestamp": _mostly(_TIMES),
    **dict.fromkeys(("x", "n", "what", "debt_created", "blocker_service"), _mostly(_SCALARS)),
}
_DETAILS = st.fixed_dictionaries({}, optional=_FIELDS)
_RECORDS = st.lists(_mostly(st.fixed_dictionaries({}, optional={**_FIELDS, "details": _mostly(_DETAILS)})), max_size=5)
_RULES = st.sampled_from(["count_anomalies", "streak_anomalies", "external_service_outage"])
_TRIPS = st.fixed_dictionaries(
    {"pattern": _mostly(_RULES)},
    optional={
        "result": st.sampled_from(["TRIGGERED", "TRIGGERED", "OK", 5]),
        "timestamp": _mostly(_TIMES),
        "resolved_at": _mostly(_TIMES),
        "also_matched": _mostly(st.lists(_RULES, max_size=2)),
        "evidence": _mostly(st.dictionaries(_RULES, _mostly(_WORDS), max_size=2)),
        "trip_id": _mostly(_WORDS),
    },
)
_BREAKER = st.fixed_dictionaries(
    {"history": _mostly(st.lists(_mostly(_TRIPS), max_size=4))},
    optional={"status": _SCALARS, "current_trigger": _mostly(_TRIPS)},
)


def _owners(stream: str) -> st.SearchStrategy[Any]:
    owner = st.fixed_dictionaries({"id": _SCALARS}, optional={stream: _mostly(_RECORDS)})
    return _mostly(st.one_of(st.lists(owner, max_size=3), st.dictionaries(_WORDS, owner, max_size=3)))


SECTIONS = st.fixed_dictionaries(
    {"anomalies": _mostly(_RECORDS)},
    optional={
        "tasks": _mostly(_RECORDS),
        "agents": _mostly(st.dictionaries(_WORDS, _mostly(_DETAILS), max_size=3)),
        "discovered": _mostly(_RECORDS),
        "claims": _owners("rounds"),
        "slices": _owners("attempts"),
        "loops": _owners("iterations"),
        "sprint": _mostly(st.fixed_dictionaries({"timeline": _mostly(st.fixed_dictionaries({"started": _TIMES}))})),
        "circuit_breaker": _mostly(_BREAKER),
    },
)


@settings(max_examples=2 * settings().max_examples)
@given(SECTIONS)
def test_any_blackboard_is_evaluated(sections: dict[str, Any]) -> None:
    text = "version: 1\n" + "".join(f"{name}: {json.dumps(value)}\n" for name, value in sections.items())
    board = parse_board(text)
    for ruleset in (SYSTEMIC, EVERYTHING, EVERYTHING._replace(exact=True, window="last 2")):
        verdict = evaluate(ruleset, board, NOW)
        for match in verdict.matches:
            assert match.evidence
            assert trip_id(match.rule.name, match.evidence, match.threshold)


@pytest.mark.parametrize(
    "kind", ["{a: b}", "[workaround, {a: b}]", "[]", "3", "true", "null", "~", "2025-01-18", ".nan", "''"]
)
def test_non_string_type_hides_nothing(kind: str) -> None:
    board = parse_board(
        "version: 1\nanomalies:\n"
        "  - {type: workaround, what: flatten the entity}\n"
        f"  - {{type: {kind}, what: flatten the entity}}\n"
        "  - {type: workaround, what: flatten the entity}\n"
    )
    assert names(evaluate(SYSTEMIC, board, NOW)) == ["workaround_pattern"]


@pytest.mark.parametrize("details", ["{404: not found, b: c}", "{1.5: a, b: c}", "{true: a, b: c}", "{null: a, b: c}"])
def test_non_string_detail_keys_are_evaluated(details: str) -> None:
    entry = f"{{type: external_blocker, blocker_service: x, details: {details}}}"
    history = (
        "circuit_breaker: {history: [{pattern: external_service_outage, evidence: {external_service_outage: a1}}]}"
    )
    board = parse_board(f"anomalies:\n  - {entry}\n  - {entry}\n{history}\n")
    (match,) = evaluate(SYSTEMIC, board, NOW).matches
    assert all(map(fingerprint, match.evidence))


@pytest.mark.parametrize("entry", ["null", "5", "text", "[]", "[{type: external_blocker}]"])
def test_non_record_entry_does_not_hide_others(entry: str) -> None:
    blocker = "{type: external_blocker, blocker_service: x}"
    board = parse_board(f"version: 1\nanomalies:\n  - {blocker}\n  - {entry}\n  - {blocker}\n")
    (match,) = evaluate(SYSTEMIC, board, NOW).matches
    assert [record.key for record in match.evidence] == [0, 2]


@pytest.mark.timeout(30)
def test_ten_thousand_records_are_evaluated_quickly() -> None:
    texts = [f"error {word} in module" for word in ("alpha", "beta", "gamma", "delta")]
    records = [anomaly("retry_loop", n % 300, error_pattern=f"{texts[n % 4]} at line {n}") for n in range(10_000)]
    (*found,) = evaluate(SYSTEMIC, snapshot(*records), NOW).matches
    assert sum(match.value for match in found) == 10_000
