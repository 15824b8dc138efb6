"""The daemon: one per blackboard, silent while idle, ended by a signal."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.run import BIN
from tests.daemon.daemon import OUTAGE, RETRIES, STATE, TICK, Daemon, Watched, environment, in_background, run, until
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.writers import text_of

BACKENDS = pytest.mark.parametrize("backend", [(), ("--poll",)], ids=["inotify", "polling"])


# --- output ---------------------------------------------------------------------------------------------------------


def test_output_into_a_pipe_is_one_line_per_event(board: Watched) -> None:
    command = [str(BIN / "liza-watch"), str(board.root), "--interval", str(TICK)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(board.root)) as it:
        assert it.stdout is not None
        lines = [it.stdout.readline(), it.stdout.readline()]
        board.report_anomalies(*RETRIES)
        lines.append(it.stdout.readline())
        it.send_signal(signal.SIGTERM)
        lines += it.stdout.readlines()
    assert [line.split()[1] for line in lines] == ["started", "checked", "tripped", "stopped"]
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  [a-z]+ +\S", line) for line in lines)
    assert f"process {it.pid}" in lines[0]
    assert "retry_cluster (ARCHITECTURE_FLAW)" in lines[2]


def test_json_output_has_the_same_fields_on_each_line(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        assert daemon.stop() == 0
    events = [json.loads(line) for line in daemon.printed]
    assert {tuple(sorted(event)) for event in events} == {("at", "command", "problems", "schema", "status", "text")}
    assert [event["status"] for event in events] == ["started", "checked", "tripped", "stopped"]


def test_agents_text_is_escaped_in_all_output(board: Watched) -> None:
    odd = "\x1b[31mred\u202e | `x`"
    with Daemon(board.root) as daemon:
        board.save(STATE.replace("id: task-2\n    status:   CLAIMED", f"id: {json.dumps(odd)}\n    status: BLOCKED"))
        until(lambda: any("blocked" in line for line in board.alerts), "the alarm is reported")
        assert daemon.stop() == 0
    assert "\x1b" not in board.alerts_log.read_text() + "".join(daemon.printed)
    assert "\u202e" not in board.alerts_log.read_text()


# --- one a blackboard -----------------------------------------------------------------------------------------------


def test_second_daemon_names_the_first_and_ends(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        second = run(board.root, "watch")
        detached = run(board.root, "watch", "--background")
    assert second.code == 1
    assert f"process {daemon.pid} already watches this blackboard" in second.err
    assert "liza watch --stop" in second.err
    assert detached.code == 1
    assert f"process {daemon.pid}" in detached.err


def test_exactly_one_of_several_simultaneous_daemons_watches(board: Watched) -> None:
    several = [Daemon(board.root, wait="") for _ in range(4)]
    try:
        until(lambda: sum(each.process.poll() is not None for each in several) == 3, "three of four have given up")
        codes = sorted(str(each.process.poll()) for each in several)
        assert codes == ["1", "1", "1", "None"]
        board.report_anomalies(*RETRIES)
        board.halted()
        assert len(board.trips) == 1
    finally:
        for each in several:
            each.__exit__(None, None, None)


def test_background_daemon_has_a_status_and_can_be_stopped(board: Watched) -> None:
    with in_background(board) as started:
        assert started.code == 0
        seen = run(board.root, "watch", "--status", "--json").json
        assert seen["status"] == "running"
        assert f"process {seen['pid']};" in started.out
        assert run(board.root, "watch", "--status").code == 0
        until(lambda: board.facts["checks"] == 1, "it has checked the blackboard as it was")
        board.report_anomalies(*RETRIES)
        board.halted()
        ended = run(board.root, "watch", "--stop")
        assert ended == (0, f"daemon stopped, process {seen['pid']}\n", "")
    after = run(board.root, "watch", "--status", "--json")
    assert (after.code, after.json["status"], after.json["daemon"]["pid"]) == (1, "not running", seen["pid"])
    kinds = [line.split()[1] for line in (board.folder / "watch.log").read_text().splitlines()]
    assert kinds == ["started", "checked", "tripped", "stopped"]
    assert run(board.root, "watch", "--stop") == (0, "no daemon is running\n", "")


def test_killed_daemon_is_reported_gone_and_can_be_replaced(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        until(lambda: board.facts["checks"] == 1, "its status is written")
        daemon.kill()
    gone = run(board.root, "watch", "--status")
    assert (gone.code, "is gone" in gone.out) == (1, True)
    with Daemon(board.root):
        assert run(board.root, "watch", "--status").code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_daemon_cleanly(board: Watched, number: int) -> None:
    with Daemon(board.root) as daemon:
        assert daemon.stop(number) == 0
        assert len(daemon.reported("stopped")) == 1
    assert board.facts["health"] == "stopped"


def test_signal_ends_a_waiting_daemon_cleanly(tmp_path: Path) -> None:
    with Daemon(tmp_path, wait="waiting") as daemon:
        assert daemon.stop() == 0


def test_sighup_reloads_the_rules(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        daemon.send(signal.SIGHUP)
        assert "rules for the sprint" in daemon.wait_for("reloaded")
        board.report_anomalies(*RETRIES)
        board.halted()
        assert daemon.stop() == 0


@pytest.mark.parametrize(
    "words",
    [("--stop", "--status"), ("--once", "--background"), ("--interval", "0"), ("--interval", "nan")],
    ids=" ".join,
)
def test_contradictory_options_are_wrong_usage(board: Watched, words: tuple[str, ...]) -> None:
    assert run(board.root, "watch", *words).code == 2


@pytest.mark.parametrize("words", [("liza", "watch"), ("liza-watch",)], ids=" ".join)
def test_systemd_unit_starts_a_daemon(board: Watched, words: tuple[str, ...]) -> None:
    command = [str(BIN / words[0]), *words[1:], "--print-unit", str(board.root)]
    unit = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    start = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    assert not board.watch_lock.exists()
    subprocess.run([*start.removeprefix("ExecStart=").split(), "--once"], check=True)
    assert board.watch_lock.exists()


@pytest.mark.parametrize(
    ("name", "word", "described"),
    [
        ("two words", '"{}two words"', "{}two words"),
        ("100%", '"{}100%%"', "{}100%%"),
        ("$HOME", '"{}$$HOME"', "{}$HOME"),
        ('a "b"', '"{}a \\"b\\""', '{}a "b"'),
        ("it's", '"{}it\'s"', "{}it's"),
        ("back\\slash", '"{}back\\\\slash"', "{}back\\slash"),
        ("a\nb", '"{}a\\x0ab"', "{}a\\nb"),
    ],
)
def test_odd_folder_name_is_one_word_of_the_unit(tmp_path: Path, name: str, word: str, described: str) -> None:
    board = Watched(tmp_path / name)
    lines = run(board.root, "watch", "--print-unit").out.splitlines()
    assert f"ExecStart={BIN / 'liza'} watch {word.format(f'{tmp_path}/')}" in lines
    assert f"Description=liza watches the blackboard of {described.format(f'{tmp_path}/')}" in lines


# --- quiet ----------------------------------------------------------------------------------------------------------


@BACKENDS
def test_idle_board_is_not_written(board: Watched, backend: tuple[str, ...]) -> None:
    with Daemon(board.root, *backend) as daemon:
        board.beats(2)
        before = board.versions()
        board.beats(6)
        assert board.versions() == before
        assert daemon.events[2:] == []


@BACKENDS
def test_own_writes_cause_no_further_write(board: Watched, backend: tuple[str, ...]) -> None:
    with Daemon(board.root, *backend) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        board.beats(3)
        before = board.versions()
        board.beats(6)
        assert board.versions() == before
        assert len(daemon.reported("tripped")) == 1
    assert len(board.trips) == len(board.logged) == len(board.archived) == 1
    assert board.leftovers() == []


def test_hours_of_idleness_write_nothing(board: Watched) -> None:
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        before = board.versions()
        stepped.ticks(1000, 10)
        assert board.versions() == before
        assert len(stepped.events) == 1


def test_hours_of_idleness_while_open_write_nothing(board: Watched) -> None:
    board.report_anomalies(*RETRIES)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(3)
        before = board.versions()
        stepped.ticks(600)
        assert board.versions() == before
        assert len(board.trips) == 1


def test_last_check_is_entered_at_most_once_a_minute(board: Watched) -> None:
    """And only after others have written."""
    with SteppedWatcher(board) as stepped:
        _enter_for_five_minutes(board, stepped)


def _enter_for_five_minutes(board: Watched, stepped: SteppedWatcher) -> None:
    stepped.ticks(100, 1)
    assert board.section["last_check"] is None, "no other program has written"
    entered = set()
    for number in range(30):  # five minutes in which another program writes every ten seconds
        board.save(board.text.replace("config:\n", f"config:\n  round_{number}: 1\n", 1))
        stepped.ticks(10, 1)
        entered.add(str(board.section["last_check"]))
    assert 4 <= len(entered - {"None"}) <= 6
    assert len(board.section["history"]) == 1
    stepped.ticks(90, 1)  # the last change is entered, too
    before = board.versions()
    stepped.ticks(500, 1)
    assert board.versions() == before


# --- only observing -------------------------------------------------------------------------------------------------


def test_observing_daemon_reports_and_never_halts(board: Watched) -> None:
    with Daemon(board.root, "--observe") as daemon:
        board.report_anomalies(*RETRIES)
        before = board.state.read_bytes()
        assert "retry_cluster would trip" in daemon.wait_for("tripped")
        board.report_anomalies(*OUTAGE)
        assert daemon.wait_for("tripped") == "external_service_outage would trip (only observing)"
        board.beats(3)
        assert board.state.read_bytes() == before + text_of(OUTAGE).encode()
        assert "only observing" in run(board.root, "watch", "--status").out
        assert daemon.stop() == 0
    assert not board.checkpoint.exists()
    assert not board.report.exists()
    assert board.logged == []


def test_once_is_one_check_with_its_exit_code(board: Watched) -> None:
    well = run(board.root, "watch", "--once")
    assert (well.code, "no pattern has evidence" in well.out) == (0, True)
    board.report_anomalies(*RETRIES)
    tripped = run(board.root, "watch", "--once")
    assert (tripped.code, "retry_cluster" in tripped.out) == (3, True)
    assert board.halt["pattern"] == "retry_cluster"
    assert run(board.root, "watch", "--once").code == 3
    assert len(board.trips) == 1


def test_once_reports_an_unreadable_board(board: Watched) -> None:
    board.save("anomalies: [\n")
    looked = run(board.root, "watch", "--once")
    assert looked.code == 4
    assert "state.yaml:" in looked.out + looked.err


def test_once_without_a_blackboard_is_an_expected_error(tmp_path: Path) -> None:
    looked = run(tmp_path, "watch", "--once")
    assert looked.code == 1
    assert "hint:" in looked.err


def test_once_is_refused_beside_a_daemon(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        refused = run(board.root, "watch", "--once")
    assert (refused.code, f"process {daemon.pid}" in refused.err) == (1, True)
