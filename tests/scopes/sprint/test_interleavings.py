"""Two at work on one blackboard, in the orders that hurt: a halt is never missed, a decision is never lost."""

from pathlib import Path

import pytest

from tests.scopes.sprint.cases import ASSUMPTION, RETRY, board_with, tripped
from tests.scopes.sprint.interleaved import interleaved
from tests.scopes.sprint.run import LATER, NOW, Board, record

pytestmark = pytest.mark.slow

ANALYZE = ("analyze", "--now", NOW)
RESOLVE = ("liza", "resolve", "-m", "ADR-003 created", "--by", "alice", "--now", NOW)
COMMIT = "before liza.store.board:Board.change"
REMOVAL = "before liza.scopes.sprint.checkpoint:_take_away CHECKPOINT"  # it was seen to be ours, and is not removed yet
# The places between what a check has seen and what it does about it.
TO_THE_COMMIT = [
    "before liza.scopes.sprint.checkpoint:make",
    "before liza.store.replace:put",
    COMMIT,
]


def consistent(board: Board) -> None:
    """CHECKPOINT, report, trigger and history speak of the same trip, or there is none."""
    section = board.section
    is_open = [entry for entry in board.trips if entry.get("resolved_at") is None]
    if section["status"] == "OK":
        assert section["current_trigger"] is None
        assert is_open == []
        assert not board.checkpoint.exists(), "halted by a trip that is not open"
        return
    (entry,) = is_open
    trigger = section["current_trigger"]
    assert entry["trip_id"] == trigger["trip_id"] == board.halt["trip"]
    assert entry["timestamp"] == trigger["timestamp"] == board.halt["time"]
    report = board.report.read_text()
    assert f"**Trip:** {trigger['trip_id']}" in report, "the report is on another trip than the one that is open"
    assert f"**Triggered:** {trigger['timestamp']}" in report


@pytest.mark.parametrize("place", TO_THE_COMMIT)
def test_a_trip_and_its_resolution_while_another_check_was_looking(tmp_path: Path, place: str) -> None:
    """The second check saw the evidence before it was resolved, and must not trip on it afterwards."""
    board = board_with(tmp_path, *RETRY.records)
    ran = interleaved(board, ANALYZE, place, ["liza", *ANALYZE], RESOLVE)
    assert ran.code == 0
    (entry,) = board.trips
    assert entry["resolution"] == "ADR-003 created"
    consistent(board)
    assert any("ADR-003 created" in path.read_text() for path in board.archived), "the decision left the archive"
    assert len(board.logged) == 2


@pytest.mark.parametrize("place", TO_THE_COMMIT)
def test_a_resolution_while_a_check_was_adding_new_evidence(tmp_path: Path, place: str) -> None:
    """Four retries, three of them dealt with: one of three is no reason to be TRIGGERED again."""
    board = tripped(tmp_path)
    board.add(record("retry_loop", "task-4", LATER, **RETRY.records[0]["details"]))
    board.checkpoint.unlink()
    ran = interleaved(board, ANALYZE, place, RESOLVE)
    assert board.trips[0]["resolution"] == "ADR-003 created"
    assert board.section["status"] == "OK", "TRIGGERED again by evidence that was dealt with"
    assert ran.code == 0
    consistent(board)
    assert "1 of 3" in board.analyze(now=LATER).out


def test_a_resolution_while_a_check_was_looking_at_the_open_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    interleaved(board, ("analyze", "--now", LATER), COMMIT, RESOLVE)
    assert board.section["status"] == "OK"
    consistent(board)
    assert len(board.logged) == 2


@pytest.mark.parametrize("place", TO_THE_COMMIT)
def test_another_trip_while_a_check_was_tripping(tmp_path: Path, place: str) -> None:
    """Whoever halts first is the trip; the other one joins it, and its paperwork must not stand in its place."""
    board = board_with(tmp_path, *RETRY.records)
    ran = interleaved(board, ANALYZE, place, ("liza", "trip", "-m", "the sandbox is down", "--now", NOW))
    assert ran.code == 3
    assert board.trigger["pattern"] == ("manual" if place == TO_THE_COMMIT[0] else "retry_cluster")
    assert board.trigger["message"] == board.trips[0]["message"] == "the sandbox is down"
    assert "the sandbox is down" in board.report.read_text()
    consistent(board)
    assert "retry_cluster" in board.analyze(now=LATER).out
    consistent(board)


@pytest.mark.parametrize("place", TO_THE_COMMIT)
def test_a_check_while_somebody_was_tripping_by_hand(tmp_path: Path, place: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    ran = interleaved(board, ("trip", "-m", "the sandbox is down", "--now", NOW), place, ("liza", *ANALYZE))
    assert ran.code == 3
    # Whoever halts first is the trip: the other one joins it.
    first = "retry_cluster" if place == TO_THE_COMMIT[0] else "manual"
    assert board.trigger["pattern"] == first
    assert f": {first} (" in ran.out, "it names another trip than the one that is open"
    assert board.trigger["message"] == board.trips[0]["message"] == "the sandbox is down"
    assert "the sandbox is down" in board.report.read_text()
    consistent(board)
    assert "retry_cluster" in board.analyze(now=LATER).out
    consistent(board)


def test_the_same_trip_found_by_two_in_different_seconds(tmp_path: Path) -> None:
    for place in TO_THE_COMMIT:
        board = board_with(tmp_path / place.replace(" ", "-"), *RETRY.records)
        interleaved(board, ANALYZE, place, ("liza", "analyze", "--now", LATER))
        consistent(board)
        assert len(board.trips) == 1
        assert len(board.archived) == 1, "two reports on one trip"
        assert len(board.logged) == 1


@pytest.mark.parametrize(
    "place", ["before liza.scopes.sprint.follow_up:append_entry", "before liza.scopes.sprint.follow_up:log_once"]
)
def test_a_trip_is_logged_once_by_two(tmp_path: Path, place: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    interleaved(board, ANALYZE, place, ("liza", *ANALYZE))
    assert len(board.logged) == 1
    consistent(board)


def test_a_new_trip_while_the_checkpoint_of_a_resolved_one_is_removed(tmp_path: Path) -> None:
    """The halt of the new trip must not be taken away with that of the old one."""
    board = tripped(tmp_path)
    board.add(*ASSUMPTION.records)
    new = ("liza", "trip", "-m", "the sandbox is down", "--now", LATER)
    interleaved(board, ("resolve", "-m", "done", "--now", NOW), REMOVAL, new)
    assert board.section["status"] == "TRIGGERED"
    assert board.checkpoint.exists(), "a halt was removed that nobody resolved"


def test_a_checkpoint_that_a_human_makes_while_ours_is_removed_stays(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    theirs = ("sh", "-c", "rm .liza/CHECKPOINT; echo 'waiting for Bob' > .liza/CHECKPOINT")
    interleaved(board, ("resolve", "-m", "done", "--now", NOW), REMOVAL, theirs)
    assert board.checkpoint.read_text() == "waiting for Bob\n", "a human's CHECKPOINT was removed"


def test_a_checkpoint_that_a_human_makes_while_ours_is_made_stays(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    theirs = ("sh", "-c", "echo 'waiting for Bob' > .liza/CHECKPOINT")
    interleaved(board, ANALYZE, "before liza.scopes.sprint.checkpoint:os.link", theirs)
    assert board.checkpoint.read_text() == "waiting for Bob\n"
    assert board.section["status"] == "TRIGGERED"


def test_two_resolutions_at_once_keep_the_first_and_log_one(tmp_path: Path) -> None:
    places = [COMMIT, "before liza.scopes.sprint.checkpoint:remove", "after liza.store.replace:put"]
    for number, place in enumerate(places):
        board = tripped(tmp_path / str(number))
        mine = ("resolve", "-m", "the slow decision", "--by", "bob", "--now", NOW)
        interleaved(board, mine, place, RESOLVE)
        (entry,) = board.trips
        assert entry["resolution"] == ("ADR-003 created" if place == COMMIT else "the slow decision")
        consistent(board)
        assert len(board.logged) == 2
        assert board.archived[0].read_text().count("## Decision") == 1


def test_the_third_of_its_kind_arrives_while_a_check_finds_nothing(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    details = [f"{name}={value}" for name, value in RETRY.records[2]["details"].items()]
    log = ("liza", "log", "anomaly", "--type", "retry_loop", "--task", "t", "--reporter", "r", "--timestamp", NOW)
    board.save(board.text.replace("# behind the section", "# later"))  # what the other one adds is not held against us
    assert interleaved(board, ANALYZE, COMMIT, (*log, *details)).code == 3
    consistent(board)


def test_the_halt_of_a_trip_that_is_open_after_all_stays(tmp_path: Path) -> None:
    """A check looks at a stale copy, and would trip; by its commit the trip is there, and its evidence is not."""
    board = board_with(tmp_path, *RETRY.records)
    stale = board.text
    assert board.analyze().code == 3
    away = tmp_path / "away.yaml"
    away.write_text(board.text.replace("retry_loop", "spec_changed"))
    board.save(stale.replace("# behind the section", "# later"))
    ran = interleaved(board, ANALYZE, COMMIT, ("mv", str(away), str(board.state)))
    assert ran.code == 3
    consistent(board)
    assert board.section["status"] == "TRIGGERED"
    assert len(board.trips) == len(board.logged) == 1


def test_evidence_that_is_taken_back_before_the_commit_leaves_no_halt(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    board.save(board.text.replace("# behind the section", "# later"))
    edit = ("sed", "-i", "s/retry_loop/spec_changed/", ".liza/state.yaml")
    ran = interleaved(board, ANALYZE, COMMIT, edit)
    assert ran.code == 0
    consistent(board)
    assert board.trips == []
    assert board.logged == []
    assert board.analyze(now=LATER).code == 0
