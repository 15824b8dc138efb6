"""How others see the daemon: running, degraded, stuck, gone, ended; what stands, and what did not reach anybody."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, run, until
from tests.daemon.served import webhook
from tests.daemon.writers import save

BLOCKED = STATE.replace("status:   CLAIMED", "status: BLOCKED\n    blocked_reason: no access")


@pytest.fixture
def board(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "team")


def states(board: Watched) -> set[str]:
    """The daemon in a word, by both commands that know it."""
    return {
        str(run(board.root, "watch", "--status", "--json").json["status"]),
        str(run(board.root, "status", "--json").json["daemon"]["state"]),
    }


def lines(board: Watched, *words: str) -> list[str]:
    return run(board.root, *words).out.splitlines()


def test_without_a_daemon_it_is_said_how_to_start_one(board: Watched) -> None:
    assert states(board) == {"not running"}
    assert lines(board, "watch", "--status") == ["daemon:  none (liza watch --background)"]
    assert "daemon:  none (liza watch --background)" in lines(board, "status")


def test_one_that_is_stuck_is_said_to_be_so_with_what_to_do(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.beats(1)
        daemon.send(signal.SIGSTOP)
        moment = time.time() - 100
        until(lambda: "T" in Path(f"/proc/{daemon.pid}/stat").read_text().split()[2], "it stands still")
        os.utime(board.watch_lock, (moment, moment))
        said = run(board.root, "watch", "--status")
        assert said.code == 4
        first, warning = said.out.splitlines()
        assert first.startswith(f"daemon:  stuck, process {daemon.pid}, inotify, ")
        assert first.endswith("no heartbeat for 1 min")
        assert warning == f"! it does nothing: kill -9 {daemon.pid}, then start another: liza watch --background"
        assert warning in lines(board, "status")
        assert states(board) == {"stuck"}
        daemon.send(signal.SIGCONT)
        board.beats(1)
        assert states(board) == {"running"}


def test_one_that_was_killed_is_gone_and_one_that_was_ended_is_not(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.beats(1)
        daemon.kill()
    assert states(board) == {"gone"}
    assert lines(board, "watch", "--status") == [f"daemon:  process {daemon.pid} is gone (liza watch --background)"]
    with Daemon(board.root) as daemon:
        assert daemon.stop() == 0
    assert states(board) == {"not running"}
    assert lines(board, "watch", "--status") == [f"daemon:  process {daemon.pid} ended (liza watch --background)"]


def test_one_check_alone_leaves_nobody_who_is_gone(board: Watched) -> None:
    assert run(board.root, "watch", "--once").code == 0
    assert states(board) == {"not running"}


def test_one_that_cannot_see_says_why(board: Watched) -> None:
    with Daemon(board.root):
        save(board.state, "anomalies: [\n")
        until(lambda: board.facts["last_error"], "it has seen it")
        said = run(board.root, "watch", "--status")
        assert said.code == 4
        first, warning = said.out.splitlines()
        assert first.startswith("daemon:  degraded, process ")
        assert warning.startswith(f"! {board.state}:1:12: ")


def test_the_last_check_is_that_of_the_daemon_where_it_is_the_later(board: Watched) -> None:
    assert lines(board, "status")[0] == "breaker: OK, never checked"
    with Daemon(board.root):
        until(lambda: board.facts["checks"], "it has looked")
        assert lines(board, "status")[0].startswith("breaker: OK, last check ")


def test_alarms_that_stand_are_listed(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        save(board.state, BLOCKED)
        daemon.tells("alarm")
        until(lambda: board.facts["alarms"], "it is written down")
        for words in (("watch", "--status"), ("status",)):
            said = lines(board, *words)
            at = said.index("alarms:  1 alarm (.liza/alerts.log has all)")
            assert said[at + 1].startswith("  A task is blocked: task-2: blocked reason no access (for ")
        save(board.state, STATE)
        daemon.tells("over")
        until(lambda: not board.facts["alarms"], "it is over")
        assert not any("alarms:" in line for line in lines(board, "status"))


def test_what_did_not_reach_anybody_is_said(tmp_path: Path) -> None:
    with webhook(404) as hooks:
        board = Watched(tmp_path / "team", rules=f"notify: {json.dumps({'webhook': f'{hooks.url}/s3cr3t'})}\n")
        with Daemon(board.root):
            board.report_anomalies(*RETRIES)
            until(lambda: board.facts["not_sent"], "it is written down")
            said = [line for words in (("watch", "--status"), ("status",)) for line in lines(board, *words)]
            assert run(board.root, "status", "--json").json["daemon"]["not_sent"] in "\n".join(said)
    told = [line for line in said if line.startswith(f"! not delivered: webhook {hooks.url}/…: it answered 404 at ")]
    assert len(told) == 2
