"""What wakes the daemon. Events are only hints: what counts is whether a file is another version than before.

Events come from watchdog, on the folder and never on a file, because a file that is replaced takes its watch along.
They may be lost, be too many, or stop; so the daemon also looks for itself once a tick, and a lost event costs a tick
and not a halt. Where there are no events at all, that look is all there is.
"""

import logging
import os
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from liza.blackboard.paths import Paths
from liza.blackboard.storage import Identity, identity

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

_NETWORKS = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs")


class Changes:
    """Waits until something may have changed."""

    def __init__(self, paths: Paths, *, poll: bool = False) -> None:
        self.paths = paths
        self.why_polling = "as asked for" if poll else network(paths.folder)
        # Not a threading.Event: a signal handler that sets one waits for ever if it interrupted its `wait`.
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._moved = False  # the last that was seen of state.yaml is that a finished file was moved there
        self._observer: BaseObserver | None = None
        self._watched: tuple[int, int] | None = None

    @property
    def backend(self) -> str:
        return "inotify" if self._observer is not None else f"polling ({self.why_polling or 'not started'})"

    def start(self) -> None:
        """Begin to listen; what cannot be listened to is polled."""
        if self.why_polling is not None or self._observer is not None or not os.path.isdir(self.paths.folder):
            return
        try:
            self._observer = self._listen()
            self._watched = _folder(self.paths.folder)
        except Exception as error:  # noqa: BLE001 - whatever keeps events from coming, we can look for ourselves
            self.why_polling = f"no events: {error}"

    def _listen(self) -> "BaseObserver":
        from watchdog.events import FileSystemEventHandler
        from watchdog.observers import Observer

        logging.getLogger("watchdog").addHandler(logging.NullHandler())  # what it has to say is seen by its threads
        changes = self
        names = {os.path.basename(path) for path in self.paths.watched}
        state = os.path.basename(self.paths.state)

        class Handler(FileSystemEventHandler):
            """Wakes the daemon for the files it looks at, and for nothing that it only writes."""

            def on_any_event(self, event: Any) -> None:
                if event.event_type in ("opened", "closed_no_write"):
                    return
                touched = [os.path.basename(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path]
                if state in touched:
                    changes._moved = event.event_type == "moved" and touched[-1] == state
                if not names.isdisjoint(touched):
                    changes.wake()

        observer = Observer()
        observer.daemon = True
        observer.schedule(Handler(), self.paths.folder)
        observer.start()
        return observer

    def was_moved(self) -> bool:
        """Whether state.yaml was moved into place since this was last asked, and nobody has written it since."""
        moved, self._moved = self._moved, False
        return moved

    def wake(self) -> None:
        """From a signal handler, or another thread: do not wait any longer."""
        self._wakes.put(None)

    def wait(self, seconds: float) -> None:
        """Until something may have changed, or so long."""
        with suppress(Empty):
            self._wakes.get(timeout=seconds)
            while True:  # they all mean the same
                self._wakes.get_nowait()
        if self._observer is None:
            self.start()  # the folder may be there by now
        elif not all(thread.is_alive() for thread in (self._observer, *self._observer.emitters)):
            self.stop()
            self.why_polling = "its thread died"
        elif _folder(self.paths.folder) != self._watched:
            self.stop()  # the folder is another one, or gone: listen to the new one
            self.start()

    def stop(self) -> None:
        if self._observer is not None:
            observer, self._observer = self._observer, None
            try:
                observer.stop()
                observer.join(1.0)
            except Exception:  # noqa: BLE001 - it is on its way out anyway
                pass


def versions(paths: Paths) -> dict[str, Identity | None]:
    """Which version of each file is there; None where there is none."""
    found: dict[str, Identity | None] = {}
    for path in paths.watched:
        try:
            found[path] = identity(os.lstat(path) if path == paths.checkpoint else os.stat(path))
        except OSError:
            found[path] = None
    return found


def _folder(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def network(folder: str) -> str | None:
    """The kind of a file system whose changes elsewhere the kernel does not tell us about; None if it does."""
    try:
        device = os.stat(folder).st_dev
        wanted = f"{os.major(device)}:{os.minor(device)}"
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                words = line.split()
                if words[2] == wanted:
                    kind = words[words.index("-") + 1]
                    return kind if kind in _NETWORKS else None
    except (OSError, ValueError, IndexError):
        pass
    return None
