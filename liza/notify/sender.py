"""Sends messages in the background: a dead webhook delays neither the daemon nor the other places."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from liza.notify.targets import Message, Target

PAUSES = (1.0, 5.0, 15.0)  # seconds before each new try
_MOST = 200  # messages that wait; more would be a flood that nobody reads


class Sender:
    """Hands messages to a thread for each place they go to."""

    def __init__(self, failed: Callable[[str], None], pauses: Sequence[float] = PAUSES) -> None:
        self.targets: list[Target] = []
        self._failed = failed
        self._pauses = pauses
        self._queues: dict[Target, queue.Queue[Message | None]] = {}
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()

    def send(self, message: Message) -> None:
        """Hand a message over; returns at once."""
        for target in self.targets:
            if target not in self._queues:
                self._queues[target] = queue.Queue(_MOST)
                thread = threading.Thread(target=self._work, args=(target,), name="notify", daemon=True)
                self._threads.append(thread)
                thread.start()
            try:
                self._queues[target].put_nowait(message)
            except queue.Full:
                self._failed(f"{target.name}: too many messages wait; one was dropped")

    def stop(self, patience: float = 3.0) -> None:
        """Give what waits a last chance."""
        self._stopping.set()
        end = time.monotonic() + patience
        for waiting in self._queues.values():
            with suppress(queue.Full):
                waiting.put_nowait(None)
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0.0))

    def _work(self, target: Target) -> None:
        while (message := self._queues[target].get()) is not None:
            error = self._try(target, message)
            if error is not None:
                self._failed(f"{target.name}: {error}")

    def _try(self, target: Target, message: Message) -> str | None:
        """Why a message could not be sent, or None."""
        for pause in (*self._pauses, None):
            try:
                target.send(message)
            except Exception as error:  # noqa: BLE001 - the network, D-Bus, a disk: whatever it is, it must not end us
                # Only its kind: the words of an error may repeat the address, and that is a secret.
                code = getattr(error, "code", None)
                reason = f"{type(error).__name__}{f' {code}' if isinstance(code, int) else ''}"
                if pause is None or self._stopping.wait(pause):
                    return f"{reason} at {time.strftime('%FT%TZ', time.gmtime())}"
            else:
                return None
        return None
