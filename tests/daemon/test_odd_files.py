"""Agents can write beside the blackboard: whatever they put there, the daemon neither waits for it nor follows it."""

import os
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from liza.cli.daemon_status import as_json, lines, warnings
from liza.daemon.background import LARGEST
from liza.model import file_time
from liza.store.paths import Paths
from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, in_background, run, until
from tests.daemon.looking import Looking

BLOCKED = STATE.replace("status:   CLAIMED", "status: BLOCKED")


@pytest.fixture
def board(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "team", BLOCKED)


def as_fifo(path: Path) -> None:
    os.mkfifo(path)


def as_folder(path: Path) -> None:
    path.mkdir()


def as_link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "elsewhere")


KINDS: dict[str, Callable[[Path], None]] = {"fifo": as_fifo, "folder": as_folder, "link": as_link}


@pytest.mark.parametrize("kind", KINDS)
def test_it_halts_and_ends_well_whatever_stands_in_place_of_its_files(board: Watched, kind: str) -> None:
    for name in ("alerts.log", "watch.json", "ESCALATION"):
        KINDS[kind](board.folder / name)
    with Daemon(board.root, wait="alarm") as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        board.halted()
        says_how_it_does = kind != "folder"  # every other thing is replaced by what it writes
        assert run(board.root, "watch", "--status").code == (0 if says_how_it_does else 4)
        assert run(board.root, "status").code == 3
        assert daemon.stop() == 0
    assert not (board.root / "elsewhere").exists(), "nothing is written through a link"


def test_alarms_that_cannot_be_written_down_are_not_lost_without_a_word(board: Watched) -> None:
    as_fifo(board.alerts_log)
    with Daemon(board.root, wait="alarm") as daemon:
        assert until(lambda: board.facts["not_sent"], "it is said") == "alerts.log: it is not a regular file"
        assert daemon.stop() == 0


def test_a_log_that_has_become_large_is_begun_anew_and_the_old_one_is_kept(board: Watched) -> None:
    log, old = board.folder / "watch.log", board.folder / "watch.log.1"
    log.write_text("a line\n" * (LARGEST // 7 + 1))
    before = log.read_bytes()
    with in_background(board):
        pass
    said = [line.split()[1] for line in log.read_text().splitlines()]
    assert (said[0], said[-1]) == ("started", "stopped")
    assert old.read_bytes() == before


def test_a_log_of_its_own_that_is_a_fifo_does_not_stop_the_one_in_the_background(board: Watched) -> None:
    as_fifo(board.folder / "watch.log")
    with in_background(board) as started:
        assert started.code == 0
        board.report_anomalies(*RETRIES)
        board.halted()


def test_a_folder_in_the_place_of_its_lock_is_moved_aside(board: Watched) -> None:
    as_folder(board.folder / "watch.lock")
    with in_background(board) as started:
        assert started.code == 0
        assert as_json(Paths(str(board.folder)))["state"] == "running"
    assert [path.is_dir() for path in board.folder.glob("watch.lock.odd-*")] == [True]


@pytest.mark.parametrize(
    "facts",
    [
        "", "garbage", "[]", "null", '{"interval": "x"}', '{"interval": [1]}', '{"interval": NaN}',
        '{"pid": "a\\u001b[31m", "backend": [1], "started": 5, "checks": "y", "health": {}}', '{"checks": 1e999}',
        '{"alarms": {"a": 5, "b": {"since": 1}}, "last_error": {"a": 1}, "not_sent": [1], "places": {"x": 1}}',
        '{"alarms": {"a": {"since": "2025-01-18T10:00:00Z", "last": "2025-01-18T10:00:00Z", "times": -7}}}',
        '{"notified": {"a": 1}, "alarms": [1], "errors": "x", "places": [5, null]}', "[" * 5000,
    ],
)  # fmt: skip
def test_whatever_watch_json_says_it_is_no_error(board: Watched, facts: str) -> None:
    board.watch_json.write_text(facts)
    paths = Paths(str(board.folder))
    assert all(click.unstyle(line).isprintable() for line in (*lines(paths), *warnings(paths)))
    with Looking(board) as looking:  # which remembers what stands there
        assert all(click.unstyle(line).isprintable() for line in (*lines(paths), *warnings(paths)))
        assert as_json(paths)["state"] in ("running", "degraded")
        looking.ticks(2)
        assert as_json(paths)["state"] == "running"
        assert looking.told("alarm") == ["A task is blocked: task-2"]


@pytest.mark.parametrize("interval", ["1e999", "NaN", "99999", '"x"'])
def test_one_that_is_stuck_cannot_be_made_to_seem_alive(board: Watched, interval: str) -> None:
    with Looking(board):
        board.watch_json.write_text(f'{{"interval": {interval}}}')
        os.utime(board.watch_lock, (0, 0))
        assert as_json(Paths(str(board.folder)))["state"] == "stuck"


def test_a_time_that_no_clock_shows_is_no_error(board: Watched) -> None:
    """A file system may hold more than the calendar; what it holds here goes far enough to try the commands."""
    assert file_time(1e15) > file_time(1e10) > file_time(-1e10) > file_time(-1e15)
    for path in (board.checkpoint, board.folder / "PAUSE", board.log):
        path.touch()
        os.utime(path, (1 << 33, 1 << 33))
    with Looking(board) as looking:
        looking.ticks(4)
        assert "the agents are halted by a CHECKPOINT that a person made" in looking.told("alarm")
    assert run(board.root, "status").code == 3


def test_a_version_that_an_interrupted_write_displaced_is_kept_and_told(board: Watched) -> None:
    """Nobody has seen it: whoever wrote it had not taken the lock, and liza was killed before it could put it back."""
    (board.folder / ".state.yaml.1-2-3-4.swap").write_text("theirs: 1\n")
    with Daemon(board.root, wait="") as daemon:
        told = daemon.tells("alarm", "a version of state.yaml that another program wrote was kept in ")
        assert Path(told.split()[-1]).read_text() == "theirs: 1\n"
        assert daemon.stop() == 0  # killed, it may leave a draft of its own
    assert board.leftovers() == []
