"""Every way of writing: the third record of a kind halts the agents, once."""

import fcntl
import os
from pathlib import Path

import pytest

from tests.daemon.daemon import OUTAGE, RETRIES, STATE, Daemon, Watched, until
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.writers import WRITERS, Writer, by_vim, by_yq, replaced, text_of
from tests.scopes.sprint.run import record

BACKENDS = pytest.mark.parametrize("backend", [(), ("--poll",)], ids=["inotify", "polling"])
EACH = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


def tripped_once(board: Watched, daemon: Daemon, pattern: str = "retry_cluster") -> None:
    """The halt, the report, the state and the log have the same trip, each once."""
    trip = board.halted()
    board.beats(3)
    (entry,) = board.trips
    (logged,) = board.logged
    (archived,) = board.archived
    assert trip["pattern"] == board.trigger["pattern"] == entry["pattern"] == pattern
    assert trip["trip"] == board.trigger["trip_id"] == entry["trip_id"]
    assert trip["trip"] in logged
    assert trip["trip"] in board.report.read_text()
    assert trip["trip"] in archived.read_text()
    assert board.section["status"] == "TRIGGERED"
    assert len(daemon.reported("tripped")) == 1
    assert board.leftovers() == []


@BACKENDS
@EACH
def test_trip_takes_effect_once(board: Watched, write: Writer, backend: tuple[str, ...]) -> None:
    with Daemon(board.root, *backend) as daemon:
        write(board.state, RETRIES)
        daemon.wait_for("tripped", "retry_cluster")
        tripped_once(board, daemon)
        assert daemon.stop() == 0


@pytest.mark.parametrize("write", [replaced, by_vim], ids=["os.replace", "vim"])
def test_records_written_one_at_a_time_trip_at_the_last(board: Watched, write: Writer) -> None:
    with Daemon(board.root) as daemon:
        for number, each in enumerate(RETRIES[:2], 1):
            write(board.state, [each])
            daemon.wait_for("checked", f"retry_cluster {number} of 3")
        assert not board.checkpoint.exists()
        write(board.state, RETRIES[2:])
        daemon.wait_for("tripped")
        tripped_once(board, daemon)


def test_linked_board_is_followed(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team")
    elsewhere = board.root / "elsewhere.yaml"
    board.state.rename(elsewhere)
    board.state.symlink_to(elsewhere)
    with Daemon(board.root) as daemon:
        elsewhere.write_text(elsewhere.read_text() + text_of(RETRIES))
        daemon.wait_for("tripped")
        tripped_once(board, daemon)
    assert board.state.is_symlink()


def test_save_with_the_previous_time_and_length_is_noticed(tmp_path: Path) -> None:
    """As `cp -p` or `rsync -t` leave a file, or if the inode of a replaced file is reused."""
    board = Watched(tmp_path / "team", STATE + text_of(OUTAGE).replace("payments", "payment-", 1))
    seen = board.state.stat()
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        assert not board.checkpoint.exists()
        board.state.write_text(board.text.replace("payment-", "payments"))
        os.utime(board.state, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        stepped.ticks(1)
    assert board.halt["pattern"] == "external_service_outage"


def test_halt_does_not_wait_for_a_held_lock(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        with open(f"{board.state}.lock", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            replaced(board.state, RETRIES)
            until(board.checkpoint.exists, "the agents are halted")
            assert board.section["status"] == "OK", "the paperwork has to wait"
        daemon.wait_for("tripped")
        tripped_once(board, daemon)


def test_record_written_during_the_trip_is_not_lost(board: Watched) -> None:
    late = record("note", "task-9", what="meanwhile")
    with Daemon(board.root) as daemon:
        replaced(board.state, RETRIES)
        until(board.checkpoint.exists, "the agents are halted")
        WRITERS["append under flock"](board.state, [late])
        daemon.wait_for("tripped")
        until(lambda: board.section["status"] == "TRIGGERED", "it is entered")
        board.beats(3)
    assert board.text.count("meanwhile") == 1
    assert len(board.trips) == 1


@pytest.mark.parametrize("write", [by_yq, by_vim], ids=["yq", "vim"])
def test_more_evidence_while_open_joins_the_trip(board: Watched, write: Writer) -> None:
    with Daemon(board.root) as daemon:
        replaced(board.state, RETRIES)
        daemon.wait_for("tripped")
        board.halted()
        write(board.state, OUTAGE)
        until(lambda: board.trigger.get("also_matched") == ["external_service_outage"], "it joins the trigger")
        board.beats(3)
        assert len(board.trips) == len(board.logged) == 1
        assert len(daemon.reported("tripped")) == 1


def test_pattern_completed_before_the_start_trips(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team", STATE + text_of(RETRIES))
    with Daemon(board.root, wait="tripped") as daemon:
        tripped_once(board, daemon)


def test_next_daemon_completes_a_trip_after_kill_9(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        replaced(board.state, RETRIES)
        until(board.checkpoint.exists, "the agents are halted")
        daemon.kill()
    first = board.halt["trip"]
    with Daemon(board.root, wait="tripped") as daemon:
        tripped_once(board, daemon)
    assert board.halt["trip"] == first
