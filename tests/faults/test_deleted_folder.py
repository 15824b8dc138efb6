"""The blackboard's folder is deleted while liza works on it: it stays gone, and nothing ends as a bug."""

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from liza import check
from liza.daemon import watch_lock
from liza.errors import LizaError
from liza.scopes.rules_file import read_rules
from liza.scopes.sprint import resolve
from liza.store.board import Board as Files
from liza.store.paths import Paths
from tests.daemon.daemon import RETRIES, STATE, Watched
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.writers import text_of
from tests.faults import steps
from tests.scopes.sprint.cases import RETRY
from tests.scopes.sprint.run import Board, state

NOW = datetime(2025, 1, 18, 17, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MODULES", (*steps.MODULES, *steps.BREAKER, watch_lock))


def about_to_trip(folder: Path) -> Board:
    return Board(folder, state(RETRY.records))


def quiet(folder: Path) -> Board:
    return Board(folder, state(RETRY.records[:2]))


def open_without_its_papers(folder: Path) -> Board:
    """As a check leaves it that was killed after it had entered the trip."""
    board = about_to_trip(folder)
    run_check(board)
    for path in (*board.archived, board.report, board.log):
        path.unlink()
    board.reports.rmdir()
    return board


def run_check(board: Board) -> None:
    check.check(Files(Paths(str(board.folder))), read_rules(None), NOW)


def decide(board: Board) -> None:
    resolve.resolve(Files(Paths(str(board.folder))), "ADR-003 created", "alice", NOW)


@pytest.mark.parametrize(
    ("prepare", "work"),
    [
        (about_to_trip, run_check),
        (quiet, run_check),
        (open_without_its_papers, run_check),
        (open_without_its_papers, decide),
    ],
)
def test_folder_deleted_at_any_step_does_not_come_back(
    tmp_path: Path, prepare: Callable[[Path], Board], work: Callable[[Board], None]
) -> None:
    for number in itertools.count(1):
        board = prepare(tmp_path / str(number))
        deletion = partial(os.rename, board.folder, board.folder.with_name("away"))
        with steps.around_each(steps.acting({number: deletion})) as taken, suppress(LizaError):
            work(board)
        if len(taken) < number:
            assert number > 10, "there was hardly a step to delete it at"
            return
        assert not board.folder.exists(), f"it is there again after step {number}, {taken[number - 1].name}"


def test_folder_deleted_during_a_check_raises_no_alarm(tmp_path: Path) -> None:
    for number in itertools.count(1):
        board = Watched(tmp_path / str(number), STATE + text_of(RETRIES))
        with SteppedWatcher(board) as stepped:
            stepped.ticks(3)
            board.edit("max_review_cycles:   5", "max_review_cycles:   6")
            deletion = partial(os.rename, board.folder, board.folder.with_name("away"))
            with steps.around_each(steps.acting({number: deletion})) as taken:
                stepped.ticks(1)
            if len(taken) < number:
                assert number > 10, "there was hardly a step to delete it at"
                return
            fine = ("checked", "tripped", "waiting")  # the last if it was gone before the check began
            unexpected = [f"{each.kind}: {each.text}" for each in stepped.events if each.kind not in fine]
            assert unexpected == [], f"after step {number}, {taken[number - 1].name}"
            assert not board.folder.exists(), f"it is there again after step {number}, {taken[number - 1].name}"
