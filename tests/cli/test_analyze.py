"""`liza analyze`: one check, what it prints, and what each option changes."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.scopes.sprint.cases import ASSUMPTION, EACH, RETRY, Case, board_with, tripped
from tests.scopes.sprint.run import LATER, NOW, Board, record, state

UNREADABLE = {
    "broken YAML": "anomalies: [\n",
    "an empty file": "",
    "null": "null\n",
    "a list": "- a\n",
    "a text": "nothing here\n",
    "two documents": "a: 1\n---\nb: 2\n",
    "a NUL byte": "a: 1\0\n",
    "duplicate keys": "anomalies: []\nanomalies: []\n",
}


def similar(*texts: str) -> list[dict[str, Any]]:
    return [record("retry_loop", count=3, error_pattern=text) for text in texts]


# --- nothing found --------------------------------------------------------------------------------------------------


def test_a_quiet_board_is_ok_and_says_how_near_each_pattern_is(tmp_path: Path) -> None:
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
def test_a_disabled_rule_is_shown_among_the_patterns(tmp_path: Path, command: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    (board.folder / "rules.yaml").write_text("rules: [{name: retry_cluster, enabled: false}]\n")
    ran = board.run(command)
    (line,) = [line for line in ran.out.splitlines() if line.split()[1:2] == ["retry_cluster"]]
    assert "disabled" in line


def test_a_value_that_no_rule_can_use_is_printed_with_its_place(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:1], record("trade_off", what="x", why="y", debt_created="true"))
    ran = board.analyze()
    assert ran.code == 0
    (line,) = [line for line in (ran.out + ran.err).splitlines() if "anomalies[1]: debt_created" in line]
    assert "'true'" in line


def test_an_ok_check_is_entered_in_the_history_and_consecutive_ones_are_one_entry(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.analyze(now="2025-01-18T17:00:00Z")
    assert board.section["history"] == [{"timestamp": "2025-01-18T17:00:00Z", "pattern": None, "result": "OK"}]
    for minute in range(1, 4):
        board.analyze(now=f"2025-01-18T17:0{minute}:00Z")
    assert board.section["history"] == [
        {"timestamp": "2025-01-18T17:00:00Z", "pattern": None, "result": "OK", "checks": 4}
    ]
    assert board.section["last_check"] == "2025-01-18T17:03:00Z"
    assert (board.section["status"], board.section["current_trigger"]) == ("OK", None)
    assert not board.checkpoint.exists()
    assert not board.report.exists()
    assert board.logged == []


def test_ok_checks_before_and_after_a_trip_are_entries_of_their_own(tmp_path: Path) -> None:
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
def test_a_pattern_that_matches_halts_reports_enters_and_logs(tmp_path: Path, case: Case) -> None:
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


@EACH
def test_one_record_less_is_quiet(tmp_path: Path, case: Case) -> None:
    board = board_with(tmp_path, *case.records[:-1])
    assert board.analyze().code == 0
    assert not board.checkpoint.exists()


def test_of_several_patterns_the_first_of_the_pack_is_the_trigger(tmp_path: Path) -> None:
    board = board_with(tmp_path, *ASSUMPTION.records, *RETRY.records)
    ran = board.analyze()
    assert ran.code == 3
    assert board.trigger["pattern"] == "retry_cluster"
    assert board.trigger["also_matched"] == ["assumption_cascade"]
    assert "also matched: assumption_cascade" in ran.out
    assert set(board.trips[0]["evidence"]) == {"retry_cluster", "assumption_cascade"}


def test_a_board_that_never_had_a_section_of_ours_trips_like_any_other(tmp_path: Path) -> None:
    board = Board(tmp_path, state(RETRY.records, breaker=""))
    assert board.analyze().code == 3
    assert board.section["status"] == "TRIGGERED"
    assert board.resolve().code == 0
    assert board.analyze(now=LATER).code == 0


# --- not judgeable --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_judged_is_exit_4_and_nothing_is_written(tmp_path: Path, text: str) -> None:
    board = Board(tmp_path, text)
    before = board.files()
    ran = board.analyze()
    assert ran.code == 4
    assert "state.yaml" in ran.err
    assert "hint:" in ran.err
    answer = board.analyze("--json")
    assert (answer.code, answer.json["status"]) == (4, "degraded")
    assert set(answer.json["problems"][0]) >= {"file", "line", "column", "message", "hint"}
    assert board.files() == before


def test_a_bad_rules_file_is_exit_4_with_every_error_and_nothing_is_written(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    board.rules.write_text("rules:\n- name: retry_cluster\n  sevrity: SPEC_FLAW\n  condition: count(\n")
    before = board.files()
    ran = board.analyze()
    assert ran.code == 4
    assert "rules.yaml:3" in ran.err
    assert "rules.yaml:4" in ran.err
    assert "severity" in ran.err
    assert board.files() == before


def test_a_board_without_its_section_beside_archived_reports_is_not_new(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.checkpoint.unlink()
    board.save(state(RETRY.records[:1], breaker=""))
    before = board.files()
    assert board.analyze().code == 4
    assert board.files() == before


@pytest.mark.parametrize("odd", ["a FIFO", "a folder", "a dangling link", "absent"])
def test_a_file_that_is_no_file_is_exit_4(tmp_path: Path, odd: str) -> None:
    board = board_with(tmp_path)
    board.state.unlink()
    if odd == "a FIFO":
        os.mkfifo(board.state)
    elif odd == "a folder":
        board.state.mkdir()
    elif odd == "a dangling link":
        board.state.symlink_to("nowhere")
    ran = board.analyze()
    assert ran.code == 4
    assert "hint:" in ran.err
    assert not board.checkpoint.exists()


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["ok", "would trip", "open"])
def test_a_dry_run_writes_nothing_at_all(tmp_path: Path, case: str) -> None:
    board = tripped(tmp_path) if case == "open" else board_with(tmp_path, *RETRY.records[: 2 if case == "ok" else 3])
    before = board.files()
    ran = board.analyze("--dry-run")
    assert ran.code == (0 if case == "ok" else 3)
    assert ("TRIGGERED" if case == "open" else "nothing written") in ran.out
    assert board.analyze("--dry-run", "--json").json["status"] == ("ok" if case == "ok" else "triggered")
    assert board.files() == before


def test_exact_takes_only_equal_texts_together(tmp_path: Path) -> None:
    texts = ("timeout after 30s at worker 17", "timeout after 31s at worker 18", "timeout after 9s at worker 3")
    board = board_with(tmp_path, *similar(*texts))
    ran = board.analyze("--exact")
    assert ran.code == 0
    assert "retry_cluster            1 of 3" in ran.out
    assert board.analyze().code == 3


def test_the_window_decides_which_records_count(tmp_path: Path) -> None:
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
def test_an_option_without_a_meaning_is_wrong_usage(tmp_path: Path, option: tuple[str, ...]) -> None:
    board = board_with(tmp_path)
    before = board.files()
    ran = board.run("analyze", *option)
    assert ran.code == 2
    assert ran.err
    assert board.files() == before


def test_another_file_of_rules_takes_the_place_of_the_own_one(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    board.rules.write_text("rules:\n- {name: retry_cluster, enabled: false}\n")
    other = tmp_path / "other.yaml"
    other.write_text("rules:\n- {name: retry_cluster, condition: 'count(type=retry_loop, same(error_pattern)) >= 2'}\n")
    ran = board.analyze("--rules", str(other))
    assert ran.code == 3
    assert "retry_cluster: condition" in ran.out


def test_rules_that_are_not_there_are_not_passed_over(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    ran = board.analyze("--rules", "no-such-file.yaml")
    assert ran.code not in (0, 3), "somebody named a file, and was judged by other rules than those in it"


def test_now_is_the_time_of_everything_that_is_written(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    board.analyze(now="2025-01-18T20:00:00+02:00")
    assert board.trigger["timestamp"] == board.halt["time"] == board.section["last_check"] == "2025-01-18T18:00:00Z"
    assert "**Triggered:** 2025-01-18T18:00:00Z" in board.report.read_text()


def test_quiet_prints_nothing_and_says_it_by_the_exit_code(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    ran = board.analyze("--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    board.add(RETRY.records[2])
    ran = board.analyze("-q")
    assert (ran.code, ran.out, ran.err) == (3, "", "")


def test_the_folder_can_be_named_in_every_way(tmp_path: Path) -> None:
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


def test_no_board_is_told_with_what_to_do(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    ran = board.run("analyze", "/nonexistent")
    assert ran.code == 1
    assert "liza init" in ran.err
