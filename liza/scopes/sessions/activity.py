"""How much a session has worked: its tool calls, and the hours that it was at work.

Hours are the times between its calls. A longer time counts as half an hour, unless the client says that a call took it:
the session was held, or waited for a person. What comes after the end of a turn does not count.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import format_time, parse_time

LONGEST = 1800.0  # seconds between two calls that count
ENTRIES = 50_000  # that are kept
_IDLE = ("start", "turn", "end")  # notes after which the session waits for a person


class Worked(NamedTuple):
    """What one line of the session's file adds."""

    time: str
    steps: int
    hours: float


def quarter_of(time: str) -> str:
    """The quarter of an hour of a time as liza writes it."""
    return f"{time[:14]}{sum(time[14:16] >= start for start in ('15', '30', '45'))}"


class Work:
    """The work of one session, in the order of its file."""

    def __init__(self) -> None:
        self.entries: deque[Worked] = deque(maxlen=ENTRIES)
        self._last: datetime | None = None
        self._is_at_work = False

    def add(self, line: Mapping[str, Any], *, is_step: bool) -> None:
        """Take in one line: a step that is new, or a note."""
        time = line.get("time")
        moment = parse_time(time) if isinstance(time, str) else None
        if moment is None or line.get("note") == "warned":
            return
        hours = self._seconds_until(moment, line.get("seconds")) / 3600
        if is_step or hours:
            # Agents can write the file, too, with a time in any of the forms that ISO 8601 has.
            self.entries.append(Worked(format_time(moment), int(is_step), hours))
        if self._last is None or moment > self._last:
            self._last = moment
        if is_step or line.get("note") in _IDLE:
            self._is_at_work = is_step

    def _seconds_until(self, moment: datetime, took: Any) -> float:
        """The seconds of work before this moment; `took` is how long a call took, where the client says so."""
        known = took if isinstance(took, int | float) and not isinstance(took, bool) and took > 0 else 0.0
        if self._last is None:
            return known
        gap = max((moment - self._last).total_seconds(), 0.0)
        return min(gap, max(known, LONGEST if self._is_at_work else 0.0))

    def quarters(self, since: str, starts: tuple[str, ...]) -> Iterator[Worked]:
        """The work after `since`, together for each quarter of an hour; at each time of `starts` another one begins."""
        found: dict[tuple[str, ...], Worked] = {}
        for each in self.entries:
            if each.time > since:
                quarter = (quarter_of(each.time), *(start for start in starts if each.time >= start))
                before = found.get(quarter)
                steps, hours = (before.steps, before.hours) if before is not None else (0, 0.0)
                found[quarter] = Worked(each.time, steps + each.steps, hours + each.hours)
        yield from found.values()

    @property
    def steps(self) -> int:
        return sum(each.steps for each in self.entries)

    @property
    def hours(self) -> float:
        return sum(each.hours for each in self.entries)
