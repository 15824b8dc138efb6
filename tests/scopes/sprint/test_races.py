"""Many concurrent programs: one trip is one entry, one log line, one id."""

import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.run import BIN
from tests.scopes.sprint.cases import ASSUMPTION, RETRY, board_with, tripped
from tests.scopes.sprint.run import BUG, LATER, NOW, Board, record, unharmed
from tests.scopes.sprint.test_interleavings import consistent

pytestmark = pytest.mark.slow  # deterministic cases are in test_interleavings


def at_once(board: Board, *commands: Sequence[str]) -> list[int]:
    """Start all commands, wait for all; returns their exit codes."""
    before = board.state.read_bytes()
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [BIN / "liza", *command], cwd=board.root, env=board.environment(), stdout=subprocess.DEVNULL
                )
            )
            for command in commands
        ]
        codes = [each.wait() for each in running]
    unharmed(before, board.state.read_bytes())
    assert BUG not in codes
    assert board.leftovers() == []
    return codes


def test_six_concurrent_checks_are_one_trip(tmp_path: Path) -> None:
    for number in range(2):
        board = board_with(tmp_path / str(number), *RETRY.records, *ASSUMPTION.records)
        assert at_once(board, *[("analyze", "--now", NOW)] * 6) == [3] * 6
        assert len(board.trips) == 1
        assert len(board.logged) == 1
        assert len(board.archived) == 1
        consistent(board)


def test_six_checks_in_different_seconds_are_one_trip(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    assert at_once(board, *[("analyze", "--now", f"2025-01-18T17:30:0{n}Z") for n in range(6)]) == [3] * 6
    assert len(board.trips) == 1
    assert len(board.logged) == 1
    consistent(board)


def test_six_concurrent_quiet_checks_are_counted(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    assert at_once(board, *[("analyze", "--now", NOW)] * 6) == [0] * 6
    assert board.section["history"] == [
        {"timestamp": NOW, "pattern": None, "result": "OK", "checks": 6, "last_at": NOW}
    ]


def test_checks_during_resolution_never_trip_again(tmp_path: Path) -> None:
    check, decide = ("analyze", "--now", LATER), ("resolve", "-m", "ADR-003 created", "--by", "a", "--now", LATER)
    for number in range(4):
        board = tripped(tmp_path / str(number))
        if number % 2:
            board.add(record("retry_loop", "task-4", LATER, **RETRY.records[0]["details"]))
        codes = at_once(board, check, check, decide, check, check)
        assert codes[2] == 0
        assert set(codes) <= {0, 3}
        (entry,) = board.trips
        assert entry["resolution"] == "ADR-003 created"
        assert board.section["status"] == "OK", "TRIGGERED again by resolved evidence"
        consistent(board)
        assert len(board.logged) == 2


def test_concurrent_checks_trips_and_resolutions_stay_consistent(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    stop = ("trip", "-m", "the sandbox is down", "--now", NOW)
    codes = at_once(board, ("analyze", "--now", NOW), stop, ("resolve", "-m", "done", "--now", NOW), stop)
    assert set(codes) <= {0, 3}
    for entry in board.trips:
        assert entry["trip_id"]
    board.analyze(now=LATER)
    consistent(board)
    assert len(board.logged) == len(board.trips) + sum("resolved_at" in entry for entry in board.trips)
