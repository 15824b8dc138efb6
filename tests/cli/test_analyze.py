"""`liza analyze`: one check, its output, and the effect of each option."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import BIN
from tests.scopes.sprint.cases import ASSUMPTION, EACH, RETRY, Case, board_with, tripped
from tests.scopes.sprint.run import LATER, NOW, record, state


def similar(*texts: str) -> list[dict[str, Any]]:
    return [record("retry_loop", count=3, error_pattern=text) for text in texts]


# --- no match -------------------------------------------------------------------------------------------------------


def test_quiet_board_is_ok_and_shows_progress(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2], ASSUMPTION.records[0])
    ran = board.analyze()
    assert ran.code == 0
    assert ran.out.startswith("OK")
    lines = {line.split()[1]: line for line in ran.out.splitlines() if " of " in line}
    assert "2 of 3" in lines["retry_cluster"]
    assert "serialization failure on nested entity" in lines["retry_cluster"]
    assert "[task-1, task-2]" in lines["retry_cluster"]
    assert "1 of 2" in lines["assumption_cascade"]
    assert "0 of 3" in lines["debt_accumulation"]
    assert len(lines) == 6


@pytest.mark.parametrize("command", ["analyze", "status"])
def test_disabled_rule_is_listed_among_patterns(tmp_path: Path, command: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    (board.folder / "rules.yaml").write_text("rules: [{name: retry_cluster, enabled: false}]\n")
    ran = board.run(command)
    (line,) = [line for line in ran.out.splitlines() if line.split()[1:2] == ["retry_cluster"]]
    assert "disabled" in line


def test_unusable_value_is_printed_with_its_position(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:1], record("trade_off", what="x", why="y", debt_created="true"))
    ran = board.analyze()
    assert ran.code == 0
    (line,) = [line for line in (ran.out + ran.err).splitlines() if "anomalies[1]: debt_created" in line]
    assert "'true'" in line


def test_consecutive_ok_checks_are_one_history_entry(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.analyze(now="2025-01-18T17:00:00Z")
    assert board.section["history"] == [{"timestamp": "2025-01-18T17:00:00Z", "pattern": None, "result": "OK"}]
    for minute in range(1, 4):
        board.analyze(now=f"2025-01-18T17:0{minute}:00Z")
    (entry,) = board.section["history"]
    assert (entry["checks"], entry["last_at"]) == (4, "2025-01-18T17:03:00Z")
    assert board.section["last_check"] == "2025-01-18T17:03:00Z"
    assert (board.section["status"], board.section["current_trigger"]) == ("OK", None)
    assert not board.checkpoint.exists()
    assert not board.report.exists()
    assert board.logged == []


SCOPED = """\
version: 1
claims: {C-001: {status: OPEN, text: x, rounds: [ROUND, ROUND, ROUND]}}
slices: {S-1: {attempts: [ATTEMPT, ATTEMPT, ATTEMPT]}}
loops: {l1: {iterations: [{files_changed: 0}, {files_changed: 0}, {files_changed: 0}]}}
""".replace("ROUND", "{objection: A, response: b}").replace("ATTEMPT", "{test: t, result: failed}")


def test_check_that_stopped_a_scope_does_not_begin_with_ok(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.state.write_text(SCOPED)
    names = "loop l1, claim C-001, slice S-1; no systemic pattern"
    before = board.state.read_bytes()
    assert board.analyze("--dry-run").out.startswith(f"WOULD STOP: {names} (dry run, nothing written)\n")
    assert board.state.read_bytes() == before
    ran = board.analyze()
    assert (ran.code, ran.out.partition("\n")[0]) == (0, f"STOPPED: {names}")
    assert board.analyze().out.startswith("OK: no systemic pattern\n")


def test_file_that_yq_has_broken_names_yq(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.state.write_text("version: 1\nanomalies: []\nextra: {a: 1}  # a comment\n")
    edit = ["yq", "-Y", "-i", ".version = 2", str(board.state)]
    subprocess.run(edit, env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}, check=True)
    for command in ("analyze", "status"):
        ran = board.run(command)
        assert ran.code == 4
        assert "state.yaml:3:" in ran.err
        assert "yq -Y" in ran.err
    board.state.write_text("version: 1\nextra: {a: [1\n")
    assert "yq -Y" not in board.run("analyze").err


def test_ok_checks_around_a_trip_are_separate_entries(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    board.analyze()
    board.add(RETRY.records[2])
    board.analyze()
    board.resolve()
    board.analyze(now=LATER)
    board.analyze(now=LATER)
    assert [(entry["result"], entry.get("checks")) for entry in board.section["history"]] == [
        ("OK", None),
        ("TRIGGERED", None),
        ("OK", 2),
    ]


# --- a match --------------------------------------------------------------------------------------------------------


@EACH
def test_match_halts_reports_enters_and_logs(tmp_path: Path, case: Case) -> None:
    board = board_with(tmp_path, *case.records)
    ran = board.analyze()
    assert ran.code == 3
    assert ran.out.startswith(f"TRIGGERED: {case.pattern} ({case.severity}) since {NOW}\n")
    assert "liza resolve" in ran.out
    trigger = board.trigger
    trip = trigger["trip_id"]
    assert trigger == {
        "timestamp": NOW,
        "pattern": case.pattern,
        "severity": case.severity,
        "report_file": ".liza/circuit_breaker_report.md",
        "trip_id": trip,
    }
    assert (board.section["status"], board.section["last_check"]) == ("TRIGGERED", NOW)
    (entry,) = board.trips
    evidence = entry.pop("evidence")
    assert list(evidence) == [case.pattern]
    assert len(evidence[case.pattern].split()) == len(case.records)
    assert entry == {
        "timestamp": NOW,
        "pattern": case.pattern,
        "severity": case.severity,
        "result": "TRIGGERED",
        "trip_id": trip,
    }
    assert board.halt["time"] == NOW
    assert (board.halt["pattern"], board.halt["severity"], board.halt["trip"]) == (case.pattern, case.severity, trip)
    assert board.halt["report"] == trigger["report_file"]
    assert "liza resolve" in board.halt["resume"]
    assert [path.read_text() for path in board.archived] == [board.report.read_text()]
    assert trip in board.archived[0].name
    assert len(board.logged) == 1
    assert all(word in board.logged[0] for word in ("tripped", case.pattern, case.severity, trip))
    assert board.leftovers() == []


def test_first_pattern_of_the_pack_is_the_trigger(tmp_path: Path) -> None:
    board = board_with(tmp_path, *ASSUMPTION.records, *RETRY.records)
    ran = board.analyze()
    assert ran.code == 3
    assert board.trigger["pattern"] == "retry_cluster"
    assert board.trigger["also_matched"] == ["assumption_cascade"]
    assert "also matched: assumption_cascade" in ran.out
    assert set(board.trips[0]["evidence"]) == {"retry_cluster", "assumption_cascade"}


# --- degraded -------------------------------------------------------------------------------------------------------


def test_invalid_rules_file_lists_every_error(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    board.rules.write_text("rules:\n- name: retry_cluster\n  sevrity: SPEC_FLAW\n  condition: count(\n")
    before = board.files()
    ran = board.analyze()
    assert ran.code == 4
    assert "rules.yaml:3" in ran.err
    assert "rules.yaml:4" in ran.err
    assert "severity" in ran.err
    assert ran.err.splitlines()[-1] == board.run("status").err.splitlines()[-1]  # what applies meanwhile
    answer = board.analyze("--json")
    assert (answer.code, answer.json["status"], answer.err) == (4, "degraded", ran.err)
    assert board.files() == before


def test_missing_section_beside_reports_is_not_a_new_board(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.checkpoint.unlink()
    board.save(state(RETRY.records[:1], breaker=""))
    before = board.files()
    assert board.analyze().code == 4
    assert board.files() == before


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["ok", "would trip", "open"])
def test_dry_run_writes_nothing(tmp_path: Path, case: str) -> None:
    board = tripped(tmp_path) if case == "open" else board_with(tmp_path, *RETRY.records[: 2 if case == "ok" else 3])
    before = board.files()
    ran = board.analyze("--dry-run")
    assert ran.code == (0 if case == "ok" else 3)
    assert ("TRIGGERED" if case == "open" else "nothing written") in ran.out
    assert board.analyze("--dry-run", "--json").json["status"] == ("ok" if case == "ok" else "triggered")
    assert board.files() == before


def test_exact_groups_only_equal_texts(tmp_path: Path) -> None:
    texts = ("timeout after 30s at worker 17", "timeout after 31s at worker 18", "timeout after 9s at worker 3")
    board = board_with(tmp_path, *similar(*texts))
    ran = board.analyze("--exact")
    assert ran.code == 0
    assert "retry_cluster            1 of 3" in ran.out
    assert board.analyze().code == 3


def test_window_selects_the_records_that_count(tmp_path: Path) -> None:
    old = [record("retry_loop", at="2025-01-10T10:00:00Z", count=3, error_pattern="boom") for _ in range(3)]
    board = board_with(tmp_path, *old)
    counts = {
        window: board.analyze("--dry-run", "--json", "--window", window).json["anomalies"]
        for window in ("current_sprint", "all", "24h", "last 2", "30d")
    }
    assert {window: found["considered"] for window, found in counts.items()} == {
        "current_sprint": 0,
        "all": 3,
        "24h": 0,
        "last 2": 2,
        "30d": 3,
    }
    assert counts["24h"]["outside_window"] == 3
    assert board.analyze().code == 0
    assert board.analyze("--window", "all").code == 3


@pytest.mark.parametrize("option", [("--window", "yesterday"), ("--window", "last 0"), ("--now", "soon"), ("--wndow",)])
def test_invalid_option_is_wrong_usage(tmp_path: Path, option: tuple[str, ...]) -> None:
    board = board_with(tmp_path)
    before = board.files()
    ran = board.run("analyze", *option)
    assert ran.code == 2
    assert ran.err
    assert board.files() == before


def test_rules_option_replaces_own_rules_file(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    board.rules.write_text("rules:\n- {name: retry_cluster, enabled: false}\n")
    other = tmp_path / "other.yaml"
    other.write_text("rules:\n- {name: retry_cluster, condition: 'count(type=retry_loop, same(error_pattern)) >= 2'}\n")
    ran = board.analyze("--rules", str(other))
    assert ran.code == 3
    assert "retry_cluster: condition" in ran.out


def test_missing_rules_file_is_not_ignored(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    ran = board.analyze("--rules", "no-such-file.yaml")
    assert ran.code not in (0, 3), "other rules than those of the named file were used"


def test_now_is_the_time_of_everything_written(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    board.analyze(now="2025-01-18T20:00:00+02:00")
    assert board.trigger["timestamp"] == board.halt["time"] == board.section["last_check"] == "2025-01-18T18:00:00Z"
    assert "**Triggered:** 2025-01-18T18:00:00Z" in board.report.read_text()


@pytest.mark.parametrize("beyond", ["", ", .inf: never, other: .nan"], ids=["in JSON, too", "not in JSON"])
def test_json_has_every_key_and_number_of_a_record(tmp_path: Path, beyond: str) -> None:
    board = board_with(tmp_path)
    details = "{assumption: same, ~: nothing, true: yes, 2: two, 1.5: more" + beyond + "}"
    entry = f"\n  - {{timestamp: {NOW}, task: t, reporter: r, type: assumption_violated, details: {details}}}"
    sections = state([]).replace("anomalies: []", "anomalies:" + 2 * entry)
    board.state.write_text(sections)
    found = board.analyze("--dry-run", "--json").json["matches"][0]["evidence"][0]["details"]
    expected = {"assumption": "same", "null": "nothing", "true": "yes", "2": "two", "1.5": "more"}
    assert found == (expected | {"inf": "never", "other": "nan"} if beyond else expected)


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    ran = board.analyze("--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    board.add(RETRY.records[2])
    ran = board.analyze("-q")
    assert (ran.code, ran.out, ran.err) == (3, "", "")


def test_folder_can_be_named_in_every_way(tmp_path: Path) -> None:
    board = board_with(tmp_path / "project", *RETRY.records)
    elsewhere = board_with(tmp_path / "elsewhere")
    root = str(board.root)
    for ways in (
        ("analyze", root),
        ("analyze", str(board.folder)),
        ("analyze", "--root", root),
        ("--root", root, "analyze"),
        ("analyze", "../project"),
    ):
        assert elsewhere.run(*ways, "--dry-run", "--now", NOW).code == 3, ways
    assert elsewhere.run("analyze", "--dry-run", "--now", NOW, env={"LIZA_ROOT": root}).code == 3
    assert elsewhere.run(root, "--dry-run", "--now", NOW, program="liza-analyze").code == 3
    assert elsewhere.run("--dry-run", "--now", NOW, program="liza-analyze").code == 0
    (board.root / "deep" / "down").mkdir(parents=True)
    assert elsewhere.run("analyze", str(board.root / "deep"), "--dry-run").code == 1, "a named folder must be right"
