"""A person decides while the daemon looks, at any step of that: nobody stays halted, and nobody is alarmed."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from liza.blackboard.board import Board
from liza.blackboard.lock import Lock
from liza.blackboard.paths import Paths
from liza.breaker import check, checkpoint, report
from liza.breaker.resolve import resolve
from liza.errors import LockTimeout
from liza.watch import lease
from tests.faults import steps
from tests.watch.daemon import OUTAGE, RETRIES, STATE, Watched
from tests.watch.looking import Looking
from tests.watch.writers import text_of


@pytest.fixture(autouse=True)
def _more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MODULES", (*steps.MODULES, check, checkpoint, report, lease))


def deciding(board: Watched, looking: Looking, number: int) -> steps.Around:
    """Just before the step of that number a person decides, or as soon after it as the lock is free."""
    paths, done = Paths(str(board.folder)), list[bool]()

    def around(step: steps.Step, call: Callable[[], Any]) -> Any:
        if step.number >= number and not done and _is_free(paths.lock):
            done.append(True)
            resolve(Board(paths), "use a queue", "alice", looking.now)
        return call()

    return around


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
def test_a_decision_at_any_step_of_a_look_alarms_nobody_and_leaves_nobody_halted(
    tmp_path: Path, edit: Callable[[Watched], None]
) -> None:
    for number in itertools.count(1):
        board = Watched(tmp_path / str(number), STATE + text_of(RETRIES))
        with Looking(board) as looking:
            looking.ticks(3)
            edit(board)
            with steps.around_each(deciding(board, looking, number)) as taken:
                looking.ticks(1)
            if len(taken) < number:
                assert number > 10, "there was hardly a step to decide at"
                return
            looking.ticks(3)
            where = f"decided before step {number}, {taken[number - 1].name}"
            assert [text for text in looking.told("alarm") if "new evidence" not in text] == [], where
            assert [text for text in looking.told("resolved") if "use a queue" in text] != [], where
            assert board.checkpoint.exists() == (board.section["status"] == "TRIGGERED"), where
            marks = json.loads(board.watch_json.read_text())["notified"]
            assert len(marks) == len(set(marks)), where
