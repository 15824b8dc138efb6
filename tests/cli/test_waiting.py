"""The progress line: on a terminal, after a second, and removed when done."""

import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from liza.cli.waiting import PATIENCE, Waiting
from liza.store.paths import Paths
from tests.cli.run import liza, new_board, on_a_terminal
from tests.faults.holders import held_by_flock

CLEAR = b"\r\x1b[K"


@contextmanager
def terminal() -> Iterator[int]:
    """Replace standard error by a terminal; yields its other side."""
    other, mine = pty.openpty()
    with open(mine, "w") as stream, patch.object(sys, "stderr", stream):
        yield other
    os.close(other)


def rest(other: int) -> bytes:
    """All output that has not been read yet."""
    os.write(sys.stderr.fileno(), b"END")
    seen = b""
    while not seen.endswith(b"END"):
        seen += os.read(other, 4096)
    return seen.removesuffix(b"END")


def test_quick_work_prints_nothing() -> None:
    with terminal() as other:
        with Waiting("looking"):
            pass
        assert rest(other) == b""
    assert PATIENCE == 1.0


def test_slow_work_shows_elapsed_time_and_clears_it() -> None:
    with terminal() as other:
        with Waiting("looking", patience=0.01):
            seen = b""
            while seen.count(b"looking ... 0 s") < 2:
                seen += os.read(other, 4096)
        seen += rest(other)
    assert seen.startswith(CLEAR + b"looking ... 0 s" + CLEAR)
    assert seen.endswith(CLEAR)


def fail(other: int) -> None:
    with Waiting("looking", patience=0.01):
        os.read(other, 1)
        raise KeyError


def test_error_clears_the_line() -> None:
    with terminal() as other:
        with pytest.raises(KeyError):
            fail(other)
        assert rest(other).endswith(CLEAR)
    assert "waiting" not in {thread.name for thread in threading.enumerate()}


def test_no_thread_starts_without_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Waiting("looking", patience=0.0):
        assert "waiting" not in {thread.name for thread in threading.enumerate()}
    assert capsys.readouterr().err == ""


def test_progress_is_shown_on_terminal_only(tmp_path: Path) -> None:
    """The doctor tries for a second to take a held lock."""
    paths = Paths(str(new_board(tmp_path).parent))
    with held_by_flock(paths):
        seen, elsewhere = on_a_terminal(tmp_path, "doctor").out, liza(tmp_path, "doctor")
    line = f"{CLEAR.decode()}checking the setup ... 1 s"
    assert seen.startswith(line)
    assert seen.rpartition("checking the setup ... ")[2].partition(" s")[2].startswith(CLEAR.decode())
    assert "checking the setup" not in elsewhere.out + elsewhere.err
