"""A watcher in this process, with a clock that the test moves: hours pass between two of its looks."""

import os
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self

from liza.daemon.daemon import Options, Watcher
from liza.daemon.notifier import Event
from liza.store.paths import Paths
from tests.daemon.daemon import Watched


class Looking:
    """The daemon's own loop, one look at a time; released where its `with` ends."""

    def __init__(self, board: Watched, now: datetime | None = None) -> None:
        self.now = now or datetime.now(UTC)
        self._home = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = str(board.root / "state")  # not among the files of who runs the tests
        self.happened: list[Event] = []
        self.watcher = Watcher(Paths(str(board.folder)), Options(poll=True), self.happened.append, lambda: self.now)
        self.watcher.lease.take()
        self.watcher.notifier.remember()

    def ticks(self, number: int = 1, seconds: float = 1.0) -> None:
        """Look so often, and let so much time pass after each look."""
        for _ in range(number):
            self.watcher.tick()
            self.now += timedelta(seconds=seconds)

    def after(self, **span: float) -> list[str]:
        """What is told for the first time when so much more time has passed."""
        before = len(self.happened)
        self.now += timedelta(**span)
        self.ticks(2)
        return [f"{each.kind}: {each.text}" for each in self.happened[before:]]

    def told(self, kind: str) -> list[str]:
        return [each.text for each in self.happened if each.kind == kind]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.watcher.notifier.stop(0.0)
        self.watcher.lease.release()
        if self._home is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = self._home
