"""A file for node_exporter's textfile collector, kept up to date by the daemon.

It is made in the daemon's own thread from what the last check found, so it is made less often where it takes long: a
halt must not wait for it.
"""

import time

from liza.check import with_problems
from liza.daemon.daemon import Watcher
from liza.daemon.status import read_daemon
from liza.errors import LizaError
from liza.metrics.collect import render
from liza.metrics.facts import Facts, facts_of
from liza.status import describe
from liza.store.files import write_atomically

EVERY = 15.0  # seconds between two writes if no check was made; after a check it is written at once
SHARE = 20.0  # at most this part of the time goes into it
TARGET = "the metrics file"  # how `liza status` calls it where it cannot be written


class TextFile:
    """Writes the file now and then."""

    def __init__(self, watcher: Watcher, file: str) -> None:
        self._watcher = watcher
        self._file = file
        self._checks = -1  # that were made when it was written last
        self._soonest = self._latest = 0.0

    def update(self) -> None:
        """Write the file if it is time."""
        began, checks = time.monotonic(), self._watcher.checker.count
        if began < (self._soonest if checks != self._checks else self._latest):
            return
        self.write()
        ended = time.monotonic()
        self._checks, self._soonest = checks, ended + SHARE * (ended - began)
        self._latest = max(ended + EVERY, self._soonest)

    def write(self) -> None:
        why = None
        try:
            write_atomically(self._file, render(self._read()), durable=False)
        except OSError as error:
            why = f"{self._file}: {error.strerror or type(error).__name__}"
        self._watcher.notifier.outcome(TARGET, why)

    def _read(self) -> Facts:
        watcher, at = self._watcher, self._watcher.clock()
        if watcher.found is None or watcher.document is None or watcher.notifier.health.errors:
            return Facts(watcher.paths, at, read_daemon(watcher.paths))
        try:
            found = with_problems(watcher.found, watcher.document, at)
            return facts_of(describe(watcher.checker.board, at, watcher.checker.rules, found))
        except LizaError:
            return Facts(watcher.paths, at, read_daemon(watcher.paths))
