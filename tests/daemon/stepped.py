"""A watcher in this process, ticked by the test, with a clock that the test moves."""

import os
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self

from liza.daemon.daemon import Watcher
from liza.daemon.notifier import Event
from liza.daemon.options import Options
from liza.store.paths import Paths
from tests.daemon.daemon import Watched


class SteppedWatcher:
    """The daemon's own loop, one tick at a time; released when its `with` ends."""

    def __init__(self, board: Watched, now: datetime | None = None) -> None:
        self.now = now or datetime.now(UTC)
        self._home = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = str(board.root / "state")  # not in the user's own state folder
        self.events: list[Event] = []
        self.watcher = Watcher(Paths(str(board.folder)), Options(poll=True), self.events.append, lambda: self.now)
        self.watcher.watch_lock.take()
        self.watcher.notifier.remember()

    def ticks(self, number: int = 1, seconds: float = 1.0) -> None:
        """Tick so often, and let so much time pass after each tick."""
        for _ in range(number):
            self.watcher.tick()
            self.now += timedelta(seconds=seconds)

    def advance(self, **span: float) -> list[str]:
        """Let so much time pass; the events that are new after it."""
        before = len(self.events)
        self.now += timedelta(**span)
        self.ticks(2)
        return [f"{each.kind}: {each.text}" for each in self.events[before:]]

    def reported(self, kind: str) -> list[str]:
        return [each.text for each in self.events if each.kind == kind]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.watcher.notifier.stop(0.0)
        self.watcher.watch_lock.release()
        if self._home is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = self._home
