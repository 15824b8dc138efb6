"""The lock: flock(1) and liza exclude each other, and nobody holds it longer than they live or want to."""

import fcntl
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from liza.errors import LockTimeout
from liza.store.board import Board
from liza.store.edit import append_record
from liza.store.lock import Lock
from liza.store.paths import Paths
from tests.faults import boards
from tests.faults.children import Child, Signal
from tests.faults.holders import before_waiting, free, held_by_flock, held_by_liza, release
from tests.tools import needs

LIZA = os.path.join(os.path.dirname(sys.executable), "liza")


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return boards.make(tmp_path)


# --- both directions ------------------------------------------------------------------------------------------------


def test_flock_does_not_get_what_liza_holds(paths: Paths) -> None:
    with held_by_liza(paths):
        assert not free(paths)
    assert free(paths)


def test_liza_does_not_get_what_flock_holds_and_names_the_holder(paths: Paths) -> None:
    with held_by_flock(paths) as holder:
        with pytest.raises(LockTimeout, match=rf"process {holder.pid} \(flock\)") as caught, Lock(paths.lock, 0.05):
            pass
        assert caught.value.holder == holder.pid
        assert f"ps -fp {holder.pid}" in str(caught.value.hint)
    with Lock(paths.lock, 0.05):
        pass


def test_liza_does_not_get_what_another_liza_holds_and_names_the_holder(paths: Paths) -> None:
    with held_by_liza(paths) as pid, pytest.raises(LockTimeout) as caught, Lock(paths.lock, 0.05):
        pass
    assert caught.value.holder == pid


def test_the_command_gives_up_with_one_line_that_names_the_holder(paths: Paths) -> None:
    command = [LIZA, "log", "entry", "--agent", "coder-1", "--action", "worked"]
    with held_by_flock(paths) as holder:
        done = subprocess.run(
            command, env={**os.environ, "LIZA_ROOT": paths.folder, "LIZA_LOCK_TIMEOUT": "0.1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    message, hint = done.stderr.splitlines()
    assert re.search(rf"process {holder.pid} \(flock\) has held the lock for 0.1 s", message)
    assert hint.startswith("  hint: ")
    assert Path(paths.state).read_text(encoding="utf-8") == boards.STATE


def test_liza_goes_on_as_soon_as_flock_lets_go(paths: Paths) -> None:
    with Signal() as waiting:

        def wait() -> bool:
            with before_waiting(waiting.give), Lock(paths.lock, 30):
                return free(paths)

        with held_by_flock(paths):
            child = Child(wait)
            waiting.take()
        with child:
            assert child.result() is False


def test_a_shell_script_that_waits_for_liza_gets_its_turn(paths: Paths) -> None:
    needs("flock")
    with held_by_liza(paths):
        script = subprocess.Popen(["flock", "-x", paths.lock, "true"])
        while not re.search(rf"-> FLOCK .* {script.pid} ", Path("/proc/locks").read_text(encoding="ascii")):
            assert script.poll() is None, "it did not wait"
    assert script.wait() == 0


# --- the file -------------------------------------------------------------------------------------------------------


def add(paths: Paths, reporter: str) -> None:
    Board(paths).rewrite(lambda document: append_record(document, "anomalies", boards.anomaly(reporter)))


def test_the_lock_file_is_never_unlinked(paths: Paths) -> None:
    add(paths, "first")
    inode = os.stat(paths.lock).st_ino
    kept_open = os.open(paths.lock, os.O_RDONLY)  # so that the number cannot be given to another file
    try:
        with held_by_flock(paths), pytest.raises(LockTimeout), Lock(paths.lock, 0.01):
            pass
        with pytest.raises(KeyError):
            Board(paths).rewrite(lambda document: document.data["no such section"])
        add(paths, "second")
        with Child(lambda: _die_with(paths)) as child:
            assert child.wait() == -signal.SIGKILL
        assert os.stat(paths.lock).st_ino == inode
        assert free(paths)
    finally:
        os.close(kept_open)


def _die_with(paths: Paths) -> None:
    with Lock(paths.lock):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_lock_on_a_file_that_has_lost_its_name_is_no_lock(paths: Paths) -> None:
    """A waits for what H holds. Another lock file takes its place, held by N: A must not go on when H lets go."""
    other = f"{paths.lock}.other"
    with Signal() as waiting, held_by_flock(paths) as first, held_by_flock(paths, other) as second:

        def wait() -> bool:
            with before_waiting(waiting.give), Lock(paths.lock, 30):
                return not free(paths)

        with Child(wait) as child:
            waiting.take()
            os.rename(other, paths.lock)
            release(first)
            with pytest.raises(LockTimeout), Lock(paths.lock, 0.1):
                pass
            assert child.runs(), "it went on while another one held the lock"
            release(second)
            assert child.result(), "what it then held was not the lock that a shell script sees"


def test_a_lock_file_that_is_deleted_between_opening_and_locking_is_opened_again(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted = False

    def flock(fd: int, operation: int) -> None:
        nonlocal deleted
        if not deleted:
            deleted = True
            os.unlink(paths.lock)
        real(fd, operation)

    real = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", flock)
    with Lock(paths.lock):
        assert not free(paths)
    assert deleted
