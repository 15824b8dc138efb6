"""The daemon and hostile files in `.liza/`: they do not end it, and no other process passes for it."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from tests.daemon.daemon import RETRIES, Daemon, Watched, until
from tests.security.attack import Attack


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """As any process can do that may read the file."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").touch()


REPLACED: dict[str, Callable[[Path], None]] = {
    "folder": a_folder,
    "fifo": os.mkfifo,
    "loop": lambda path: path.symlink_to(path.name),
}


def watched(attack: Attack) -> Watched:
    """The attacked blackboard, as the tests of the daemon use it."""
    rmtree(attack.board)
    return Watched(attack.project)


def status_of(attack: Attack) -> Any:
    return json.loads(attack.liza("status", "--json").out)["daemon"]


@pytest.mark.parametrize("kind", REPLACED)
def test_replaced_lock_does_not_end_the_daemon(attack: Attack, kind: str) -> None:
    board = watched(attack)
    with Daemon(board.root) as daemon:
        board.watch_lock.unlink()
        REPLACED[kind](board.watch_lock)
        daemon.wait_for("alarm", "watch.lock was not a regular file")
        until(lambda: status_of(attack)["state"] == "running", "it has its lock again")
        board.report_anomalies(*RETRIES)
        board.halted()
        assert daemon.process.poll() is None
    attack.effect = "moved aside, alarmed; the daemon runs and halts"


def test_lock_held_by_another_process_does_not_end_the_daemon(attack: Attack) -> None:
    board = watched(attack)
    with Daemon(board.root) as daemon:
        board.watch_lock.unlink()
        with locked(board.watch_lock):
            until(lambda: board.facts["health"] == "degraded", "it says that it has lost its lock")
            seen = status_of(attack)
            assert (seen["state"], seen["pid"]) == ("degraded", daemon.pid)
            board.report_anomalies(*RETRIES)
            board.halted()
        until(lambda: status_of(attack)["state"] == "running", "it has its lock again")
        assert daemon.process.poll() is None
    attack.effect = "it goes on without the lock, DEGRADED, and halts"


def test_copied_facts_and_a_held_lock_are_not_a_daemon(attack: Attack) -> None:
    board = watched(attack)
    with Daemon(board.root):
        until(lambda: board.facts["checks"], "it has checked")
        facts = board.watch_json.read_bytes()
    board.watch_json.write_bytes(facts)
    with locked(board.watch_lock):
        ahead = time.time() + 1e8
        for moment in (time.time(), ahead):  # a heartbeat in the future is none either
            os.utime(board.watch_lock, (moment, moment))
            assert status_of(attack)["state"] == "gone"
        doctor = attack.liza("doctor", "--json")
        found = [each for each in json.loads(doctor.out)["findings"] if each["about"] == "daemon"]
        assert [each["level"] for each in found] == ["error", "error"]
        assert f"process {os.getpid()} " in found[1]["message"]
        assert attack.liza("watch", "--status").code == 1
    attack.effect = "status: gone; doctor names the process that holds the lock"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["watch.json", "watch.log", "alerts.log", "reports", "backups", "inbox", "log.yaml"])
def test_files_replaced_by_folders_do_not_end_the_daemon(attack: Attack, name: str) -> None:
    board = watched(attack)
    with Daemon(board.root) as daemon:
        path = board.folder / name
        if path.is_dir():
            rmtree(path)
        path.unlink(missing_ok=True)
        path.write_text("") if name in ("reports", "backups", "inbox") else a_folder(path)
        board.report_anomalies(*RETRIES)
        until(board.checkpoint.exists, "the agents are halted")
        board.beats(2)
        assert daemon.process.poll() is None
    attack.effect = "halted; the daemon runs"
