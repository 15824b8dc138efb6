"""Any program may write anything on the blackboard: one odd record or field never blinds the breaker."""

from pathlib import Path

import pytest

from tests.scopes.sprint.cases import RETRY, board_with
from tests.scopes.sprint.run import LATER, NOW, Board, listed, record, state

# Each is beside three records that trip; it must neither crash the check nor hide them.
RECORDS = {
    "a number instead": "5",
    "null": "null",
    "a list": "[retry_loop]",
    "nothing in it": "{}",
    "a type that is a mapping": "{timestamp: 2025-01-18T14:00:00Z, task: t, reporter: r, type: {a: b}}",
    "a type that is a list": "{timestamp: 2025-01-18T14:00:00Z, task: t, reporter: r, type: [retry_loop, trade_off]}",
    "a type that is null": "{task: t, type: null}",
    "details that are a text": "{task: t, type: retry_loop, details: none}",
    "details that are a list": "{task: t, type: retry_loop, details: [error_pattern]}",
    "keys that are numbers": "{task: t, type: retry_loop, 1: x, details: {error_pattern: PATTERN, 2: y}}",
    "a key that is null": "{task: t, type: retry_loop, null: x, details: {error_pattern: PATTERN, ~: y}}",
    "a key that is true": "{task: t, type: retry_loop, true: x, details: {error_pattern: PATTERN, false: y}}",
    "a key that is a list": "{task: t, type: retry_loop, details: {error_pattern: PATTERN, ? [a, b] : y}}",
    "the first moment there is": "{timestamp: 0001-01-01T00:00:00+14:00, task: t, type: retry_loop}",
    "the last moment there is": "{timestamp: 9999-12-31T23:59:59-12:00, task: t, type: retry_loop}",
    "a time that is none": "{timestamp: yesterday, task: t, type: retry_loop}",
    "a time that is a mapping": "{timestamp: {at: now}, task: t, type: retry_loop}",
    "not a number": "{task: t, type: retry_loop, details: {error_pattern: PATTERN, count: .nan, x: -.inf}}",
    "a pattern that is a mapping": "{task: t, type: retry_loop, details: {error_pattern: {a: b}}}",
    "a pattern that is a list": "{task: t, type: retry_loop, details: {error_pattern: [PATTERN, [x, null]]}}",
    "a debt that is a list": "{task: t, type: trade_off, details: {what: x, debt_created: [true, {a: b}]}}",
    "a reference that is a mapping": "{task: t, type: retry_loop, spec_ref: {a: b}, details: {error_pattern: PATTERN}}",
}
COMMANDS = (("analyze", "--now", NOW), ("analyze", "--now", LATER, "--json"), ("status", "--now", LATER))


@pytest.mark.parametrize("odd", RECORDS.values(), ids=RECORDS.keys())
def test_odd_record_hides_no_pattern(tmp_path: Path, odd: str) -> None:
    odd = odd.replace("PATTERN", RETRY.records[0]["details"]["error_pattern"])
    board = board_with(tmp_path, record("trade_off", what="x", why="y", debt_created=True), *RETRY.records)
    board.edit("circuit_breaker:", f"  - {odd}\ncircuit_breaker:")
    for command in COMMANDS:
        assert board.run(*command).code == 3
    assert board.trigger["pattern"] == "retry_cluster"
    assert board.halt["trip"] == board.trigger["trip_id"]
    assert board.resolve().code == 0
    assert board.analyze(now=LATER).code == 0


TRIGGER = "timestamp: 2025-01-18T10:00:00Z, pattern: retry_cluster, severity: SPEC_FLAW, trip_id: 0123456789ab"
SECTIONS = {
    "a number": "circuit_breaker: 5",
    "a text": "circuit_breaker: OK",
    "a list": "circuit_breaker: [OK]",
    "null": "circuit_breaker:",
    "empty": "circuit_breaker: {}",
    "a history that is a number": "circuit_breaker: {status: OK, history: 5}",
    "a history that is a text": "circuit_breaker: {status: OK, history: none}",
    "a history that is a mapping": "circuit_breaker: {status: OK, history: {a: b}}",
    "a history of numbers": "circuit_breaker: {status: OK, history: [5, null, [], x]}",
    "a status that is a list": "circuit_breaker: {status: [OK], history: []}",
    "evidence that is a number": f"circuit_breaker: {{status: OK, history: [{{{TRIGGER}, evidence: 5}}]}}",
    "evidence that is a list": f"circuit_breaker: {{status: OK, history: [{{{TRIGGER}, evidence: [a]}}]}}",
    "evidence with a bad mark": "circuit_breaker: {status: OK, history: [{pattern: retry_cluster, result: TRIGGERED, "
    "resolved_at: 2025-01-01T00:00:00Z, evidence: {retry_cluster: first x}}]}",
    "evidence with an empty mark": "circuit_breaker: {status: OK, history: [{pattern: retry_cluster, "
    "result: TRIGGERED, resolved_at: 2025-01-01T00:00:00Z, evidence: {retry_cluster: 'first '}}]}",
    "patterns beside it that are a number": "circuit_breaker: {status: OK, history: [{timestamp: "
    "2025-01-01T00:00:00Z, pattern: retry_cluster, result: TRIGGERED, also_matched: 5}]}",
    "a pattern that is a mapping": "circuit_breaker: {status: OK, history: [{pattern: {a: b}, result: TRIGGERED, "
    "resolved_at: 2025-01-01T00:00:00Z}]}",
    "an open trip without anything": "circuit_breaker: {status: TRIGGERED, current_trigger: {}}",
    "an open trip that is a number": "circuit_breaker: {status: TRIGGERED, current_trigger: 5}",
    "an open trip that is only an id": "circuit_breaker: {status: TRIGGERED, current_trigger: {trip_id: 0123456789ab}}",
    "an open trip with an id that is a number": "circuit_breaker: {status: TRIGGERED, current_trigger: {pattern: x, "
    "timestamp: 2025-01-18T10:00:00Z, severity: SPEC_FLAW, trip_id: 5}}",
    "an open trip with an unknown severity": "circuit_breaker: {status: TRIGGERED, current_trigger: {pattern: x, "
    "timestamp: 2025-01-18T10:00:00Z, severity: BAD, trip_id: 0123456789ab}}",
    "an open trip without a time": "circuit_breaker: {status: TRIGGERED, current_trigger: {pattern: x, "
    "severity: SPEC_FLAW, trip_id: 0123456789ab}}",
    "an open trip with odd others": f"circuit_breaker: {{status: TRIGGERED, current_trigger: {{{TRIGGER}, "
    "also_matched: 5}}",
    "an open trip with one other": f"circuit_breaker: {{status: TRIGGERED, current_trigger: {{{TRIGGER}, "
    "also_matched: debt_accumulation}}",
}


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS.keys())
def test_odd_section_is_never_ok(tmp_path: Path, section: str) -> None:
    """It trips or it is open, and a person can end it."""
    board = Board(tmp_path, state(RETRY.records, breaker=section + "\n"))
    ran = board.analyze()
    assert ran.code == 3
    assert board.analyze("--json", now=LATER).code == 3
    assert board.run("status", "--now", LATER).code == 3
    assert board.run("gate").code == 2
    board.checkpoint.unlink(missing_ok=True)
    assert board.resolve().code == 0
    assert board.analyze(now=LATER).code == 0


def test_edited_trigger_cannot_name_files_outside(tmp_path: Path) -> None:
    """The name of the archived report is made from it."""
    odd = "{timestamp: ../../../specs/evil, pattern: x, severity: SPEC_FLAW, report_file: r, trip_id: 0123456789ab}"
    section = f"circuit_breaker:\n  status: TRIGGERED\n  current_trigger: {odd}\n  history: []\n"
    board = Board(tmp_path / "project", state(RETRY.records, breaker=section))
    (tmp_path / "specs").mkdir()
    before = outside(tmp_path)
    board.analyze()
    board.resolve()
    assert outside(tmp_path) == before, "liza wrote outside .liza/"


def outside(folder: Path) -> list[Path]:
    """The Markdown files outside the blackboard."""
    return [path for path in sorted(folder.rglob("*.md")) if ".liza" not in path.parts]


def test_report_is_not_written_through_a_link(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    precious = tmp_path / "spec.md"
    precious.write_text("precious\n")
    board.report.symlink_to(precious)
    board.analyze()
    board.resolve()
    assert precious.read_text() == "precious\n"


def test_board_of_anomalies_alone_trips(tmp_path: Path) -> None:
    board = Board(tmp_path, "anomalies:\n" + listed(RETRY.records[:1]))
    details = [f"{name}={value}" for name, value in RETRY.records[0]["details"].items()]
    for number in range(2):
        log = ("log", "anomaly", "--type", "retry_loop", "--reporter", "r", "--task", f"t{number}", *details)
        assert board.run(*log).code == 0
    assert board.run("analyze").code == 3
    assert board.section["status"] == "TRIGGERED"


def test_board_of_breaker_alone_can_be_checked(tmp_path: Path) -> None:
    board = Board(tmp_path, "circuit_breaker:\n  status: OK\n  history: []\n")
    assert board.analyze().code == 0
    assert board.analyze().code == 0
    assert board.section["history"] == [
        {"timestamp": NOW, "pattern": None, "result": "OK", "checks": 2, "last_at": NOW}
    ]


@pytest.mark.parametrize("now", ["1000-01-01T00:00:00Z", "9998-12-31T23:59:59Z"])
@pytest.mark.parametrize("window", ["24h", "current_sprint", "999999999d"])
def test_extreme_times_are_handled(tmp_path: Path, now: str, window: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    assert board.analyze("--window", window, "--dry-run", now=now).code == (
        0 if (now[0], window) == ("9", "24h") else 3
    )


@pytest.mark.parametrize("now", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_time_at_the_end_of_the_calendar_is_refused(tmp_path: Path, now: str) -> None:
    assert board_with(tmp_path, *RETRY.records).analyze("--dry-run", now=now).code == 2


@pytest.mark.parametrize("value", [".inf", ".nan", "1e400", "-5", "yes", "[3]"])
def test_any_metric_value_is_handled(tmp_path: Path, value: str) -> None:
    board = board_with(tmp_path)
    board.edit("tasks_blocked: 1", f"tasks_blocked: {value}")
    board.rules.write_text(
        "rules:\n- {name: blocked, condition: metric(sprint.metrics.tasks_blocked) >= 1, severity: SCOPE_FLAW}\n"
    )
    for options in ((), ("--json",)):
        assert board.analyze(*options).code == 0
    assert board.run("status", "--json").code == 0
