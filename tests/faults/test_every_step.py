"""Another program acts at one step of a write, each step in turn: nothing is lost, and nothing ends in a bug.

Races that happen once in a million times are forced here, every time.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from liza.errors import LizaError
from liza.store.paths import Paths
from tests.faults import boards, race, steps
from tests.faults.boards import add
from tests.faults.children import Child
from tests.faults.rival import replace_without_lock, write_in_place

Event = Callable[[Paths], None]


def each_step(folder: Path, event: Event, undoing: bool = False) -> Iterator[tuple[str, Paths, Exception | None]]:
    """A board for each step of an append before which the event happened, and the error that the append ended with.

    With `undoing`, another program saves version 1 just before the exchange, so that liza has to put that back; the
    steps are then those from there on, until the append is done after all.
    """
    with steps.around_each(steps.untouched) as taken:
        add(boards.make(folder / "untouched"))
    exchange = next(step.number for step in taken if step.name == "exchange") if undoing else 0
    for number in itertools.count(exchange + 1):
        paths = boards.make(folder / str(number))
        events: dict[int, Callable[[], None]] = {number: partial(event, paths)}
        if undoing:
            events[exchange] = partial(by_rename, 1, paths)
        caught = None
        with steps.around_each(steps.acting(events)) as taken:
            try:
                add(paths)
            except Exception as error:  # noqa: BLE001 - the test decides which ones are right
                caught = error
        if number > len(taken):
            return
        yield f"before {taken[number - 1].name} (step {number})", paths, caught


WHEN = pytest.mark.parametrize("undoing", [False, True], ids=["writing", "undoing"])


# --- another program saves ------------------------------------------------------------------------------------------


def by_rename(number: int, paths: Paths) -> None:
    replace_without_lock(paths.state, boards.version(number))


def by_rename_twice(number: int, paths: Paths) -> None:
    """The second new file tends to get the inode number that the first replacement has just set free."""
    by_rename(number + 100, paths)
    by_rename(number, paths)


def in_place(number: int, paths: Paths) -> None:
    write_in_place(paths.state, boards.version(number))


@WHEN
@pytest.mark.parametrize("save", [by_rename, by_rename_twice, in_place])
def test_save_of_another_program_is_kept(tmp_path: Path, save: Callable[[int, Paths], None], undoing: bool) -> None:
    wrong = []
    for where, paths, error in each_step(tmp_path, partial(save, 2), undoing):
        # No record of liza's: the other program saved over it after it had been written.
        if error is not None or boards.reporters(paths) not in (["coder-0"], ["coder-0", "liza"]):
            wrong.append(f"{where}: {error!r}, {boards.reporters(paths)}")
        elif race.version_of(paths.state).marker != 2:
            wrong.append(f"{where}: it is lost")
        elif boards.leftovers(paths):
            wrong.append(f"{where}: left behind: {boards.leftovers(paths)}")
    assert not wrong, "\n" + "\n".join(wrong)


# --- the file goes away ---------------------------------------------------------------------------------------------


def deleted(paths: Paths) -> None:
    os.unlink(paths.state)


def made_a_folder(paths: Paths) -> None:
    os.unlink(paths.state)
    os.mkdir(paths.state)


@WHEN
@pytest.mark.parametrize("event", [deleted, made_a_folder])
def test_vanished_file_is_an_error_with_a_hint(tmp_path: Path, event: Event, undoing: bool) -> None:
    wrong = []
    for where, paths, error in each_step(tmp_path, event, undoing):
        if error is not None and not (isinstance(error, LizaError) and error.hint):
            wrong.append(f"{where}: {error!r}")
        if boards.leftovers(paths):
            wrong.append(f"{where}: left behind: {boards.leftovers(paths)}")
    assert not wrong, "\n" + "\n".join(wrong)


# --- the lock goes away ---------------------------------------------------------------------------------------------


def second_writer_without_a_lock(paths: Paths) -> None:
    if os.path.exists(paths.lock):
        os.unlink(paths.lock)
    with Child(partial(add, paths, "second")) as child:
        child.result()


def test_deleted_lock_file_harms_no_writer(tmp_path: Path) -> None:
    """`git clean -x` deletes it. Nothing can exclude a second writer then, but the outcome of either must be true."""
    wrong = []
    for where, paths, error in each_step(tmp_path, second_writer_without_a_lock):
        found = boards.reporters(paths)
        if found.count("second") != 1 or found.count("liza") != (error is None):
            wrong.append(f"{where}: {error!r}, {found}")
        elif error is not None and not isinstance(error, LizaError):
            wrong.append(f"{where}: {error!r}")
        elif boards.leftovers(paths):
            wrong.append(f"{where}: left behind: {boards.leftovers(paths)}")
    assert not wrong, "\n" + "\n".join(wrong)
