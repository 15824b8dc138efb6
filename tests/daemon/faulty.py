"""liza with one fault in it: `python faulty.py FAULT ARGUMENTS...` runs `liza ARGUMENTS` so.

A fault is in exactly one call, or in one thread, of this process; all else is as it always is.
"""

import ctypes
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from watchdog.observers.api import BaseObserver

from liza.cli import main


def no_start() -> None:
    """The observer does not start, as if the limit of watches were reached."""

    def start(_: BaseObserver) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    setattr(BaseObserver, "start", start)  # noqa: B010 - mypy refuses a plain assignment


def dying_thread(number: int) -> None:
    """SIGUSR1 ends one of the threads that listen, as an error in it would."""

    def end(*_: Any) -> None:
        end_thread([each for each in threading.enumerate() if each is not threading.main_thread()][number])

    signal.signal(signal.SIGUSR1, end)


def end_thread(thread: threading.Thread) -> None:
    """It ends as soon as it wakes up."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))


THREADS = range(3)  # watchdog's threads for one folder
FAULTS: dict[str, Callable[[], None]] = {
    "no start": no_start,
    **{f"thread {number}": partial(dying_thread, number) for number in THREADS},
}

if __name__ == "__main__":
    FAULTS[sys.argv[1]]()
    sys.argv[:2] = [os.path.join(os.path.dirname(sys.executable), "liza")]
    sys.exit(main.main())
