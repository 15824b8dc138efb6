"""What the daemon calls after each tick. Everything slow is in threads of the SDK."""

from typing import Any

from liza.daemon.daemon import Watcher
from liza.model import MAPPINGS
from liza.scopes.records import named_records
from liza.scopes.sessions.fields import SESSIONS, STOPPED, status_of
from liza.scopes.sessions.monitor import monitor_of
from liza.telemetry.export import Exporter
from liza.telemetry.sessions import SessionSpans
from liza.telemetry.trips import TripSpans


class Telemetry:
    """Follows one daemon."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._exporter = Exporter(watcher.paths.project.rpartition("/")[2], watcher.notifier.outcome)
        self._sessions = SessionSpans(self._exporter.tracer)
        self._trips = TripSpans(self._exporter.tracer, self._exporter.logger, watcher.started)

    def look(self) -> None:
        """Export what has changed since the last look."""
        watcher = self._watcher
        if watcher.found is None or watcher.document is None:
            return
        data = watcher.document.data
        self._sessions.look(monitor_of(watcher.paths).sessions, _stopped(data.get(SESSIONS.name)))
        section = watcher.found.snapshot.sections.get("circuit_breaker")
        self._trips.look(watcher.found.trigger, section, watcher.checker.open_scopes, watcher.clock())

    def stop(self) -> None:
        self._sessions.stop()
        self._trips.stop()
        self._exporter.stop()


def _stopped(section: Any) -> set[str]:
    records = named_records(section, SESSIONS.scope)
    return {name for _, name, record in records if isinstance(record, MAPPINGS) and status_of(record) == STOPPED}
