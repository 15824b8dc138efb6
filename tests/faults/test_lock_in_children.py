"""The lock and child processes: whoever is started while it is held neither keeps it nor gives it away."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from liza.store.lock import Lock
from liza.store.paths import Paths
from tests.faults import boards
from tests.faults.children import Child, Signal
from tests.faults.holders import before_waiting, free, held_by_flock, release


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return boards.make(tmp_path)


@contextmanager
def free_at_once(paths: Paths) -> Iterator[Lock]:
    with Lock(paths.lock) as held:
        yield held


@contextmanager
def waited_for(paths: Paths) -> Iterator[Lock]:
    """The lock as it is taken when somebody else has it at first: another path through the code."""
    with held_by_flock(paths) as holder, before_waiting(lambda: release(holder)):
        held = Lock(paths.lock, 30).__enter__()
    try:
        yield held
    finally:
        held.__exit__(None, None, None)


Way = Callable[[Paths], AbstractContextManager[Lock]]
WAYS = pytest.mark.parametrize("way", [free_at_once, waited_for])


@WAYS
def test_a_program_started_while_the_lock_is_held_does_not_keep_it(paths: Paths, way: Way) -> None:
    with way(paths):
        assert not free(paths)
        program = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    try:
        assert free(paths)
        assert program.poll() is None
    finally:
        program.communicate()


@WAYS
def test_a_forked_child_does_not_keep_the_lock_when_its_parent_lets_go(paths: Paths, way: Way) -> None:
    with Signal() as end:
        with way(paths):
            child = Child(end.take)
            assert not free(paths), "the child let go of what is its parent's"
        with child:
            assert free(paths)
            end.give()
            child.result()


@WAYS
def test_a_forked_child_that_ends_does_not_take_the_lock_from_its_parent(paths: Paths, way: Way) -> None:
    with way(paths):
        with Child(lambda: None) as child:
            child.result()
        assert not free(paths)


@WAYS
def test_a_forked_child_does_not_keep_the_lock_when_its_parent_is_killed(paths: Paths, way: Way) -> None:
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
            assert free(paths)
        finally:
            end.give()
            ended.take()


@WAYS
def test_a_forked_child_can_take_the_lock_itself_once_it_is_free(paths: Paths, way: Way) -> None:
    with Signal() as begin:

        def take() -> bool:
            begin.take()
            with Lock(paths.lock, 30):
                return not free(paths)

        with way(paths):
            child = Child(take)
        with child:
            begin.give()
            assert child.result()
