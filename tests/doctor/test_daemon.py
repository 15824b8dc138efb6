"""The daemon as the doctor sees it: real ones, stopped, killed, deaf."""

import ctypes
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from liza.doctor.finding import Level
from tests.cli.run import LIZA
from tests.daemon.daemon import Daemon, Watched, until
from tests.daemon.test_inotify import without_instances
from tests.doctor.findings import found, is_well, wrong


@pytest.fixture
def board(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "team")


@contextmanager
def watching(board: Watched, *options: str, program: Sequence[str | Path] = (LIZA,)) -> Iterator[Daemon]:
    """A daemon that has written its status."""
    with Daemon(board.root, *options, program=program) as daemon:
        until(board.watch_json.exists, "its status is written")
        yield daemon


def test_missing_daemon_is_only_a_warning(board: Watched) -> None:
    finding = wrong(board.root, "daemon")
    assert (finding.level, finding.hint) == (Level.WARNING, "liza watch --background")


def test_running_daemon_is_ok_and_a_killed_one_an_error(board: Watched) -> None:
    with watching(board) as daemon:
        assert is_well(board.root, "daemon")
        assert f"process {daemon.pid}, last heartbeat 0 s ago, by inotify" in found(board.root, "daemon")[0].message
        daemon.process.kill()
        daemon.process.wait()
        finding = wrong(board.root, "daemon")
    assert (finding.level, finding.hint) == (Level.ERROR, "liza watch --background")
    assert f"process {daemon.pid} is gone" in finding.message


def test_daemon_that_does_not_check_is_stuck(board: Watched) -> None:
    with watching(board) as daemon:
        board.beats(1)
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            os.utime(board.watch_lock, (1e9, 1e9))
            finding = wrong(board.root, "daemon")
        finally:
            daemon.process.send_signal(signal.SIGCONT)
    assert finding.level is Level.ERROR
    assert str(finding.hint).startswith(f"kill -9 {daemon.pid}")


def test_degraded_daemon_names_the_unreadable_file(board: Watched) -> None:
    with watching(board) as daemon:
        board.save("anomalies: [")
        daemon.wait_for("degraded")
        finding = wrong(board.root, "daemon")
    assert finding.level is Level.ERROR
    assert "state.yaml:1:" in finding.message


def test_daemon_without_inotify_is_reported_with_the_reason(board: Watched) -> None:
    with watching(board, program=without_instances()):
        finding = wrong(board.root, "daemon")
    assert finding.level is Level.WARNING
    assert "inotify instance limit reached" in finding.message


def test_observing_daemon_is_reported(board: Watched) -> None:
    with watching(board, "--observe"):
        assert "only observes" in wrong(board.root, "daemon").message


def test_inotify_limit_is_named(board: Watched) -> None:
    program = [*without_instances()[:-1], LIZA, "doctor", "--json", "--root", str(board.root)]
    done = subprocess.run(program, capture_output=True, check=False)
    (finding,) = [each for each in json.loads(done.stdout)["findings"] if each["about"] == "inotify"]
    assert (finding["level"], finding["hint"]) == ("warning", "sudo sysctl fs.inotify.max_user_instances=512")
    assert "of 0 instances" in finding["message"]


def test_inotify_instances_of_this_user_are_counted(board: Watched) -> None:
    libc = ctypes.CDLL(None)
    mine = [libc.inotify_init1(0) for _ in range(7)]
    try:
        assert all(libc.inotify_add_watch(fd, os.fsencode(board.root), 2) > 0 for fd in mine)
        counted = re.match(r"([\d,]+) of [\d,]+ instances, ([\d,]+) of", found(board.root, "inotify")[0].message)
    finally:
        for fd in mine:
            os.close(fd)
    assert counted is not None
    assert all(int(number.replace(",", "")) >= 7 for number in counted.groups()), "others may have some, too"
