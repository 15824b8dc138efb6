"""Two programs on one blackboard, in the worst orders: a halt is never missed, a decision never lost."""

from pathlib import Path

import pytest

from tests.scopes.sprint.cases import ASSUMPTION, RETRY, board_with, tripped
from tests.scopes.sprint.interleaved import interleaved
from tests.scopes.sprint.run import LATER, NOW, Board, listed, record

pytestmark = pytest.mark.slow

ANALYZE = ("analyze", "--now", NOW)
RESOLVE = ("liza", "resolve", "-m", "ADR-003 created", "--by", "alice", "--now", NOW)
TRIP = ("trip", "-m", "the sandbox is down", "--now", NOW)
COMMIT = "before liza.store.board:Board.change"
REMOVAL = "before liza.store.checkpoint:_take_away CHECKPOINT"  # seen to be liza's, and not removed yet
# The places between a check's reading and its commit.
TO_THE_COMMIT = [
    "before liza.store.checkpoint:make",
    "before liza.store.files:write_atomically",
    COMMIT,
]


def consistent(board: Board) -> None:
    """CHECKPOINT, report, trigger and history are of the same trip, or there is none."""
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
def test_trip_and_resolution_during_another_check(tmp_path: Path, place: str) -> None:
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
def test_resolution_while_a_check_adds_evidence(tmp_path: Path, place: str) -> None:
    """Four retries, three of them resolved: one of three must not trigger again."""
    board = tripped(tmp_path)
    board.add(record("retry_loop", "task-4", LATER, **RETRY.records[0]["details"]))
    board.checkpoint.unlink()
    ran = interleaved(board, ANALYZE, place, RESOLVE)
    assert board.trips[0]["resolution"] == "ADR-003 created"
    assert board.section["status"] == "OK", "TRIGGERED again by resolved evidence"
    assert ran.code == 0
    consistent(board)
    assert "1 of 3" in board.analyze(now=LATER).out


def test_resolution_while_a_check_reads_the_open_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    interleaved(board, ("analyze", "--now", LATER), COMMIT, RESOLVE)
    assert board.section["status"] == "OK"
    consistent(board)
    assert len(board.logged) == 2


@pytest.mark.parametrize("place", TO_THE_COMMIT)
def test_another_trip_while_a_check_trips(tmp_path: Path, place: str) -> None:
    """The first to halt is the trip; the other joins it, and its report must not replace the first."""
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
def test_check_during_a_manual_trip(tmp_path: Path, place: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    ran = interleaved(board, ("trip", "-m", "the sandbox is down", "--now", NOW), place, ("liza", *ANALYZE))
    assert ran.code == 3
    # The first to halt is the trip: the other one joins it.
    first = "retry_cluster" if place == TO_THE_COMMIT[0] else "manual"
    assert board.trigger["pattern"] == first
    assert f": {first} (" in ran.out, "it names another trip than the one that is open"
    assert board.trigger["message"] == board.trips[0]["message"] == "the sandbox is down"
    assert "the sandbox is down" in board.report.read_text()
    consistent(board)
    assert "retry_cluster" in board.analyze(now=LATER).out
    consistent(board)


def test_open_trip_is_not_replaced_by_an_earlier_rule(tmp_path: Path) -> None:
    """Two checks find the same trip; at the commit of the slower one, a rule before it in the pack matches, too."""
    board = board_with(tmp_path, *ASSUMPTION.records)
    (tmp_path / "more.yaml").write_text(listed(RETRY.records))
    add = ("sed", "-i", "/^anomalies:/r more.yaml", ".liza/state.yaml")
    board.save(board.text.replace("# behind the section", "# later"))  # the other program's change is not checked
    ran = interleaved(board, ANALYZE, COMMIT, ("liza", *ANALYZE), add)
    assert ran.code == 3
    (entry,) = board.trips
    assert entry["pattern"] == "assumption_cascade"
    assert entry["also_matched"] == ["retry_cluster"]
    assert len(board.logged) == 1
    consistent(board)


def test_open_manual_trip_is_not_replaced_by_a_rule(tmp_path: Path) -> None:
    """The trip by hand was killed after its halt, and two checks enter it at once: no one has resolved it."""
    killed = board_with(tmp_path / "killed", *RETRY.records)
    killed.run(*TRIP)
    board = board_with(tmp_path, *RETRY.records)
    board.checkpoint.write_bytes(killed.checkpoint.read_bytes())
    ran = interleaved(board, ANALYZE, COMMIT, ("liza", *ANALYZE))
    assert ran.code == 3
    (entry,) = board.trips
    assert entry["pattern"] == "manual"
    assert "resolved_at" not in entry
    consistent(board)
    board.resolve()
    assert [line.split(":")[0] for line in board.logged] == ["tripped", "resolved"]


@pytest.mark.parametrize("place", [*TO_THE_COMMIT, "before liza.scopes.sprint.manual_trip:put_into_effect"])
def test_manual_trip_resolved_during_the_same_command_is_a_new_one(tmp_path: Path, place: str) -> None:
    """Both have the same text and time, so the slower one takes its trip for the one that is resolved by then."""
    board = board_with(tmp_path)
    assert interleaved(board, TRIP, place, ("liza", *TRIP), RESOLVE).code == 3
    first, second = board.trips
    assert first["resolution"] == "ADR-003 created"
    assert second["trip_id"] != first["trip_id"]
    assert "resolved_at" not in second
    consistent(board)
    assert len(board.logged) == 3


def test_same_trip_found_in_different_seconds_is_one(tmp_path: Path) -> None:
    for place in TO_THE_COMMIT:
        board = board_with(tmp_path / place.replace(" ", "-"), *RETRY.records)
        interleaved(board, ANALYZE, place, ("liza", "analyze", "--now", LATER))
        consistent(board)
        assert len(board.trips) == 1
        assert len(board.archived) == 1, "two reports on one trip"
        assert len(board.logged) == 1


@pytest.mark.parametrize(
    "place", ["before liza.scopes.sprint.trip_log:append_entry", "before liza.scopes.sprint.trip_log:log_once"]
)
def test_trip_found_by_two_is_logged_once(tmp_path: Path, place: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    interleaved(board, ANALYZE, place, ("liza", *ANALYZE))
    assert len(board.logged) == 1
    consistent(board)


def test_new_trip_while_old_checkpoint_is_removed(tmp_path: Path) -> None:
    """The halt of the new trip must not be removed with that of the old one."""
    board = tripped(tmp_path)
    board.add(*ASSUMPTION.records)
    new = ("liza", "trip", "-m", "the sandbox is down", "--now", LATER)
    interleaved(board, ("resolve", "-m", "done", "--now", NOW), REMOVAL, new)
    assert board.section["status"] == "TRIGGERED"
    assert board.checkpoint.exists(), "an unresolved halt was removed"


def test_persons_checkpoint_survives_removal_of_ours(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    theirs = ("sh", "-c", "rm .liza/CHECKPOINT; echo 'waiting for Bob' > .liza/CHECKPOINT")
    interleaved(board, ("resolve", "-m", "done", "--now", NOW), REMOVAL, theirs)
    assert board.checkpoint.read_text() == "waiting for Bob\n", "a human's CHECKPOINT was removed"


def test_persons_checkpoint_survives_creation_of_ours(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    theirs = ("sh", "-c", "echo 'waiting for Bob' > .liza/CHECKPOINT")
    interleaved(board, ANALYZE, "before liza.store.checkpoint:os.link", theirs)
    assert board.checkpoint.read_text() == "waiting for Bob\n"
    assert board.section["status"] == "TRIGGERED"


def test_concurrent_resolutions_keep_and_log_the_first(tmp_path: Path) -> None:
    places = [COMMIT, "before liza.store.checkpoint:remove", "after liza.store.files:write_atomically"]
    for number, place in enumerate(places):
        board = tripped(tmp_path / str(number))
        mine = ("resolve", "-m", "the slow decision", "--by", "bob", "--now", NOW)
        interleaved(board, mine, place, RESOLVE)
        (entry,) = board.trips
        assert entry["resolution"] == ("ADR-003 created" if place == COMMIT else "the slow decision")
        consistent(board)
        assert len(board.logged) == 2
        assert board.archived[0].read_text().count("## Decision") == 1


def test_third_record_arrives_during_a_quiet_check(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    details = [f"{name}={value}" for name, value in RETRY.records[2]["details"].items()]
    log = ("liza", "log", "anomaly", "--type", "retry_loop", "--task", "t", "--reporter", "r", "--timestamp", NOW)
    board.save(board.text.replace("# behind the section", "# later"))  # the other program's change is not checked
    assert interleaved(board, ANALYZE, COMMIT, (*log, *details)).code == 3
    consistent(board)


def test_halt_of_a_still_open_trip_stays(tmp_path: Path) -> None:
    """A check reads a stale copy and would trip; at its commit the trip is open, and its evidence is gone."""
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


def test_evidence_withdrawn_before_commit_leaves_no_halt(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    board.save(board.text.replace("# behind the section", "# later"))
    edit = ("sed", "-i", "s/retry_loop/spec_changed/", ".liza/state.yaml")
    ran = interleaved(board, ANALYZE, COMMIT, edit)
    assert ran.code == 0
    consistent(board)
    assert board.trips == []
    assert board.logged == []
    assert board.analyze(now=LATER).code == 0
