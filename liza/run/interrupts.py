"""Signals that stop `liza run`: noted, and acted on between two steps."""

import os
import select
import signal
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While held, Ctrl-C, SIGTERM and SIGHUP stop nothing by themselves: they are noted and end `wait`."""

    def __init__(self) -> None:
        self.number: int | None = None  # of the first signal
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
        """Wait for some seconds or until a signal arrives; whether one has arrived."""
        if self.number is None:
            select.select([self.wakes], [], [], max(seconds, 0.0))
            with suppress(BlockingIOError):
                os.read(self.wakes, 1000)
        return self.number is not None
