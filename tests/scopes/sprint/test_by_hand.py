"""People decide with `yq` or an editor instead: the next check accepts it, and there is one entry for each trip."""

import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from tests.scopes.sprint.cases import ASSUMPTION, RETRY, board_with, tripped
from tests.scopes.sprint.run import BIN, LATER, NOW, Board, record, state
from tests.tools import needs

# Both edits of the protocol, word for word.
MOVE = """.circuit_breaker.history += [.circuit_breaker.current_trigger |
     .resolution = "ADR-003 created" |
     .resolved_at = "2025-01-18T19:00:00Z"]"""
CLEAR = """.circuit_breaker.current_trigger = null |
     .circuit_breaker.status = "OK\""""
EXAMPLE = Path(__file__).parents[3] / ".liza.example" / "state.yaml"
EVENING = "2025-01-18T20:00:00Z"


def yq(board: Board, *edits: str) -> None:
    needs("jq")
    # This yq moves comments to other places, even into a flow mapping, and what it did is not to be judged here.
    board.save(_edited(re.sub(r" +#.*", "", board.text), edits))


@cache
def _edited(text: str, edits: tuple[str, ...]) -> str:
    """What yq makes of a text, asked once for all tests: most begin with the same blackboard, and it takes long."""
    with NamedTemporaryFile("w+", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        for edit in edits:
            subprocess.run([BIN / "yq", "-Y", "-i", edit, file.name], check=True)
        return Path(file.name).read_text()


def vim(board: Board, *commands: str) -> None:
    """As in an editor: in place, or as it is set up to save."""
    needs("vim")
    script = "\n".join([*commands, "wq!"]) + "\n"
    done = subprocess.run(["vim", "-u", "NONE", "-es", board.state], input=script.encode(), check=False)
    assert done.returncode == 0


def accepted(board: Board, text: str | None = "ADR-003 created") -> None:
    """The next checks find a resolved trip, one entry of it, and nothing that trips again."""
    for now in (EVENING, "2025-01-18T20:10:00Z"):
        ran = board.analyze(now=now)
        assert ran.code == 0, ran
        assert (board.section["status"], board.section["current_trigger"]) == ("OK", None)
        (entry,) = board.trips
        assert (entry["pattern"], entry["timestamp"], entry["result"]) == ("retry_cluster", NOW, "TRIGGERED")
        assert entry.get("resolution") == text
        assert entry["resolved_at"] is not None
    assert not board.checkpoint.exists()
    assert board.run("validate").code == 0


def test_both_edits_of_the_protocol_with_yq(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE, CLEAR)
    board.checkpoint.unlink()
    accepted(board)
    assert board.trips[0]["resolved_at"] == "2025-01-18T19:00:00Z"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["yq", "vim"])
def test_a_decision_by_hand_is_in_the_log_and_in_its_report_like_any_other(tmp_path: Path, way: str) -> None:
    board = tripped(tmp_path)
    if way == "yq":
        yq(board, MOVE, CLEAR)
    else:  # an editor that leaves nothing to be joined
        said = {"resolution": "ADR-003 created", "resolved_at": "2025-01-18T19:00:00Z"}
        added = " | ".join(f'.circuit_breaker.history[-1].{name} = "{text}"' for name, text in said.items())
        yq(board, added, CLEAR)
    board.checkpoint.unlink()
    accepted(board)
    assert len(board.logged) == 2
    assert f"resolved: retry_cluster edited in, names nobody, trip {board.trips[0]['trip_id']}" in board.logged[1]
    for page in (board.report, *board.archived):
        assert (
            "**Resolved:** 2025-01-18T19:00:00Z  \n**By:** edited in, names nobody\n\n> ADR-003 created\n"
            in page.read_text()
        )


def test_a_decision_by_hand_that_cannot_be_logged_is_told_and_logged_later(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE, CLEAR)
    board.checkpoint.unlink()
    log = board.folder / "log.yaml"
    whole = log.read_text()
    log.write_text(whole + "- {timestamp: ")
    ran = board.analyze(now=EVENING)
    assert ran.code == 0
    assert "the decision on retry_cluster is not recorded everywhere: its last entry is not whole" in ran.out
    log.write_text(whole)
    accepted(board)
    assert len(board.logged) == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["analyze", "status", "resolve"])
def test_a_command_between_the_two_edits_does_no_harm(tmp_path: Path, command: str) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE)
    if command == "resolve":
        assert board.resolve("ADR-003 created", now="2025-01-18T19:00:00Z").code == 0
    else:
        assert board.run(command, "--now", LATER).code == 3
        yq(board, CLEAR)
        board.checkpoint.unlink()
    accepted(board)


def test_the_same_edit_with_the_result_that_the_protocol_shows_in_its_example(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE.replace(".resolution =", '.result = "TRIGGERED" | .resolution ='), CLEAR)
    board.checkpoint.unlink()
    accepted(board)


@pytest.mark.parametrize("origin", [".liza.example", "liza init"])
def test_both_edits_with_yq_on_the_boards_that_come_with_liza(tmp_path: Path, origin: str) -> None:
    board = Board(tmp_path, "")
    if origin == "liza init":
        board.state.unlink()
        board.folder.rmdir()
        board.run("init")
    else:
        board.save(EXAMPLE.read_text())
    for each in RETRY.records:
        details = [f"{name}={value}" for name, value in each["details"].items()]
        board.run("log", "anomaly", "--type", "retry_loop", "--task", each["task"], "--reporter", "x", *details)
    assert board.run("analyze").code == 3
    yq(board, MOVE, CLEAR)
    board.checkpoint.unlink()
    assert board.run("analyze").code == 0
    assert [entry["resolution"] for entry in board.trips] == ["ADR-003 created"]


def test_yq_with_more_than_one_pattern(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records, *ASSUMPTION.records)
    board.analyze()
    yq(board, MOVE, CLEAR)
    board.checkpoint.unlink()
    accepted(board)


def test_the_edit_in_vim(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    vim(
        board,
        "%s/status: TRIGGERED/status: OK/",
        "/current_trigger:/s/current_trigger:/current_trigger: null/",
        "/current_trigger: null/+1,/history:/-1d",
        "$?trip_id:?put ='      resolution: ADR-003 created'",
        "/resolution:/put ='      resolved_at: 2025-01-18T19:00:00Z'",
    )
    board.checkpoint.unlink()
    accepted(board)
    assert "resolution: ADR-003 created" in board.text


def test_the_trigger_cut_out_and_pasted_into_the_history(tmp_path: Path) -> None:
    """In an editor one moves the lines and indents them; the entry that the trip made stays beside it."""
    board = tripped(tmp_path)
    before, rest = board.text.split("  current_trigger:")
    head, rest = rest.split("\n", 1)
    lines, rest = rest.split("  history:")
    moved = "    - " + "\n      ".join(line.strip() for line in lines.strip().splitlines())
    history, tail = rest.split("# behind")
    added = f"{moved}\n      resolution: ADR-003 created\n      resolved_at: 2025-01-18T19:00:00Z\n"
    text = f"{before}  current_trigger: null{head}\n  history:{history}{added}# behind{tail}"
    board.save(text.replace("status: TRIGGERED", "status: OK"))
    board.checkpoint.unlink()
    accepted(board)


def test_the_status_alone_set_to_ok_is_noted_and_does_not_trip_again(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    vim(board, "%s/status: TRIGGERED/status: OK/")
    board.checkpoint.unlink()
    ran = board.analyze(now=EVENING)
    assert ran.code == 0
    assert "resolved by hand, without a text" in ran.out
    accepted(board, None)


def test_a_text_without_a_time_is_kept(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, '.circuit_breaker.history[-1].resolution = "ADR-003 created"', CLEAR)
    board.checkpoint.unlink()
    ran = board.analyze(now=EVENING)
    assert "without a text" not in ran.out
    accepted(board)


def test_the_text_of_a_person_who_follows_the_hint_is_kept(tmp_path: Path) -> None:
    """Status set to OK, CHECKPOINT forgotten: the check says `liza resolve`, and what is then said is the decision."""
    board = tripped(tmp_path)
    vim(board, "%s/status: TRIGGERED/status: OK/")
    assert "liza resolve" in board.analyze(now=EVENING).out
    assert board.resolve("ADR-009: written down after all", now="2025-01-18T20:05:00Z").code == 0
    assert not board.checkpoint.exists()
    assert "ADR-009: written down after all" in board.text, "a decision was lost"


def test_after_yq_a_resolve_that_only_removes_the_checkpoint_puts_the_right_text_into_the_report(
    tmp_path: Path,
) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE, CLEAR)
    assert board.resolve("clean up", now=EVENING).code == 0
    assert not board.checkpoint.exists()
    assert "ADR-003 created" in board.archived[0].read_text()
    accepted(board)


def test_a_trigger_deleted_while_the_status_says_triggered_is_still_open_and_stays_one_entry(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, ".circuit_breaker.current_trigger = null")
    assert board.analyze(now=LATER).code == 3
    assert board.resolve("ADR-003 created", now="2025-01-18T19:00:00Z").code == 0
    accepted(board)


@pytest.mark.parametrize("status", ["TRIG", "open"])
def test_a_trip_is_closed_by_the_word_ok_and_not_by_a_status_that_is_lost(tmp_path: Path, status: str) -> None:
    board = tripped(tmp_path)
    yq(board, f'.circuit_breaker.current_trigger = null | .circuit_breaker.status = "{status}"')
    assert board.analyze(now=LATER).code == 3
    assert [entry.get("resolved_at") for entry in board.trips] == [None]
    assert board.checkpoint.exists()
    assert board.resolve("ADR-003 created", now="2025-01-18T19:00:00Z").code == 0
    accepted(board)


def test_after_a_resolution_by_hand_new_evidence_trips(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE, CLEAR)
    board.checkpoint.unlink()
    for minute in (1, 2, 3):
        board.run(
            *("log", "anomaly", "--type", "retry_loop", "--task", f"task-{minute}", "--reporter", "coder-2"),
            *("--timestamp", f"2025-01-18T19:1{minute}:00Z", "count=2"),
            "error_pattern=serialization failure on nested entity",
        )
    assert board.analyze(now=EVENING).code == 3
    assert len(board.trips) == 2
    assert "ADR-003 created" in board.report.read_text()


# --- stale copies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("checkpoint", ["there", "removed"])
def test_a_stale_copy_saved_over_a_trigger_trips_again_under_the_same_id(tmp_path: Path, checkpoint: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    stale = board.text
    board.analyze()
    trip, halt = board.trigger["trip_id"], board.checkpoint.read_bytes()
    board.save(stale)
    if checkpoint == "removed":
        board.checkpoint.unlink()
    assert board.analyze(now=LATER).code == 3
    (entry,) = board.trips
    assert entry["trip_id"] == board.trigger["trip_id"] == board.halt["trip"] == trip
    assert board.section["status"] == "TRIGGERED"
    assert board.halt["time"] == board.trigger["timestamp"] == entry["timestamp"]
    assert f"**Triggered:** {entry['timestamp']}" in board.report.read_text()
    assert len(board.logged) == 1
    if checkpoint == "there":
        assert board.checkpoint.read_bytes() == halt
        assert len(board.archived) == 1


def test_a_stale_copy_with_more_work_in_it_trips_again_too(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    stale = board.text
    board.analyze()
    trip = board.trigger["trip_id"]
    board.save(stale.replace("status:    CLAIMED", "status:    APPROVED"))
    board.add(record("retry_loop", "task-4", **RETRY.records[0]["details"]))
    assert board.analyze(now=LATER).code == 3
    assert board.trigger["trip_id"] == trip
    assert len(board.trips) == 1


# --- what other tools wrote -----------------------------------------------------------------------------------------

FOREIGN = """\
circuit_breaker:
  status: OK
  current_trigger: null
  history:
    - {timestamp: 2025-01-18T12:30:00Z, pattern: retry_cluster, severity: ARCHITECTURE_FLAW, result: TRIGGERED%s}
"""


def test_an_entry_of_another_tool_covers_what_happened_until_it_was_resolved(tmp_path: Path) -> None:
    """RETRY happened at 11, 12 and 13 o'clock."""
    for more, left in ((", resolved_at: 2025-01-18T12:30:00Z", 1), ("", 1), (", resolved_at: 2025-01-18T13:00:00Z", 0)):
        board = Board(tmp_path / f"{more[-6:]} {left}", state(RETRY.records, breaker=FOREIGN % more))
        assert f"{left} of 3" in board.analyze().out


def test_a_check_does_not_widen_what_the_entry_of_another_tool_covers(tmp_path: Path) -> None:
    board = Board(tmp_path, state(RETRY.records[2:], breaker=FOREIGN % ""))
    assert "1 of 3" in board.analyze().out
    board.add(*[record("retry_loop", f"t{n}", LATER, **RETRY.records[0]["details"]) for n in (1, 2)])
    assert board.analyze(now="2025-01-18T18:40:00Z").code == 3


def test_a_rule_that_is_to_trip_on_any_new_record_does_so_as_a_trip_of_its_own(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.rules.write_text("rules:\n- {name: retry_cluster, rearm: any_new}\n")
    board.resolve("the first decision")
    assert board.analyze(now=LATER).code == 0
    board.add(record("retry_loop", "task-4", LATER, **RETRY.records[0]["details"]))
    assert board.analyze(now=LATER).code == 3
    board.resolve("the second decision", now="2025-01-18T19:00:00Z")
    assert [entry["resolution"] for entry in board.trips] == ["the first decision", "the second decision"]
    assert len(board.logged) == 4


def test_a_rule_about_a_number_can_trip_again_without_losing_the_first_decision(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.rules.write_text(
        "rules:\n- {name: blocked, condition: metric(sprint.metrics.tasks_blocked) >= 1, severity: SCOPE_FLAW}\n"
    )
    assert board.analyze().code == 3
    board.resolve("the first decision")
    if board.analyze(now=LATER).code == 3:
        board.resolve("the second decision", now="2025-01-18T19:00:00Z")
        assert [entry["resolution"] for entry in board.trips] == ["the first decision", "the second decision"]
        assert len(board.logged) == 4, "a second trip that nobody logged"
