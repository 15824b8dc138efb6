"""Agents can write in `.liza/`: the daemon neither waits for odd files there nor follows links."""

import os
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from liza.cli.daemon_status import as_json, lines, warnings
from liza.daemon.status import read_daemon
from liza.model import file_time
from liza.store.paths import Paths
from liza.store.rotating_log import LARGEST
from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, in_background, run, until
from tests.daemon.stepped import SteppedWatcher

BLOCKED = STATE.replace("status:   CLAIMED", "status: BLOCKED")


def is_printable(paths: Paths) -> bool:
    """Whether all that people read about the daemon is."""
    daemon = read_daemon(paths)
    return all(click.unstyle(line).isprintable() for line in (*lines(daemon, paths), *warnings(daemon)))


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
def test_replaced_files_do_not_prevent_halt_or_exit(board: Watched, kind: str) -> None:
    for name in ("alerts.log", "watch.json", "ESCALATION"):
        KINDS[kind](board.folder / name)
    with Daemon(board.root, wait="alarm") as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        board.halted()
        has_status = kind != "folder"  # it replaces anything else
        assert run(board.root, "watch", "--status").code == (0 if has_status else 4)
        assert run(board.root, "status").code == 3
        assert daemon.stop() == 0
    assert not (board.root / "elsewhere").exists(), "nothing is written through a link"


def test_alarms_that_cannot_be_recorded_are_reported(board: Watched) -> None:
    as_fifo(board.alerts_log)
    with Daemon(board.root, wait="alarm") as daemon:
        assert until(lambda: board.facts["not_sent"], "it is reported") == "alerts.log: it is not a regular file"
        assert daemon.stop() == 0


def test_large_log_is_rotated(board: Watched) -> None:
    log, old = board.folder / "watch.log", board.folder / "watch.log.1"
    log.write_text("a line\n" * (LARGEST // 7 + 1))
    before = log.read_bytes()
    with in_background(board):
        pass
    kinds = [line.split()[1] for line in log.read_text().splitlines()]
    assert (kinds[0], kinds[-1]) == ("started", "stopped")
    assert old.read_bytes() == before


def test_log_replaced_by_a_fifo_stops_no_daemon(board: Watched) -> None:
    as_fifo(board.folder / "watch.log")
    with in_background(board) as started:
        assert started.code == 0
        board.report_anomalies(*RETRIES)
        board.halted()


def test_folder_in_place_of_the_lock_is_moved_aside(board: Watched) -> None:
    as_folder(board.folder / "watch.lock")
    with in_background(board) as started:
        assert started.code == 0
        assert as_json(read_daemon(Paths(str(board.folder))))["state"] == "running"
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
def test_any_content_of_watch_json_is_accepted(board: Watched, facts: str) -> None:
    board.watch_json.write_text(facts)
    paths = Paths(str(board.folder))
    assert is_printable(paths)
    with SteppedWatcher(board) as stepped:  # which loads watch.json
        assert is_printable(paths)
        assert as_json(read_daemon(paths))["state"] in ("running", "degraded")
        stepped.ticks(2)
        assert as_json(read_daemon(paths))["state"] == "running"
        assert stepped.reported("alarm") == ["A task is blocked: task-2"]


@pytest.mark.parametrize("interval", ["1e999", "NaN", "99999", '"x"'])
def test_stuck_daemon_cannot_be_made_to_seem_alive(board: Watched, interval: str) -> None:
    with SteppedWatcher(board):
        board.watch_json.write_text(f'{{"interval": {interval}}}')
        os.utime(board.watch_lock, (0, 0))
        assert as_json(read_daemon(Paths(str(board.folder))))["state"] == "stuck"


def test_time_beyond_the_calendar_is_accepted(board: Watched) -> None:
    """File systems allow such times; the ones here are large enough to try the commands."""
    assert file_time(1e15) > file_time(1e10) > file_time(-1e10) > file_time(-1e15)
    for path in (board.checkpoint, board.folder / "PAUSE", board.log):
        path.touch()
        os.utime(path, (1 << 33, 1 << 33))
    with SteppedWatcher(board) as stepped:
        stepped.ticks(4)
        assert "the agents are halted by a CHECKPOINT that a person created" in stepped.reported("alarm")
    assert run(board.root, "status").code == 3


def test_version_displaced_by_an_interrupted_write_is_kept_and_reported(board: Watched) -> None:
    """It was written without the lock, and liza was killed before it could put it back."""
    (board.folder / ".state.yaml.1-2-3-4.swap").write_text("theirs: 1\n")
    with Daemon(board.root, wait="") as daemon:
        alarm = daemon.wait_for("alarm", "a version of state.yaml that another program wrote was kept in ")
        assert Path(alarm.split()[-1]).read_text() == "theirs: 1\n"
        assert daemon.stop() == 0  # killed, it may leave a draft
    assert board.leftovers() == []
