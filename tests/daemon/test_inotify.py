"""Without inotify events the agents are still halted within two ticks, and the status says why."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from watchdog.utils.delayed_queue import DelayedQueue

from liza.daemon import changes
from liza.daemon.changes import Changes
from liza.store import filesystem
from liza.store.paths import Paths
from liza.store.versions import identity_at
from tests.daemon import faulty
from tests.daemon.daemon import OUTAGE, RETRIES, STATE, Daemon, Watched, run, until
from tests.daemon.writers import Writer, in_place_without_lock, replaced, text_of
from tests.faults.children import Child

pytestmark = pytest.mark.slow

SECOND = ("--interval", "1")  # a tick that a loaded machine can distinguish from two
QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


def with_fault(name: str) -> Sequence[str | Path]:
    return (sys.executable, faulty.__file__, name)


def without_instances() -> Sequence[str | Path]:
    """In its own name space, where inotify instances are forbidden; other processes are not affected."""
    limit = "echo 0 > /proc/sys/user/max_inotify_instances"
    alone = ("unshare", "--user", "--map-root-user", "sh", "-c", f'{limit} && exec "$@"', "sh")
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine gives no user name spaces, so there is no limit that the test may lower")
    return (*alone, Path(sys.executable).with_name("liza"))


def halts_within_two_ticks(board: Watched, tick: float = 1.0) -> None:
    """Only time was lost: the trip is made once, with all its paperwork."""
    until(board.checkpoint.exists, "the agents are halted", patience=2 * tick)
    board.halted()
    assert len(board.trips) == 1


def assert_backend_shown(board: Watched, backend: str) -> None:
    """Both commands show the backend, as text and as JSON."""
    until(lambda: board.facts["backend"] == backend, f"its backend is {backend}", patience=3.0)
    for command in (("status",), ("watch", "--status")):
        assert f", {backend}, " in run(board.root, *command).out
    assert run(board.root, "status", "--json").json["daemon"]["backend"] == backend
    assert run(board.root, "watch", "--status", "--json").json["daemon"]["backend"] == backend


# --- none from the beginning ----------------------------------------------------------------------------------------


def test_daemon_polls_at_the_instance_limit_and_reports_it(board: Watched) -> None:
    with Daemon(board.root, *SECOND, program=without_instances()):
        assert_backend_shown(board, "polling (no events: [Errno 24] inotify instance limit reached)")
        board.report_anomalies(*RETRIES)
        halts_within_two_ticks(board)


def test_daemon_polls_if_the_observer_does_not_start(board: Watched) -> None:
    with Daemon(board.root, *SECOND, program=with_fault("no start")):
        assert_backend_shown(board, "polling (no events: [Errno 28] inotify watch limit reached)")
        board.report_anomalies(*RETRIES)
        halts_within_two_ticks(board)


def test_observer_that_does_not_start_leaves_nothing_open(board: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watchdog.observers.api.EventEmitter.start", _refuse)
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    listening = Changes(Paths(str(board.folder)), pauses=(0.0,))
    for _ in range(5):
        listening.start()
        assert listening.backend == "polling (no events: [Errno 28] inotify watch limit reached)"
    until(lambda: (len(os.listdir("/proc/self/fd")), threading.active_count()) == before, "all is closed")


def _refuse(*_: object) -> None:
    raise OSError(28, "inotify watch limit reached")


# --- lost later -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", faulty.THREADS)
def test_daemon_polls_after_an_observer_thread_dies(board: Watched, number: int) -> None:
    with Daemon(board.root, *SECOND, program=with_fault(f"thread {number}")) as daemon:
        until(lambda: board.facts["backend"] == "inotify", "it listens")
        daemon.send(signal.SIGUSR1)
        assert "polling" in daemon.wait_for("backend")
        assert_backend_shown(board, "polling (the inotify thread died)")
        board.report_anomalies(*RETRIES)
        halts_within_two_ticks(board)


@pytest.mark.parametrize("number", faulty.THREADS)
def test_trip_while_a_thread_dies_is_not_lost(board: Watched, number: int) -> None:
    with Daemon(board.root, *SECOND, program=with_fault(f"thread {number}")) as daemon:
        daemon.send(signal.SIGUSR1)
        board.report_anomalies(*RETRIES)
        halts_within_two_ticks(board)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_observer_restarts_after_a_thread_has_died(board: Watched) -> None:
    listening = Changes(Paths(str(board.folder)), pauses=(0.0,))
    try:
        listening.start()
        for number in faulty.THREADS:
            faulty.end_thread(listening._threads[number])
            board.watch_lock.touch()  # a thread ends when it wakes up
            until(lambda: _waits(board, listening) != "inotify", "it has seen that")
            until(lambda: _waits(board, listening) == "inotify", "it listens again")
            board.report_anomalies(*OUTAGE)
            listening.wait(5.0)
            until(lambda: listening.moved_into_place() is not None, "the event has come")
            listening._moved = None
    finally:
        listening.stop()


def test_restart_pauses_grow(board: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    tried: list[float] = []

    def refuse(_: Changes) -> None:
        tried.append(now)
        _refuse()

    monkeypatch.setattr("liza.daemon.changes.time.monotonic", lambda: now)
    monkeypatch.setattr(Changes, "_listen", refuse)
    listening = Changes(Paths(str(board.folder)))
    for _ in range(4 * 3600):
        listening.start()
        now += 1.0
    pauses = [after - before for before, after in itertools.pairwise(tried)]
    assert pauses == [30, 300, 3600, 3600, 3600]


def test_missing_events_are_detected(board: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads live, and no event comes: the event for our own heartbeat is missing."""
    monkeypatch.setattr(changes, "SILENCE", 0.2)
    listening = Changes(Paths(str(board.folder)))
    try:
        listening.start()
        until(lambda: _waits(board, listening) and listening._listening < listening._heard, "it hears the heartbeat")
        for _ in range(10):
            assert _waits(board, listening, 0.05) == "inotify"
        assert listening._observer is not None
        listening._observer.unschedule_all()
        listening._threads = [threading.main_thread()]  # as if all of them were alive
        until(lambda: _waits(board, listening) == "polling (no event has come for 0.2 s)", "it has seen that")
    finally:
        listening.stop()


def _waits(board: Watched, listening: Changes, seconds: float = 0.02) -> str:
    """One tick of the daemon: a heartbeat, then a pause. The backend after that."""
    board.watch_lock.touch()
    listening.wait(seconds)
    return listening.backend


# --- signals --------------------------------------------------------------------------------------------------------


def test_signal_is_handled_at_any_moment_of_the_wait(board: Watched) -> None:
    """Between any two lines of the wait, also during its cleanup."""
    listening = Changes(Paths(str(board.folder)), poll=True)

    def wait() -> int:
        moments = 0

        def trace(*_: object) -> Any:
            nonlocal moments
            moments += 1
            sys.settrace(None)
            listening.wake()  # as the handler of a signal does
            sys.settrace(trace)
            return trace

        sys.settrace(trace)
        for _ in range(20):
            listening.wait(0.01)
        sys.settrace(None)
        return moments

    with Child(wait) as child:
        until(lambda: not child.runs(), "it has waited to the end", patience=10)
        assert child.result() > 100


# --- too many -------------------------------------------------------------------------------------------------------


def flood(board: Watched) -> None:
    """More events than the queue of the kernel takes, about files that the daemon ignores."""
    names = [board.folder / name for name in ("one", "other")]
    for path in names:
        path.touch()
    for _ in range(int(QUEUE.read_text()) // 2 + 100):  # two of the same in a row would be one event
        for path in names:
            os.utime(path)


@pytest.mark.parametrize("write", [replaced, in_place_without_lock])
def test_trip_whose_event_was_dropped_takes_effect(board: Watched, write: Writer) -> None:
    with Daemon(board.root, *SECOND) as daemon:
        daemon.send(signal.SIGSTOP)
        flood(board)
        write(board.state, RETRIES)
        daemon.send(signal.SIGCONT)
        halts_within_two_ticks(board)
        daemon.wait_for("tripped")
        assert daemon.stop() == 0
    assert len(daemon.reported("tripped")) == 1


def test_events_continue_after_a_full_queue(board: Watched) -> None:
    with Daemon(board.root, "--interval", "30") as daemon:
        daemon.send(signal.SIGSTOP)
        flood(board)
        daemon.send(signal.SIGCONT)
        until(lambda: _is_checked_again(board), "it has heard of a change", patience=10)
        board.report_anomalies(*RETRIES)
        until(board.checkpoint.exists, "the agents are halted", patience=10)
        assert_backend_shown(board, "inotify")


def _is_checked_again(board: Watched) -> bool:
    """Whether it has seen a change. The first ones may be among those that were dropped."""
    board.save(STATE + f"# {time.monotonic()}\n")
    return bool(board.facts["checks"] > 1)


# --- another folder -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", [STATE, STATE + text_of(RETRIES)], ids=["well", "about to trip"])
def test_folder_replaced_in_one_step_is_watched(board: Watched, new: str) -> None:
    other = Watched(board.root / "other", new)
    with Daemon(board.root, *SECOND):
        assert filesystem.exchange(str(board.folder), str(other.folder)), "folders can be swapped here"
        if new == STATE:
            until(lambda: board.facts["backend"] == "inotify" and board.facts["checks"], "it watches the new one")
            board.report_anomalies(*RETRIES)
        halts_within_two_ticks(board)
        assert_backend_shown(board, "inotify")
    assert not other.checkpoint.exists()


def test_linked_folder_is_listened_to(tmp_path: Path) -> None:
    elsewhere = Watched(tmp_path / "elsewhere")
    team = tmp_path / "team"
    team.mkdir()
    (team / ".liza").symlink_to(elsewhere.folder)
    with Daemon(team, "--interval", "30"):
        elsewhere.report_anomalies(*RETRIES)
        until(elsewhere.checkpoint.exists, "the agents are halted", patience=10)


def test_file_moved_out_of_the_folder_delays_no_event(board: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    # watchdog waits for the second half of a rename before it reports anything else: usually for half a second.
    wait = DelayedQueue.__init__
    monkeypatch.setattr(DelayedQueue, "__init__", lambda queue, _: wait(queue, 3600.0))
    listening = Changes(Paths(str(board.folder)))
    listening.start()
    try:
        notes = board.folder / "notes.txt"
        notes.write_text("not evaluated\n")
        notes.rename(board.root / "notes.txt")
        board.report_anomalies(*OUTAGE)
        until(lambda: listening.moved_into_place() is not None, "the event has come")
    finally:
        listening.stop()


def test_event_that_comes_after_the_check_is_waited_for(board: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "EVENT", 10.0)
    listening = Changes(Paths(str(board.folder)))
    listening.start()
    try:
        for _ in range(20):
            board.report_anomalies(*OUTAGE)
            version = changes.versions(listening.paths)[listening.paths.state]
            listening.await_event(version)
            assert listening.moved_into_place() == version
    finally:
        listening.stop()


def test_file_that_is_being_written_was_not_moved_into_place(board: Watched) -> None:
    """The event of a rename may be handled when the next save has begun, and must not make a half of it whole."""
    draft = board.folder / "draft-of-a-test"
    listening = Changes(Paths(str(board.folder)))
    listening.start()
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(board.text)
            file.flush()
            draft.rename(board.state)
            listening.wait(20.0)
            assert listening._known == identity_at(str(board.state)), "the event has come"
            assert listening.moved_into_place() is None
        board.report_anomalies(*OUTAGE)
        until(lambda: listening.moved_into_place() is not None, "the event has come")
    finally:
        listening.stop()


def test_polling_waits_for_no_event(board: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "EVENT", 3600.0)
    listening = Changes(Paths(str(board.folder)), poll=True)
    listening.await_event(changes.versions(listening.paths)[listening.paths.state])
    assert listening.moved_into_place() is None
