"""The daemon's status: running, degraded, stuck, gone, ended; active alarms and undelivered messages."""

import json
import os
import signal
import time
from pathlib import Path

from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, run, until
from tests.daemon.served import webhook
from tests.daemon.writers import save

BLOCKED = STATE.replace("status:   CLAIMED", "status: BLOCKED\n    blocked_reason: no access")


def states(board: Watched) -> set[str]:
    """The daemon's state according to both commands that show it."""
    return {
        str(run(board.root, "watch", "--status", "--json").json["status"]),
        str(run(board.root, "status", "--json").json["daemon"]["state"]),
    }


def lines(board: Watched, *words: str) -> list[str]:
    return run(board.root, *words).out.splitlines()


def test_status_without_a_daemon_names_the_command_to_start_one(board: Watched) -> None:
    assert states(board) == {"not running"}
    assert lines(board, "watch", "--status") == ["daemon:  not running; to start: liza watch --background"]
    assert "daemon:  not running; to start: liza watch --background" in lines(board, "status")


def test_stuck_daemon_is_shown_with_the_fix(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.beats(1)
        daemon.send(signal.SIGSTOP)
        moment = time.time() - 100
        until(lambda: "T" in Path(f"/proc/{daemon.pid}/stat").read_text().split()[2], "it is stopped")
        os.utime(board.watch_lock, (moment, moment))
        ran = run(board.root, "watch", "--status")
        assert ran.code == 4
        first, warning = ran.out.splitlines()
        assert first.startswith(f"daemon:  stuck, process {daemon.pid}, inotify, ")
        assert first.endswith("no heartbeat for 1 min")
        assert warning == f"! it is stuck: kill -9 {daemon.pid}, then start another: liza watch --background"
        assert warning in lines(board, "status")
        assert states(board) == {"stuck"}
        daemon.send(signal.SIGCONT)
        board.beats(1)
        assert states(board) == {"running"}


def test_killed_daemon_is_gone_and_a_stopped_one_is_not(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.beats(1)
        daemon.kill()
    assert states(board) == {"gone"}
    (line,) = lines(board, "watch", "--status")
    assert f"process {daemon.pid} is gone" in line
    with Daemon(board.root) as daemon:
        assert daemon.stop() == 0
    assert states(board) == {"not running"}
    (line,) = lines(board, "watch", "--status")
    assert f"process {daemon.pid} has ended" in line


def test_killed_daemon_that_no_parent_has_waited_for_is_gone(board: Watched) -> None:
    """It stays as a zombie, with its pid and start time: in a container without an init for ever."""
    with Daemon(board.root) as daemon:
        board.beats(1)
        daemon.process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, daemon.pid, os.WEXITED | os.WNOWAIT)
        assert states(board) == {"gone"}


def test_watch_once_does_not_count_as_a_gone_daemon(board: Watched) -> None:
    never = lines(board, "watch", "--status")
    assert run(board.root, "watch", "--once").code == 0
    assert states(board) == {"not running"}
    assert lines(board, "watch", "--status") == never


def test_degraded_daemon_shows_the_reason(board: Watched) -> None:
    with Daemon(board.root):
        save(board.state, "anomalies: [\n")
        until(lambda: board.facts["last_error"], "it is degraded")
        ran = run(board.root, "watch", "--status")
        assert ran.code == 4
        first, warning = ran.out.splitlines()
        assert first.startswith("daemon:  degraded, process ")
        assert warning.startswith(f"! {board.state}:1:12: ")


def test_last_check_is_the_daemons_if_later(board: Watched) -> None:
    assert lines(board, "status")[0] == "breaker: OK, never checked"
    with Daemon(board.root):
        until(lambda: board.facts["checks"], "it has checked")
        assert lines(board, "status")[0].startswith("breaker: OK, last check ")


def test_active_alarms_are_listed(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        save(board.state, BLOCKED)
        daemon.wait_for("alarm")
        until(lambda: board.facts["alarms"], "it is recorded")
        for words in (("watch", "--status"), ("status",)):
            shown = lines(board, *words)
            at = shown.index("alarms:  1 (all: .liza/alerts.log)")
            assert shown[at + 1].startswith("  A task is blocked: task-2: blocked reason no access (for ")
        save(board.state, STATE)
        daemon.wait_for("over")
        until(lambda: not board.facts["alarms"], "it is over")
        assert not any("alarms:" in line for line in lines(board, "status"))


def test_undelivered_message_is_shown(tmp_path: Path) -> None:
    with webhook(404) as hooks:
        board = Watched(tmp_path / "team", rules=f"notify: {json.dumps({'webhook': f'{hooks.url}/s3cr3t'})}\n")
        with Daemon(board.root):
            board.report_anomalies(*RETRIES)
            until(lambda: board.facts["not_sent"], "it is recorded")
            shown = [line for words in (("watch", "--status"), ("status",)) for line in lines(board, *words)]
            assert run(board.root, "status", "--json").json["daemon"]["not_sent"] in "\n".join(shown)
    undelivered = [
        line for line in shown if line.startswith(f"! not delivered: webhook {hooks.url}/…: it answered 404 at ")
    ]
    assert len(undelivered) == 2


def test_daemon_of_another_version_is_reported_and_restarted(board: Watched) -> None:
    assert run(board.root, "watch", "--background", "--observe", "--interval", "0.1").code == 0
    try:
        facts = board.facts
        assert run(board.root, "status", "--json").json["daemon"]["version"] == facts["version"]
        os.kill(facts["pid"], signal.SIGSTOP)  # it would write its own version again
        board.watch_json.write_text(json.dumps({**facts, "version": "0.0.9"}))
        for command in (("status",), ("watch", "--status"), ("doctor",)):
            out = run(board.root, *command).out
            assert ("0.0.9" in out, "liza watch --restart" in out) == (True, True)
        os.kill(facts["pid"], signal.SIGCONT)
        assert run(board.root, "watch", "--restart", "--json").json["pid"] != facts["pid"]
        after = until(lambda: board.facts if board.facts["pid"] != facts["pid"] else None)
        assert (after["version"], after["observe"], after["interval"]) == (facts["version"], True, 0.1)
        assert "liza watch --restart" not in run(board.root, "status").out
    finally:
        run(board.root, "watch", "--stop")


def test_restart_starts_a_daemon_where_none_runs(board: Watched) -> None:
    try:
        assert run(board.root, "watch", "--restart").code == 0
        assert states(board) == {"running"}
    finally:
        run(board.root, "watch", "--stop")
