"""People decide with `yq` or an editor instead: the next check accepts it, with one entry for each trip."""

import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from tests.cli.run import BIN
from tests.scopes.sprint.cases import ASSUMPTION, RETRY, board_with, tripped
from tests.scopes.sprint.markdown import parts, tables
from tests.scopes.sprint.run import LATER, NOW, Board, record, state
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
    # This yq moves comments, even into a flow mapping; that is not under test.
    board.save(_edited(re.sub(r" +#.*", "", board.text), edits))


@cache
def _edited(text: str, edits: tuple[str, ...]) -> str:
    """The result of yq, cached for all tests: most begin with the same blackboard, and yq is slow."""
    with NamedTemporaryFile("w+", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        for edit in edits:
            subprocess.run([BIN / "yq", "-Y", "-i", edit, file.name], check=True)
        return Path(file.name).read_text()


def vim(board: Board, *commands: str) -> None:
    """Edit in vim and save."""
    needs("vim")
    script = "\n".join([*commands, "wq!"]) + "\n"
    done = subprocess.run(["vim", "-u", "NONE", "-es", board.state], input=script.encode(), check=False)
    assert done.returncode == 0


def accepted(board: Board, text: str | None = "ADR-003 created") -> None:
    """The next checks find one resolved trip, and nothing trips again."""
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


def test_both_protocol_edits_with_yq(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE, CLEAR)
    board.checkpoint.unlink()
    accepted(board)
    assert board.trips[0]["resolved_at"] == "2025-01-18T19:00:00Z"


def test_status_shows_one_entry_before_the_next_check(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE, CLEAR)
    shown = board.run("status", "--json", "--now", EVENING).json["history"]
    assert [(entry["result"], entry.get("resolution")) for entry in shown] == [("TRIGGERED", "ADR-003 created")]
    assert len(board.section["history"]) == 2  # nothing is written


def test_report_names_the_trip_that_a_pattern_also_matched(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records, *ASSUMPTION.records)
    board.analyze()
    assert board.resolve("the queue was drained").code == 0
    board.add(*[{**each, "timestamp": "2025-01-18T19:00:00Z"} for each in ASSUMPTION.records])
    assert board.analyze(now=EVENING).code == 3
    assert board.trigger["pattern"] == "assumption_cascade"
    (earlier,) = tables(parts(board.report.read_text())["Resolved Before"])
    assert [row[-1] for row in earlier.rows] == ["the queue was drained"]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["yq", "vim"])
def test_decision_by_hand_is_logged_and_in_its_report(tmp_path: Path, way: str) -> None:
    board = tripped(tmp_path)
    if way == "yq":
        yq(board, MOVE, CLEAR)
    else:  # an edit that leaves no second entry to merge
        fields = {"resolution": "ADR-003 created", "resolved_at": "2025-01-18T19:00:00Z"}
        added = " | ".join(f'.circuit_breaker.history[-1].{name} = "{text}"' for name, text in fields.items())
        yq(board, added, CLEAR)
    board.checkpoint.unlink()
    accepted(board)
    assert len(board.logged) == 2
    assert board.logged[1].startswith("resolved: ")
    assert board.trips[0]["trip_id"] in board.logged[1]
    for page in (board.report, *board.archived):
        decision = page.read_text().partition("## Decision")[2]
        assert "2025-01-18T19:00:00Z" in decision
        assert "> ADR-003 created" in decision.splitlines()


def test_unloggable_decision_by_hand_is_reported_and_logged_later(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE, CLEAR)
    board.checkpoint.unlink()
    log = board.folder / "log.yaml"
    whole = log.read_text()
    log.write_text(whole + "- {timestamp: ")
    ran = board.analyze(now=EVENING)
    assert ran.code == 0
    assert "the decision on retry_cluster is not recorded everywhere" in ran.out
    log.write_text(whole)
    accepted(board)
    assert len(board.logged) == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["analyze", "status", "resolve"])
def test_command_between_both_edits_is_harmless(tmp_path: Path, command: str) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE)
    if command == "resolve":
        assert board.resolve("ADR-003 created", now="2025-01-18T19:00:00Z").code == 0
    else:
        assert board.run(command, "--now", LATER).code == 3
        yq(board, CLEAR)
        board.checkpoint.unlink()
    accepted(board)


def test_protocol_edit_with_result_is_accepted(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE.replace(".resolution =", '.result = "TRIGGERED" | .resolution ='), CLEAR)
    board.checkpoint.unlink()
    accepted(board)


@pytest.mark.parametrize("origin", [".liza.example", "liza init"])
def test_both_edits_with_yq_on_shipped_boards(tmp_path: Path, origin: str) -> None:
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


def test_yq_edits_with_several_patterns(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records, *ASSUMPTION.records)
    board.analyze()
    yq(board, MOVE, CLEAR)
    board.checkpoint.unlink()
    accepted(board)


def test_edit_in_vim(tmp_path: Path) -> None:
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


def test_trigger_moved_into_history_in_an_editor(tmp_path: Path) -> None:
    """In an editor a person moves and indents the lines; the trip's own entry stays beside it."""
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


def test_status_ok_alone_is_noted_and_does_not_trip_again(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    vim(board, "%s/status: TRIGGERED/status: OK/")
    board.checkpoint.unlink()
    ran = board.analyze(now=EVENING)
    assert ran.code == 0
    assert "resolved by hand, without a text" in ran.out
    accepted(board, None)


def test_text_without_time_is_kept(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    yq(board, '.circuit_breaker.history[-1].resolution = "ADR-003 created"', CLEAR)
    board.checkpoint.unlink()
    ran = board.analyze(now=EVENING)
    assert "without a text" not in ran.out
    accepted(board)


def test_resolve_after_status_ok_records_the_text(tmp_path: Path) -> None:
    """Status set to OK, CHECKPOINT forgotten: the check suggests `liza resolve`, and its text is the decision."""
    board = tripped(tmp_path)
    vim(board, "%s/status: TRIGGERED/status: OK/")
    assert "liza resolve" in board.analyze(now=EVENING).out
    assert board.resolve("ADR-009: written down after all", now="2025-01-18T20:05:00Z").code == 0
    assert not board.checkpoint.exists()
    assert "ADR-009: written down after all" in board.text, "a decision was lost"


def test_resolve_after_yq_keeps_the_first_text_in_report(
    tmp_path: Path,
) -> None:
    board = tripped(tmp_path)
    yq(board, MOVE, CLEAR)
    assert board.resolve("clean up", now=EVENING).code == 0
    assert not board.checkpoint.exists()
    assert "ADR-003 created" in board.archived[0].read_text()
    accepted(board)


@pytest.mark.parametrize("trigger", ["null", ".circuit_breaker.current_trigger"], ids=["no trigger", "the trigger"])
@pytest.mark.parametrize("status", ["TRIGGERED", "triggerd", "open"])
def test_only_status_ok_closes_a_trip(tmp_path: Path, status: str, trigger: str) -> None:
    board = tripped(tmp_path)
    yq(board, f'.circuit_breaker.current_trigger = {trigger} | .circuit_breaker.status = "{status}"')
    assert board.analyze(now=LATER).code == 3
    assert [entry.get("resolved_at") for entry in board.trips] == [None]
    assert board.checkpoint.exists()
    assert board.resolve("ADR-003 created", now="2025-01-18T19:00:00Z").code == 0
    accepted(board)


def test_new_evidence_trips_after_resolution_by_hand(tmp_path: Path) -> None:
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
def test_stale_copy_trips_again_under_the_same_id(tmp_path: Path, checkpoint: str) -> None:
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


def test_stale_copy_with_more_work_trips_again(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    stale = board.text
    board.analyze()
    trip = board.trigger["trip_id"]
    board.save(stale.replace("status:    CLAIMED", "status:    APPROVED"))
    board.add(record("retry_loop", "task-4", **RETRY.records[0]["details"]))
    assert board.analyze(now=LATER).code == 3
    assert board.trigger["trip_id"] == trip
    assert len(board.trips) == 1


# --- entries of other tools -----------------------------------------------------------------------------------------

FOREIGN = """\
circuit_breaker:
  status: OK
  current_trigger: null
  history:
    - {timestamp: 2025-01-18T12:30:00Z, pattern: retry_cluster, severity: ARCHITECTURE_FLAW, result: TRIGGERED%s}
"""


def test_entry_of_another_tool_covers_records_until_resolution(tmp_path: Path) -> None:
    """The RETRY records are of 11, 12 and 13 o'clock."""
    for more, left in ((", resolved_at: 2025-01-18T12:30:00Z", 1), ("", 1), (", resolved_at: 2025-01-18T13:00:00Z", 0)):
        board = Board(tmp_path / f"{more[-6:]} {left}", state(RETRY.records, breaker=FOREIGN % more))
        assert f"{left} of 3" in board.analyze().out


def test_check_does_not_widen_entry_of_another_tool(tmp_path: Path) -> None:
    board = Board(tmp_path, state(RETRY.records[2:], breaker=FOREIGN % ""))
    assert "1 of 3" in board.analyze().out
    board.add(*[record("retry_loop", f"t{n}", LATER, **RETRY.records[0]["details"]) for n in (1, 2)])
    assert board.analyze(now="2025-01-18T18:40:00Z").code == 3


def test_any_new_rule_trips_again_as_a_separate_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.rules.write_text("rules:\n- {name: retry_cluster, rearm: any_new}\n")
    board.resolve("the first decision")
    assert board.analyze(now=LATER).code == 0
    board.add(record("retry_loop", "task-4", LATER, **RETRY.records[0]["details"]))
    assert board.analyze(now=LATER).code == 3
    board.resolve("the second decision", now="2025-01-18T19:00:00Z")
    assert [entry["resolution"] for entry in board.trips] == ["the first decision", "the second decision"]
    assert len(board.logged) == 4
