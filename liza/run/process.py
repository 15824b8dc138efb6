"""One run of the agent's command: its output passed on and kept, its time limited, and nothing of it left behind.

The command gets a session of its own, so that everything it starts can be ended with it. When it ends, by itself or
because its time is up or liza is stopped, what is left of its process group is ended too: an iteration that is
over changes no files any more. A `Guard` does that where liza itself is killed. Only what made itself a session of
its own lives on.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType, TracebackType
from typing import IO, Any, NamedTuple, Self

from liza.run.guard import Guard
from liza.store.files import open_fd

HEAD, TAIL = 1 << 18, 1 << 21  # bytes of the output that are kept in memory: of its beginning, and of its end
GRACE = 0.4  # seconds between the request to end and the kill
_LINGER = 0.2  # how long output is awaited from what outlives the command
_TICK = 0.1
_DRAIN = 60.0  # how long a reader may take for the last of the output
_PIECE = 1 << 16
_SAFE = 4096  # bytes that can be written without waiting to a pipe that has room (PIPE_BUF)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Limits(NamedTuple):
    """After how many seconds a run is ended; None is never."""

    total: float | None = None
    idle: float | None = None  # without any output


class Outlet(NamedTuple):
    """Where the output goes on to as it comes."""

    through: int | None = None  # a file descriptor that gets it unchanged
    show: Callable[[bytes], None] | None = None
    tick: Callable[[], None] = lambda: None  # called now and then, whether there is output or not


class Ran(NamedTuple):
    """How a run of the command ended."""

    outcome: str  # ok, error, timeout, crash
    code: int | None  # its exit code; None where it did not exit by itself
    note: str | None  # what is to be said of an end that was no ordinary exit
    seconds: float
    output: str  # its beginning and its end, where it is long
    size: int  # bytes of output
    stopped: bool = False  # because liza was stopped, or the reader of its output has gone


class Interrupts:
    """While it is held, Ctrl-C, SIGTERM and SIGHUP stop nothing by themselves: they are noted, and wake who waits."""

    def __init__(self) -> None:
        self.number: int | None = None  # of the first signal that came
        self.count = 0
        self.wakes, self._write = os.pipe()
        self._before: dict[int, Any] = {}
        self._wakeup_before = -1

    def __enter__(self) -> Self:
        for end in (self.wakes, self._write):
            os.set_blocking(end, False)
        self._wakeup_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a script that put us in the background
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self.wakes)
        os.close(self._write)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number
        self.count += 1

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until a signal has come; whether one has."""
        if self.number is None:
            select.select([self.wakes], [], [], max(seconds, 0.0))
            with suppress(BlockingIOError):
                os.read(self.wakes, 1000)
        return self.number is not None


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
    """Run a command until it ends or is ended. Its output goes whole to the file `log`, and on as it comes.

    A slow reader of the outlet slows the command down, and delays neither a time limit nor an interruption.
    """
    started = time.monotonic()
    try:
        # Its own session: signals of our terminal do not reach it, and all it starts can be ended together.
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
    with _Kept(log) as kept, Guard(process.pid):
        passing = _Passing(process, kept, limits, interrupts, outlet, started)
        try:
            why = passing.until_it_ends()
        except BaseException:
            _end(process, interrupts, kill=True)
            raise
        _end(process, interrupts)
        passing.take_the_rest(why)
    return _how(process, why, time.monotonic() - started, kept)


class _Kept:
    """The output: whole in a file, its beginning and its end in memory."""

    def __init__(self, path: str) -> None:
        self.size = 0
        self.fault: str | None = None  # why the file is not whole
        self._head = bytearray()
        self._tail = bytearray()
        self._file: IO[bytes] | None = None
        try:
            self._file = open(path, "wb", buffering=0, opener=open_fd)  # noqa: SIM115 - closed with us
        except OSError as error:
            self.fault = f"the output could not be kept: {error.strerror}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        room = HEAD - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]
        self._keep(piece)

    def _keep(self, piece: bytes) -> None:
        if self._file is None:
            return
        try:
            view = memoryview(piece)
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:  # a full disk must not end the agent's work
            self.fault = f"the output could not be kept whole: {error.strerror}"
            self._file.close()
            self._file = None

    @property
    def text(self) -> str:
        left_out = self.size - len(self._head) - min(len(self._tail), TAIL)
        gap = f"\n[... {left_out} bytes left out ...]\n" if left_out > 0 else ""
        tail = bytes(self._tail[-TAIL:])
        return (bytes(self._head) + gap.encode() + tail).decode(errors="replace")


class _Passing:
    """Reads what the command prints, and hands it on, until there is a reason to stop."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        kept: _Kept,
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
        self.waiting = bytearray()  # what `through` has not taken yet
        self.heard = started  # when there was output
        self.closed_at: float | None = None  # when there could be no more of it
        self.is_read = True

    def until_it_ends(self) -> str | None:
        """Why it is to be ended (total, idle, interrupt, unread); None when it has ended by itself."""
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
            if ended is None and self._is_up(self.heard, self.limits.idle, now):
                return "idle"
            self._pass(self._patience(now, ended))
            self._hand_on(self.outlet.tick)

    @staticmethod
    def _is_up(since: float, limit: float | None, now: float) -> bool:
        return limit is not None and now - since >= limit

    def _patience(self, now: float, ended: float | None) -> float:
        if self.closed_at is not None and now - self.closed_at < _TICK:
            return 0.002  # nearly always it ends in the same moment
        ends = [self.started + self.limits.total] if self.limits.total is not None else []
        ends += [self.heard + self.limits.idle] if self.limits.idle is not None else []
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
            self.heard = time.monotonic()  # it may print much that is not read yet
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
        self.heard = time.monotonic()
        self.kept.add(piece)
        if self.outlet.show is not None:
            self._hand_on(partial(self.outlet.show, piece))
        if self.through is not None:
            self.waiting += piece

    def _write(self) -> None:
        assert self.through is not None
        with suppress(BlockingIOError):  # another program has made it a pipe that never waits
            self._hand_on(partial(self._write_some, self.through))

    def _write_some(self, through: int) -> None:
        del self.waiting[: os.write(through, self.waiting[:_SAFE])]

    def _hand_on(self, work: Callable[[], None]) -> None:
        """Its reader may have gone: the one behind a pipe (`liza run ... | head`), or the terminal itself."""
        try:
            work()
        except BlockingIOError:
            raise
        except OSError:
            self.is_read, self.through = False, None
            self.waiting.clear()

    def take_the_rest(self, why: str | None) -> None:
        """What was printed before the end, and is still in the pipe; one that was stopped is not waited for."""
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
    """Whether the command itself has ended. It is not waited for yet: until then its number stays its own."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: subprocess.Popen[bytes], interrupts: Interrupts, kill: bool = False) -> None:
    """End the command, and whatever of its process group there still is."""
    group = process.pid
    _signal(group, signal.SIGKILL if kill else signal.SIGTERM)
    end = time.monotonic() + GRACE
    while not _has_ended(process) and time.monotonic() < end and interrupts.count < 2:
        time.sleep(0.005)
    if not _has_ended(process):
        _signal(group, signal.SIGKILL)
    process.wait()
    while _signal(group, 0):  # others of the group; they have been asked too
        if time.monotonic() >= end or interrupts.count > 1:
            _signal(group, signal.SIGKILL)
            return
        time.sleep(0.005)


def _signal(group: int, number: int) -> bool:
    """Whether there was a process to send it to."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _how(process: subprocess.Popen[bytes], why: str | None, seconds: float, kept: _Kept) -> Ran:
    code = process.returncode
    text, size = kept.text, kept.size
    if why in ("total", "idle"):
        said = "it was ended when its time was up" if why == "total" else "it was ended after too long without a word"
        return Ran("timeout", None, said, seconds, text, size)
    if why in ("interrupt", "unread"):
        said = "liza was stopped" if why == "interrupt" else "the reader of its output has gone"
        return Ran("crash", None, f"it was ended because {said}", seconds, text, size, stopped=True)
    if code < 0:
        return Ran("crash", None, f"it was killed by {_name(-code)}", seconds, text, size)
    return Ran("ok" if code == 0 else "error", code, kept.fault, seconds, text, size)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
