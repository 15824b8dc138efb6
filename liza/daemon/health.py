"""What cannot be read or done at present: since when, and why."""

from datetime import datetime
from typing import Any, NamedTuple

from liza.daemon.alarm_reminders import Alarms, Cause
from liza.errors import LizaError, location
from liza.text import one_line

GRACE = 2.0  # seconds that a file may be unreadable before it is reported: a save is not always done at once
STILL = 30.0  # seconds after which an open file no longer means that a save is going on


class Failure(NamedTuple):
    """Something that does not work."""

    since: datetime
    text: str


class Health:
    """DEGRADED while there are errors; the last good verdict counts meanwhile.

    Each is reported once it has lasted for a while, repeated, and reported when it is over, as an alarm is.
    """

    def __init__(self) -> None:
        self.errors: dict[str, Failure] = {}  # by what it is that does not work
        self._reported = Alarms()

    @property
    def last_error(self) -> str | None:
        return next((failure.text for failure in self.errors.values()), None)

    def failed(self, what: str, error: LizaError, now: datetime) -> None:
        text = one_line(location(error.file, error.line, error.column) + error.message, 500)
        self.errors[what] = self.errors.get(what, Failure(now, text))._replace(text=text)

    def works(self, what: str) -> None:
        self.errors.pop(what, None)

    def update(self, now: datetime) -> tuple[list[str], list[str]]:
        """What to report now of what does not work, and of what works again."""
        lasting = [Cause(what, "", each.text) for what, each in self.errors.items() if self._lasts(what, each, now)]
        return self._reported.update(lasting, now)

    def _lasts(self, what: str, failure: Failure, now: datetime) -> bool:
        waited = (now - failure.since).total_seconds()
        return not 0 <= waited < GRACE or what in self._reported.active  # less than nothing: the clock was set back

    def load(self, facts: Any) -> None:
        """Load what the daemon before us had reported."""
        self._reported.load(facts)

    def dump(self) -> dict[str, Any]:
        return self._reported.dump()
