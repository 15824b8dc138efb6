"""A line for whoever waits: on a terminal, after a second, and gone when it is done."""

import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from liza.cli.progress import PATIENCE, Waiting
from liza.store.paths import Paths
from tests.cli.run import liza, new_board, on_a_terminal
from tests.faults.holders import held_by_flock

CLEAR = b"\r\x1b[K"


@contextmanager
def terminal() -> Iterator[int]:
    """Standard error is a terminal; what arrives on its other side can be read here."""
    other, mine = pty.openpty()
    with open(mine, "w") as stream, patch.object(sys, "stderr", stream):
        yield other
    os.close(other)


def rest(other: int) -> bytes:
    """All that has been written and not been read yet."""
    os.write(sys.stderr.fileno(), b"END")
    seen = b""
    while not seen.endswith(b"END"):
        seen += os.read(other, 4096)
    return seen.removesuffix(b"END")


def test_what_is_done_at_once_says_nothing() -> None:
    with terminal() as other:
        with Waiting("looking"):
            pass
        assert rest(other) == b""
    assert PATIENCE == 1.0


def test_what_takes_longer_says_what_and_how_long_and_leaves_no_trace() -> None:
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


def test_an_error_takes_the_line_away_as_well() -> None:
    with terminal() as other:
        with pytest.raises(KeyError):
            fail(other)
        assert rest(other).endswith(CLEAR)
    assert "waiting" not in {thread.name for thread in threading.enumerate()}


def test_where_there_is_no_terminal_nothing_is_started(capsys: pytest.CaptureFixture[str]) -> None:
    with Waiting("looking", patience=0.0):
        assert "waiting" not in {thread.name for thread in threading.enumerate()}
    assert capsys.readouterr().err == ""


def test_a_person_who_waits_sees_what_is_done_and_a_program_does_not(tmp_path: Path) -> None:
    """The doctor tries for a second to take a lock that somebody holds."""
    paths = Paths(str(new_board(tmp_path).parent))
    with held_by_flock(paths):
        seen, elsewhere = on_a_terminal(tmp_path, "doctor").out, liza(tmp_path, "doctor")
    line = f"{CLEAR.decode()}looking at everything ... 1 s"
    assert seen.startswith(line)
    assert seen.rpartition("looking at everything ... ")[2].partition(" s")[2].startswith(CLEAR.decode())
    assert "looking at everything" not in elsewhere.out + elsewhere.err
