"""What cannot be read or done at present: since when, why, and whether people know."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from liza.errors import LizaError, place

GRACE = 2.0  # seconds that a file may be unreadable before anybody is told: a save is not always done at once


class Failure(NamedTuple):
    """Something that does not work."""

    since: datetime
    text: str
    told: frozenset[str] = frozenset()  # what people have heard of it


class Health:
    """DEGRADED while there are errors; the last good verdict stands meanwhile."""

    def __init__(self) -> None:
        self.errors: dict[str, Failure] = {}  # by what it is that does not work

    @property
    def last_error(self) -> str | None:
        return next((failure.text for failure in self.errors.values()), None)

    def failed(self, what: str, error: LizaError, now: datetime) -> None:
        text = place(error.file, error.line, error.column) + error.message
        self.errors[what] = self.errors.get(what, Failure(now, text))._replace(text=text)

    def works(self, what: str) -> str | None:
        """What was wrong until now, if people were told of it."""
        failure = self.errors.pop(what, None)
        return failure.text if failure is not None and failure.told else None

    def lasting(self, now: datetime) -> Iterator[str]:
        """What has been wrong for a while and is not told yet; it is taken as told from then on."""
        for what, failure in self.errors.items():
            if (now - failure.since).total_seconds() >= GRACE and failure.text not in failure.told:
                self.errors[what] = failure._replace(told=failure.told | {failure.text})
                yield failure.text
