"""kill -9 while another program saves without the lock: its version is on the board, or kept aside and reported."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from liza.store.board import Board
from liza.store.paths import Paths
from tests.faults import boards, steps
from tests.faults.boards import add
from tests.faults.rival import replace_without_lock, write_in_place

THEIRS = boards.STATE.replace("marker: 0", "marker: 1  # saved without the lock")
LATER = boards.STATE.replace("marker: 0", "marker: 2  # saved later without the lock")


def where_is(text: str, board: Board) -> str | None:
    """Whether the saved version can be found again, and how."""
    mark = text.splitlines()[2]
    if mark in Path(board.paths.state).read_text(encoding="utf-8"):
        return "on the board"
    return "rescued" if text in boards.rescued(board) else None


def each_crash(folder: Path, events: Callable[[Paths], dict[int, Callable[[], None]]]) -> Iterator[tuple[str, Board]]:
    """For each step after the last event that changes the disk: a board whose writer was killed just before it.

    A second writer has run since, so that no leftovers may remain.
    """
    for number in itertools.count(1):
        paths = boards.make(folder / str(number))
        if not steps.killed(partial(add, paths, "killed"), _dying(events(paths), number)):
            return
        board = add(paths, "second")
        reporters = boards.reporters(paths)
        assert reporters.count("second") == 1
        assert reporters.count("killed") <= 1
        assert boards.leftovers(paths) == []
        yield f"killed before change {number} after that", board


def _dying(events: dict[int, Callable[[], None]], number: int) -> steps.Around:
    last = max(events)
    changes = itertools.count(1)

    def around(step: steps.Step, call: Callable[[], Any]) -> Any:
        if step.number in events:
            events[step.number]()
        if step.number >= last and step.name not in steps.LOOKING and next(changes) == number:
            steps.die()
        return call()

    return around


def steps_of_an_append(folder: Path) -> list[str]:
    with steps.around_each(steps.untouched) as taken:
        add(boards.make(folder), "untouched")
    return [step.name for step in taken]


def test_save_at_any_step_survives_a_crash_at_any_later_step(tmp_path: Path) -> None:
    found: list[str | None] = []
    for number, name in enumerate(steps_of_an_append(tmp_path / "untouched"), 1):
        for crash, board in each_crash(tmp_path / f"saved-{number}", partial(_save_at, number)):
            found.append(where_is(THEIRS, board))
            assert found[-1], f"saved before {name} (step {number}), {crash}: it is lost"
    assert set(found) == {"on the board", "rescued"}, "one of the two ways was never seen"


def _save_at(number: int, paths: Paths) -> dict[int, Callable[[], None]]:
    return {number: partial(replace_without_lock, paths.state, THEIRS)}


def by_rename(state: str) -> None:
    replace_without_lock(state, LATER)


def by_rename_twice(state: str) -> None:
    """The second new file tends to get the inode number that the first replacement has just set free."""
    replace_without_lock(state, boards.version(3))
    replace_without_lock(state, LATER)


def in_place(state: str) -> None:
    write_in_place(state, LATER)


@pytest.mark.parametrize("save", [by_rename, by_rename_twice, in_place])
def test_save_while_a_write_is_undone_survives_a_crash(tmp_path: Path, save: Callable[[str], None]) -> None:
    """One save comes just before the exchange, the other at any step after it, the crash at any step after that."""
    lost = []
    exchange = steps_of_an_append(tmp_path / "untouched").index("exchange") + 1
    undoing = range(exchange + 1, exchange + 12)  # well into the next attempt, at which there is nothing special again

    def saves(number: int, paths: Paths) -> dict[int, Callable[[], None]]:
        return {exchange: partial(replace_without_lock, paths.state, THEIRS), number: partial(save, paths.state)}

    for number in undoing:
        for crash, board in each_crash(tmp_path / f"saved-{number}", partial(saves, number)):
            if not where_is(LATER, board):
                lost.append(f"saved before step {number}, {crash}")
    assert not lost, f"{len(lost)} times:\n" + "\n".join(lost[:5])
