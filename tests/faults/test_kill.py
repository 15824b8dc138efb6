"""kill -9 at every step of a write: afterwards there is one whole version, and no leftovers."""

import itertools
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from liza.errors import Refused
from liza.store.log import append_entry
from liza.store.paths import Paths
from tests.faults import boards, steps
from tests.faults.boards import add

Moment = Callable[[int], steps.Around]


def before(number: int) -> steps.Around:
    return steps.acting({number: steps.die})


def after(number: int) -> steps.Around:
    def around(step: steps.Step, call: Callable[[], Any]) -> Any:
        outcome = call()
        if step.number == number:
            steps.die()
        return outcome

    return around


def half_way(number: int) -> steps.Around:
    """In the middle of the write(2) of that number: half of its bytes are in the file."""
    writes = itertools.count(1)

    def around(step: steps.Step, call: Callable[[], Any]) -> Any:
        if step.name == "write" and next(writes) == number:
            fd, data = step.arguments
            os.write(fd, data[: len(data) // 2])
            steps.die()
        return call()

    return around


def each_kill(
    folder: Path, moment: Moment, prepare: Callable[[Path], Paths], work: Callable[[Paths], Any]
) -> Iterator[Paths]:
    """A blackboard for each step of the work, on which it has been killed there."""
    for number in itertools.count(1):
        paths = prepare(folder / str(number))
        if not steps.killed(partial(work, paths), moment(number)):
            assert number > 1, "there was no step to be killed at"
            return
        yield paths


MOMENTS = pytest.mark.parametrize("moment", [before, after, half_way])


def plain(folder: Path) -> Paths:
    return boards.make(folder)


def symlinked(folder: Path) -> Paths:
    """state.yaml lies in another folder."""
    paths = boards.make(folder)
    (folder / "elsewhere").mkdir()
    os.rename(paths.state, folder / "elsewhere" / "state.yaml")
    os.symlink("../elsewhere/state.yaml", paths.state)
    return paths


def after_another_crash(folder: Path) -> Paths:
    """A killed writer has left its draft, so that there is something to sweep."""
    paths = boards.make(folder)
    Path(paths.folder, ".state.yaml.1-2.new").write_text("half a dra")
    Path(paths.folder, ".state.yaml.1-2-3-4.swap").write_text("a version of another program")
    return paths


def of_another_user(folder: Path) -> Paths:
    paths = boards.make(folder)
    if os.geteuid() != 0:
        pytest.skip("only root can make a file that belongs to another user")
    os.chown(paths.folder, 65534, 65534)  # who may put files here
    os.chown(paths.state, 65534, 65534)
    return paths


@MOMENTS
@pytest.mark.parametrize("prepare", [plain, symlinked, after_another_crash, of_another_user])
def test_killed_write_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, moment: Moment, prepare: Callable[[Path], Paths]
) -> None:
    old = boards.STATE.encode()
    reference = prepare(tmp_path / "unharmed")
    add(reference, "killed")
    new = Path(reference.state).read_bytes()
    for paths in each_kill(tmp_path, moment, prepare, lambda paths: add(paths, "killed")):
        found = Path(paths.state).read_bytes()
        assert found in (old, new)
        add(paths, "second")
        assert boards.reporters(paths) == ["coder-0", *(["killed"] if found == new else []), "second"]
        folder = Paths(os.path.dirname(os.path.realpath(paths.state)))
        assert boards.leftovers(paths) == boards.leftovers(folder) == []


def test_write_syncs_file_before_rename_and_folder_after(
    tmp_path: Path,
) -> None:
    """A loss of power cannot be tried here; the order that makes it harmless can be seen."""
    paths = boards.make(tmp_path)
    with steps.around_each(steps.untouched) as taken:
        add(paths, "durable")
    order = [step.name for step in taken if step.name in ("write", "fsync", "exchange", "unlink")]
    assert order == ["write", "fsync", "exchange", "fsync", "unlink"]


# --- the log --------------------------------------------------------------------------------------------------------


def log_with_entries(folder: Path) -> Paths:
    return boards.make(folder)


def no_log(folder: Path) -> Paths:
    return boards.make(folder, log=None)


def log_in_brackets(folder: Path) -> Paths:
    return boards.make(folder, log="# the log\n[]\n")


def content(paths: Paths) -> bytes:
    return Path(paths.log).read_bytes() if os.path.exists(paths.log) else b""


@pytest.mark.parametrize("moment", [before, after])
@pytest.mark.parametrize("prepare", [log_with_entries, no_log, log_in_brackets])
def test_killed_log_entry_is_whole_or_missing(tmp_path: Path, moment: Moment, prepare: Callable[[Path], Paths]) -> None:
    reference = prepare(tmp_path / "unharmed")
    old = content(reference)
    append_entry(reference, boards.entry("killed"))
    new = content(reference)
    for paths in each_kill(tmp_path, moment, prepare, lambda paths: append_entry(paths, boards.entry("killed"))):
        found = content(paths)
        assert found in (old, new)
        append_entry(paths, boards.entry("second"))
        agents = [each["agent"] for each in boards.entries(paths) if each["agent"] != "coder-0"]
        assert agents == (["killed"] if found == new else []) + ["second"]
        assert boards.leftovers(paths) == []


@pytest.mark.parametrize("cut", range(1, len(boards.LOG.encode())))
def test_half_a_log_entry_is_never_lost_or_merged(tmp_path: Path, cut: int) -> None:
    """A write(2) that the kernel cut short, at every byte: refused, or a shorter entry that stays separate."""
    half = boards.LOG[:cut]
    paths = boards.make(tmp_path, log=boards.LOG + half)
    before_it = content(paths)
    try:
        append_entry(paths, boards.entry("second"))
    except Refused as error:
        hint = error.hint
    else:
        hint = None
        found = boards.entries(paths)
        assert found[0] == {"timestamp": "2025-01-18T14:32:00Z", "agent": "coder-0", "action": "began"}
        assert found[2:] == [boards.entry("second")]
    assert content(paths).startswith(before_it)
    assert hint or content(paths) != before_it
