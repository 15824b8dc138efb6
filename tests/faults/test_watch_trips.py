"""Trip after trip while a daemon watches: every one halts the agents, once."""

import os
import time
from functools import partial
from pathlib import Path

import pytest

from tests.daemon.daemon import STATE, Daemon, Watched, until
from tests.daemon.writers import WRITERS, Writer
from tests.scopes.sprint.run import record

TRIPS = int(os.environ.get("LIZA_WATCH_TRIPS", "63"))  # for each of ten cases: 504 by the four most used
SLOWEST = 5.0  # seconds from the end of a write to the halt, on a busy machine


def _is_logged(board: Watched, trip: int) -> bool:
    return len(board.logged) == 2 * trip - 1  # each but the last with its resolution


@pytest.mark.parametrize("backend", [(), ("--poll",)], ids=["inotify", "polling"])
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_every_trip_halts_once(tmp_path: Path, write: Writer, backend: tuple[str, ...]) -> None:
    board = Watched(tmp_path / "team", STATE)
    took = []
    with Daemon(board.root, *backend) as daemon:
        for number in range(1, TRIPS + 1):
            service = f"service {'abcdefghij'[number % 10] * (1 + number // 10)}"
            pair = [record("external_blocker", f"task-{n}-{number}", blocker_service=service) for n in (1, 2)]
            write(board.state, pair)
            written = time.monotonic()
            until(board.checkpoint.exists, f"trip {number} halts the agents")
            took.append(time.monotonic() - written)
            daemon.wait_for("tripped", "external_service_outage")
            until(partial(_is_logged, board, number), "the trip is in the log")
            assert len(board.trips) == number
            assert board.resolve(f"decision {number}").code == 0
            daemon.wait_for("resolved", f"decision {number}")
            assert not board.checkpoint.exists()
        board.beats(4)
        assert daemon.stop() == 0
    assert len(daemon.reported("tripped")) == len(daemon.reported("resolved")) == TRIPS
    assert daemon.reported("degraded") == []
    assert len({entry["trip_id"] for entry in board.trips}) == len(board.trips) == TRIPS
    assert [entry["resolution"] for entry in board.trips] == [f"decision {n}" for n in range(1, TRIPS + 1)]
    assert len(board.archived) == TRIPS
    assert board.leftovers() == []
    middle = sorted(took)[len(took) // 2]
    print(f"write to halt: {middle * 1000:.0f} ms in the middle, {max(took) * 1000:.0f} ms at most")
    assert max(took) < SLOWEST
