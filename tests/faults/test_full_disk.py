"""Disks that are full, read-only or broken: a write is refused with a hint, and the file is unchanged."""

import errno
import itertools
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from liza.errors import LizaError, Refused
from liza.store.board import Board
from liza.store.edit import append_record
from liza.store.log import append_entry
from liza.store.paths import Paths
from tests.faults import boards, steps
from tests.faults.boards import add
from tests.faults.children import Child
from tests.faults.rival import replace_without_lock

LIZA = os.path.join(os.path.dirname(sys.executable), "liza")
_FILLS = ("open to write", "write", "fsync", "rename", "exchange", "makedirs")
# Which steps can fail for which reason. A broken disk fails wherever it is touched.
REASONS: dict[int, tuple[str, ...]] = {
    errno.ENOSPC: _FILLS,
    errno.EDQUOT: _FILLS,
    errno.EROFS: ("open to write", "rename", "exchange", "unlink", "fchmod", "utime"),
    errno.EMFILE: ("open to write", "open", "listdir"),
    errno.EIO: (*_FILLS, "open", "listdir", "stat", "pread", "unlink", "fchmod", "utime"),
}

Write = Callable[[Paths, str], object]


def log(paths: Paths, name: str) -> None:
    append_entry(paths, boards.entry(name))


def content(paths: Paths, write: Write) -> bytes:
    return Path(paths.state if write is add else paths.log).read_bytes()


def violation(write: Write, paths: Paths, around: steps.Around, new: bytes) -> str | None:
    """The fault of the outcome, such as an error without a hint, or one after which the file is changed."""
    old = content(paths, write)
    try:
        with steps.around_each(around):
            write(paths, "harmed")
    except LizaError as error:
        if error.hint is None:
            return f"there is no hint with: {error.message}"
        # `Refused` promises that nothing was changed. Another error may report a change that is perhaps not durable.
        if isinstance(error, Refused) and content(paths, write) != old:
            return f"something was written in spite of: {error.message}"
        # An exchange that was undone leaves what had been visible for the next write to keep; nothing else may be left.
        drafts = [name for name in boards.leftovers(paths) if not name.endswith(".swap")]
        if drafts:
            return f"left behind: {drafts}"
    except Exception as error:  # noqa: BLE001 - each is a bug, and all are reported at once
        return f"it ended with {error!r}"
    else:
        if content(paths, write) != new:
            return "it reported a write that it had not made"
    write(paths, "second")
    return f"left behind: {boards.leftovers(paths)}" if boards.leftovers(paths) else None


@pytest.mark.parametrize("code", REASONS, ids=errno.errorcode.get)
@pytest.mark.parametrize("write", [add, log])
def test_failure_at_any_step_is_reported_and_changes_nothing(tmp_path: Path, write: Write, code: int) -> None:
    """Exactly one call fails, for exactly one path; each call in turn."""
    untouched = boards.make(tmp_path / "untouched")
    with steps.around_each(steps.untouched) as taken:
        write(untouched, "harmed")
    new = content(untouched, write)
    wrong = []
    for step in taken:
        to_write = step.name == "open" and step.arguments[1] & (os.O_WRONLY | os.O_RDWR)
        if ("open to write" if to_write else step.name) in REASONS[code]:
            paths = boards.make(tmp_path / str(step.number))
            found = violation(write, paths, steps.failing(step.number, code), new)
            wrong += [f"{step.name} (step {step.number}): {found}"] if found else []
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE], ids=errno.errorcode.get)
def test_failure_while_a_write_is_undone_loses_no_save(tmp_path: Path, code: int) -> None:
    """Another program saves just before the exchange, so that its version is displaced and has to be put back."""
    theirs = boards.STATE.replace("marker: 0", "marker: 1  # written without the lock")
    wrong = []
    for number in itertools.count(1):
        paths = boards.make(tmp_path / str(number))
        around, steps_after = _failing_after_a_save(paths, theirs, number, code)
        try:
            with steps.around_each(around):
                add(paths, "harmed")
        except LizaError:
            pass
        except Exception as error:  # noqa: BLE001 - each is a bug, and all are reported at once
            wrong.append(f"{steps_after[-1].name} (step {number} after the save): it ended with {error!r}")
        if number > len(steps_after):
            break
        board = Board(paths)
        board.rewrite(lambda document: append_record(document, "anomalies", boards.anomaly("second")))
        on_board = "written without the lock" in Path(paths.state).read_text(encoding="utf-8")
        if not on_board and theirs not in boards.rescued(board):
            wrong.append(f"{steps_after[-1].name} (step {number} after the save): the saved version is lost")
    assert not wrong, "\n" + "\n".join(wrong)


def _failing_after_a_save(paths: Paths, theirs: str, number: int, code: int) -> tuple[steps.Around, list[steps.Step]]:
    """Of the steps after the save that can fail so, the one of that number does; also gives those steps."""
    saved = False
    after: list[steps.Step] = []

    def around(step: steps.Step, call: Callable[[], Any]) -> Any:
        nonlocal saved
        if saved and step.name in REASONS[code]:
            after.append(step)
            if len(after) == number:
                raise OSError(code, os.strerror(code))
        if step.name == "exchange" and not saved:
            saved = True
            replace_without_lock(paths.state, theirs)
        return call()

    return around, after


def disk_that_fills_up(step: steps.Step, call: Callable[[], Any]) -> Any:
    """There is room for half of a write, then for nothing."""
    if step.name != "write":
        return call()
    fd, data = step.arguments
    if len(data) < 100:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return os.write(fd, data[: min(len(data) // 2, 99)])


@pytest.mark.parametrize("write", [add, log])
def test_half_a_record_is_never_left_on_a_full_disk(tmp_path: Path, write: Write) -> None:
    paths = boards.make(tmp_path)
    old = content(paths, write)
    with steps.around_each(disk_that_fills_up), pytest.raises(Refused, match="No space left") as caught:
        write(paths, "harmed " * 20)
    assert caught.value.hint
    assert content(paths, write) == old
    assert boards.leftovers(paths) == []


@pytest.mark.parametrize("write", [add, log])
def test_partial_writes_are_completed(tmp_path: Path, write: Write) -> None:
    """As when a signal comes: no error. (The log is written in one piece or not at all.)"""
    paths = boards.make(tmp_path)

    def around(step: steps.Step, call: Callable[[], Any]) -> Any:
        return os.write(step.arguments[0], step.arguments[1][:7]) if step.name == "write" else call()

    with steps.around_each(around):
        if write is add:
            add(paths, "in pieces")
            assert boards.reporters(paths) == ["coder-0", "in pieces"]
        else:
            with pytest.raises(Refused):
                log(paths, "in pieces")
            assert content(paths, log) == boards.LOG.encode()


# --- real limits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", [0, 1, 40])
@pytest.mark.parametrize("write", [add, log])
def test_file_size_limit_is_reported_and_changes_nothing(tmp_path: Path, write: Write, room: int) -> None:
    """The kernel itself writes what fits below RLIMIT_FSIZE, and then fails."""
    paths = boards.make(tmp_path)
    old = content(paths, write)

    def limited() -> str | None:
        limit = len(old) + room
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        try:
            write(paths, "harmed")
        except Refused as error:
            return error.hint
        raise AssertionError("it was written")

    with Child(limited) as child:
        assert child.result(), "there is no hint"
    assert content(paths, write) == old
    assert boards.leftovers(paths) == []
