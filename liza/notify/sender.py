"""Sends messages in the background: a dead webhook delays neither the daemon nor other targets."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from liza.notify.message import Message, NotSent, Target
from liza.notify.targets import unique_name

PAUSES = (1.0, 5.0, 15.0)  # seconds before each new try
_MOST = 200  # waiting messages; more would be a flood that no one reads

Outcome = Callable[[str, str | None], None]  # the name of a target, and why a message failed; None if it was sent


class Sender:
    """Hands messages to one thread per target."""

    def __init__(self, outcome: Outcome, pauses: Sequence[float] = PAUSES) -> None:
        self._outcome = outcome
        self._pauses = pauses
        self._lines: dict[Target, _Line] = {}
        self._stopping = threading.Event()

    @property
    def targets(self) -> list[Target]:
        return [target for target, line in self._lines.items() if not line.ending]

    def set_targets(self, targets: Sequence[Target]) -> None:
        """Send to these from now on. A removed target still gets its waiting messages."""
        for target, line in list(self._lines.items()):
            if target not in targets:
                line.end()
            if line.ending and not line.is_alive():
                del self._lines[target]
        for target in targets:
            if target not in self._lines or self._lines[target].ending:
                name = unique_name(target, [line.name for other, line in self._lines.items() if other != target])
                self._lines[target] = _Line(name, target, self._try, self._outcome)

    def send(self, message: Message) -> None:
        """Hand a message over; returns at once."""
        for target in self.targets:
            self._lines[target].put(message)

    def stop(self, patience: float = 3.0) -> None:
        """Send what is still waiting, for at most `patience` seconds."""
        self._stopping.set()
        end = time.monotonic() + patience
        for line in self._lines.values():
            line.end()
        for line in self._lines.values():
            line.join(max(end - time.monotonic(), 0.0))

    def _try(self, target: Target, message: Message) -> str | None:
        """Why a message could not be sent, or None."""
        for pause in (*self._pauses, None):
            try:
                target.send(message)
            except NotSent as error:
                if not error.is_fault:
                    return None
                if not error.retry or pause is None or self._stopping.wait(pause):
                    return error.why
            except Exception as error:  # noqa: BLE001 - a bug of ours must not end the thread; only its kind: no secret
                return type(error).__name__
            else:
                return None
        return None


class _Line:
    """One target, its waiting messages, and the thread that sends them, started by the first message."""

    def __init__(
        self, name: str, target: Target, work: Callable[[Target, Message], str | None], outcome: Outcome
    ) -> None:
        self.name = name
        self.ending = False
        self._target = target
        self._send = work
        self._outcome = outcome
        self._waiting: queue.Queue[Message | None] = queue.Queue(_MOST)
        self._thread: threading.Thread | None = None

    def put(self, message: Message) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="notify", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(message)
        except queue.Full:
            self._outcome(self.name, "too many messages wait; one was dropped")

    def end(self) -> None:
        """Send what waits, then no more."""
        if not self.ending:
            self.ending = True
            with suppress(queue.Full):
                self._waiting.put_nowait(None)

    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def join(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                self._outcome(self.name, "a message was still on its way when the daemon ended")

    def _work(self) -> None:
        while (message := self._next()) is not None:
            why = self._send(self._target, message)
            at = time.strftime("%FT%TZ", time.gmtime())
            self._outcome(self.name, None if why is None else f"{why} at {at}")

    def _next(self) -> Message | None:
        try:
            return self._waiting.get(timeout=0.0 if self.ending else None)
        except queue.Empty:
            return None
