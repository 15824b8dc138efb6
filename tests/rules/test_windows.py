"""Which records are recent enough to count, and what happens to those without a usable time."""

from typing import Any

import pytest

from liza.rules.evaluate import evaluate
from tests.rules.boards import NOW, SYSTEMIC, Fields, names, parse_board, rule, rules, snapshot

STARTED = "2025-01-18T09:00:00Z"


def blocker(timestamp: Any, **fields: Any) -> Fields:
    details = {"blocker_service": "payments-api"}
    return {"timestamp": timestamp, "task": "t", "type": "external_blocker", "details": details, **fields}


def considered(window: str, *timestamps: Any) -> tuple[int, int]:
    """The number of records that count, and of those outside the window."""
    verdict = evaluate(rules("count() >= 99", window=window), snapshot(*map(blocker, timestamps)), NOW)
    return verdict.considered, verdict.outside_window


@pytest.mark.parametrize(
    ("window", "timestamp", "counts"),
    [
        ("current_sprint", "2025-01-18T09:00:00Z", True),
        ("current_sprint", "2025-01-18T08:59:59Z", False),
        ("current_sprint", "2025-01-18T10:30:00+01:00", True),
        ("current_sprint", "2025-01-18T09:30:00+01:00", False),
        ("current_sprint", "2025-01-18T09:00:00", True),
        ("current_sprint", "2025-01-18T08:59:59", False),
        ("all", "1999-01-01T00:00:00Z", True),
        ("24h", "2025-01-17T18:00:00Z", True),
        ("24h", "2025-01-17T17:59:59Z", False),
        ("30m", "2025-01-18T17:29:00Z", False),
        ("30m", "2025-01-18T17:31:00Z", True),
        ("last 1", "1999-01-01T00:00:00Z", True),
    ],
)
def test_record_counts_inside_the_window(window: str, timestamp: str, counts: bool) -> None:
    assert considered(window, timestamp) == ((1, 0) if counts else (0, 1))


def test_last_n_is_the_end_of_the_list() -> None:
    assert considered("last 2", *["2025-01-18T12:00:00Z"] * 5) == (2, 3)
    assert considered("last 9", *["2025-01-18T12:00:00Z"] * 5) == (5, 0)


def test_evidence_outside_sprint_does_not_fire() -> None:
    inside, outside = blocker("2025-01-18T12:00:00Z"), blocker("2025-01-17T12:00:00Z")
    assert names(evaluate(SYSTEMIC, snapshot(outside, inside), NOW)) == []
    assert names(evaluate(SYSTEMIC, snapshot(outside, inside, inside), NOW)) == ["external_service_outage"]
    assert names(evaluate(SYSTEMIC._replace(window="all"), snapshot(outside, inside), NOW)) == [
        "external_service_outage"
    ]


@pytest.mark.parametrize(
    "sprint", [None, {}, {"timeline": None}, {"timeline": {}}, {"timeline": {"started": None}}, "sprint-3", []]
)
def test_without_sprint_start_all_records_count(sprint: object) -> None:
    old = blocker("2020-01-01T00:00:00Z")
    assert names(evaluate(SYSTEMIC, snapshot(old, old, sprint=sprint), NOW)) == ["external_service_outage"]


def test_unreadable_sprint_start_is_reported() -> None:
    board = snapshot(blocker("2020-01-01T00:00:00Z"), sprint={"timeline": {"started": "yesterday"}})
    messages = [problem.message for problem in board.problems] + list(evaluate(SYSTEMIC, board, NOW).warnings)
    assert any("started" in message for message in messages)


def test_rule_can_have_its_own_window() -> None:
    old, new = blocker("2025-01-17T12:00:00Z"), blocker("2025-01-18T17:45:00Z")
    ruleset = rules(
        rule("count() >= 2", "files"),
        rule("count() >= 2", "wide", window="all"),
        rule("count() >= 2", "narrow", window="1h"),
        rule("count() >= 2", "few", window="last 1"),
        window="current_sprint",
    )
    assert names(evaluate(ruleset, snapshot(old, new), NOW)) == ["wide"]
    assert names(evaluate(ruleset, snapshot(old, new, new), NOW)) == ["files", "wide", "narrow"]


@pytest.mark.parametrize("timestamp", [None, "", "soon", "2025-13-45T99:00:00Z", 1737200000, True, ["2025-01-18"], {}])
@pytest.mark.parametrize("window", ["current_sprint", "all", "24h"])
def test_record_with_unusable_time_counts_with_warning(timestamp: object, window: str) -> None:
    ruleset = SYSTEMIC._replace(window=window)
    verdict = evaluate(ruleset, snapshot(blocker(timestamp), blocker(timestamp)), NOW)
    assert names(verdict) == ["external_service_outage"]
    assert verdict.warnings == ("2 records without a usable timestamp: counted anyway",)


def test_record_without_timestamp_counts_with_warning() -> None:
    record = {"type": "external_blocker", "details": {"blocker_service": "x"}}
    verdict = evaluate(SYSTEMIC, snapshot(record), NOW)
    assert (verdict.considered, verdict.outside_window) == (1, 0)
    assert verdict.warnings == ("1 record without a usable timestamp: counted anyway",)


def test_window_of_one_rule_also_warns() -> None:
    ruleset = rules(rule("count() >= 9", window="24h"), window="last 50")
    assert evaluate(ruleset, snapshot(blocker("soon")), NOW).warnings


@pytest.mark.parametrize("window", ["current_sprint", "all", "24h"])
def test_record_from_the_future_counts_with_warning(window: str) -> None:
    future = blocker("2031-01-01T00:00:00Z")
    verdict = evaluate(SYSTEMIC._replace(window=window), snapshot(future, future), NOW)
    assert names(verdict) == ["external_service_outage"]
    assert verdict.warnings == ("2 records from the future: counted anyway",)


def test_slightly_fast_clock_gives_no_warning() -> None:
    assert evaluate(SYSTEMIC, snapshot(blocker("2025-01-18T18:03:00Z")), NOW).warnings == ()


@pytest.mark.parametrize("timestamp", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"])
def test_times_at_calendar_limits_are_accepted(timestamp: str) -> None:
    """In UTC they are outside the calendar, so they are no usable times: nothing is left out because of them."""
    verdict = evaluate(SYSTEMIC, snapshot(blocker(timestamp)), NOW)
    assert (verdict.considered, verdict.outside_window, len(verdict.warnings)) == (1, 0, 1)
    recent = blocker("2025-01-18T12:00:00Z")
    verdict = evaluate(SYSTEMIC, snapshot(recent, recent, sprint={"timeline": {"started": timestamp}}), NOW)
    assert names(verdict) == ["external_service_outage"]


@pytest.mark.parametrize("window", ["1000000d", "99999999999999999999d"])
def test_window_longer_than_calendar_holds_everything(window: str) -> None:
    assert considered(window, "2025-01-18T12:00:00Z") == (1, 0)


def test_window_applies_to_anomalies_and_log_only() -> None:
    old = {"timestamp": "1999-01-01T00:00:00Z", "created": "1999-01-01T00:00:00Z", "id": "x"}
    board: Fields = {
        "tasks": [old],
        "discovered": [old],
        "agents": {"a": old},
        "claims": [{"id": "c", "rounds": [old]}],
    }
    for stream in ("tasks", "discovered", "agents", "rounds"):
        ruleset = rules(f"count({stream}) >= 1", window="24h")
        assert names(evaluate(ruleset, snapshot(**board), NOW)) == ["own"], stream
    ruleset = rules("count(log) >= 1", window="24h")
    assert names(evaluate(ruleset, snapshot(log=(old,)), NOW)) == []
    assert names(evaluate(ruleset, snapshot(log=(old, {**old, "timestamp": "2025-01-18T17:00:00Z"})), NOW)) == ["own"]


def test_yaml_time_spellings_count_the_same() -> None:
    board = parse_board(
        "sprint: {timeline: {started: 2025-01-18T09:00:00Z}}\n"
        "anomalies:\n"
        "  - {timestamp: 2025-01-18T08:00:00Z, type: external_blocker, blocker_service: x}\n"
        '  - {timestamp: "2025-01-18T08:00:00Z", type: external_blocker, blocker_service: x}\n'
        "  - {timestamp: 2025-01-18, type: external_blocker, blocker_service: x}\n"
        "  - {timestamp: 2025-01-18 10:00:00, type: external_blocker, blocker_service: x}\n"
    )
    verdict = evaluate(SYSTEMIC, board, NOW)
    assert (verdict.considered, verdict.outside_window, len(verdict.warnings)) == (1, 3, 1)
    assert verdict.alarms == verdict.warnings, "two before the sprint would match"
