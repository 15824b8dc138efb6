"""The last steps of one session as rules see them.

A rule counts repetitions without progress, so each step has `current`: nothing has made progress since. Progress is a
successful edit, or another outcome of the same call. A failing test between two edits is normal work.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from liza.clients.event import Outcome
from liza.model import Record

KEPT = 200  # steps of one session that rules see
EVENTS = 4_000  # names of events that are known to be entered
STREAM = "steps"
ABOUT = ("client", "name", "task", "parent", "cwd", "model", "transcript")


class Window:
    """The last steps of one session, and what else its file says."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.steps: deque[Mapping[str, Any]] = deque(maxlen=KEPT)
        self.about: dict[str, str] = {}
        self.started: str | None = None
        self.last: str | None = None  # time of the newest line
        self.ended: str | None = None
        self.count = 0  # steps that were read
        self.warned: set[str] = set()  # causes of which the session was warned
        self.events: dict[Any, None] = {}  # names of the newest events that are in the file
        self._calls: dict[str, None] = {}  # ids of calls: two events may report the same one

    def add(self, line: Mapping[str, Any]) -> None:
        """Take in one line of the session's file."""
        self.about |= {key: value for key in ABOUT if isinstance(value := line.get(key), str)}
        if isinstance(event := line.get("event"), str):
            _remember(self.events, event, EVENTS)
        if isinstance(time := line.get("time"), str):
            self.started, self.last = self.started or time, time
        match line.get("note"):
            case None:
                self._add_step(line)
            case "warned":
                self.warned.add(str(line.get("cause")))
            case "end":
                self.ended = self.last
            case "start":
                self.ended = None

    def _add_step(self, step: Mapping[str, Any]) -> None:
        if isinstance(call := step.get("id"), str):
            if call in self._calls:
                return
            _remember(self._calls, call, 2 * KEPT)
        self.ended = None
        self.count += 1
        self.steps.append(step)

    def records(self, since: str = "") -> tuple[Record, ...]:
        """Every step after `since` with what follows from those after it, the oldest first."""
        found: list[Record] = []
        outcomes: dict[str, str] = {}  # of each call, when it was last made
        edited = False
        for index in range(len(self.steps) - 1, -1, -1):
            step = self.steps[index]
            if str(step.get("time")) <= since:
                break
            call, outcome = str(step.get("call")), _outcome_of(step)
            current = not edited and outcomes.setdefault(call, outcome) == outcome
            if not current:
                outcomes[call] = ""  # what was before a change of the outcome does not count either
            edited = edited or step.get("edits") is True
            found.append(Record(STREAM, f"{self.session}:{self.count - len(found)}", _fields(step, current, outcome)))
        found.reverse()
        return tuple(_with_occurrences(found))


def step_records(lines: Iterable[Mapping[str, Any]]) -> tuple[Record, ...]:
    """The stream `steps` of several sessions, from the lines of their files."""
    windows: dict[str, Window] = {}
    for line in lines:
        session = str(line.get("session"))
        windows.setdefault(session, Window(session)).add(line)
    return tuple(record for window in windows.values() for record in window.records())


def _remember(known: dict[Any, None], name: str, most: int) -> None:
    """Add a name to those that are known; the oldest goes where they become too many."""
    known[name] = None
    if len(known) > most:
        del known[next(iter(known))]


def _outcome_of(step: Mapping[str, Any]) -> str:
    """What has to be the same for a call to have come to nothing new: its error, else its whole result."""
    error = step.get("error") if step.get("outcome") == Outcome.FAILED else None
    return f"error {error}" if error else f"{step.get('outcome')} {step.get('answer')}"


def _fields(step: Mapping[str, Any], current: bool, outcome: str) -> dict[str, Any]:
    return {
        **step,
        "timestamp": step.get("time"),
        "reporter": step.get("name") or step.get("session"),
        "type": "step",
        "exchange": f"{step.get('call')} {outcome}",
        "current": current,
        "waits": step.get("waits") is True,
        "edits": step.get("edits") is True,
        "details": None,
    }


def _with_occurrences(records: list[Record]) -> list[Record]:
    """Each failure with the number of times that its session has met the error since it made progress."""
    met: dict[str, int] = {}
    found: list[Record] = []
    for record in records:
        error = record.fields.get("error")
        if record.fields["edits"]:
            met.clear()
        if isinstance(error, str):
            met[error] = met.get(error, 0) + 1
        found.append(record._replace(fields={**record.fields, "occurrence": met.get(error, 0) if error else 0}))
    return found
