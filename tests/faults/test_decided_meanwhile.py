"""A person decides at any step of the daemon's check: the halt ends, and there is no alarm."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from liza.daemon import watch_lock
from liza.errors import LockTimeout
from liza.scopes.sprint.resolve import resolve
from liza.store import checkpoint
from liza.store.board import Board
from liza.store.lock import Lock
from liza.store.paths import Paths
from tests.daemon.daemon import OUTAGE, RETRIES, STATE, Watched
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.writers import text_of
from tests.faults import steps


@pytest.fixture(autouse=True)
def _more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MODULES", (*steps.MODULES, *steps.BREAKER, watch_lock))


class Decision:
    """Just before the step of that number a person decides, or as soon after it as the lock is free."""

    def __init__(self, board: Watched, stepped: SteppedWatcher, number: int) -> None:
        self.board, self.stepped, self.number = board, stepped, number
        self.trip = board.halt["trip"]
        self.is_made = False
        self.is_undone = False  # whether its trip has halted the agents once more, if only for a moment

    def __call__(self, step: steps.Step, call: Callable[[], Any]) -> Any:
        paths = Paths(str(self.board.folder))
        if step.number >= self.number and not self.is_made and _is_free(paths.lock):
            self.is_made = True
            resolve(Board(paths), "use a queue", "alice", self.stepped.now)
        found = checkpoint.read(paths.checkpoint)
        self.is_undone |= self.is_made and found is not None and found.trip_id == self.trip
        return call()


def _is_free(lock: str) -> bool:
    try:
        with Lock(lock, timeout=0):
            return True
    except LockTimeout:
        return False


def a_harmless_edit(board: Watched) -> None:
    board.edit("max_review_cycles:   5", "max_review_cycles:   6")


def more_evidence(board: Watched) -> None:
    board.report_anomalies(*OUTAGE)


@pytest.mark.parametrize("edit", [a_harmless_edit, more_evidence])
def test_resolution_at_any_step_of_a_check_ends_the_halt(tmp_path: Path, edit: Callable[[Watched], None]) -> None:
    undone: list[str] = []
    for number in itertools.count(1):
        board = Watched(tmp_path / str(number), STATE + text_of(RETRIES))
        with SteppedWatcher(board) as stepped:
            stepped.ticks(3)
            edit(board)
            decision = Decision(board, stepped, number)
            with steps.around_each(decision) as taken:
                stepped.ticks(1)
            if len(taken) < number:
                break
            undone += [taken[number - 1].name] if decision.is_undone else []
            stepped.ticks(3)
            where = f"decided before step {number}, {taken[number - 1].name}"
            assert [text for text in stepped.reported("alarm") if "new evidence" not in text] == [], where
            assert [text for text in stepped.reported("resolved") if "use a queue" in text] != [], where
            assert board.checkpoint.exists() == (board.section["status"] == "TRIGGERED"), where
            marks = json.loads(board.watch_json.read_text())["notified"]
            assert len(marks) == len(set(marks)), where
    assert number > 10, "there was hardly a step to decide at"
    assert undone == [], "halted again for a moment after a decision before each of these"
