"""The report: every part of the protocol's format, for every pattern."""

import re
from pathlib import Path

import pytest

from tests.scopes.sprint.cases import ASSUMPTION, CASES, EACH, GAP, OUTAGE, RETRY, Case, board_with, tripped
from tests.scopes.sprint.markdown import parts, tables, well_formed
from tests.scopes.sprint.run import LATER, NOW, Board, record

PARTS = ["", "Trigger Evidence", "Affected Artifacts", "Recommended Actions", "Human Decision Required"]
SEVERITIES = [
    "VISION_FLAW",
    "SCOPE_FLAW",
    "SPEC_FLAW",
    "ARCHITECTURE_FLAW",
    "TECH_STACK_FLAW",
    "EXTERNAL_DEPENDENCY",
]


def summary_of(board: Board) -> dict[str, str]:
    """The named lines above the evidence."""
    return dict(re.findall(r"^\*\*(.+?):\*\* (.*?) *$", report(board)["Trigger Evidence"], re.MULTILINE))


def report(board: Board) -> dict[str, str]:
    text = board.report.read_text(encoding="utf-8")
    well_formed(text)
    return parts(text)


@EACH
def test_report_has_every_part_in_order(tmp_path: Path, case: Case) -> None:
    board = tripped(tmp_path, case)
    found = report(board)
    assert list(found) == PARTS
    head = found[""].replace("  \n", "\n")
    assert f"**Triggered:** {NOW}\n" in head
    assert f"**Pattern:** {case.pattern}" in head
    assert f"**Severity:** {case.severity}" in head
    assert board.trigger["trip_id"] in head
    (evidence,) = tables(found["Trigger Evidence"])
    assert evidence.header == ["Task", "Anomaly", case.column, "Reporter", "Time"]
    assert [(row[0], row[1], row[3], row[4]) for row in evidence.rows] == [
        (each["task"], each["type"], each["reporter"], each["timestamp"]) for each in reversed(case.records)
    ]
    summary = summary_of(board)
    assert summary["What happened"].startswith(f"{len(case.records)} records ({case.records[0]['type']})")
    assert summary["Common factor"] == case.common
    assert all(each["task"] in summary["Tasks"] for each in case.records)
    steps = [line for line in found["Recommended Actions"].splitlines() if line[:1].isdigit()]
    assert [line.split(". ")[0] for line in steps] == [str(n) for n in range(1, len(steps) + 1)]
    assert steps[0].endswith("HALT current sprint (done)")
    assert "liza resolve" in steps[-1]
    assert case.severity in found["Recommended Actions"]
    boxes = [line for line in found["Human Decision Required"].splitlines() if line]
    assert len(boxes) >= 4
    assert all(line.startswith("- [ ] ") for line in boxes)


@EACH
def test_actions_are_the_procedure_of_the_severity(tmp_path: Path, case: Case) -> None:
    """Never a solution: the same steps for any evidence."""
    board = tripped(tmp_path / "one", case)
    other = board_with(tmp_path / "other")
    other.run("trip", "-m", "something else", "--severity", case.severity, "--now", NOW)
    assert report(board)["Recommended Actions"] == report(other)["Recommended Actions"]


def test_artifacts_come_from_evidence_and_tasks(tmp_path: Path) -> None:
    board = tripped(tmp_path, GAP)
    (artifacts,) = tables(report(board)["Affected Artifacts"])
    assert artifacts.header == ["Artifact", "Issue"]
    assert dict(artifacts.rows) == {
        "specs/import.md#FR-3": "are amounts net or gross?",
        "specs/data-model.md#FR-007": "specifies task-1",
        "specs/data-model.md#FR-009": "specifies task-2",
    }


def test_missing_artifacts_are_stated(tmp_path: Path) -> None:
    board = board_with(tmp_path, *[record("external_blocker", "task-9", blocker_service="x") for _ in range(2)])
    board.analyze()
    text = report(board)["Affected Artifacts"]
    assert tables(text) == []
    assert "specification" in text


def test_agents_suspicion_is_marked_as_theirs(tmp_path: Path) -> None:
    details = {**RETRY.records[0]["details"], "root_cause_hypothesis": "no nesting in the data model"}
    board = board_with(tmp_path, *RETRY.records[:2], record("retry_loop", **details))
    board.analyze()
    said = report(board)["Trigger Evidence"].partition("What the agents said")[2]
    assert "root cause hypothesis: no nesting in the data model" in said


def test_all_matching_patterns_are_in_the_report(tmp_path: Path) -> None:
    board = board_with(tmp_path, *[each for case in reversed(CASES) for each in case.records])
    assert board.analyze().code == 3
    found = report(board)
    assert "**Pattern:** retry_cluster" in found[""]
    (others,) = tables(found["Other Patterns That Matched"])
    assert [row[:2] for row in others.rows] == [[case.pattern, case.severity] for case in CASES[1:]]
    assert [row[2] for row in others.rows] == ["3 of 3", "2 of 2", "2 of 2", "2 of 2", "2 of 2"]
    assert others.rows[1][3:] == ["API supports pagination", "task-1, task-2"]


def test_two_groups_of_one_pattern_are_in_the_report(tmp_path: Path) -> None:
    twice = [record("external_blocker", blocker_service="mail relay") for _ in range(2)]
    board = board_with(tmp_path, *OUTAGE.records, *twice)
    board.analyze()
    text = board.report.read_text()
    well_formed(text)
    assert "payments sandbox" in text
    assert "mail relay" in text
    board.resolve()
    assert board.analyze(now=LATER).code == 0


def test_earlier_resolutions_of_the_pattern_are_listed(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.resolve("ADR-003 | flattened")
    board.add(*[record("retry_loop", f"t{n}", LATER, **RETRY.records[0]["details"]) for n in range(3)])
    assert board.analyze(now=LATER).code == 3
    (earlier,) = tables(report(board)["Resolved Before"])
    assert earlier.rows == [["retry_cluster", NOW, "2025-01-18T18:00:00Z", "alice", "ADR-003 \\| flattened"]]
    assert len(board.archived) == 2
    assert "## Decision" in board.archived[0].read_text()
    assert "## Decision" not in board.archived[1].read_text()


def test_resolutions_of_other_patterns_are_not_listed(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.resolve()
    board.add(*ASSUMPTION.records)
    board.analyze(now=LATER)
    assert "Resolved Before" not in report(board)


def test_report_with_decision_stays_well_formed(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.resolve("# no heading\n| no | table |\n\n```\n- [x] no box\n---\n<b>no markup</b>")
    for path in (board.report, board.archived[0]):
        text = path.read_text()
        well_formed(text)
        lines = parts(text)["Decision"].strip().splitlines()
        assert "**By:** alice" in "\n".join(lines)
        quoted = [line for line in lines if line.startswith(">")]
        assert len(quoted) == 7


def test_manual_trip_has_the_same_report(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    board.run("trip", "-m", "they | mock it differently", "--severity", "TECH_STACK_FLAW", "--now", NOW)
    found = report(board)
    assert list(found) == PARTS
    assert "they | mock it differently" in found["Trigger Evidence"]
    assert "by hand" in found["Trigger Evidence"]


def test_number_rule_is_not_reported_as_manual(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.rules.write_text(
        "rules:\n- name: blocked\n  description: Too many tasks wait\n  severity: SCOPE_FLAW\n"
        "  condition: metric(sprint.metrics.tasks_blocked) >= 1\n"
    )
    assert board.analyze().code == 3
    found = report(board)
    assert "by hand" not in found["Trigger Evidence"], "it was not tripped by hand"
    assert "Too many tasks wait" in found["Trigger Evidence"] + found[""]


@pytest.mark.parametrize("severity", ["VISION_FLAW", "TECH_STACK_FLAW"])
def test_custom_rule_may_use_any_severity(tmp_path: Path, severity: str) -> None:
    board = board_with(tmp_path, *[record("system_ambiguity", protocol_section="4", question="why?")] * 2)
    board.rules.write_text(
        f"rules:\n- name: own\n  severity: {severity}\n"
        "  condition: count(type=system_ambiguity, same(protocol_section)) >= 2\n"
    )
    assert board.analyze().code == 3
    found = report(board)
    assert f"**Severity:** {severity}" in found[""]
    assert severity in found["Recommended Actions"]
    (evidence,) = tables(found["Trigger Evidence"])
    assert evidence.header[2] == "Protocol Section"


def test_every_severity_can_be_tripped_by_hand(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    for hour, severity in enumerate(SEVERITIES, 10):
        now = f"2025-01-18T{hour}:00:00Z"
        assert board.run("trip", "-m", "stop", "--severity", severity, "--now", now).code == 3
        assert board.halt["severity"] == severity
        assert f"procedure for {severity}" in board.report.read_text()
        board.resolve()
    assert [entry["severity"] for entry in board.trips] == SEVERITIES


PYTEST = """\
============================= test session starts ==============================
platform linux -- Python 3.12.1, pytest-8.0.0

=================================== FAILURES ===================================
_________________________________ test_nested __________________________________
>       assert serialize(order) == EXPECTED
E       TypeError: Object of type Item is not JSON serializable

src/orders.py:%d: TypeError
=========================== short test summary info ============================
FAILED tests/test_orders.py::test_nested - TypeError: Object of type Item is not JSON serializable
"""


def said(board: Board) -> list[str]:
    """The items of the list of what agents said."""
    listed = report(board)["Trigger Evidence"].partition("What the agents said")[2]
    return [line[2:] for line in listed.splitlines() if line.startswith("- ")]


def test_summary_says_how_much_since_when_how_fast_and_what_varies(tmp_path: Path) -> None:
    lines = (42, 117, 8)
    records = [
        record(
            "retry_loop",
            f"task-{n}",
            f"2025-01-18T1{n + 2}:30:00Z",
            count=n,
            error_pattern=f"no such row at line {line}",
        )
        for n, line in enumerate(lines, 1)
    ]
    board = board_with(tmp_path, *records)
    assert board.analyze().code == 3
    found = summary_of(board)
    assert found["What happened"] == "3 records (retry_loop); trips at 3"
    assert found["Since"] == ("2025-01-18 13:30:00 UTC; 3 in 2 h, one every 1 h; the last one 2 h before the trip")
    assert (found["Tasks"], found["Reported by"]) == ("task-3, task-2, task-1", "coder-1 (3)")
    assert (found["Common factor"], found["What varies"]) == ("no such row at line …", "8, 117, 42")
    (evidence,) = tables(report(board)["Trigger Evidence"])
    assert [row[2] for row in evidence.rows] == ["… 8", "… 117", "… 42"]


def test_everything_that_agents_said_is_listed_newest_first(tmp_path: Path) -> None:
    details = {"assumption": "API supports pagination"}
    board = board_with(
        tmp_path,
        record("assumption_violated", "task-1", "2025-01-18T10:00:00Z", **details, reality="100 at most, no cursor"),
        record(
            "assumption_violated", "task-2", "2025-01-18T12:00:00Z", **details, reality="page 2 is empty", tried="v2"
        ),
        record("assumption_violated", "task-3", "2025-01-18T11:00:00Z", **details, reality="100 at most, no cursor"),
    )
    board.analyze()
    assert said(board) == [
        "task-2 (coder-1): reality: page 2 is empty; tried: v2",
        "task-3 (coder-1), task-1 (coder-1): reality: 100 at most, no cursor",
    ]


def test_what_all_agents_said_is_listed_once(tmp_path: Path) -> None:
    details = {"error_pattern": "disk full", "root_cause_hypothesis": "a | b <c>"}
    records = [record("retry_loop", f"task-{n}", f"2025-01-18T1{n}:00:00Z", **details, count=n) for n in (1, 2, 3)]
    board = board_with(tmp_path, *records)
    board.analyze()
    own = [f"task-{n} (coder-1): count: {n}" for n in (3, 2, 1)]
    assert said(board) == ["all of them: root cause hypothesis: a | b \\<c>", *own]


def test_field_that_was_not_compared_is_listed(tmp_path: Path) -> None:
    board = board_with(
        tmp_path,
        record("workaround", "task-1", "2025-01-18T10:00:00Z", what="flatten it", root_cause="serializer cannot nest"),
        record("workaround", "task-2", "2025-01-18T11:00:00Z", what="skip it", root_cause="the serializer cannot nest"),
    )
    board.analyze()
    assert said(board) == ["task-2 (coder-1): what: skip it", "task-1 (coder-1): what: flatten it"]
    found = summary_of(board)
    assert (found["Common factor"], "What varies" in found) == ("serializer cannot nest", False)


def test_left_out_texts_about_an_artifact_are_counted(tmp_path: Path) -> None:
    details = {"assumption": "A", "spec_ref": "specs/a.md"}
    board = board_with(tmp_path, *[record("assumption_violated", reality=f"it is {n}", **details) for n in range(6)])
    board.analyze()
    (artifacts,) = tables(report(board)["Affected Artifacts"])
    assert artifacts.rows[0][1].endswith("; it is 3; and 2 more")


def test_output_of_a_test_runner_is_reported_by_its_error(tmp_path: Path) -> None:
    board = board_with(tmp_path, *[record("retry_loop", count=3, error_pattern=PYTEST % n) for n in range(40, 43)])
    shown = board.analyze().out
    expected = "FAILED tests/test_orders.py::test_nested - TypeError: Object of type Item is not JSON serializable"
    assert summary_of(board)["Common factor"] == expected
    assert "===" not in board.report.read_text() + shown


def test_page_shows_twenty_records_and_names_the_command_for_all(tmp_path: Path) -> None:
    many = [record("retry_loop", f"task-{n}", count=n, error_pattern="disk full") for n in range(50)]
    board = board_with(tmp_path, *many)
    board.analyze()
    (evidence,) = tables(report(board)["Trigger Evidence"])
    assert (len(evidence.rows), len(said(board))) == (20, 20)
    found = re.search(r"And 30 more: `liza (.*)`", report(board)["Trigger Evidence"])
    assert found is not None
    shown = board.run(*found[1].split(), "--now", NOW).out
    assert [f"anomalies[{n}]  task-{n}" in shown for n in range(50)] == [True] * 50
