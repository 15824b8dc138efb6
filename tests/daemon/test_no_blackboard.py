"""The daemon before its blackboard exists, and after it was deleted."""

import shutil
from pathlib import Path

from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, in_background, run, until
from tests.daemon.writers import text_of


def delete_folder(board: Watched) -> None:
    """Remove the folder in one step: the daemon may be writing into it at this moment."""
    away = board.folder.with_name("away")
    board.folder.rename(away)
    shutil.rmtree(away, ignore_errors=True)


def test_daemon_waits_for_a_missing_blackboard(tmp_path: Path) -> None:
    with Daemon(tmp_path, wait="waiting") as daemon:
        board = Watched(tmp_path, STATE + text_of(RETRIES))
        daemon.wait_for("tripped", "retry_cluster")
        assert board.halt["pattern"] == "retry_cluster"
        assert run(tmp_path, "watch").code == 1
        assert daemon.stop() == 0


def test_background_daemon_waits_for_a_missing_blackboard(tmp_path: Path) -> None:
    with in_background(tmp_path) as started:
        assert started.code == 0
        board = Watched(tmp_path)
        until(lambda: board.facts["checks"], "it has found the blackboard", patience=1.5)
        board.beats(3)
        assert run(tmp_path, "watch").code == 1
        assert board.watch_lock.read_bytes() == b""
        board.report_anomalies(*RETRIES)
        board.halted()


def test_waiting_daemon_has_a_status_and_can_be_stopped(tmp_path: Path) -> None:
    with in_background(tmp_path) as started:
        pid = int(started.out.split()[1])
        assert f"process {pid} waits in the background for .liza/ to be created" in started.out
        asked = run(tmp_path, "watch", "--status")
        assert (asked.code, asked.out) == (0, f"daemon:  waiting, process {pid}, for .liza/ to be created\n")
        assert run(tmp_path, "watch", "--status", "--json").json["status"] == "waiting"
        for second in (run(tmp_path, "watch"), run(tmp_path, "watch", "--background")):
            assert (second.code, f"process {pid} already waits for this blackboard" in second.err) == (1, True)
        assert run(tmp_path, "watch", "--stop").out == f"daemon stopped, process {pid}\n"
        assert run(tmp_path, "watch", "--status").code == 1
    assert not (tmp_path / ".liza").exists()


def test_waiting_daemon_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    (tmp_path / "board").mkdir()
    run_time = tmp_path / "run"
    run_time.mkdir()
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(run_time)}
    with Daemon(tmp_path / "board", wait="waiting", env=env) as daemon:
        assert not (tmp_path / "state").exists()
        assert len(list(run_time.rglob("waiting-*"))) == 1
        assert daemon.stop() == 0
    assert list(run_time.rglob("waiting-*")) == []
    assert not (tmp_path / "state").exists()
    assert list((tmp_path / "board").iterdir()) == []


def test_daemon_of_a_deleted_board_is_reported_waiting(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        delete_folder(board)
        daemon.wait_for("waiting")
        assert f"waiting, process {daemon.pid}, " in run(board.root, "watch", "--status").out
        board.folder.mkdir()
        board.save(STATE)
        until(lambda: board.facts["backend"] == "inotify", "it listens", patience=1.5)
        daemon.wait_for("checked")
        running = f"running, process {daemon.pid}, "
        until(lambda: running in run(board.root, "watch", "--status").out, "its status is running again")


def test_daemon_survives_a_deleted_and_recreated_board(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        delete_folder(board)
        daemon.wait_for("waiting")
        board.folder.mkdir()
        board.save(STATE + text_of(RETRIES))
        daemon.wait_for("tripped")
        board.halted()
        second = run(board.root, "watch")
        assert (second.code, f"process {daemon.pid}" in second.err) == (1, True)
        assert daemon.stop() == 0
    assert len(board.trips) == 1


def test_board_deleted_while_open_is_not_resolved(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        delete_folder(board)
        daemon.wait_for("waiting")
        board.folder.mkdir()
        board.save(STATE)
        until(lambda: board.facts["checks"] >= 3, "it has checked the new one")
        board.beats(3)
        assert daemon.reported("resolved") == []
