"""A silence in effect: it prevents the halt for a while, and is always visible."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.run import Result
from tests.scopes.sprint.cases import EACH, OUTAGE, RETRY, Case, board_with, tripped
from tests.scopes.sprint.markdown import parts, tables, well_formed
from tests.scopes.sprint.run import LATER, NOW, Board, record, state
from tests.store.oracle import libyaml_value

EVENING = "2025-01-18T19:30:00Z"  # two hours after NOW
FIELDS = {
    "retry_cluster": "error_pattern",
    "assumption_cascade": "assumption",
    "workaround_pattern": "root_cause",
    "spec_gap_cluster": "spec_ref",
    "external_service_outage": "blocker_service",
}
BY_HAND = {
    "id": "by-hand",
    "rule": "external_service_outage",
    "match": {"blocker_service": "payments sandbox"},
    "created": "2025-01-18T17:00:00Z",
    "until": EVENING,
    "reason": "known outage",
    "by": "ann",
}
SILENCED = "Matched, but Silenced"


def silence(board: Board, case: Case, *words: str, now: str = NOW) -> Result:
    """Silence a case for two hours, as a person does."""
    about = [f"{FIELDS[case.pattern]}={case.common}"] if case.pattern in FIELDS else ["--all"]
    options = ["--for", "2h", "-m", "known, back at six", "--by", "ann", "--now", now]
    ran = board.run("silence", "add", case.pattern, *about, *options, *words)
    assert ran.code == 0, ran.err
    return ran


def by_hand(folder: Path, *records: Mapping[str, Any], section: Any = None, **fields: Any) -> Board:
    """A blackboard with a hand-written silence, or with something else in its place."""
    whole = json.dumps([BY_HAND | fields] if section is None else section)
    return Board(folder, state(records) + f"silences: {whole}\n")


def silences(board: Board) -> list[dict[str, Any]]:
    """The section, as another YAML library reads it."""
    found = libyaml_value(board.state.read_bytes())["silences"]
    assert isinstance(found, list)
    return found


def log(board: Board) -> list[dict[str, Any]]:
    found = libyaml_value(board.log.read_bytes())
    assert isinstance(found, list)
    return found


def silenced(board: Board, command: str, now: str = NOW) -> list[tuple[str, str]]:
    """The silenced rules in a command's JSON, each with its silence."""
    answer = board.run(command, "--json", "--now", now, *(["--dry-run"] if command == "analyze" else [])).json
    return [(each["rule"], each["silence"]["id"]) for each in answer["silenced"]]


# --- while active -----------------------------------------------------------------------------------------------------


@EACH
def test_silenced_pattern_halts_after_the_silence_ends(tmp_path: Path, case: Case) -> None:
    board = board_with(tmp_path, *case.records)
    silence(board, case)
    assert board.analyze().code == 0
    assert not board.checkpoint.exists()
    assert not board.report.exists()
    assert board.section["status"] == "OK"
    assert board.run("gate").code == 0
    assert board.analyze(now="2025-01-18T19:29:59Z").code == 0
    assert board.analyze(now=EVENING).code == 3
    assert board.trigger["pattern"] == case.pattern
    assert board.checkpoint.exists()
    assert SILENCED not in board.report.read_text()


@EACH
def test_expired_silence_hides_nothing(tmp_path: Path, case: Case) -> None:
    board = board_with(tmp_path, *case.records)
    silence(board, case)
    assert board.analyze().code == 0
    assert board.run("silence", "expire", "silence-1", "--by", "bob", "--now", LATER).code == 0
    assert board.analyze(now=LATER).code == 3
    assert board.trigger["pattern"] == case.pattern
    assert board.halt["trip"] == board.trigger["trip_id"]


@EACH
def test_silenced_pattern_is_shown_as_silenced(tmp_path: Path, case: Case) -> None:
    board = board_with(tmp_path, *case.records)
    silence(board, case)
    for command in ("analyze", "status"):
        ran = board.run(command, "--now", NOW)
        assert ran.code == 0
        (line,) = [each for each in ran.out.splitlines() if each.startswith("silenced: ")]
        for text in (case.pattern, "2025-01-18T19:30:00Z", "ann", "known, back at six", "silence-1"):
            assert text in line
        (row,) = [each for each in ran.out.splitlines() if each.startswith(f"  - {case.pattern} ")]
        assert "silenced" in row
        assert "matches now" not in ran.out
    assert silenced(board, "analyze") == silenced(board, "status") == [(case.pattern, "silence-1")]
    answer = board.analyze("--json").json
    assert (answer["status"], answer["matches"], answer["trigger"]) == ("ok", [], None)
    (entry,) = [each for each in answer["patterns"] if each["rule"] == case.pattern]
    assert entry["reason"] == "matched, but silenced"


def test_json_of_silenced_match_has_its_silence(tmp_path: Path) -> None:
    board = board_with(tmp_path, *OUTAGE.records)
    silence(board, OUTAGE)
    (found,) = board.run("status", "--json", "--now", NOW).json["silenced"]
    assert (found["rule"], found["count"], found["threshold"]) == ("external_service_outage", 2, 2)
    assert (found["key"], found["tasks"]) == ("payments sandbox", ["task-1", "task-2"])
    assert found["silence"] == {
        "id": "silence-1",
        "rule": "external_service_outage",
        "match": {"blocker_service": "payments sandbox"},
        "created": NOW,
        "until": EVENING,
        "reason": "known, back at six",
        "by": "ann",
    }


# --- beside other trips -----------------------------------------------------------------------------------------------


def test_report_of_another_trip_lists_silenced_patterns(tmp_path: Path) -> None:
    board = board_with(tmp_path, *OUTAGE.records, *RETRY.records)
    silence(board, OUTAGE)
    ran = board.analyze()
    assert ran.code == 3
    assert "silenced: external_service_outage" in ran.out
    assert board.trigger["pattern"] == "retry_cluster"
    assert "also_matched" not in board.trigger
    text = board.report.read_text()
    well_formed(text)
    (table,) = tables(parts(text)[SILENCED])
    assert table.header == ["Pattern", "Count", "Common factor", "Until", "By", "Reason"]
    row = ["external_service_outage", "2 of 2", "payments sandbox", EVENING, "ann", "known, back at six"]
    assert table.rows == [row]
    assert [path.read_text() for path in board.archived] == [text]


def test_resolution_of_another_trip_does_not_acknowledge_silenced(tmp_path: Path) -> None:
    board = board_with(tmp_path, *OUTAGE.records, *RETRY.records)
    silence(board, OUTAGE)
    assert board.analyze().code == 3
    assert board.resolve().code == 0
    assert board.analyze(now=LATER).code == 0
    assert board.analyze(now=EVENING).code == 3
    assert board.trigger["pattern"] == "external_service_outage"


def test_resolution_of_another_group_does_not_acknowledge_silenced(tmp_path: Path) -> None:
    other = [record("external_blocker", f"task-{n}", blocker_service="mail relay") for n in (1, 2)]
    board = board_with(tmp_path, *OUTAGE.records, *other)
    silence(board, OUTAGE)
    assert board.analyze().code == 3
    assert "mail relay" in parts(board.report.read_text())["Trigger Evidence"]
    assert "payments sandbox" not in parts(board.report.read_text())["Trigger Evidence"]
    assert board.resolve().code == 0
    assert board.analyze(now=LATER).code == 0
    assert board.analyze(now=EVENING).code == 3
    assert "payments sandbox" in parts(board.report.read_text())["Trigger Evidence"]


def test_resolution_of_large_group_does_not_acknowledge_silenced(tmp_path: Path) -> None:
    quiet = [record("spec_gap", "task-1", spec_ref="A", n=n) for n in range(2)]
    board = board_with(tmp_path, *quiet, *(record("spec_gap", f"t{n}", spec_ref="B", n=n) for n in range(501)))
    words = ("--for", "2h", "-m", "known", "--now", NOW)
    assert board.run("silence", "add", "spec_gap_cluster", "spec_ref=A", *words).code == 0
    assert board.analyze().code == 3
    assert board.resolve().code == 0
    assert board.analyze(now=LATER).code == 0
    assert silenced(board, "status", LATER) == [("spec_gap_cluster", "silence-1")]
    ran = board.analyze("--json", now=EVENING)
    assert ran.code == 3
    assert [(each["key"], each["count"]) for each in ran.json["matches"]] == [("A", 2)]


def test_silence_does_not_close_an_open_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path, OUTAGE)
    trigger, report, halt = board.trigger, board.report.read_bytes(), board.checkpoint.read_bytes()
    ran = silence(board, OUTAGE)
    assert "liza resolve" in ran.out
    assert board.analyze(now=LATER).code == 3
    assert board.run("status", "--now", LATER).code == 3
    assert board.run("gate").code == 2
    assert (board.trigger, board.report.read_bytes(), board.checkpoint.read_bytes()) == (trigger, report, halt)


def test_open_trip_keeps_its_report_when_silenced_later(tmp_path: Path) -> None:
    board = tripped(tmp_path, OUTAGE)
    before = parts(board.report.read_text())
    silence(board, OUTAGE)
    board.add(*RETRY.records)
    assert board.analyze(now=LATER).code == 3
    assert board.trigger["pattern"] == "external_service_outage"
    text = board.report.read_text()
    well_formed(text)
    after = parts(text)
    assert [after[title].strip() for title in before] == [part.strip() for part in before.values()]
    assert after.keys() - before.keys() == {"Other Patterns That Matched", SILENCED}
    assert [row[0] for row in tables(after["Other Patterns That Matched"])[0].rows] == ["retry_cluster"]
    assert [row[0] for row in tables(after[SILENCED])[0].rows] == ["external_service_outage"]
    assert "by hand" not in text, "it was not tripped by hand"


def test_other_evidence_keeps_silenced_evidence_of_open_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path, OUTAGE)
    (before,) = (entry["evidence"][OUTAGE.pattern].split() for entry in board.trips)
    silence(board, OUTAGE)
    board.add(*(record("external_blocker", f"task-{n}", blocker_service="mail relay") for n in (1, 2)))
    ran = board.analyze()
    assert (ran.code, "new evidence since the trip" in ran.out + ran.err) == (3, True)
    (after,) = (entry["evidence"][OUTAGE.pattern].split() for entry in board.trips)
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2
    assert board.resolve().code == 0
    assert board.analyze(now=LATER).code == 0
    assert board.analyze(now=EVENING).code == 0, "resolved evidence tripped again at the end of a silence"


def test_resolved_trip_stays_resolved_when_silence_ends(tmp_path: Path) -> None:
    board = tripped(tmp_path, OUTAGE)
    assert board.resolve().code == 0
    assert "silenced: " not in silence(board, OUTAGE, now=LATER).out
    assert silenced(board, "analyze", LATER) == []
    assert board.run("silence", "expire", "silence-1", "--now", LATER).code == 0
    assert board.analyze(now=EVENING).code == 0


def test_manual_trip_is_not_silenced(tmp_path: Path) -> None:
    board = board_with(tmp_path, *OUTAGE.records)
    silence(board, OUTAGE)
    assert board.run("trip", "-m", "stop", "--now", NOW).code == 3
    assert board.analyze().code == 3
    assert board.checkpoint.exists()


def test_silence_does_not_enable_a_disabled_rule(tmp_path: Path) -> None:
    board = by_hand(tmp_path, *OUTAGE.records)
    board.rules.write_text("rules:\n- {name: external_service_outage, enabled: false}\n")
    assert board.analyze().code == 0
    assert silenced(board, "status") == []
    assert board.analyze(now=EVENING).code == 0
