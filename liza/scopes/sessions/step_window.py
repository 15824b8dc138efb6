"""The last steps of one session, and what else its file says."""

from collections import deque
from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any

from liza.model import Record
from liza.scopes.sessions.activity import Work
from liza.scopes.sessions.progress import KEPT, Progress, remember
from liza.store.spool import is_from_hook

EVENTS = 4_000  # names of events that are known to be entered
ENTRIES = 50_000  # of what one session used that rules add up
STEPS, USAGE = "steps", "usage"  # streams
RESULT = (
    "outcome",
    "error",
    "exit_code",
    "seconds",
    "limited_until",
    "waits",
)  # fields that another source may add to a step
ABOUT = ("client", "name", "task", "parent", "cwd", "model", "transcript")


class StepWindow:
    """One session as its file has it."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.steps: deque[Mapping[str, Any]] = deque(maxlen=KEPT)
        self.work = Work()
        self.about: dict[str, str] = {}
        self.started: str | None = None
        self.last: str | None = None  # time of the newest line
        self.ended: str | None = None
        self.is_turn_over = False  # the model has answered, and a person has the next word
        self.count = 0  # steps that were read
        self.warned: set[str] = set()  # causes of which the session was warned
        self.events: dict[Any, None] = {}  # names of the newest events that are in the file
        self.is_hooked = False  # a hook reports it
        self.reports_usage = False  # and what it uses
        self.degraded: str | None = None  # what the client no longer reports of it
        self.changes = 0  # of what rules see
        self.spent: list[tuple[Any, Any]] = []  # what it used, as it was asked for since the last line
        self._has_ids = False  # a transcript reports what it uses
        self._usage: dict[Any, Mapping[str, Any]] = {}  # by its id; of an entry without one by its number
        self._since = ""
        self._progress = Progress(session)
        self._calls: dict[str, int] = {}  # ids of calls, each with its number: two events may report the same one
        self._results: dict[str, Mapping[str, Any]] = {}  # what another source adds to steps that are not here yet
        self._is_joined = False  # a step has changed since the records were made

    @property
    def usage(self) -> Collection[Mapping[str, Any]]:
        """Every entry of what it used, the oldest first. Those of a transcript have ids, and count instead of the sums
        that `liza run` read in a stream."""
        if self._has_ids and not self.reports_usage:
            return [entry for key, entry in self._usage.items() if isinstance(key, str)]
        return self._usage.values()

    def add(self, line: Mapping[str, Any]) -> None:
        """Take in one line of the session's file."""
        self.spent = []
        self.about |= {key: value for key in ABOUT if isinstance(value := line.get(key), str)}
        is_from_hook = self._enter_event(line.get("event"))
        if isinstance(time := line.get("time"), str):
            self.started, self.last = self.started or time, time
        if line.get("note") is not None:
            self.work.add(line, is_step=False)
        match line.get("note"):
            case None:
                self._add_step(line)
            case "usage":
                self._add_usage(line, is_from_hook)
            case "result":
                self._add_result(line)
            case "degraded":
                self.degraded = str(line.get("why"))
            case "warned":
                self.warned.add(str(line.get("cause")))
            case "end":
                self.ended = self.last
            case "start":
                self.ended = None
            case "turn":
                self.is_turn_over = True

    def remember_events(self, names: Iterable[str]) -> None:
        """Take in the names of events older than the lines that were read."""
        newer, self.events = self.events, {}
        for name in (*names, *newer):
            self._enter_event(name)

    @property
    def calls(self) -> Container[str]:
        """The ids of its newest calls."""
        return self._calls

    def _enter_event(self, event: Any) -> bool:
        """Enter the name of an event; whether it came from a hook."""
        if not isinstance(event, str):
            return False
        remember(self.events, event, None, EVENTS)
        self.is_hooked |= (is_hook := is_from_hook(event))
        return is_hook

    def _add_usage(self, entry: Mapping[str, Any], is_from_hook: bool) -> None:
        """Take in what was used; of two entries with one id only the later one counts."""
        self.changes += 1
        self.reports_usage |= is_from_hook
        key = entry.get("id")
        self._has_ids |= isinstance(key, str)
        remember(self._usage, key if isinstance(key, str) else self.changes, entry, ENTRIES)

    def _add_step(self, step: Mapping[str, Any]) -> None:
        if isinstance(call := step.get("id"), str):
            if call in self._calls:
                return
            remember(self._calls, call, self.count + 1)
            step = {**step, **self._results.pop(call, {})}
        self.work.add(step, is_step=True)
        self.ended, self.is_turn_over = None, False
        self.count += 1
        self.changes += 1
        if "tool" not in step:
            return  # one of long ago, of which only the time was read
        self.steps.append(step)
        if str(step.get("time")) > self._since:
            self._progress.add(step)

    def _add_result(self, line: Mapping[str, Any]) -> None:
        """Add to a step what the source that reported it lacks, such as its exit code."""
        call, fields = str(line.get("id")), {key: line[key] for key in RESULT if key in line}
        place = len(self.steps) - 1 - (self.count - self._calls[call]) if call in self._calls else None
        if place is None:
            remember(self._results, call, fields)
        elif place >= 0:
            self.steps[place] = {**self.steps[place], **fields}
            self._is_joined = True
            self.changes += 1

    def records(self, since: str = "", is_halted: bool = False) -> tuple[Record, ...]:
        """Every step after `since` with what follows from the others, the oldest first.

        The last one is `newest` while the session is at work: it has not ended, waits for no person, and is not held.
        """
        if since != self._since or self._is_joined:
            self._is_joined = False
            self._since, self._progress = since, Progress(self.session)
            for step in self.steps:
                if str(step.get("time")) > since:
                    self._progress.add(step)
        records = self._progress.records
        if not records or is_halted or self.ended or self.is_turn_over:
            return tuple(records)
        return (*list(records)[:-1], records[-1]._replace(fields={**records[-1].fields, "newest": True}))


def step_records(lines: Iterable[Mapping[str, Any]]) -> tuple[Record, ...]:
    """The stream `steps` of several sessions, from the lines of their files."""
    windows: dict[str, StepWindow] = {}
    for line in lines:
        session = str(line.get("session"))
        windows.setdefault(session, StepWindow(session)).add(line)
    return tuple(record for window in windows.values() for record in window.records())
