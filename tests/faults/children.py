"""Processes that a test starts, waits for and ends; pipes and counters by which they agree, instead of sleeping."""

import mmap
import os
import pickle
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

_PATIENCE = 60  # seconds; only a failing test waits this long


class Child:
    """A forked process that runs one function. Left behind by a failing test, it is killed where its `with` ends."""

    def __init__(self, work: Callable[[], Any]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _run(work, writer)
        os.close(writer)
        self._status: int | None = None

    def wait(self) -> int:
        """Its exit code, or minus the signal that killed it."""
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def runs(self) -> bool:
        """Whether it has not ended yet."""
        return self._status is None and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def result(self) -> Any:
        """What its function returned."""
        with open(self._reader, "rb", closefd=False) as pipe:
            answer = pipe.read()
        if self.wait() != 0:
            raise AssertionError(f"the child ended with {self._status}; its traceback is on standard error")
        return pickle.loads(answer)

    def kill(self) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        os.close(self._reader)


def _run(work: Callable[[], Any], answer: int) -> None:
    code = 1
    try:
        outcome = pickle.dumps(work())
        with open(answer, "wb") as pipe:
            pipe.write(outcome)
        code = 0
    except BaseException:  # noqa: BLE001 - a forked child must never return into the test runner
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


class Signal:
    """Signals an event from one process to others; each `give` is taken once."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()

    def give(self) -> None:
        os.write(self._writer, b".")

    def take(self) -> None:
        if not select.select([self._reader], [], [], _PATIENCE)[0]:
            raise AssertionError(f"no signal was given within {_PATIENCE} s")
        os.read(self._reader, 1)

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Counter:
    """A number that all processes forked later see at once, and with a file those that open it, too.

    It is stored as one machine word. struct.pack_into, the obvious way, first fills the place with zeros, and another
    process does read those now and then.
    """

    def __init__(self, file: str | None = None) -> None:
        if file is None:
            self._shared = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("q")
            return
        with open(file, "a+b") as shared:
            shared.truncate(mmap.PAGESIZE)
            self._shared = memoryview(mmap.mmap(shared.fileno(), mmap.PAGESIZE)).cast("q")

    @property
    def value(self) -> int:
        return self._shared[0]

    @value.setter
    def value(self, number: int) -> None:
        self._shared[0] = number


@contextmanager
def no_leaked_files() -> Iterator[None]:
    """As many files are open at the end as were at the beginning."""
    before = _open_files()
    yield
    leaked = _open_files() - before
    assert not leaked, f"left open: {sorted(leaked)}"


def _open_files() -> set[tuple[int, str]]:
    found = set()
    for fd in map(int, os.listdir("/proc/self/fd")):
        with suppress(FileNotFoundError):  # the one that lists them
            found.add((fd, os.readlink(f"/proc/self/fd/{fd}")))
    return found
