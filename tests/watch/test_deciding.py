"""People decide, by command or by hand: the daemon tells of it, and does not fight it."""

from pathlib import Path

import pytest

from liza.blackboard.lock import Lock
from tests.watch.daemon import OUTAGE, RETRIES, Daemon, Watched, until
from tests.watch.looking import Looking
from tests.watch.writers import save, yq


@pytest.fixture
def board(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "team")


def test_a_resolution_by_command_is_told_and_respected(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        board.halted()
        assert board.resolve("use a queue").code == 0
        assert daemon.tells("resolved") == "retry_cluster by alice: use a queue"
        board.beats(3)
        assert not board.checkpoint.exists()
        assert board.section["status"] == "OK"
        assert len(daemon.told("tripped")) == 1
        board.report_anomalies(*OUTAGE)
        assert "external_service_outage" in daemon.tells("tripped")
    assert len(board.trips) == 2


def test_a_resolution_by_hand_is_told_and_respected(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        trip = board.halted()["trip"]
        board.checkpoint.unlink()
        yq(
            board.state,
            '.circuit_breaker.history += [.circuit_breaker.current_trigger + {"result": "TRIGGERED", '
            '"resolution": "use a queue", "resolved_at": "2025-01-18T18:00:00Z", "resolved_by": "bob"}] '
            '| .circuit_breaker.status = "OK" | .circuit_breaker.current_trigger = null',
        )
        assert "use a queue" in daemon.tells("resolved")
        board.beats(3)
        assert not board.checkpoint.exists()
        assert len(daemon.told("tripped")) == 1
    (entry,) = board.trips
    assert (entry["trip_id"], entry["resolution"], entry["resolved_by"]) == (trip, "use a queue", "bob")


DECIDED = '"resolution": "use a queue", "resolved_at": "2025-01-18T18:00:00Z"'
WAYS = {
    "moved into the history": f".history += [.current_trigger + {{{DECIDED}}}] | .current_trigger = null",
    "entered where the trip stands": f".history[-1] += {{{DECIDED}}} | .current_trigger = null",
    "only the status": ".",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("watched", [True, False], ids=["while it watches", "while nobody watches"])
def test_a_resolution_by_hand_is_logged_once(board: Watched, way: str, watched: bool) -> None:
    board.report_anomalies(*RETRIES)
    with Looking(board) as looking:
        looking.ticks(2)
        trip = board.halt["trip"]
        if watched:
            yq(board.state, f'.circuit_breaker |= ({way} | .status = "OK")')
            looking.ticks(3)
    if not watched:
        yq(board.state, f'.circuit_breaker |= ({way} | .status = "OK")')
    with Looking(board) as looking:
        looking.ticks(3)
    tripped, resolved = board.logged
    assert tripped.startswith("tripped: ")
    assert resolved == f"resolved: circuit breaker resolved: retry_cluster by hand, trip {trip}"


def test_a_decision_that_cannot_be_logged_is_told_all_the_same(board: Watched) -> None:
    board.report_anomalies(*RETRIES)
    with Looking(board) as looking:
        looking.ticks(2)
        with board.log.open("a") as half:
            half.write('- {"timestamp": "2025-01-18T12')
        yq(board.state, '.circuit_breaker.status = "OK"')
        looking.ticks(3)
        assert len(looking.told("resolved")) == 1
        assert any(
            text.startswith(f"a decision could not be written down: {board.log}: ") for text in looking.told("alarm")
        )


def test_a_decision_that_is_entered_before_the_status_is_set_is_told_once(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        board.halted()
        decided = '{"resolution": "use a queue", "resolved_at": "2025-01-18T18:00:00Z"}'
        yq(board.state, f".circuit_breaker.history += [.circuit_breaker.current_trigger + {decided}]")
        board.beats(3)
        assert daemon.told("resolved") == []
        yq(board.state, '.circuit_breaker.status = "OK" | .circuit_breaker.current_trigger = null')
        assert "use a queue" in daemon.tells("resolved")
        board.beats(3)
        assert len(daemon.told("resolved")) == 1


def test_a_resolution_by_changing_the_status_is_told_with_an_alarm(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        board.halted()
        board.checkpoint.unlink()
        board.edit("status: TRIGGERED", "status: OK")
        daemon.tells("resolved")
        assert "nobody wrote down how" in daemon.tells("alarm")
        board.beats(3)
        assert not board.checkpoint.exists()
        assert len(daemon.told("tripped")) == 1
    assert board.section["current_trigger"] is None
    assert [entry["resolved_by"] for entry in board.trips] == ["by hand"]


def test_a_checkpoint_removed_by_hand_while_open_stays_away_with_an_alarm(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        board.halted()
        board.checkpoint.unlink()
        assert "removed by hand" in daemon.tells("alarm")
        board.beats(3)
        assert not board.checkpoint.exists()
        assert board.section["status"] == "TRIGGERED"
        assert len(daemon.told("alarm")) == 1
        board.report_anomalies(*OUTAGE)  # evidence that the trigger did not have
        until(board.checkpoint.exists, "the agents are halted again")
        until(lambda: board.trigger.get("also_matched") == ["external_service_outage"], "the trigger tells of it")
    assert len(board.trips) == 1


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_checkpoint_that_a_person_made_is_never_touched(board: Watched, moment: str) -> None:
    if moment == "before":
        board.checkpoint.touch()
    with Daemon(board.root) as daemon:
        board.checkpoint.touch()
        assert "a person made" in daemon.tells("alarm")
        made = board.checkpoint.stat()
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        board.halt_is_logged()
        assert board.resolve().code == 0
        daemon.tells("resolved")
        board.beats(3)
        assert (board.checkpoint.read_bytes(), board.checkpoint.stat().st_ino) == (b"", made.st_ino)
    assert sum("a person made" in line for line in board.alerts) == 1


def test_a_stale_copy_saved_over_a_trigger_trips_again_once_under_the_same_id(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        stale = board.text
        daemon.tells("tripped")
        first = board.halted()
        before = board.checkpoint.stat().st_mtime_ns
        board.beats(3)
        save(board.state, stale)
        assert "an older copy is saved over it" in daemon.tells("alarm", "retry_cluster")
        until(lambda: board.section["status"] == "TRIGGERED", "the trip has come back")
        board.beats(3)
        assert board.halt == first
        assert board.checkpoint.stat().st_mtime_ns == before
        assert daemon.stop() == 0
    assert [entry["trip_id"] for entry in board.trips] == [first["trip"]]
    assert len(board.logged) == len(board.archived) == 1
    assert len(daemon.told("tripped")) == 1
    assert daemon.told("resolved") == []


def test_a_copy_from_before_the_evidence_is_no_decision(board: Watched) -> None:
    stale = board.text
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        board.halted()
        save(board.state, stale)
        assert "nobody has entered a decision" in daemon.tells("alarm", "retry_cluster")
        board.beats(3)
        assert daemon.told("resolved") == []
    assert board.checkpoint.exists()
    assert f"rm {board.checkpoint}" in board.run("analyze").out
    assert f"to go on: rm {board.checkpoint}" in board.run("status").out


def test_a_stale_copy_saved_while_no_daemon_looked_trips_again_under_the_same_id(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        stale = board.text
        daemon.tells("tripped")
        first = board.halted()
        daemon.kill()
    save(board.state, stale)
    with Daemon(board.root, wait="tripped"):
        until(lambda: board.section["status"] == "TRIGGERED", "the trip has come back")
    assert board.halt == first
    assert len(board.trips) == len(board.logged) == 1


def test_a_trip_that_another_command_made_is_told(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        assert board.run("trip", "-m", "the staging database is gone").code in (0, 3)
        daemon.tells("tripped")
        board.beats(3)
        assert len(daemon.told("tripped")) == 1
    assert len(board.trips) == 1


def test_a_resolution_is_no_alarm_about_its_halt(board: Watched) -> None:
    """The blackboard is written, and then the halt is taken away: whoever looks in between sees them disagree."""
    board.report_anomalies(*RETRIES)
    with Looking(board) as looking:
        looking.ticks(2)
        halt = board.checkpoint.read_bytes()
        assert board.resolve().code == 0
        board.checkpoint.write_bytes(halt)
        looking.ticks(1)
        board.checkpoint.unlink()
        looking.ticks(5)
        assert looking.told("alarm") == looking.told("over") == []


def test_a_halt_does_not_wait_for_the_paperwork_of_an_earlier_decision(board: Watched) -> None:
    """Whoever holds the lock keeps the daemon from writing down what people did, and from nothing else."""
    with Daemon(board.root, env={"LIZA_LOCK_TIMEOUT": "60"}) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        trip = board.halted()["trip"]
        with Lock(f"{board.state}.lock"):
            board.checkpoint.unlink()
            yq(board.state, '.circuit_breaker.status = "OK"')
            daemon.tells("resolved")
            board.report_anomalies(*OUTAGE)
            until(board.checkpoint.exists, "the agents are halted")
            assert len(board.logged) == 1, "the paperwork has to wait"
        daemon.tells("tripped", "external_service_outage")
        until(lambda: len(board.logged) == 3, "the decision and the second trip are in the log")
        assert daemon.stop() == 0
    assert [entry["resolved_by"] for entry in board.trips if entry["trip_id"] == trip] == ["by hand"]
    assert sorted(line.split(":")[0] for line in board.logged) == ["resolved", "tripped", "tripped"]
