"""The lock: flock(1) and liza exclude each other, and it is released with its holder's end at the latest."""

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
from liza.store.lock import Lock
from liza.store.paths import Paths
from tests.faults import boards
from tests.faults.boards import add
from tests.faults.children import Child, Signal
from tests.faults.holders import before_waiting, held_by_flock, held_by_liza, is_free, release
from tests.tools import needs

LIZA = os.path.join(os.path.dirname(sys.executable), "liza")


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return boards.make(tmp_path)


# --- both directions ------------------------------------------------------------------------------------------------


def test_flock_does_not_get_the_lock_that_liza_holds(paths: Paths) -> None:
    with held_by_liza(paths):
        assert not is_free(paths)
    assert is_free(paths)


def test_liza_times_out_on_the_lock_of_flock_and_names_it(paths: Paths) -> None:
    with held_by_flock(paths) as holder:
        with pytest.raises(LockTimeout, match=rf"process {holder.pid} \(flock\)") as caught, Lock(paths.lock, 0.05):
            pass
        assert caught.value.holder == holder.pid
        assert f"ps -fp {holder.pid}" in str(caught.value.hint)
    with Lock(paths.lock, 0.05):
        pass


def test_liza_times_out_on_the_lock_of_another_liza(paths: Paths) -> None:
    with held_by_liza(paths) as pid, pytest.raises(LockTimeout) as caught, Lock(paths.lock, 0.05):
        pass
    assert caught.value.holder == pid


def test_command_times_out_with_one_line_naming_the_holder(paths: Paths) -> None:
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


def test_liza_continues_as_soon_as_flock_releases(paths: Paths) -> None:
    with Signal() as waiting:

        def wait() -> bool:
            with before_waiting(waiting.give), Lock(paths.lock, 30):
                return is_free(paths)

        with held_by_flock(paths):
            child = Child(wait)
            waiting.take()
        with child:
            assert child.result() is False


def test_shell_script_waiting_for_liza_gets_the_lock(paths: Paths) -> None:
    needs("flock")
    with held_by_liza(paths):
        script = subprocess.Popen(["flock", "-x", paths.lock, "true"])
        while not re.search(rf"-> FLOCK .* {script.pid} ", Path("/proc/locks").read_text(encoding="ascii")):
            assert script.poll() is None, "it did not wait"
    assert script.wait() == 0


# --- the file -------------------------------------------------------------------------------------------------------


def test_lock_file_is_never_unlinked(paths: Paths) -> None:
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
        assert is_free(paths)
    finally:
        os.close(kept_open)


def _die_with(paths: Paths) -> None:
    with Lock(paths.lock):
        os.kill(os.getpid(), signal.SIGKILL)


def test_lock_on_a_renamed_file_does_not_count(paths: Paths) -> None:
    """A waits for the lock of H. Another lock file takes its place, held by N: A must not continue when H releases."""
    other = f"{paths.lock}.other"
    with Signal() as waiting, held_by_flock(paths) as first, held_by_flock(paths, other) as second:

        def wait() -> bool:
            with before_waiting(waiting.give), Lock(paths.lock, 30):
                return not is_free(paths)

        with Child(wait) as child:
            waiting.take()
            os.rename(other, paths.lock)
            release(first)
            with pytest.raises(LockTimeout), Lock(paths.lock, 0.1):
                pass
            assert child.runs(), "it went on while another one held the lock"
            release(second)
            assert child.result(), "it then held another lock than a shell script sees"


def test_lock_file_deleted_between_open_and_lock_is_opened_again(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert not is_free(paths)
    assert deleted
