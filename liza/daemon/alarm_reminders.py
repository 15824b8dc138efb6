"""Alarms: each cause is reported once, again after growing pauses while it lasts, and once more when it is over.

What was reported is kept in `.liza/watch.json`, so that a restart does not repeat it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from liza.model import format_time, parse_time
from liza.text import one_line

MOST = 20  # causes of one name that are reported one by one, and lines about it in one interval; the rest are counted
INTERVAL = timedelta(minutes=10)
_REST = "and more"
REMINDERS = (timedelta(hours=1), timedelta(hours=4), timedelta(hours=12), timedelta(hours=24))


class Cause(NamedTuple):
    """Something that people should know: which thing it is about, and in words."""

    name: str  # the rule, or what else it is that was seen
    key: str
    text: str
    level: str = ""  # it is reported again when this rises; empty: it does not
    patience: float = 0.0  # seconds that it must last before it is reported: a program may be in the middle of a save

    @property
    def id(self) -> str:
        return f"{self.name}: {self.key}" if self.key else self.name


class Reported(NamedTuple):
    """What people know of a cause."""

    since: datetime
    last: datetime
    times: int
    text: str
    level: str = ""


class Alarms:
    """The active causes, and what was reported of them."""

    def __init__(self) -> None:
        self.active: dict[str, Reported] = {}
        self._seen: dict[str, datetime] = {}  # since when each cause is active, reported or not
        self._lines: dict[str, tuple[datetime, int]] = {}  # by name: since when lines are counted, and how many

    def load(self, facts: Any) -> None:
        """Load what the daemon before us had reported."""
        for name, reported in facts.items() if isinstance(facts, Mapping) else ():
            if isinstance(reported, Mapping):
                since, last = parse_time(reported.get("since")), parse_time(reported.get("last"))
                if since is not None and last is not None:
                    times = max(reported["times"], 1) if isinstance(reported.get("times"), int) else 1
                    text, level = one_line(reported.get("text"), 500), one_line(reported.get("level") or "")
                    self.active[str(name)] = Reported(since, last, times, text, level)

    def dump(self) -> dict[str, Any]:
        return {
            name: {**reported._asdict(), "since": format_time(reported.since), "last": format_time(reported.last)}
            for name, reported in self.active.items()
        }

    def update(self, causes: list[Cause], now: datetime) -> tuple[list[str], list[str]]:
        """What to report now of the active causes, and what was reported of those that are over."""
        reported: list[str] = []
        current = {cause.id: cause for cause in self._folded(causes)}
        self._seen = {name: min(self._seen.get(name, now), now) for name in current}
        current = {name: each for name, each in current.items() if self._has_patience_ended(each, now)}
        over = [
            was.text
            for name, was in self.active.items()
            if name not in current and self._has_room(f"{name.partition(': ')[0]} over", now)
        ]
        self.active = {name: was for name, was in self.active.items() if name in current}
        for name, cause in current.items():
            was = self.active.get(name)
            if was is not None and was.last > now:
                was = self.active[name] = was._replace(since=min(was.since, now), last=now)  # a clock was wrong
            if was is None or cause.level not in ("", was.level):
                self.active[name] = Reported(was.since if was else now, now, 1, cause.text, cause.level)
                reported += [cause.text] if self._has_room(cause.name, now) else []
            elif now - was.last >= REMINDERS[min(was.times - 1, len(REMINDERS) - 1)]:
                self.active[name] = Reported(was.since, now, was.times + 1, cause.text, cause.level)
                still = f"{cause.text} (still, since {format_time(was.since)})"
                reported += [still] if self._has_room(cause.name, now) else []
            else:
                self.active[name] = was._replace(text=cause.text)  # `status` shows the current text
        return reported, over

    def _folded(self, causes: list[Cause]) -> list[Cause]:
        """Of each name some, those that people know of first, and one that counts the rest."""
        by_name: dict[str, list[Cause]] = {}
        for cause in causes:
            by_name.setdefault(cause.name, []).append(cause)
        found: list[Cause] = []
        for name, some in by_name.items():
            if len(some) > MOST:
                some.sort(key=lambda cause: cause.id not in self.active)
                rest = len(some) - MOST + 1
                more = Cause(name, _REST, f"{name}: {rest} more, see liza status", level=str(rest.bit_length()))
                some[MOST - 1 :] = []
                found.append(more)
            found += some
        return found

    def _has_room(self, name: str, now: datetime) -> bool:
        """Whether one more line may be written about a name. Causes that come and go must not fill what people read."""
        since, number = self._lines.get(name, (now, 0))
        if not since <= now < since + INTERVAL:
            since, number = now, 0
        self._lines[name] = (since, number + 1)
        return number < MOST

    def _has_patience_ended(self, cause: Cause, now: datetime) -> bool:
        return cause.id in self.active or (now - self._seen[cause.id]).total_seconds() >= cause.patience
