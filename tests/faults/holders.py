"""Holders of the blackboard's lock: a shell script with flock(1), or another process of liza's."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from liza.store import lock
from liza.store.lock import Lock
from liza.store.paths import Paths
from tests.faults.children import Child, Signal
from tests.tools import needs


def is_free(paths: Paths) -> bool:
    """Whether a shell script could have the lock now."""
    needs("flock")
    return subprocess.run(["flock", "-n", "-x", paths.lock, "true"], check=False).returncode == 0


@contextmanager
def held_by_flock(paths: Paths, file: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    needs("flock")
    script = ["flock", "-x", file or paths.lock, "sh", "-c", "echo held; read line"]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield holder
        finally:
            release(holder)


def release(holder: subprocess.Popen[bytes]) -> None:
    if holder.poll() is None:
        holder.communicate(b"\n")


@contextmanager
def held_by_liza(paths: Paths) -> Iterator[int]:
    """Another process of liza's holds it; gives its pid."""
    with Signal() as held, Signal() as release:

        def hold() -> None:
            with Lock(paths.lock):
                held.give()
                release.take()

        with Child(hold) as child:
            held.take()
            yield child.pid
            release.give()
            child.result()


@contextmanager
def before_waiting(act: Callable[[], None]) -> Iterator[None]:
    """Run `act` at the moment when liza has found the lock taken and begins to wait for it."""
    real = lock._wait

    def wait(path: str, timeout: float) -> object:
        act()
        return real(path, timeout)

    lock._wait = wait  # type: ignore[assignment]
    try:
        yield
    finally:
        lock._wait = real
