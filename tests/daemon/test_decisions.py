"""People decide, by command or by hand: the daemon reports it, and does not undo it."""

import json
from pathlib import Path

import pytest

from liza.scopes.sprint.open_trip import REPORT_RESTORED
from liza.store.checkpoint import HALT_RESTORED, make
from liza.store.lock import Lock
from tests.daemon.daemon import OUTAGE, RETRIES, Daemon, Watched, until
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.writers import save, yq


def test_resolution_by_command_is_reported_and_respected(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        board.halted()
        assert board.resolve("use a queue").code == 0
        assert daemon.wait_for("resolved") == "retry_cluster by alice: use a queue"
        board.beats(3)
        assert not board.checkpoint.exists()
        assert board.section["status"] == "OK"
        assert len(daemon.reported("tripped")) == 1
        board.report_anomalies(*OUTAGE)
        assert "external_service_outage" in daemon.wait_for("tripped")
    assert len(board.trips) == 2


def test_resolution_by_hand_is_reported_and_respected(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        trip = board.halted()["trip"]
        board.checkpoint.unlink()
        yq(
            board.state,
            '.circuit_breaker.history += [.circuit_breaker.current_trigger + {"result": "TRIGGERED", '
            '"resolution": "use a queue", "resolved_at": "2025-01-18T18:00:00Z", "resolved_by": "bob"}] '
            '| .circuit_breaker.status = "OK" | .circuit_breaker.current_trigger = null',
        )
        assert "use a queue" in daemon.wait_for("resolved")
        board.beats(3)
        assert not board.checkpoint.exists()
        assert len(daemon.reported("tripped")) == 1
    (entry,) = board.trips
    assert (entry["trip_id"], entry["resolution"], entry["resolved_by"]) == (trip, "use a queue", "bob")


DECIDED = '"resolution": "use a queue", "resolved_at": "2025-01-18T18:00:00Z"'
WAYS = {
    "moved into the history": f".history += [.current_trigger + {{{DECIDED}}}] | .current_trigger = null",
    "entered at the trip": f".history[-1] += {{{DECIDED}}} | .current_trigger = null",
    "only the status": ".",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("watched", [True, False], ids=["while it watches", "without a daemon"])
def test_resolution_by_hand_is_logged_once(board: Watched, way: str, watched: bool) -> None:
    board.report_anomalies(*RETRIES)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        trip = board.halt["trip"]
        if watched:
            yq(board.state, f'.circuit_breaker |= ({way} | .status = "OK")')
            stepped.ticks(3)
    if not watched:
        yq(board.state, f'.circuit_breaker |= ({way} | .status = "OK")')
    with SteppedWatcher(board) as stepped:
        stepped.ticks(3)
    tripped, resolved = board.logged
    assert tripped.startswith("tripped: ")
    assert resolved.startswith("resolved: ")
    assert resolved.endswith(f"trip {trip}")


def test_resolution_before_the_first_daemon_is_logged_once(board: Watched) -> None:
    """Another pattern has tripped by then, in a check that could not write the log."""
    board.report_anomalies(*RETRIES)
    assert board.run("analyze").code == 3
    trip = board.halt["trip"]
    board.checkpoint.unlink()
    yq(board.state, f'.circuit_breaker |= ({WAYS["entered at the trip"]} | .status = "OK")')
    board.report_anomalies(*OUTAGE)
    whole = board.log.read_text()
    board.log.write_text(whole + '- {"timestamp": "2025-01-18T12')
    assert board.run("analyze").code == 3
    board.log.write_text(whole)
    for _ in range(2):
        with SteppedWatcher(board) as stepped:
            stepped.ticks(3)
        (line,) = [each for each in board.logged if each.startswith("resolved: ")]
        assert line.endswith(f"trip {trip}")


def test_resolution_that_cannot_be_logged_is_reported(board: Watched) -> None:
    board.report_anomalies(*RETRIES)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        with board.log.open("a") as half:
            half.write('- {"timestamp": "2025-01-18T12')
        yq(board.state, '.circuit_breaker.status = "OK"')
        stepped.ticks(3)
        assert len(stepped.reported("resolved")) == 1
        assert any("not recorded everywhere" in text and str(board.log) in text for text in stepped.reported("alarm"))


def test_resolution_entered_before_the_status_is_set_is_reported_once(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        board.halted()
        decided = '{"resolution": "use a queue", "resolved_at": "2025-01-18T18:00:00Z"}'
        yq(board.state, f".circuit_breaker.history += [.circuit_breaker.current_trigger + {decided}]")
        board.beats(3)
        assert daemon.reported("resolved") == []
        yq(board.state, '.circuit_breaker.status = "OK" | .circuit_breaker.current_trigger = null')
        assert "use a queue" in daemon.wait_for("resolved")
        board.beats(3)
        assert len(daemon.reported("resolved")) == 1


def test_resolution_by_status_only_is_reported_with_an_alarm(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        board.halted()
        board.checkpoint.unlink()
        board.edit("status: TRIGGERED", "status: OK")
        daemon.wait_for("resolved")
        daemon.wait_for("alarm", "resolved by hand")
        board.beats(3)
        assert not board.checkpoint.exists()
        assert len(daemon.reported("tripped")) == 1
    assert board.section["current_trigger"] is None
    assert [entry["resolved_by"] for entry in board.trips] == ["by hand"]


CLOSED = '.circuit_breaker.status = "OK" | .circuit_breaker.current_trigger = null'


def test_daemon_restores_a_removed_checkpoint_until_the_status_is_set(board: Watched) -> None:
    """A person who wants to continue sets the status; then the restored halt is removed."""
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        first = board.halted()
        board.checkpoint.unlink()
        assert daemon.wait_for("alarm") == HALT_RESTORED
        halt = board.halt
        assert first.items() <= halt.items()
        assert set(halt) - set(first) == {"restored"}
        board.beats(3)
        assert len(daemon.reported("alarm")) == 1
        yq(board.state, f'.circuit_breaker.history[-1].resolution = "use a queue" | {CLOSED}')
        daemon.wait_for("resolved", "use a queue")
        until(lambda: not board.checkpoint.exists(), "the restored halt is gone")
        board.beats(3)
        assert not board.checkpoint.exists()
        assert len(daemon.reported("tripped")) == 1
    assert [entry["resolution"] for entry in board.trips] == ["use a queue"]


def test_repeated_removal_of_checkpoint_alarms_rarely(board: Watched) -> None:
    board.report_anomalies(*RETRIES)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        for _ in range(20):
            board.checkpoint.unlink()
            stepped.ticks(1)
            assert board.checkpoint.exists()
        alarms = stepped.reported("alarm")
        assert 2 <= len(alarms) <= 6
        assert alarms[0] == HALT_RESTORED
    with SteppedWatcher(board) as stepped:  # a restart does not repeat known alarms
        stepped.ticks(3)
        assert stepped.reported("alarm") == []


@pytest.mark.parametrize("damage", ["missing", "empty"])
def test_daemon_writes_a_lost_report_again(board: Watched, damage: str) -> None:
    board.report_anomalies(*RETRIES)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        page = board.report.read_text()
        board.report.unlink() if damage == "missing" else board.report.write_text("\n")
        stepped.ticks(2)
        assert board.report.read_text() == page
        assert stepped.reported("alarm") == [REPORT_RESTORED]


@pytest.mark.parametrize("trigger", [None, {"timestamp": "2025-01-18T18:00:00Z", "pattern": "own_check"}])
def test_daemon_halts_on_a_status_that_a_person_wrote(board: Watched, trigger: dict[str, str] | None) -> None:
    with Daemon(board.root) as daemon:
        written = f" | .circuit_breaker.current_trigger = {json.dumps(trigger)}" if trigger else ""
        yq(board.state, f'.circuit_breaker.status = "TRIGGERED"{written}')
        daemon.wait_for("tripped", "own_check" if trigger else "manual")
        halt = board.halted()
        (entry,) = board.trips
        assert entry["trip_id"] == board.trigger["trip_id"] == halt["trip"]
        assert board.report.exists()
        board.beats(3)
        yq(board.state, CLOSED)
        daemon.wait_for("resolved")
        assert "None" not in board.everywhere()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_checkpoint_of_a_person_is_never_touched(board: Watched, moment: str) -> None:
    if moment == "before":
        board.checkpoint.touch()
    with Daemon(board.root) as daemon:
        board.checkpoint.touch()
        assert "a person created" in daemon.wait_for("alarm")
        made = board.checkpoint.stat()
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        board.halt_is_logged()
        assert board.resolve().code == 0
        daemon.wait_for("resolved")
        board.beats(3)
        assert (board.checkpoint.read_bytes(), board.checkpoint.stat().st_ino) == (b"", made.st_ino)
    assert sum("a person created" in line for line in board.alerts) == 1


def test_stale_copy_over_a_trigger_trips_again_with_the_same_id(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        stale = board.text
        daemon.wait_for("tripped")
        first = board.halted()
        before = board.checkpoint.stat().st_mtime_ns
        board.beats(3)
        save(board.state, stale)
        assert "an older copy may have been saved over it" in daemon.wait_for("alarm", "retry_cluster")
        until(lambda: board.section["status"] == "TRIGGERED", "the trip has come back")
        board.beats(3)
        assert board.halt == first
        assert board.checkpoint.stat().st_mtime_ns == before
        assert daemon.stop() == 0
    assert [entry["trip_id"] for entry in board.trips] == [first["trip"]]
    assert len(board.logged) == len(board.archived) == 1
    assert len(daemon.reported("tripped")) == 1
    assert daemon.reported("resolved") == []


def test_copy_from_before_the_evidence_is_not_a_decision(board: Watched) -> None:
    stale = board.text
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        first = board.halted()
        page = board.report.read_text()
        save(board.state, stale)
        daemon.wait_for("alarm", "retry_cluster")
        until(lambda: board.section["status"] == "TRIGGERED", "the trip has come back")
        board.beats(3)
        assert daemon.reported("resolved") == []
        assert board.halt == first
        assert board.report.read_text() == page, "the report has lost its evidence"
        assert [path.read_text() for path in board.archived] == [page]
        assert board.resolve("use a queue").code == 0
        daemon.wait_for("resolved", "use a queue")
    assert not board.checkpoint.exists()
    (entry,) = board.trips
    assert (entry["trip_id"], entry["resolution"]) == (first["trip"], "use a queue")
    assert board.run("analyze").code == 0


def test_stale_copy_saved_without_a_daemon_trips_with_the_same_id(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        stale = board.text
        daemon.wait_for("tripped")
        first = board.halted()
        daemon.kill()
    save(board.state, stale)
    with Daemon(board.root, wait="tripped"):
        until(lambda: board.section["status"] == "TRIGGERED", "the trip has come back")
    assert board.halt == first
    assert len(board.trips) == len(board.logged) == 1


def test_trip_by_another_command_is_reported(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        assert board.run("trip", "-m", "the staging database is gone").code == 3
        daemon.wait_for("tripped")
        board.beats(3)
        assert len(daemon.reported("tripped")) == 1
    assert len(board.trips) == 1


def test_resolution_causes_no_alarm_about_its_halt(board: Watched) -> None:
    """The board is written before the halt is removed: a check in between sees them disagree."""
    board.report_anomalies(*RETRIES)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        halt = board.checkpoint.read_bytes()
        assert board.resolve().code == 0
        board.checkpoint.write_bytes(halt)
        stepped.ticks(1)
        board.checkpoint.unlink()
        stepped.ticks(5)
        assert stepped.reported("alarm") == stepped.reported("over") == []


def test_halt_does_not_wait_for_the_paperwork_of_a_decision(board: Watched) -> None:
    """A held lock delays the paperwork of a decision, and nothing else."""
    with Daemon(board.root, env={"LIZA_LOCK_TIMEOUT": "60"}) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        trip = board.halted()["trip"]
        with Lock(f"{board.state}.lock"):
            board.checkpoint.unlink()
            yq(board.state, '.circuit_breaker.status = "OK"')
            daemon.wait_for("resolved")
            board.report_anomalies(*OUTAGE)
            until(board.checkpoint.exists, "the agents are halted")
            assert len(board.logged) == 1, "the paperwork has to wait"
        daemon.wait_for("tripped", "external_service_outage")
        until(lambda: len(board.logged) == 3, "the decision and the second trip are in the log")
        until(lambda: "resolved_by" in board.trips[0], "the decision is entered")
        assert daemon.stop() == 0
    assert [entry["resolved_by"] for entry in board.trips if entry["trip_id"] == trip] == ["by hand"]
    assert sorted(line.split(":")[0] for line in board.logged) == ["resolved", "tripped", "tripped"]


def test_trip_that_a_command_is_about_to_enter_is_not_lost(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team")
    with SteppedWatcher(board) as stepped:
        stepped.ticks()
        before = board.text
        trigger = {"timestamp": "2025-01-18T18:00:00Z", "pattern": "manual", "severity": "ARCHITECTURE_FLAW"}
        make(str(board.checkpoint), {**trigger, "trip_id": "0123456789ab"})
        stepped.ticks(3)
        assert board.trigger["trip_id"] == "0123456789ab"
        assert (len(stepped.reported("tripped")), stepped.reported("alarm")) == (1, [])
        board.save(before)  # an older copy, without the trip
        stepped.ticks(3)
        assert len(stepped.reported("alarm")) == 1
