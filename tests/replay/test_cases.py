"""Case files: how they are read, their possible faults, and how an outcome is compared."""

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from liza.errors import Unreadable
from liza.model import Problem, parse_duration, parse_time
from liza.replay.cases import Case, read_cases, run_case, span
from liza.replay.playback import CHECK, RECORD, RESOLVE, SET
from liza.schema.cases import START
from liza.scopes.rules_file import read_rules
from tests.rules.boards import rule, rules

SHIPPED = read_rules(None)
RETRIES = """
anomalies:
  - {at: 5m, task: task-1, type: retry_loop, error_pattern: timeout after 30 s}
  - {at: 10m, task: task-2, type: retry_loop, error_pattern: timeout after 5 s}
  - {at: 15m, task: task-3, type: retry_loop, error_pattern: timeout after 7 s}
"""


def read(folder: Path, text: str) -> tuple[Case, ...]:
    file = folder / "cases.yaml"
    file.write_text(dedent(text))
    return read_cases(str(file)).cases


def case(folder: Path, body: str) -> Case:
    (found,) = read(folder, "cases:\n  - name: one\n" + indent(dedent(body), "    "))
    return found


def wrong(folder: Path, body: str) -> tuple[str, ...]:
    return run_case(case(folder, RETRIES + body), SHIPPED).wrong


def problems(folder: Path, text: str) -> list[tuple[int | None, int | None, str, str | None]]:
    with pytest.raises(Unreadable) as caught:
        read(folder, text)
    return [(each.line, each.column, each.message, each.hint) for each in caught.value.problems]


# --- reading ----------------------------------------------------------------------------------------------------------


def test_case_is_read_as_events_with_their_times(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        """
        anomalies: [{at: 5m, type: retry_loop}]
        log: [{at: 90s, action: deploy}]
        set: [{at: 1h, tasks: [], sprint: {id: s}}]
        resolves: [{at: 2h, text: ADR-7, by: ann}]
        checks: [0, 3h, 2025-01-03T00:00:00Z]
        trips: []
        """,
    )
    seen = [(event.kind, event.stream, span(event.at - START)) for event in found.events]
    assert seen == [
        (CHECK, "anomalies", "0s"),
        (RECORD, "log", "90s"),
        (RECORD, "anomalies", "5m"),
        (SET, "anomalies", "1h"),
        (RESOLVE, "anomalies", "2h"),
        (CHECK, "anomalies", "3h"),
        (CHECK, "anomalies", "2d"),
    ]
    assert [event.key for event in found.events] == list(range(7))
    assert found.events[3].fields == {"tasks": [], "sprint": {"id": "s"}}
    assert (found.events[4].text, found.events[4].by) == ("ADR-7", "ann")


def test_records_are_ordered_by_arrival(tmp_path: Path) -> None:
    lines = RETRIES.strip().splitlines()
    body = "\n".join([lines[0], *reversed(lines[1:])]) + "\ntrips: [retry_cluster]\n"
    (trip,) = run_case(case(tmp_path, body), SHIPPED).played.trips
    assert [record.fields["task"] for record in trip.match.evidence] == ["task-1", "task-2", "task-3"]


def test_details_may_be_written_beside_the_other_fields(tmp_path: Path) -> None:
    body = "anomalies: [{at: 1m, type: workaround, what: a, details: {why: b}, task: task-9}]\ntrips: []\n"
    (event,) = case(tmp_path, body).events
    assert event.fields == {
        "timestamp": "2025-01-01T00:01:00Z",
        "task": "task-9",
        "reporter": "agent",
        "type": "workaround",
        "details": {"why": "b", "what": "a"},
    }


def test_record_may_have_a_timestamp_other_than_its_arrival(tmp_path: Path) -> None:
    body = "anomalies: [{at: 1m, type: workaround, timestamp: 2024-12-31T00:00:00Z}]\ntrips: []\n"
    (event,) = case(tmp_path, body).events
    assert (event.at, event.fields["timestamp"]) == (START + timedelta(minutes=1), "2024-12-31T00:00:00Z")


def test_case_has_its_own_start(tmp_path: Path) -> None:
    found = case(tmp_path, "start: 2025-01-18T09:00:00+01:00\nchecks: [10m]\ntrips: []\n")
    assert found.events[0].at == parse_time("2025-01-18T08:10:00Z")


def test_rules_file_is_resolved_relative_to_the_cases(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text("rules: own.yaml\ncases: [{name: a, trips: []}]\n")
    assert read_cases(str(tmp_path / "cases.yaml")).rules == str(tmp_path / "own.yaml")


def test_case_knows_its_position_in_the_file(tmp_path: Path) -> None:
    first, second = read(tmp_path, "cases:\n  - name: a\n    trips: []\n\n  - name: b\n    trips: []\n")
    assert [(each.line, each.column) for each in (first, second)] == [(2, 5), (5, 5)]


# --- faults -----------------------------------------------------------------------------------------------------------


def test_all_faults_of_a_file_are_reported_in_order(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        """\
        casess: 1
        cases:
          - name: a
            anomalies:
              - at: soon
                type: retry_loop
              - type: workaround
            set: {at: 1m}
            resolves:
              - at: 5m
                txt: a
            checks: [1m, later]
            trips:
              - rule: retry_cluster
                keys: a
              - 5
          - name: a
            anomlies: []
            trips: no
          - 7
          - name: " "
            start: tomorrow
        """,
    )
    assert [(line, column, hint) for line, column, _, hint in found] == [
        (1, 1, "did you mean cases?"),
        (5, 9, None),
        (7, 9, None),
        (8, 5, "begin each record of set with '- '"),
        (11, 9, "did you mean text?"),
        (12, 5, None),
        (15, 9, "did you mean key?"),
        (16, 9, None),
        (17, 5, None),
        (18, 5, "did you mean anomalies?"),
        (19, 5, None),
        (20, 5, None),
        (21, 5, None),
        (21, 5, "write trips: [] if no trip is expected"),
        (22, 5, None),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases: []", "no cases in this file"),
        ("rules: mine.yaml", "cases is missing: expected a list"),
        ("rules: [a]\ncases: [{name: a, trips: []}]", "rules: expected a string, got a list"),
        ("cases: {name: a}", "cases: expected a list, got a mapping"),
        ("cases: [{name: a, board: text, trips: []}]", "board: expected a mapping, got 'text'"),
        ("cases: [{name: a, board: 0, trips: []}]", "board: expected a mapping, got 0"),
        ("cases: [{name: a, board: [], trips: []}]", "board: expected a mapping, got a list"),
        ("cases: [{name: a, board: {anomalies: 7}, trips: []}]", "anomalies: expected a list, got 7"),
        ("cases: [{name: a, start: '', trips: []}]", "start: expected an ISO 8601 time, got ''"),
        ("cases: [{name: a, checks: 5m, trips: []}]", "checks: expected a list, got '5m'"),
        ("cases: [{name: a, trips: [{rule: x, tasks: t}]}]", "tasks: expected a list, got 't'"),
        ("cases: [{name: a, trips: [{rule: x, also: y}]}]", "also: expected a list, got 'y'"),
        ("cases: [{trips: []}]", "name is missing: expected a non-empty string"),
        ("cases: [{name: a}]", "the case 'a' has neither trips nor alarms"),
    ],
)
def test_fault_has_a_readable_message(tmp_path: Path, text: str, message: str) -> None:
    assert [each[2] for each in problems(tmp_path, text + "\n")] == [message]


@pytest.mark.parametrize(
    "at", ["5", "5 minutes", "99999999999d", "9" * 400 + "h", "-5m", "[5m]", "null", "true", "false"]
)
def test_invalid_time_is_refused(tmp_path: Path, at: str) -> None:
    ((_, _, message, _),) = problems(tmp_path, f"cases: [{{name: a, anomalies: [{{at: {at}, type: a}}], trips: []}}]\n")
    assert "expected a time since the start, like 5m or 2h" in message


def test_check_at_an_invalid_time_is_refused(tmp_path: Path) -> None:
    text = "cases: [{name: a, checks: [false], trips: []}]\n"
    assert [each[2] for each in problems(tmp_path, text)] == [
        "expected a time since the start, like 5m or 2h, got false"
    ]


def test_invalid_time_is_located(tmp_path: Path) -> None:
    text = "cases:\n  - name: a\n    trips: []\n    anomalies:\n      - type: x\n        at: soon\n"
    assert [each[:2] for each in problems(tmp_path, text)] == [(6, 9)]


WORDS = st.sampled_from(
    ["cases", "rules", "name", "start", "board", "anomalies", "log", "set", "resolves", "checks", "trips", "at", "rule",
     "key", "tasks", "also", "severity", "text", "by", "type", "5m", "2025-01-18T12:00:00Z", "retry_cluster", "nmae"]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(WORDS, VALUES, max_size=4) | st.fixed_dictionaries({"cases": st.lists(VALUES, max_size=3)}))
def test_any_file_is_read_or_reported_faulty(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_text(json.dumps(data))
    found: Sequence[Case | Problem]
    try:
        found = read_cases(str(file)).cases
        message = [each.name for each in found]
    except Unreadable as error:
        found = error.problems or (Problem(error.message, error.file or ""),)
        message = [each.message for each in found]
    assert message
    assert all(text.strip() for text in message)
    assert {each.file for each in found} == {str(file)}


# --- comparing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trips",
    [
        "trips: [retry_cluster]",
        "trips: [{rule: retry_cluster, at: 15m}]",
        "trips: [{rule: retry_cluster, at: 2025-01-01T00:15:00Z}]",
        "trips: [{rule: retry_cluster, tasks: [task-3, task-1, task-2], also: []}]",
        "trips: [{rule: retry_cluster, key: '  TIMEOUT after 30 s.', severity: ARCHITECTURE_FLAW}]",
    ],
)
def test_case_with_the_expected_outcome_passes(tmp_path: Path, trips: str) -> None:
    assert wrong(tmp_path, trips) == ()


@pytest.mark.parametrize(
    ("trips", "message"),
    [
        ("trips: []", "expected no further trip, but retry_cluster trips at 15m ('timeout after 30 s')"),
        (
            "trips: [{rule: retry_cluster, at: 10m}]",
            "retry_cluster should trip at 10m, but retry_cluster trips at 15m ('timeout after 30 s')",
        ),
        (
            "trips: [spec_gap_cluster]",
            "spec_gap_cluster should trip, but retry_cluster trips at 15m ('timeout after 30 s')",
        ),
        (
            "trips: [retry_cluster, {rule: workaround_pattern, at: 1h}]",
            "workaround_pattern should trip at 1h, but it does not: 0 of 2, below its threshold",
        ),
        ("trips: [retry_cluster, nonsense]", "nonsense should trip, but no rule has this name"),
        (
            "trips: [{rule: retry_cluster, key: deadlock}]",
            "retry_cluster: key: expected 'deadlock', got 'timeout after 30 s'",
        ),
        (
            "trips: [{rule: retry_cluster, tasks: [task-1]}]",
            "retry_cluster: tasks: expected task-1, got task-1, task-2, task-3",
        ),
        (
            "trips: [{rule: retry_cluster, also: [debt_accumulation]}]",
            "retry_cluster: also: expected debt_accumulation, got none",
        ),
        (
            "trips: [{rule: retry_cluster, severity: SPEC_FLAW}]",
            "retry_cluster: severity: expected SPEC_FLAW, got ARCHITECTURE_FLAW",
        ),
    ],
)
def test_difference_has_a_readable_message(tmp_path: Path, trips: str, message: str) -> None:
    assert wrong(tmp_path, trips) == (message,)


def test_every_difference_of_a_trip_is_reported(tmp_path: Path) -> None:
    found = wrong(tmp_path, "trips: [{rule: retry_cluster, key: a, tasks: [b], also: [c], severity: d}, e]")
    assert len(found) == 5


def test_missing_trip_reports_how_near_its_rule_came(tmp_path: Path) -> None:
    body = RETRIES.replace("task-3, type: retry_loop", "task-3, type: trade_off") + "trips: [retry_cluster]"
    (message,) = run_case(case(tmp_path, body), SHIPPED).wrong
    assert message.startswith("retry_cluster should trip, but it does not: 2 of 3 ('timeout after ")


def test_rules_that_join_an_open_trip_are_expected_by_name(tmp_path: Path) -> None:
    both = rules(rule("count(type=a) >= 1", "first"), rule("count(type=b) >= 1", "second"))
    body = "anomalies: [{at: 1m, type: a}, {at: 2m, type: b}]\ntrips: [{rule: first, also: [second]}]\n"
    assert run_case(case(tmp_path, body), both).wrong == ()


def test_case_spanning_a_year_is_played(tmp_path: Path) -> None:
    body = RETRIES.replace("15m", "365d") + "trips: [{rule: retry_cluster, at: 365d}]"
    assert run_case(case(tmp_path, body), SHIPPED).wrong == ()


@given(st.integers(0, 10**9))
@example(1_000_001)
def test_any_time_span_is_written_as_a_valid_duration(seconds: int) -> None:
    assert parse_duration(span(timedelta(seconds=seconds))) == seconds
