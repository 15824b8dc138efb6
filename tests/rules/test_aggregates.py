"""Streaks, shares, spans of time, numbers of the blackboard, and the streams that aggregates read."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.rules.evaluate import evaluate
from liza.rules.load import BadRules
from tests.rules.boards import NOW, groups, holds, matches, progress, rules, snapshot, unusable, verdict_of


def attempts(*results: str, test: str = "t1") -> list[dict[str, object]]:
    return [{"test": test, "result": result} for result in results]


def slices(*entries: Mapping[str, object]) -> list[dict[str, object]]:
    return [{"id": "slice-1", "attempts": list(entries)}]


# --- streak -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("results", "length"),
    [
        ("", 0),
        ("f", 1),
        ("fff", 3),
        ("pff", 2),
        ("ffp", 0),
        ("fpf", 1),
        ("ffpfff", 3),
    ],
)
def test_streak_ends_at_first_failing_filter(results: str, length: int) -> None:
    entries = attempts(*("failed" if each == "f" else "passed" for each in results))
    verdict = verdict_of("streak(attempts, result=failed) >= 9", slices=slices(*entries))
    assert progress(verdict, "own").value == length


@given(st.text("fpi", max_size=12))
def test_where_skips_records_without_ending_streak(results: str) -> None:
    words = {"f": "failed", "p": "passed", "i": "infra"}
    entries = attempts(*(words[each] for each in results))
    verdict = verdict_of("streak(attempts where result != infra, result=failed) >= 99", slices=slices(*entries))
    seen = results.replace("i", "")
    assert progress(verdict, "own").value == len(seen) - len(seen.rstrip("f"))


def test_streak_follows_list_order_not_time() -> None:
    records = ({"a": 1, "timestamp": "2025-01-18T15:00:00Z"}, {"a": 2, "timestamp": "2025-01-18T14:00:00Z"})
    assert groups("streak(a=2) >= 1", *records) == {None: [1]}


def test_other_group_ends_streak() -> None:
    records = [{"a": text} for text in ("x", "x", "y", "x", "X.")]
    assert [[r.key for r in m.evidence] for m in matches("streak(same(a)) >= 2", *records)] == [[3, 4]]


def test_record_without_field_ends_grouped_streak() -> None:
    assert groups("streak(same(a)) >= 1", {"a": "x"}, {}, {"a": "x"}) == {"x": [2]}
    assert groups("streak(same(a)) >= 1", {"a": "x"}, {"a": "x"}, {}) == {}


def test_list_value_continues_streak_of_each_group() -> None:
    records = ({"a": ["x", "y"]}, {"a": ["x", "y", "z"]}, {"a": ["y", "x"]})
    found = matches("streak(same(a)) >= 3", *records)
    assert [[record.key for record in match.evidence] for match in found] == [[0, 1, 2], [0, 1, 2]]
    assert [match.key for match in found] == ["x", "y"]
    assert groups("streak(same(a)) >= 2", *records, {"a": "y"}) == {"y": [0, 1, 2, 3]}


def test_per_gives_each_owner_its_own_streak() -> None:
    entries = [{"test": test, "result": result} for test, result in zip("aababa", ["failed"] * 6, strict=True)]
    condition = "streak(attempts, per(slice, test), result=failed) >= 3"
    assert groups(condition, slices=slices(*entries)) == {"slice-1 / a": [0, 1, 3, 5]}
    entries.append({"test": "b", "result": "failed"})
    assert set(groups(condition, slices=slices(*entries))) == {"slice-1 / a", "slice-1 / b"}
    entries.append({"test": "a", "result": "passed"})
    assert set(groups(condition, slices=slices(*entries))) == {"slice-1 / b"}


def test_gossip_loop_is_same_objection_without_change() -> None:
    condition = "streak(rounds, per(claim), same(objection), changed=false) >= 3"
    round_ = {"objection": "not tested", "changed": False}
    claims = [{"id": "c1", "rounds": [round_, round_ | {"objection": "Not  tested."}, round_]}]
    assert list(groups(condition, claims=claims)) == ["c1 / not tested"]
    claims[0]["rounds"] = [round_, round_ | {"changed": True}, round_, round_]
    assert groups(condition, claims=claims) == {}
    claims[0]["rounds"] = [round_, round_, round_ | {"objection": "too slow"}]
    assert groups(condition, claims=claims) == {}


# --- share ------------------------------------------------------------------------------------------------------------


def test_share_is_of_records_passing_where() -> None:
    records = ({"ok": False}, {"ok": True}, {"ok": False}, {"ok": False}, {"infra": True, "ok": True})
    assert holds("share(anomalies where infra != true, ok=false) = 0.75", *records)
    assert holds("share(ok=false) = 0.6", *records)


def test_share_of_no_records_is_zero() -> None:
    assert not holds("share(ok=false) > 0")


def test_share_combines_with_minimum_count() -> None:
    condition = "share(ok=false) >= 0.5 AND count(ok=false) >= 3"
    assert not holds(condition, {"ok": False})
    assert not holds(condition, *[{"ok": False}] * 3, *[{"ok": True}] * 4)
    assert groups(condition, *[{"ok": False}] * 3, {"ok": True}) == {None: [0, 1, 2]}


def test_grouped_share_is_computed_per_group() -> None:
    records = ({"a": "x", "ok": False}, {"a": "x", "ok": True}, {"a": "y", "ok": False}, {"ok": False})
    assert groups("share(same(a), ok=false) >= 0.6", *records) == {"y": [2]}


def test_similar_share_includes_records_failing_the_filter() -> None:
    records = [{"a": f"timeout of the job at line {line}", "ok": line > 1} for line in (1, 2, 3)]
    assert groups("share(similar(a), ok=false) >= 0.5", *records) == {}


# --- distinct and within ----------------------------------------------------------------------------------------------


def test_distinct_is_an_extra_test_on_the_group() -> None:
    condition = "count(same(a), distinct(task) >= 2) >= 3"
    assert not holds(condition, *[{"a": "x", "task": "t1"}] * 3)
    assert groups(condition, *[{"a": "x", "task": "t1"}] * 2, {"a": "x", "task": "t2"}) == {"x": [0, 1, 2]}


def test_distinct_ignores_absent_values() -> None:
    assert not holds("count(distinct(task) >= 2) >= 2", {"task": "t1"}, {"task": None}, {})


def test_distinct_and_threshold_accept_params() -> None:
    one = {"name": "own", "condition": "count(distinct(task) >= $tasks) >= $n", "severity": "SPEC_FLAW"}
    ruleset = rules(one | {"params": {"tasks": 2, "n": 3}})
    assert evaluate(ruleset, snapshot({"task": 1}, {"task": 2}, {"task": 2}), NOW).matches
    assert not evaluate(ruleset, snapshot({"task": 1}, {"task": 2}), NOW).matches


def at(minute: int) -> dict[str, object]:
    return {"timestamp": f"2025-01-18T{10 + minute // 60:02}:{minute % 60:02}:00Z"}


@pytest.mark.parametrize(
    ("minutes", "found"),
    [
        ((0, 20, 40), [0, 1, 2]),
        ((0, 30, 60), [0, 1, 2]),  # a span holds both of its ends
        ((0, 30, 61), []),
        ((0, 50, 70, 100, 200), [1, 2, 3]),  # the span slides
        ((60, 0, 30), [0, 1, 2]),  # in any list order
    ],
)
def test_within_needs_one_span_holding_all(minutes: tuple[int, ...], found: list[int]) -> None:
    assert groups("count(within(1h)) >= 3", *map(at, minutes)) == ({None: found} if found else {})


def test_record_without_usable_time_fits_any_span() -> None:
    assert groups("count(within(1h)) >= 3", at(0), {"timestamp": "soon"}, at(59)) == {None: [0, 1, 2]}


def test_within_applies_per_group() -> None:
    records = [at(minute) | {"a": "xy"[minute % 2]} for minute in (0, 1, 2, 61, 63, 65)]
    assert groups("count(same(a), within(10m)) >= 3", *records) == {"y": [3, 4, 5]}


@given(st.lists(st.integers(0, 300), max_size=9), st.integers(1, 120))
def test_within_finds_fullest_span(minutes: list[int], length: int) -> None:
    verdict = verdict_of(f"count(within({length}m)) >= 99", *map(at, minutes))
    fullest = max((sum(start <= each <= start + length for each in minutes) for start in minutes), default=0)
    assert progress(verdict, "own").value == fullest


# --- sum --------------------------------------------------------------------------------------------------------------

NUMBERS = st.one_of(st.integers(-50, 50), st.floats(-50, 50))
NO_NUMBERS = st.sampled_from([True, "5", "five", [5], {"n": 5}, float("inf"), float("nan"), 10**301])


@given(st.lists(st.one_of(NUMBERS, NO_NUMBERS, st.none()), max_size=8))
def test_sum_adds_numbers_and_reports_all_else(values: list[Any]) -> None:
    board = snapshot()._replace(sections={"anomalies": [{"n": value} for value in values]})
    verdict = evaluate(rules("sum(n) >= 1000000"), board, NOW)
    usable = [each for each in values if type(each) in (int, float) and abs(each) < 1e300]
    assert progress(verdict, "own").value == pytest.approx(sum(usable))
    assert len(progress(verdict, "own").evidence) == len(usable)
    assert set(unusable(verdict)) == {
        i for i, each in enumerate(values) if each is not None and not is_in(each, usable)
    }


def is_in(value: Any, among: list[Any]) -> bool:
    return any(value is each for each in among)


def test_sum_takes_filters_groups_and_the_first_field_present() -> None:
    records = [{"task": "a", "n": 2, "ok": True}, {"task": "b", "n": 3, "ok": True}, {"task": "b", "n": 9, "ok": False}]
    assert groups("sum(n, ok=true, per(task)) >= 3", *records) == {"b": [1]}
    assert groups("sum(m|n, anomalies where ok=true, same(task)) >= 2", *records) == {"a": [0], "b": [1]}
    assert holds("sum(n) + count(ok=false) = 15", *records)
    assert not holds("sum(n, distinct(task) >= 3) >= 1", *records)


def test_decimal_numbers_add_up_exactly() -> None:
    assert holds("sum(n) = 1", *[{"n": 0.1}] * 10)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 9)), max_size=9), st.integers(1, 120))
def test_sum_within_finds_the_largest_span(given_: list[tuple[int, int]], length: int) -> None:
    verdict = verdict_of(f"sum(n, within({length}m)) >= 999", *(at(minute) | {"n": n} for minute, n in given_))
    spans = (sum(n for minute, n in given_ if start <= minute <= start + length) for start, _ in given_)
    assert progress(verdict, "own").value == max(spans, default=0)


def test_sum_with_similar_texts_stays_alone() -> None:
    assert holds("sum(n, similar(a)) >= 2", {"a": "timeout after 3 s", "n": 1}, {"a": "timeout after 4 s", "n": 1})
    with pytest.raises(BadRules):
        rules("sum(n, similar(a)) >= 2 AND count(similar(a)) >= 2")
    rules("sum(n, same(a)) >= 2 AND count(same(a)) >= 2")


# --- metric -----------------------------------------------------------------------------------------------------------


def test_metric_reads_a_number_of_the_board() -> None:
    sprint = {"metrics": {"tasks_blocked": 3}}
    assert holds("metric(sprint.metrics.tasks_blocked) >= 3", sprint=sprint)
    assert not holds("metric(sprint.metrics.tasks_blocked) > 3", sprint=sprint)
    assert holds("metric(sprint.metrics.tasks_blocked) + count(a=1) >= 4", {"a": 1}, sprint=sprint)


@pytest.mark.parametrize("value", [None, "3", True, [3], {"x": 3}])
@pytest.mark.parametrize(
    "condition", ["metric(config.n) >= 0", "metric(config.n) < 9", "metric(config.n) + count() >= 0"]
)
def test_non_numeric_metric_never_matches(value: object, condition: str) -> None:
    assert not holds(condition, config={"n": value})
    assert not holds(condition)


def test_absent_metric_does_not_match_under_not() -> None:
    assert not holds("NOT metric(config.tests_run) >= 5")


def test_metric_with_records_has_their_evidence() -> None:
    assert groups("metric(config.n) >= 1 AND count(a=1) >= 1", {"b": 1}, {"a": 1}, config={"n": 1}) == {None: [1]}


# --- streams ----------------------------------------------------------------------------------------------------------

BOARD: dict[str, object] = {
    "tasks": [{"id": "t1", "status": "BLOCKED", "x": 1}, {"id": "t2", "status": "MERGED"}],
    "agents": {"coder-1": {"status": "IDLE", "x": 1}, "coder-2": {"status": "WORKING"}},
    "discovered": [{"id": "d1", "urgency": "deferred"}, {"id": "d2", "urgency": "urgent", "x": 1}],
    "claims": [{"id": "c1", "rounds": [{"y": 0}]}, {"id": "c2", "rounds": [{"x": 1}, {"x": 2}]}],
    "slices": {"s1": {"attempts": [{"x": 1, "result": "failed"}]}, "s2": {}},
    "loops": [{"id": "l1", "iterations": [{"x": 2}, {"x": 1}]}, {"id": "l2", "iterations": None}],
}


@pytest.mark.parametrize(
    ("stream", "key"),
    [
        ("anomalies", 1),
        ("tasks", 0),
        ("agents", "coder-1"),
        ("discovered", 1),
        ("log", 0),
        ("rounds", 1),
        ("attempts", 0),
        ("iterations", 1),
    ],
)
def test_every_stream_can_be_counted(stream: str, key: int | str) -> None:
    log = ({"agent": "coder-1", "action": "start", "x": 1}, {"action": "stop"})
    (match,) = matches(f"count({stream}, x=1) >= 1", {"x": 0}, {"x": 1}, log=log, **BOARD)
    assert [(record.stream, record.key) for record in match.evidence] == [(stream, key)]


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ("count(rounds, per(claim)) >= 1", {"c1": [0], "c2": [1, 2]}),
        ("count(attempts, per(slice)) >= 1", {"s1": [0]}),
        ("count(iterations, per(loop)) >= 1", {"l1": [0, 1]}),
    ],
)
def test_nested_records_know_their_owner(condition: str, keys: dict[str, list[int]]) -> None:
    assert groups(condition, **BOARD) == keys


@pytest.mark.parametrize("stream", ["anomalies", "tasks", "agents", "discovered", "rounds", "attempts", "iterations"])
@pytest.mark.parametrize("value", [None, 5, "text", [], {}, [None, 3, "x"], {"x": 3}])
def test_malformed_stream_is_empty(stream: str, value: object) -> None:
    owner = {"rounds": "claims", "attempts": "slices", "iterations": "loops"}.get(stream)
    board = {owner: [{"id": "o", stream: value}]} if owner else {stream: value}
    assert not holds(f"count({stream}) >= 1", **board)
