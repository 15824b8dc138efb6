"""What all browsers see: the model and its sections, rendered again when a file of the blackboard has changed."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from liza.errors import LizaError
from liza.store.lock import is_locked
from liza.store.paths import Paths
from liza.web.model import read_page, unreadable_page
from liza.web.page import render_sections

_OLDEST = 5.0  # seconds after which it is made again though no file has changed: time alone changes some of it
_OFTEN = 1.0  # seconds between two views of what agents do


class View(NamedTuple):
    """One version of the page."""

    version: int
    model: Mapping[str, Any]
    sections: Mapping[str, str]
    changed: Mapping[str, int]  # the version in which each section changed last


class Site:
    """The page of one blackboard. Any thread may call it; one at a time reads the blackboard."""

    def __init__(
        self,
        paths: Paths,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        extra: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.paths = paths
        self.extra = extra  # what the sections show beside the model
        self._clock = clock
        self._lock = threading.Lock()
        self._view: View | None = None
        self._urgent: Any = None  # what was there when the view was made
        self._steps: Any = None
        self._made, self._took = 0.0, 0.0

    def view(self) -> View:
        """The newest version, at most a moment old."""
        with self._lock:
            urgent, steps = self._fingerprints()
            if self._view is None or self._is_due(urgent, steps):
                self._view = self._make(self._view)
                self._urgent, self._steps = urgent, steps
            return self._view

    def metrics(self) -> bytes:
        """The same as numbers, for Prometheus; it needs the extra `metrics`."""
        from liza.metrics.collect import render
        from liza.metrics.facts import read_facts

        with self._lock:
            return render(read_facts(self.paths, self._clock()))

    def _is_due(self, urgent: Any, steps: Any) -> bool:
        """A change of the breaker is shown at once; what agents do all the time once a second, or less often where a
        model takes long, so that little of the machine's time goes into it."""
        age = time.monotonic() - self._made
        wait = self._took if urgent != self._urgent else max(_OFTEN, 4 * self._took) if steps != self._steps else None
        return age > (max(_OLDEST, 10 * self._took) if wait is None else wait)

    def forget(self) -> None:
        """Have the next view rendered again: something beside the blackboard has changed."""
        with self._lock:
            self._urgent, self._took = None, 0.0

    def _make(self, before: View | None) -> View:
        begun = time.monotonic()
        at = self._clock()
        try:
            model = read_page(self.paths, at)
            sections = render_sections(model, **self.extra())
        except Exception as error:  # noqa: BLE001 - a bug of ours must not leave an old page that looks live
            bug = LizaError(f"a bug in liza: {type(error).__name__}: {error}", hint="see: liza status")
            model = unreadable_page(self.paths, bug, at)
            sections = render_sections(model, **self.extra())
        version, old, known = (before.version + 1, before.sections, before.changed) if before else (1, {}, {})
        changed = {name: known[name] if html == old.get(name) else version for name, html in sections.items()}
        self._made = time.monotonic()
        self._took = self._made - begun
        if before is not None and version not in changed.values():
            return before._replace(model=model)
        return View(version, model, sections, changed)

    def _fingerprints(self) -> tuple[Any, Any]:
        """What differs when a file has changed that the page shows: of the breaker, and of what agents do all the time.
        Cheap enough for four times a second."""
        paths = self.paths
        urgent = [_stat(path) for path in (paths.state, paths.rules, paths.checkpoint, paths.report, paths.stopped)]
        steps: list[Any] = [_stat(path) for path in (paths.log, paths.watch_json, paths.inbox, paths.spool)]
        with suppress(OSError), os.scandir(paths.steps) as entries:
            steps += sorted((entry.name, _stat(entry.path)) for entry in entries)
        return [*urgent, is_locked(paths.watch_lock)], steps


def _stat(path: str) -> tuple[int, int, int]:
    try:
        status = os.lstat(path)
    except OSError:
        return (0, 0, 0)
    return status.st_mtime_ns, status.st_ino, status.st_size
