"""The calls by which liza touches the disk, numbered, so that a fault can be put at each of them in turn.

Nothing is replaced by an imitation: every call reaches the kernel unless the test says otherwise for that one call.
Any function of `os` that liza uses is a step; there is no list to keep up to date.
"""

import fcntl
import itertools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

from liza import check
from liza.scopes.sprint import report, report_files, resolve, trip, trip_log
from liza.store import board, checkpoint, files, filesystem, lock, log, replace, versions
from tests.faults.children import Child

MODULES: tuple[ModuleType, ...] = (board, files, lock, log, replace, versions)
# and those of a trip
BREAKER: tuple[ModuleType, ...] = (check, checkpoint, report, report_files, resolve, trip, trip_log)


class Step(NamedTuple):
    """One call: the first is number 1."""

    number: int
    name: str
    arguments: tuple[Any, ...]


# Steps that change nothing: a kill just before one of them finds the disk as a kill before the next other step does.
LOOKING = {"stat", "lstat", "fstat", "listdir", "scandir", "read", "pread", "close", "flock", "fcntl", "open file"}
_NOT_THE_DISK = {"getpid", "geteuid", "getegid", "fsencode", "strerror", "major", "minor"}

Around = Callable[[Step, Callable[[], Any]], Any]


@contextmanager
def around_each(around: Around) -> Iterator[list[Step]]:
    """Inside, `around(step, call)` wraps each step and decides whether `call` is made; yields the steps taken."""
    taken: list[Step] = []
    inside = False

    def stepped(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal inside
            if inside:  # calls by the test itself are not steps of liza's
                return function(*arguments, **named)
            step = Step(len(taken) + 1, name, arguments)
            taken.append(step)
            inside = True
            try:
                return around(step, lambda: function(*arguments, **named))
            finally:
                inside = False

        return call

    replaced: list[tuple[ModuleType, str, Any]] = []

    def put(module: ModuleType, name: str, value: Any) -> None:
        replaced.append((module, name, module.__dict__.get(name)))
        setattr(module, name, value)

    for module in MODULES:
        put(module, "open", stepped("open file", open))
        for library in (os, fcntl):
            if library.__name__ in module.__dict__:
                put(module, library.__name__, _Stepped(library, stepped))
    put(filesystem, "exchange", stepped("exchange", filesystem.exchange))
    try:
        yield taken
    finally:
        for module, name, value in reversed(replaced):
            if value is None:
                delattr(module, name)
            else:
                setattr(module, name, value)


class _Stepped:
    """A module of which every function is a step."""

    def __init__(self, library: ModuleType, stepped: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> None:
        self._library = library
        self._stepped = stepped

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._library, name)
        is_step = isinstance(found, BuiltinFunctionType | FunctionType) and name not in _NOT_THE_DISK
        return self._stepped(name, found) if is_step else found


def untouched(step: Step, call: Callable[[], Any]) -> Any:
    return call()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed(work: Callable[[], Any], around: Around) -> bool:
    """Run it in another process; whether it was killed, or else came to its end."""

    def watched() -> None:
        with around_each(around):
            work()

    with Child(watched) as child:
        status = child.wait()
    assert status in (0, -signal.SIGKILL)
    return status != 0


def failing(number: int, code: int) -> Around:
    """The step of that number fails in the way the kernel would report it; all others are made."""

    def around(step: Step, call: Callable[[], Any]) -> Any:
        if step.number == number:
            raise OSError(code, os.strerror(code))
        return call()

    return around


def acting(actions: dict[int, Callable[[], None]]) -> Around:
    """Just before the step of each number, run an action, as another program would."""

    def around(step: Step, call: Callable[[], Any]) -> Any:
        if step.number in actions:
            actions[step.number]()
        return call()

    return around


# --- moments to be killed at ------------------------------------------------------------------------------------------


def before(number: int) -> Callable[[Step], bool]:
    """Before the step of that number, of those that can change something."""
    changing = itertools.count(1)
    return lambda step: step.name not in LOOKING and next(changing) == number


def half_way(number: int) -> Callable[[Step], bool]:
    """In the middle of the write(2) of that number: half of its bytes are in the file.

    Not of an entry of the log, which is one short write at the end of a file: the kernel does not stop half way in it.
    """
    writes = itertools.count(1)

    def matches(step: Step) -> bool:
        if step.name != "write":
            return False
        fd, data = step.arguments
        if os.readlink(f"/proc/self/fd/{fd}").endswith("log.yaml") or next(writes) != number:
            return False
        os.write(fd, bytes(data[: len(data) // 2]))
        return True

    return matches
