"""A daemon without a terminal: detached, its words in a log that does not grow for ever."""

import os
import signal
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from liza.blackboard.paths import Paths
from liza.errors import Refused
from liza.watch.lease import look

LARGEST = 1_000_000  # bytes of the log, after which it begins anew; one old one is kept
_PATIENCE = 15.0


class Log:
    """A text file that is begun anew when it has become large."""

    def __init__(self, path: str) -> None:
        self.path = path

    def write(self, line: str) -> str | None:
        """Add a line; why not, if it cannot be done, which is no reason to stop watching.

        Agents can write beside it: a FIFO must not make the daemon wait, nor a link let it write anywhere else.
        """
        try:
            with suppress(FileNotFoundError):
                if os.path.getsize(self.path) > LARGEST:
                    os.replace(self.path, f"{self.path}.1")
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(self.path, flags, 0o666)
            with open(fd, "a", encoding="utf-8", errors="backslashreplace") as file:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    return "not a regular file"
                file.write(f"{line}\n")
        except OSError as error:
            return error.strerror or type(error).__name__
        return None


def detach(work: Callable[[Callable[[str], None]], int]) -> str:
    """Run `work` in a process of its own, without a terminal; what it says first: "ready", or why it cannot begin.

    `work` is given a function to say that with.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _become_daemon(work, writing)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as answer:
        said = answer.readline().strip()
    os.waitpid(child, 0)
    return said or "it ended before it had begun"


def _become_daemon(work: Callable[[Callable[[str], None]], int], writing: int) -> NoReturn:
    code = 70
    try:
        os.setsid()  # no longer of the terminal, whose hang-up would end it
        if os.fork() > 0:
            os._exit(0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)

        def say(word: str) -> None:
            with suppress(OSError):
                os.write(writing, f"{' '.join(word.split())}\n".encode())
                os.close(writing)

        code = work(say)
    finally:
        sys.stdout.flush()
        os._exit(code)


def stop(paths: Paths) -> int | None:
    """End the daemon of a blackboard; its process number, or None if there was none. It finishes what it has begun."""
    seen = look(paths)
    if seen is None:
        return None
    pid = seen.pid if seen.pid is not None else seen.facts.get("pid")
    if not isinstance(pid, int) or pid <= 1:
        raise Refused("a daemon is running, but nobody knows which process it is", hint=f"fuser -v {paths.watch_lock}")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return pid
    except PermissionError:
        raise Refused(f"process {pid} is somebody else's", hint=f"ask its owner to run: kill {pid}") from None
    started = time.monotonic()
    while look(paths) is not None:
        if time.monotonic() - started > _PATIENCE:
            raise Refused(f"process {pid} has not ended after {_PATIENCE:g} s", hint=f"kill -9 {pid}")
        time.sleep(0.02)
    return pid
