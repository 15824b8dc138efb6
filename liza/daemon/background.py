"""A daemon without a terminal: detached, its words in a log that does not grow for ever."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from liza.daemon.lease import look
from liza.errors import Refused
from liza.store import files
from liza.store.daemon_process import is_process_running
from liza.store.lock import holder
from liza.store.paths import Paths
from liza.text import shell_quoted

LARGEST = 1_000_000  # bytes of the log, after which it begins anew; one old one is kept
KEPT = 200  # lines
LONGEST = 1000  # characters of a line that is kept
_PATIENCE = 15.0


class Log:
    """A text file that is begun anew when it has become large."""

    def __init__(self, path: str, keeps: Callable[[str], bool] = lambda line: False) -> None:
        self.path = path
        self.keeps = keeps  # which lines are taken along when it is begun anew, at most KEPT of them

    def write(self, line: str) -> str | None:
        """Add a line; why not, if it cannot be done, which is no reason to stop watching.

        Agents can write beside it: a FIFO must not make the daemon wait, nor a link let it write anywhere else.
        """
        try:
            kept: list[str] = []
            with suppress(FileNotFoundError):
                if os.lstat(self.path).st_size > LARGEST:
                    kept = self._kept()
                    os.replace(self.path, f"{self.path}.1")
            with open(self.path, "a", encoding="utf-8", errors="backslashreplace", opener=files.open_fd) as file:
                file.write("".join(f"{each}\n" for each in (*kept, line)))
        except OSError as error:
            return error.strerror or type(error).__name__
        return None

    def _kept(self) -> list[str]:
        with open(self.path, encoding="utf-8", errors="backslashreplace", opener=files.open_fd) as file:
            return [line.rstrip("\n")[:LONGEST] for line in file if self.keeps(line)][-KEPT:]


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
    # Whoever holds the lock, by the kernel's word: what watch.json says may be anybody's process.
    pid = seen.pid if seen.waits else holder(paths.watch_lock)
    if pid is None and seen.facts.get("pid") == seen.pid and is_process_running(seen.facts):
        raise Refused(
            f"process {seen.pid} watches, but does not hold {paths.watch_lock}", hint=f"see: ps -fp {seen.pid}"
        )
    if pid is None or pid <= 1:
        hint = f"fuser -v {shell_quoted(paths.watch_lock)}"
        raise Refused("a daemon is running, but its process is not known", hint=hint)
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
