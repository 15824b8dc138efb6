"""A decision that the log lacks is completed by the next check, even if another pattern has tripped by then."""

import json
from pathlib import Path

import pytest

from tests.scopes.sprint.cases import ASSUMPTION, GAP, OUTAGE, WORKAROUND, tripped
from tests.scopes.sprint.interleaved import interleaved
from tests.scopes.sprint.run import LATER, Board

EVENING = "2025-01-18T20:00:00Z"
RESOLVE = ("resolve", "-m", "ADR-003 created", "--by", "alice", "--now", "2025-01-18T18:00:00Z")
KILL = ("sh", "-c", "kill -9 $PPID")
UNFINISHED = "- {timestamp: "


def decide_by_hand(board: Board, text: str | None = "ADR-003 created") -> str:
    """Resolve the open trip in an editor; returns its id."""
    trip = str(board.trigger["trip_id"])
    before, section = board.text.split("\n  current_trigger:")
    head, history = section.split("\n  history:")
    if text is not None:
        decision = f"      resolution: {text}\n      resolved_at: 2025-01-18T18:00:00Z\n"
        history = history.replace("# behind the section", f"{decision}# behind the section")
    before = before.replace("status: TRIGGERED", "status: OK")
    board.save(f"{before}\n  current_trigger: null  {head[head.find('#') :].splitlines()[0]}\n  history:{history}")
    board.checkpoint.unlink()
    return trip


def lines_on(board: Board, trip: str) -> list[str]:
    return [line.split(":")[0] for line in board.logged if line.endswith(f"trip {trip}")]


def archived(board: Board, trip: str) -> str:
    (page,) = [path for path in board.archived if path.name.endswith(f"{trip}.md")]
    return page.read_text()


def is_completed(board: Board, trip: str, text: str = "ADR-003 created") -> None:
    """Its decision is once in the log and once in its own report, however many checks follow."""
    for _ in range(2):
        assert lines_on(board, trip) == ["tripped", "resolved"]
        assert archived(board, trip).count("## Decision") == 1
        assert f"> {text}" in archived(board, trip)
        board.analyze(now=EVENING)


def test_decision_by_hand_is_completed_after_another_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    first = decide_by_hand(board)
    board.add(*ASSUMPTION.records)
    assert board.analyze(now=LATER).code == 3
    second = board.trigger["trip_id"]
    is_completed(board, first)
    assert board.section["status"] == "TRIGGERED"
    assert "## Decision" not in board.report.read_text()
    assert "## Decision" not in archived(board, second)
    assert board.resolve("ADR-004 created", now=EVENING).code == 0
    assert board.analyze(now=EVENING).code == 0
    is_completed(board, first)
    is_completed(board, second, "ADR-004 created")


def test_decision_of_a_killed_command_is_completed_after_another_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    first = board.trigger["trip_id"]
    assert interleaved(board, RESOLVE, "before liza.scopes.sprint.resolve:follow_up", KILL).code == -9
    assert lines_on(board, first) == ["tripped"]
    board.add(*ASSUMPTION.records)
    assert board.analyze(now=LATER).code == 3
    assert board.trigger["pattern"] == "assumption_cascade"
    is_completed(board, first)
    (line,) = [line for line in board.logged if line.startswith("resolved: ")]
    assert "by alice" in line, "it was decided by the command, not edited in"


def test_decision_is_completed_while_another_trip_is_open(tmp_path: Path) -> None:
    """The check that trips cannot write the log; the next one finds the trip open."""
    board = tripped(tmp_path)
    first = decide_by_hand(board)
    board.add(*ASSUMPTION.records)
    whole = board.log.read_text()
    board.log.write_text(whole + UNFINISHED)
    assert board.analyze(now=LATER).code == 3
    second = board.trigger["trip_id"]
    board.log.write_text(whole)
    assert board.analyze(now=LATER).code == 3
    assert lines_on(board, second) == ["tripped"]
    is_completed(board, first)


def test_several_decisions_by_hand_are_completed_together(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    whole, trips = board.log.read_text(), []
    for case in (ASSUMPTION, WORKAROUND, GAP):
        trips.append(decide_by_hand(board))
        board.add(*case.records)
        board.log.write_text(whole + UNFINISHED)
        assert board.analyze(now=LATER).code == 3
    board.log.write_text(whole)
    assert board.analyze(now=LATER).code == 3
    for trip in trips:
        is_completed(board, trip)


def test_decision_without_a_text_is_logged_after_another_trip(tmp_path: Path) -> None:
    """Until then its text may still come, by `liza resolve`."""
    board = tripped(tmp_path)
    first = decide_by_hand(board, None)
    board.analyze(now=LATER)
    assert lines_on(board, first) == ["tripped"]
    board.add(*ASSUMPTION.records)
    for _ in range(2):
        assert board.analyze(now=LATER).code == 3
        assert lines_on(board, first) == ["tripped", "resolved"]


def test_page_of_another_trip_that_names_the_decided_one_stays(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    first = decide_by_hand(board)
    naming = {"root_cause_hypothesis": f"as in trip {first}"}
    board.add(*[{**each, "details": each["details"] | naming} for each in ASSUMPTION.records])
    assert board.analyze(now=LATER).code == 3
    page = board.report.read_text()
    assert f"as in trip {first}" in page
    assert "## Decision" not in page
    assert archived(board, board.trigger["trip_id"]) == page
    is_completed(board, first)


def test_entry_that_no_trip_explains_is_not_confirmed(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    first = decide_by_hand(board)
    board.save(board.text.replace(first, "0123456789ab"))
    board.add(*OUTAGE.records)
    assert board.analyze(now=LATER).code == 3
    assert board.analyze(now=LATER).code == 3
    assert lines_on(board, "0123456789ab") == []


def test_changed_decision_is_not_confirmed(tmp_path: Path) -> None:
    """A killed command, and evidence that was added to its entry before the next check."""
    board = tripped(tmp_path)
    first = board.trigger["trip_id"]
    interleaved(board, RESOLVE, "before liza.scopes.sprint.resolve:follow_up", KILL)
    board.edit('\n        retry_cluster: "', '\n        retry_cluster: "0123456789ab ')
    board.add(*ASSUMPTION.records)
    assert board.analyze(now=LATER).code == 3
    assert board.analyze(now=LATER).code == 3
    assert lines_on(board, first) == ["tripped"]


def test_decision_on_the_open_trip_waits_for_the_status(tmp_path: Path) -> None:
    """A person enters the decision in the history first, and then sets the status."""
    board = tripped(tmp_path)
    first = board.trigger["trip_id"]
    decision = {"resolution": "ADR-003 created", "resolved_at": "2025-01-18T18:00:00Z"}
    entry = json.dumps({**board.trigger, "result": "TRIGGERED", **decision})
    board.edit("# behind the section", f"    - {entry}\n# behind the section")
    assert board.analyze(now=LATER).code == 3
    assert lines_on(board, first) == ["tripped"]
    assert "## Decision" not in archived(board, first)
    decide_by_hand(board, None)
    board.add(*ASSUMPTION.records)
    assert board.analyze(now=LATER).code == 3
    is_completed(board, first)


def test_earlier_decisions_are_not_logged_again_in_a_new_log(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    first = board.trigger["trip_id"]
    board.resolve()
    board.add(*ASSUMPTION.records)
    board.analyze(now=LATER)
    board.log.rename(board.folder / "log.old.yaml")
    assert board.analyze(now=LATER).code == 3
    assert lines_on(board, first) == []


@pytest.mark.parametrize("is_open", [True, False])
def test_decision_is_completed_however_the_check_ends(tmp_path: Path, is_open: bool) -> None:
    """Its line alone is gone, as after a log that was restored from a copy."""
    board = tripped(tmp_path)
    first = board.trigger["trip_id"]
    board.resolve()
    entries = board.log.read_text().split("\n- ")
    board.add(*ASSUMPTION.records)
    board.analyze(now=LATER)
    if not is_open:
        board.resolve(now=EVENING)
    (line,) = [each for each in entries if "action: resolved" in each]
    board.log.write_text(board.log.read_text().replace(f"\n- {line.rstrip()}", "", 1))
    assert lines_on(board, first) == ["tripped"]
    assert board.analyze(now=EVENING).code == (3 if is_open else 0)
    is_completed(board, first)
