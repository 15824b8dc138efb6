"""What follows the daemon's ticks: the file of metrics, and OpenTelemetry; loaded after the first, if asked for."""

import os
from collections.abc import Callable
from typing import NamedTuple

from liza.daemon.daemon import Watcher
from liza.extras import has_extra, install_command
from liza.telemetry.settings import is_wanted


class Follower(NamedTuple):
    """One of them."""

    name: str
    look: Callable[[], None]
    stop: Callable[[], None]


class Followers:
    """Calls each after a tick. What fails is reported in `liza status`, and keeps neither the daemon nor others."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._followers: list[Follower] | None = None

    def look(self) -> None:
        if self._followers is None:
            self._followers = list(self._load())
        for each in self._followers:
            self._try(each.name, each.look)

    def stop(self) -> None:
        for each in self._followers or ():
            self._try(each.name, each.stop)

    def _load(self) -> list[Follower]:
        found = []
        if self._watcher.options.metrics is not None:
            from liza.metrics.textfile import TARGET, TextFile

            file = TextFile(self._watcher, self._watcher.options.metrics)
            found.append(Follower(TARGET, file.update, lambda: None))
        if is_wanted(os.environ) and not has_extra("metrics"):
            self._watcher.notifier.outcome("OpenTelemetry", f"it needs: {install_command('metrics')}")
        elif is_wanted(os.environ):
            from liza.telemetry.watch import Telemetry

            telemetry = Telemetry(self._watcher)
            found.append(Follower("OpenTelemetry", telemetry.look, telemetry.stop))
        return found

    def _try(self, name: str, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - nothing here may end the breaker
            self._watcher.notifier.outcome(name, f"a bug in liza: {type(error).__name__}: {error}")
