"""One run of the agent's command: its output passed on and kept, its time limited, and no process left behind.

The command gets a session of its own, so that everything it starts can be ended with it. When it ends, by itself or by
a time limit or because liza is stopped, the rest of its process group is ended too: an iteration that is over changes
no more files. A `Guard` does that if liza itself is killed. Only a process that made a session of its own survives.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from liza.run.guard import Guard
from liza.run.interrupts import Interrupts
from liza.run.kept_output import KeptOutput

GRACE = 0.4  # seconds between the request to end and the kill
_LINGER = 0.2  # how long output of surviving children is read after the command has ended
_TICK = 0.1
_DRAIN = 60.0  # how long a slow reader gets for the last of the output
_PIECE = 1 << 16
_SAFE = 4096  # bytes that a pipe with room takes without blocking (PIPE_BUF)


class Limits(NamedTuple):
    """Seconds after which a run is ended; None for never."""

    total: float | None = None
    idle: float | None = None  # without any output


class Outlet(NamedTuple):
    """Where the output is passed on to as it arrives."""

    through: int | None = None  # a file descriptor that gets it unchanged
    show: Callable[[bytes], None] | None = None
    tick: Callable[[], None] = lambda: None  # called regularly, with or without output


class Ran(NamedTuple):
    """How a run of the command ended."""

    outcome: str  # ok, error, timeout, crash, interrupted
    code: int | None  # its exit code; None if it did not exit by itself
    note: str | None  # describes an end that was not an ordinary exit
    seconds: float
    output: str  # its beginning and its end, if it is long
    size: int  # bytes of output
    stopped: bool = False  # because liza was stopped, or its output was closed


def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    log: str,
    limits: Limits,
    interrupts: Interrupts,
    outlet: Outlet,
) -> Ran:
    """Run a command until it ends or is ended. All output goes to the file `log`, and to the outlet as it arrives.

    A slow reader of the outlet slows the command down, but delays neither a time limit nor an interruption.
    """
    started = time.monotonic()
    try:
        # Its own session: signals of our terminal do not reach it, and its children can be ended with it.
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        note = f"{argv[0]} could not be started: {reason}"
        return Ran("error", None, note, time.monotonic() - started, f"{note}\n", 0)
    with KeptOutput(log) as kept, Guard(process.pid):
        reader = _Reader(process, kept, limits, interrupts, outlet, started)
        try:
            why = reader.read_until_end()
        except BaseException:
            _end(process, interrupts, kill=True)
            raise
        _end(process, interrupts)
        reader.drain(why)
    return _result(process, why, time.monotonic() - started, kept)


class _Reader:
    """Reads the output and passes it on until there is a reason to stop."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        kept: KeptOutput,
        limits: Limits,
        interrupts: Interrupts,
        outlet: Outlet,
        started: float,
    ) -> None:
        assert process.stdout is not None
        self.process, self.kept, self.limits, self.interrupts = process, kept, limits, interrupts
        self.outlet, self.started = outlet, started
        self.source = process.stdout.fileno()
        os.set_blocking(self.source, False)
        self.through = outlet.through
        self.waiting = bytearray()  # not yet written to `through`
        self.last_output = started
        self.closed_at: float | None = None  # when the output was closed
        self.is_read = True

    def read_until_end(self) -> str | None:
        """Why to end the command (total, idle, interrupt, unread); None if it has ended by itself."""
        ended: float | None = None
        while True:
            now = time.monotonic()
            ended = now if ended is None and _has_ended(self.process) else ended
            if self.interrupts.number is not None:
                return "interrupt"
            if not self.is_read:
                return "unread"
            if ended is not None and (self.closed_at is not None or now - ended > _LINGER):
                return None
            if ended is None and self._is_up(self.started, self.limits.total, now):
                return "total"
            if ended is None and self._is_up(self.last_output, self.limits.idle, now):
                return "idle"
            self._pass(self._patience(now, ended))
            self._pass_on(self.outlet.tick)

    @staticmethod
    def _is_up(since: float, limit: float | None, now: float) -> bool:
        return limit is not None and now - since >= limit

    def _patience(self, now: float, ended: float | None) -> float:
        if self.closed_at is not None and now - self.closed_at < _TICK:
            return 0.002  # usually it ends in the same moment
        ends = [self.started + self.limits.total] if self.limits.total is not None else []
        ends += [self.last_output + self.limits.idle] if self.limits.idle is not None else []
        ends += [ended + _LINGER] if ended is not None else []
        return max(min([_TICK, *(end - now for end in ends)]), 0.0)

    def _pass(self, seconds: float) -> None:
        poll = select.poll()
        poll.register(self.interrupts.wakes, select.POLLIN)
        is_blocked = len(self.waiting) >= _PIECE
        if self.closed_at is None and not is_blocked:
            poll.register(self.source, select.POLLIN)
        if self.waiting and self.through is not None:
            poll.register(self.through, select.POLLOUT)
        ready = dict(poll.poll(seconds * 1000))
        if is_blocked:
            self.last_output = time.monotonic()  # there may be output that is not read yet
        if self.source in ready:
            self._read()
        if self.through in ready:
            self._write()

    def _read(self) -> None:
        try:
            piece = os.read(self.source, _PIECE)
        except BlockingIOError:
            return
        if not piece:
            self.closed_at = time.monotonic()
            return
        self.last_output = time.monotonic()
        self.kept.add(piece)
        if self.outlet.show is not None:
            self._pass_on(partial(self.outlet.show, piece))
        if self.through is not None:
            self.waiting += piece

    def _write(self) -> None:
        assert self.through is not None
        with suppress(BlockingIOError):  # another program has made the pipe non-blocking
            self._pass_on(partial(self._write_some, self.through))

    def _write_some(self, through: int) -> None:
        del self.waiting[: os.write(through, self.waiting[:_SAFE])]

    def _pass_on(self, work: Callable[[], None]) -> None:
        """Write to a reader that may be gone: behind a pipe (`liza run ... | head`), or the terminal itself."""
        try:
            work()
        except BlockingIOError:
            raise
        except OSError:
            self.is_read, self.through = False, None
            self.waiting.clear()

    def drain(self, why: str | None) -> None:
        """Read and pass on the rest of the output; briefly if liza was interrupted."""
        while self.closed_at is None:
            size = self.kept.size
            self._read()
            if self.kept.size == size:
                break
        end = time.monotonic() + (_TICK if why == "interrupt" else _DRAIN)
        while self.waiting and self.through is not None and time.monotonic() < end and self.interrupts.count < 2:
            poll = select.poll()
            poll.register(self.through, select.POLLOUT)
            poll.register(self.interrupts.wakes, select.POLLIN)
            if self.through in dict(poll.poll(_TICK * 1000)):
                self._write()
            elif self.interrupts.number is not None:
                break
        assert self.process.stdout is not None
        self.process.stdout.close()


# --- ending ---------------------------------------------------------------------------------------------------------


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the command has ended. Where possible it is not reaped here, so that its process id is not reused."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: subprocess.Popen[bytes], interrupts: Interrupts, kill: bool = False) -> None:
    """End the command and the rest of its process group."""
    group = process.pid
    _signal(group, signal.SIGKILL if kill else signal.SIGTERM)
    end = time.monotonic() + GRACE
    while not _has_ended(process) and time.monotonic() < end and interrupts.count < 2:
        time.sleep(0.005)
    if not _has_ended(process):
        _signal(group, signal.SIGKILL)
    process.wait()
    while _signal(group, 0):  # others of the group; they got the signal too
        if time.monotonic() >= end or interrupts.count > 1:
            _signal(group, signal.SIGKILL)
            return
        time.sleep(0.005)


def _signal(group: int, number: int) -> bool:
    """Send a signal to a process group; whether it had a process."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _result(process: subprocess.Popen[bytes], why: str | None, seconds: float, kept: KeptOutput) -> Ran:
    code = process.returncode
    text, size = kept.text, kept.size
    if why in ("total", "idle"):
        note = "ended at its time limit" if why == "total" else "ended: no output for too long"
        return Ran("timeout", None, note, seconds, text, size)
    if why in ("interrupt", "unread"):
        cause = "liza was stopped" if why == "interrupt" else "its output was closed"
        return Ran("interrupted", None, f"ended because {cause}", seconds, text, size, stopped=True)
    if code < 0:
        return Ran("crash", None, f"killed by {_name(-code)}", seconds, text, size)
    return Ran("ok" if code == 0 else "error", code, kept.fault, seconds, text, size)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
