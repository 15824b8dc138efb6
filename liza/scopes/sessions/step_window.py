"""The last steps of one session, and what else its file says."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from liza.model import Record
from liza.scopes.sessions.activity import Work
from liza.scopes.sessions.progress import KEPT, Progress, remember

EVENTS = 4_000  # names of events that are known to be entered
ENTRIES = 50_000  # of what one session used that rules add up
STEPS, USAGE = "steps", "usage"  # streams
ABOUT = ("client", "name", "task", "parent", "cwd", "model", "transcript")


class StepWindow:
    """One session as its file has it."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.steps: deque[Mapping[str, Any]] = deque(maxlen=KEPT)
        self.usage: deque[Mapping[str, Any]] = deque(maxlen=ENTRIES)
        self.work = Work()
        self.about: dict[str, str] = {}
        self.started: str | None = None
        self.last: str | None = None  # time of the newest line
        self.ended: str | None = None
        self.is_turn_over = False  # the model has answered, and a person has the next word
        self.count = 0  # steps that were read
        self.warned: set[str] = set()  # causes of which the session was warned
        self.events: dict[Any, None] = {}  # names of the newest events that are in the file
        self._since = ""
        self._progress = Progress(session)
        self._calls: dict[str, None] = {}  # ids of calls: two events may report the same one

    def add(self, line: Mapping[str, Any]) -> None:
        """Take in one line of the session's file."""
        self.about |= {key: value for key in ABOUT if isinstance(value := line.get(key), str)}
        if isinstance(event := line.get("event"), str):
            remember(self.events, event, None, EVENTS)
        if isinstance(time := line.get("time"), str):
            self.started, self.last = self.started or time, time
        if line.get("note") is not None:
            self.work.add(line, is_step=False)
        match line.get("note"):
            case None:
                self._add_step(line)
            case "usage":
                self.usage.append(line)
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
            remember(self.events, name, None, EVENTS)

    def _add_step(self, step: Mapping[str, Any]) -> None:
        if isinstance(call := step.get("id"), str):
            if call in self._calls:
                return
            remember(self._calls, call, None)
        self.work.add(step, is_step=True)
        self.ended, self.is_turn_over = None, False
        self.count += 1
        if "tool" not in step:
            return  # one of long ago, of which only the time was read
        self.steps.append(step)
        if str(step.get("time")) > self._since:
            self._progress.add(step)

    def records(self, since: str = "", is_halted: bool = False) -> tuple[Record, ...]:
        """Every step after `since` with what follows from the others, the oldest first.

        The last one is `newest` while the session is at work: it has not ended, waits for no person, and is not held.
        """
        if since != self._since:
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
