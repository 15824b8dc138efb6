"""`liza resolve` and `liza trip`: decisions of a person."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.run import BIN
from tests.scopes.sprint.cases import EACH, RETRY, Case, board_with, tripped
from tests.scopes.sprint.run import LATER, NOW, record

AT = "2025-01-18T18:00:00Z"


@EACH
def test_resolution_closes_the_trip_everywhere(tmp_path: Path, case: Case) -> None:
    board = tripped(tmp_path, case)
    trip = board.trigger["trip_id"]
    ran = board.resolve("ADR-003: entities are flattened")
    assert ran.code == 0
    assert case.pattern in ran.out
    assert (board.section["status"], board.section["current_trigger"]) == ("OK", None)
    (entry,) = board.trips
    assert (entry["pattern"], entry["severity"], entry["timestamp"]) == (case.pattern, case.severity, NOW)
    assert (entry["result"], entry["trip_id"]) == ("TRIGGERED", trip)
    assert entry["resolution"] == "ADR-003: entities are flattened"
    assert (entry["resolved_at"], entry["resolved_by"]) == (AT, "alice")
    assert not board.checkpoint.exists()
    assert len(board.logged) == 2
    assert all(word in board.logged[1] for word in ("resolved", case.pattern, "alice", trip))
    for report in (*board.archived, board.report):
        text = report.read_text()
        assert text.count("## Decision") == 1
        assert all(word in text for word in ("ADR-003: entities are flattened", "alice", AT))
    assert board.leftovers() == []


@pytest.mark.parametrize("name", ["log.yaml", "circuit_breaker_report.md"])
def test_fifo_in_place_of_a_file_blocks_nothing(tmp_path: Path, name: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    (board.folder / name).unlink(missing_ok=True)
    os.mkfifo(board.folder / name)
    assert board.analyze().code == 3
    assert board.checkpoint.exists()
    os.rename(board.folder / name, tmp_path / "odd")
    assert board.analyze().code == 3
    (board.folder / name).unlink()
    os.mkfifo(board.folder / name)
    board.resolve()
    assert board.section["status"] == "OK"


def test_resolved_records_stay_quiet_and_new_ones_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.resolve()
    quiet = board.analyze(now=LATER)
    assert quiet.code == 0
    assert "3 acknowledged" in quiet.out
    new = [record("retry_loop", "task-9", f"2025-01-18T18:{n}0:00Z", **RETRY.records[0]["details"]) for n in (1, 2)]
    board.add(*new)
    assert "2 of 3" in board.analyze(now=LATER).out
    board.add(record("retry_loop", "task-9", "2025-01-18T18:25:00Z", **RETRY.records[0]["details"]))
    assert board.analyze(now=LATER).code == 3
    assert len(board.trips) == 2
    assert board.trips[0]["trip_id"] != board.trips[1]["trip_id"]
    assert "ADR-003 created" in board.report.read_text(), "a report shows earlier resolutions of its pattern"


@pytest.mark.parametrize("text", ["", "   ", "\n\t\n"])
def test_empty_text_is_refused(tmp_path: Path, text: str) -> None:
    board = tripped(tmp_path)
    before = board.files()
    ran = board.resolve(text)
    assert ran.code == 1
    assert "hint:" in ran.err
    assert board.files() == before


def test_resolving_nothing_is_not_an_error(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    before = board.state.read_bytes()
    ran = board.resolve()
    assert ran.code == 0
    assert "nothing to resolve" in ran.out
    assert board.state.read_bytes() == before
    assert board.logged == []
    assert board.resolve("x", "--json").json["status"] == "already"


def test_text_is_kept_verbatim(tmp_path: Path) -> None:
    text = "first: # line\n  - \"quoted\" 'both'\n\n{{ 7*7 }} | `x` <b>\n\u202e end"
    board = tripped(tmp_path)
    board.resolve(text)
    assert board.trips[0]["resolution"] == text
    report = board.report.read_text()
    assert "\u202e" not in report
    assert " <b>" not in report
    assert "\\<b>" in report
    assert "{{ 7\\*7 }}" in report


def test_long_decision_is_archived_whole(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    text = "because of what we saw in the report, " * 20 + "we drop nested entities"
    board.resolve(text)
    assert board.trips[0]["resolution"] == text
    assert "we drop nested entities" in board.archived[0].read_text(), "the human's decision was cut"


@pytest.mark.parametrize("kind", ["touched", "written", "a folder", "a dangling link"])
def test_persons_checkpoint_is_never_replaced_or_removed(tmp_path: Path, kind: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    if kind == "a folder":
        board.checkpoint.mkdir()
    elif kind == "a dangling link":
        board.checkpoint.symlink_to("nowhere")
    else:
        board.checkpoint.write_text("" if kind == "touched" else "waiting for Bob\n")
    before = board.checkpoint.lstat()
    assert board.analyze().code == 3
    assert board.section["status"] == "TRIGGERED"
    ran = board.resolve()
    assert ran.code == 0
    assert "to continue: rm" in ran.out
    assert "may continue" not in ran.out
    after = board.checkpoint.lstat()
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (before.st_ino, before.st_mtime_ns, before.st_mode)
    if kind == "written":
        assert board.checkpoint.read_text() == "waiting for Bob\n"
    assert board.section["status"] == "OK"
    assert board.analyze(now=LATER).code == 0


def test_persons_checkpoint_made_after_the_trip_stays(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.checkpoint.unlink()
    board.checkpoint.touch()
    assert board.resolve("done", "--json").json["checkpoint_left"] is True
    assert board.checkpoint.exists()


def test_default_resolver_is_the_user(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    assert board.run("-m", "decided", program="liza-resolve", env={"LOGNAME": "carol"}).code == 0
    assert board.trips[0]["resolved_by"] == "carol"


def test_json_of_a_resolution(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    trip = board.trigger["trip_id"]
    answer = board.resolve("done", "--json").json
    assert (answer["schema"], answer["command"], answer["status"]) == (1, "resolve", "resolved")
    assert answer["problems"] == []
    assert answer["trigger"]["trip_id"] == trip
    assert answer["checkpoint_left"] is False


# --- by hand --------------------------------------------------------------------------------------------------------


def test_manual_trip_halts_reports_and_resolves(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    ran = board.run("trip", "-m", "three ways to mock the sandbox", "--severity", "VISION_FLAW", "--now", NOW)
    assert ran.code == 3
    assert ran.out.startswith(f"TRIGGERED: manual (VISION_FLAW) since {NOW}")
    assert (board.trigger["severity"], board.trigger["timestamp"]) == ("VISION_FLAW", NOW)
    assert board.halt["trip"] == board.trigger["trip_id"]
    report = board.report.read_text()
    assert "three ways to mock the sandbox" in report
    assert "REVISIT goal and brief" in report
    assert [path.read_text() for path in board.archived] == [report]
    assert len(board.logged) == 1
    assert board.analyze().code == 3
    assert board.resolve().code == 0
    assert not board.checkpoint.exists()
    assert board.analyze(now=LATER).code == 0
    assert "three ways to mock the sandbox" in board.text, (
        "why the sprint was stopped is not on the blackboard any more"
    )


def test_trip_on_an_open_breaker_keeps_its_text_once(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    trip = board.trigger["trip_id"]
    ran = board.run("trip", "-m", "and another thing", "--now", LATER)
    assert ran.code == 3
    assert ran.out.startswith("ALREADY TRIGGERED: retry_cluster")
    assert board.run("trip", "-m", "and another thing", "--json", "--now", LATER).json["status"] == "already"
    assert board.run("trip", "-m", "a third | thing", "--now", LATER).code == 3
    (entry,) = board.trips
    assert board.trigger["message"] == entry["message"] == "and another thing; a third | thing"
    assert board.trigger["trip_id"] == entry["trip_id"] == trip
    page = board.report.read_text()
    assert "and another thing; a third | thing" in page
    assert "serialization failure on nested entity" in page, "the evidence has left the report"
    assert [path.read_text() for path in board.archived] == [page]
    assert len(board.logged) == 1
    assert board.resolve().code == 0
    assert (board.trips[0]["message"], board.trips[0]["resolution"]) == (entry["message"], "ADR-003 created")


@pytest.mark.parametrize("options", [("-m", "  "), (), ("-m", "x", "--severity", "SPEC_FLAWS")])
def test_invalid_manual_trip_halts_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    board = board_with(tmp_path)
    before = board.files()
    assert board.run("trip", *options).code in (1, 2)
    assert board.files() == before


def test_manual_trip_halts_on_unreadable_board(tmp_path: Path) -> None:
    """The halt comes first; failed follow-up steps are reported."""
    board = board_with(tmp_path)
    board.save("anomalies: [\n")
    ran = board.run("trip", "-m", "stop, they are deleting things")
    assert ran.code in (3, 4)
    assert ran.err
    assert board.checkpoint.exists(), "a person's emergency stop had no effect"


def test_resolve_script_is_the_same_command(tmp_path: Path) -> None:
    assert (BIN / "liza-resolve").exists()
    board = tripped(tmp_path)
    assert board.run("-m", " ", program="liza-resolve").code == 1
    assert board.run("-m", "done", program="liza-resolve").code == 0
    assert board.section["status"] == "OK"


def test_second_resolver_sees_the_first_decision(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    assert board.run("resolve", "-m", "ADR-003: flatten", "--by", "alice").code == 0
    before = board.section
    ran = board.run("resolve", "-m", "just retry", "--by", "bob")
    assert ran.code == 0
    assert "by alice" in ran.out
    assert "ADR-003: flatten" in ran.out
    assert "not recorded: just retry" in ran.out
    assert board.section == before
    assert "not recorded" not in board.run("resolve", "-m", "ADR-003: flatten", "--by", "bob").out


def test_suggested_command_removes_a_checkpoint_folder(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.checkpoint.unlink()
    board.checkpoint.mkdir()
    ran = board.run("resolve", "-m", "x")
    command = ran.out.partition("to continue: ")[2].strip()
    subprocess.run(command, shell=True, check=True)
    assert not board.checkpoint.exists()


@pytest.mark.parametrize("name", ["al\nice", "al\r\nice", "al\u2028ice", "\tal\x0bice ", "al\x1b[31mice", "- al: ice"])
def test_any_name_is_one_line_and_logged_once(tmp_path: Path, name: str) -> None:
    """A decision is recognised in the log by its trip id, not by the text of the entry."""
    board = tripped(tmp_path)
    assert board.run("resolve", "-m", "fixed", "--by", name, "--now", LATER).code == 0
    for minute in range(3):
        board.analyze(now=f"2025-01-18T19:0{minute}:00Z")
    assert [entry.split(":")[0] for entry in board.logged] == ["tripped", "resolved"]
    assert board.trips[0]["resolved_by"].isprintable()


def test_hand_written_name_with_line_break_is_logged_once(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.resolve()
    board.edit("resolved_by: alice", 'resolved_by: "al\\nice"')
    board.log.unlink()
    for minute in range(3):
        board.analyze(now=f"2025-01-18T19:0{minute}:00Z")
    assert [entry.split(":")[0] for entry in board.logged] == ["tripped", "resolved"]
