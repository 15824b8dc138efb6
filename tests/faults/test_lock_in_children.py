"""The lock and child processes: a child started while it is held neither keeps nor releases it."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from liza.store.lock import Lock
from liza.store.paths import Paths
from tests.faults import boards
from tests.faults.children import Child, Signal
from tests.faults.holders import before_waiting, held_by_flock, is_free, release


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return boards.make(tmp_path)


@contextmanager
def uncontended(paths: Paths) -> Iterator[Lock]:
    with Lock(paths.lock) as held:
        yield held


@contextmanager
def contended(paths: Paths) -> Iterator[Lock]:
    """The lock, held by another process at first: another path through the code."""
    with held_by_flock(paths) as holder, before_waiting(lambda: release(holder)):
        held = Lock(paths.lock, 30).__enter__()
    try:
        yield held
    finally:
        held.__exit__(None, None, None)


Way = Callable[[Paths], AbstractContextManager[Lock]]
WAYS = pytest.mark.parametrize("way", [uncontended, contended])


@WAYS
def test_started_program_does_not_keep_the_lock(paths: Paths, way: Way) -> None:
    with way(paths):
        assert not is_free(paths)
        program = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    try:
        assert is_free(paths)
        assert program.poll() is None
    finally:
        program.communicate()


@WAYS
def test_forked_child_does_not_keep_the_lock_its_parent_releases(paths: Paths, way: Way) -> None:
    with Signal() as end:
        with way(paths):
            child = Child(end.take)
            assert not is_free(paths), "the child released its parent's lock"
        with child:
            assert is_free(paths)
            end.give()
            child.result()


@WAYS
def test_forked_child_that_ends_does_not_release_its_parents_lock(paths: Paths, way: Way) -> None:
    with way(paths):
        with Child(lambda: None) as child:
            child.result()
        assert not is_free(paths)


@WAYS
def test_forked_child_keeps_no_lock_of_its_parent(paths: Paths, way: Way) -> None:
    with Signal() as started, Signal() as end, Signal() as ended:

        def outlive() -> None:
            started.give()
            end.take()
            ended.give()

        def parent() -> None:
            with way(paths), Child(outlive) as child:
                child.wait()

        with Child(parent) as doomed:
            started.take()
            doomed.kill()
        try:
            assert is_free(paths)
        finally:
            end.give()
            ended.take()


@WAYS
def test_forked_child_can_take_the_free_lock_itself(paths: Paths, way: Way) -> None:
    with Signal() as begin:

        def take() -> bool:
            begin.take()
            with Lock(paths.lock, 30):
                return not is_free(paths)

        with way(paths):
            child = Child(take)
        with child:
            begin.give()
            assert child.result()
