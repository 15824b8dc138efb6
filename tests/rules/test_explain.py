"""`rules explain` is correct about the groups of a rule, and about the records that do not count."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.model import Match, Snapshot
from liza.rules.evaluate import evaluate
from liza.rules.explain import Explanation, explain
from liza.rules.fingerprints import format_evidence
from liza.rules.windows import stream_records
from tests.rules.boards import NOW, Fields, anomaly, parse_board, snapshot
from tests.rules.explained import RETRIES, explained, one_rule, retry


def reasons(found: Explanation) -> dict[int | str, str]:
    """The key of each record that does not count, and why not."""
    return {each.record.key: each.why for each in found.uncounted}


def evidence(found: Explanation) -> list[list[int | str]]:
    return [[record.key for record in group.outcome.evidence] for group in found.groups]


# --- groups ---------------------------------------------------------------------------------------------------------

CONDITIONS = [
    "count() >= 1", "count(type=retry_loop) >= 3", "count(type=retry_loop) < 2", RETRIES,
    "count(type=retry_loop, similar(error_pattern)) >= 2", "count(type=retry_loop, same(error_pattern)) >= 2",
    "count(type IN [retry_loop, workaround], similar(error_pattern|what)) >= 2", "count(per(task)) >= 2",
    "count(type=retry_loop, similar(error_pattern), per(task)) >= 2", "count(anomalies where exists(count)) >= 1",
    "sum(count, per(task)) >= 2", "sum(count) >= 1",
    "count(type != retry_loop, task =~ '1$') >= 1", "count(age(timestamp) > 5h) >= 2",
]  # fmt: skip
TEXTS = st.sampled_from(
    ["timeout after 3 s", "Timeout after 4 s.", "HTTP 502 from it", "HTTP 503 from it", "valve opened now", "x"]
)
RECORDS = st.lists(
    st.builds(
        lambda kind, at, task, details: anomaly(kind, at, task, **details),
        st.sampled_from(["retry_loop", "workaround", "odd"]),
        st.integers(0, 300),
        st.sampled_from(["task-1", "task-2"]),
        st.fixed_dictionaries({}, optional={"error_pattern": TEXTS, "what": TEXTS, "count": st.integers(0, 3)}),
    ),
    max_size=12,
)
WINDOWS = st.sampled_from(["all", "4h", "last 3", "current_sprint"])


def accounts_for_all(found: Explanation, given_: Snapshot, name: str = "anomalies") -> bool:
    counted = {record.key for group in found.groups for record in group.outcome.evidence}
    left_out = [each.record.key for each in found.uncounted]
    return counted.isdisjoint(left_out) and counted | set(left_out) == {r.key for r in stream_records(given_, name)}


@given(st.sampled_from(CONDITIONS), RECORDS, WINDOWS)
def test_every_record_is_grouped_or_explained(condition: str, given_: list[Fields], window: str) -> None:
    board = snapshot(*given_)
    found = explain(one_rule(condition, window=window), "own", board, NOW)
    assert accounts_for_all(found, board)
    in_groups = sum(len(group.outcome.evidence) for group in found.groups)
    assert in_groups + len(found.uncounted) == len(given_)
    if not condition.startswith("sum"):
        assert all(group.outcome.value == len(group.outcome.evidence) for group in found.groups)


ODD = {
    "blank": "  ", "empty": "", "an empty list": [], "a list of nothing": [None], "a mapping": {"a": 1},
    "a list of mappings": [{"a": 1}], "a blank in a list": [" "],
}  # fmt: skip


@pytest.mark.parametrize("grouping", ["similar(error_pattern)", "same(error_pattern)"])
@pytest.mark.parametrize("value", ODD.values(), ids=ODD.keys())
def test_record_with_nothing_to_compare_is_explained(value: Any, grouping: str) -> None:
    board = snapshot(retry(value), retry("timeout after 3 s"))
    found = explain(one_rule(f"count(type=retry_loop, {grouping}) >= 3"), "own", board, NOW)
    assert evidence(found) == [[1]]
    assert accounts_for_all(found, board)


def test_group_with_too_few_distinct_values_is_accounted_for() -> None:
    board = snapshot(*[retry("timeout after 3 s", at) for at in range(3)])
    condition = "count(type=retry_loop, similar(error_pattern), distinct(task) >= 2) >= 3"
    found = explain(one_rule(condition), "own", board, NOW)
    assert accounts_for_all(found, board)


def test_records_outside_fullest_span_are_explained() -> None:
    board = snapshot(retry("x", 0), retry("x", 5), retry("x", 90))
    found = explain(one_rule("count(type=retry_loop, within(10m)) >= 3"), "own", board, NOW)
    assert evidence(found) == [[0, 1]]
    assert accounts_for_all(found, board)


def explained_matches(found: Explanation) -> list[tuple[str | None, list[int | str]]]:
    outcomes = [group.outcome for group in found.groups if group.outcome.satisfied]
    return [(each.key, [record.key for record in each.evidence]) for each in outcomes]


def matches_of(matches: tuple[Match, ...]) -> list[tuple[str | None, list[int | str]]]:
    return [(each.key, [record.key for record in each.evidence]) for each in matches]


@given(st.sampled_from(CONDITIONS), RECORDS, WINDOWS, st.sampled_from(["act", "observe"]), st.booleans())
def test_explained_matches_equal_the_verdict(
    condition: str, given_: list[Fields], window: str, mode: str, exact: bool
) -> None:
    ruleset = one_rule(condition, window=window, mode=mode)._replace(exact=exact)
    found = explain(ruleset, "own", snapshot(*given_), NOW)
    verdict = evaluate(ruleset, snapshot(*given_), NOW)
    assert explained_matches(found) == matches_of(verdict.matches if mode == "act" else verdict.observed)
    assert found.verdict == verdict


def resolved(*anomalies: Fields) -> Fields:
    """A breaker section with a resolved trip of the rule on these anomalies."""
    text = format_evidence(snapshot(*anomalies).records("anomalies"))
    trip = {"timestamp": "2025-01-18T13:00:00Z", "pattern": "own", "result": "TRIGGERED", "evidence": {"own": text}}
    return {"status": "OK", "history": [{**trip, "resolved_at": "2025-01-18T14:00:00Z"}]}


@pytest.mark.parametrize("rearm", ["fresh", "any_new"])
@pytest.mark.parametrize("new", [0, 1, 3])
def test_acknowledged_evidence_is_not_explained_as_match(rearm: str, new: int) -> None:
    old = [retry("timeout after 3 s", at) for at in range(3)]
    given_ = [*old, *(retry("timeout after 3 s", 200 + at) for at in range(new))]
    board = snapshot(*given_, circuit_breaker=resolved(*old))
    ruleset = one_rule(RETRIES, rearm=rearm)
    found = explain(ruleset, "own", board, NOW)
    assert explained_matches(found) == matches_of(evaluate(ruleset, board, NOW).matches)


@given(RECORDS)
def test_group_texts_come_from_its_records(given_: list[Fields]) -> None:
    for group in explained(RETRIES, *given_).groups:
        texts = [record.get("error_pattern") for record in group.outcome.evidence]
        assert dict(group.texts) == {text: texts.count(text) for text in texts}
        assert list(group.texts) == sorted(group.texts, key=lambda pair: (-pair[1], pair[0]))
        assert group.texts[0][0] == group.outcome.key


def test_record_with_several_texts_adds_one_per_group() -> None:
    found = explained(RETRIES, retry(["disk is full", "no such table"]), retry(["disk is full", ["a lock was held"]]))
    texts = {group.outcome.key: dict(group.texts) for group in found.groups}
    assert texts == {
        "disk is full": {"disk is full": 2},
        "no such table": {"no such table": 1},
        "a lock was held": {"a lock was held": 1},
    }


# --- what does not count --------------------------------------------------------------------------------------------


def test_uncounted_record_has_its_reason() -> None:
    old = retry("timeout after 3 s", 1)
    given_ = [
        {**retry("timeout after 3 s"), "timestamp": "2025-01-17T12:00:00Z"}, old, retry(None), anomaly("workaround"),
        retry("timeout after 3 s", 240),
    ]  # fmt: skip
    board = snapshot(*given_, circuit_breaker=resolved(old))
    found = explain(one_rule(RETRIES, window="current_sprint"), "own", board, NOW)
    assert reasons(found) == {
        0: "before the window",
        1: "acknowledged by a resolution",
        2: "no field error_pattern",
        3: "type is 'workaround'",
    }
    assert evidence(found) == [[4]]


def test_reason_comes_from_the_count_that_nearly_matched() -> None:
    condition = "count(type=trade_off, debt_created=true) + count(type=debt_created) >= 3"
    found = explained(
        condition, anomaly("trade_off", debt_created=False), anomaly("debt_created"), anomaly("trade_off")
    )
    assert reasons(found) == {0: "debt_created is false", 2: "no field debt_created"}


AGES = {"too long ago": ("09:00", "< 30m"), "not long ago": ("17:50", "> 30m"), "no time": (None, "> 30m")}


@pytest.mark.parametrize("name", AGES)
def test_reason_of_age_filter_is_correct(name: str) -> None:
    time, asked = AGES[name]
    task = {"id": "a", "since": f"2025-01-18T{time}:00Z" if time else "yesterday"}
    found = explained(f"count(tasks where age(since) {asked}) >= 1", tasks=[task])
    assert ("more recent than the rule asks" in reasons(found)[0]) is (name == "not long ago")


def test_metric_is_shown_without_records() -> None:
    found = explained("metric(sprint.metrics.blocked) >= 2", sprint={"metrics": {"blocked": 1}})
    assert [(group.outcome.value, group.outcome.threshold) for group in found.groups] == [(1, 2)]


def test_other_streams_are_explained_by_their_records() -> None:
    board = snapshot(tasks=[{"id": "a", "status": "BLOCKED"}, {"id": "b", "status": "READY"}, "odd"])
    found = explain(one_rule("count(tasks where status=BLOCKED) >= 2"), "own", board, NOW)
    assert accounts_for_all(found, board, "tasks")
    assert reasons(found) == {1: "status is 'READY'"}


# --- odd blackboards ------------------------------------------------------------------------------------------------

WRITTEN = {
    "a huge number": "9" * 5_000, "null": "null", "an empty list": "[]", "an empty mapping": "{}", "a text": "text",
    "a nested list": "[a, [b, {c: d}]]", "a mapping": "{a: b}", "true": "true", "no number": ".nan", "blank": "' '",
    "infinite": "-.inf", "empty": "''", "for terminals": r'"\e[31m\0\u202e"', "a long text": "x " * 10_000 + "y",
}  # fmt: skip
VALUES = st.sampled_from(list(WRITTEN))


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=5), st.sampled_from(CONDITIONS))
def test_any_record_value_can_be_explained(given_: list[tuple[str, str, str]], condition: str) -> None:
    fields = ("task", "error_pattern", "timestamp")
    records = [", ".join(f"{n}: {WRITTEN[v]}" for n, v in zip(fields, each, strict=True)) for each in given_]
    lines = "".join(f"- {{type: retry_loop, {each}}}\n" for each in records)
    found = explain(one_rule(condition), "own", parse_board(f"version: 1\nanomalies:\n{lines}"), NOW)
    assert all(len(why) < 300 for why in [each.why for each in found.uncounted] + [each.why for each in found.near])
    assert len(found.uncounted) <= len(given_)
