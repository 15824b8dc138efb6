"""What a person sees who waits for more than a second: that something is done, what, and for how long."""

import os
import sys
from contextlib import suppress
from types import TracebackType

TYPE_CHECKING = False  # not typing's: see liza.errors
if TYPE_CHECKING:
    from threading import Event, Thread

PATIENCE = 1.0  # seconds; what takes less needs no words
_CLEAR = b"\r\x1b[K"


class Waiting:
    """Inside `with`, one line on standard error about the work; gone when it is done.

    Only on a terminal, and only after a second. Nothing may be printed inside: the line would be in between.
    """

    def __init__(self, what: str, patience: float = PATIENCE) -> None:
        self.what = what
        self.patience = patience
        self._done: Event | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> None:
        if not sys.stderr.isatty():
            return
        import threading

        self._done = threading.Event()
        self._thread = threading.Thread(target=self._show, args=(self._done,), name="waiting", daemon=True)
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._done is not None and self._thread is not None:
            self._done.set()
            self._thread.join()

    def _show(self, done: "Event") -> None:
        seconds = self.patience
        while not done.wait(self.patience):
            # Straight to the terminal: what others have printed and not flushed yet is theirs.
            _write(_CLEAR + f"{self.what} ... {seconds:.0f} s".encode())
            seconds += self.patience
        if seconds > self.patience:
            _write(_CLEAR)


def _write(raw: bytes) -> None:
    with suppress(OSError):  # the terminal has gone
        os.write(sys.stderr.fileno(), raw)
