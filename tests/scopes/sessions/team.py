"""Sessions at work under budgets: what they use, and what liza does about it at a given time."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from liza.check import check
from liza.clients.usage import Usage
from liza.model import format_time, parse_time
from liza.scopes.rules_file import rules_in_force
from liza.scopes.sessions.monitor import Monitor
from liza.scopes.sessions.step import usage_line
from liza.store.board import Board
from liza.store.paths import Paths
from liza.store.session_halt import list_session_halts
from liza.store.steps import append_lines
from tests.cli.run import new_board

START = "2026-03-10T12:00:00Z"
HOOK = "claude-after-20260310T120000"  # the name of an event that a hook reported: only its session can be warned


def moment(text: str = START, minutes: float = 0) -> datetime:
    found = parse_time(text)
    assert found is not None
    return found + timedelta(minutes=minutes)


class Seen(NamedTuple):
    """What is in effect after a look."""

    warned: set[str]  # sessions
    stopped: set[str]
    pattern: str | None  # of the sprint's open trip
    alarms: set[str]  # rules that only notify


class Team:
    """A blackboard with sessions, in this process."""

    def __init__(self, folder: Path, rules: str) -> None:
        self.folder = folder
        new_board(folder)
        self.paths = Paths(str(folder / ".liza"))
        self.set_rules(rules)
        self.board = Board(self.paths)
        state = folder / ".liza" / "state.yaml"
        state.write_text("version: 1\nsprint: {id: s1, timeline: {started: 2026-03-09T08:00:00Z}}\nanomalies: []\n")
        self.restart()

    def restart(self) -> None:
        """A daemon that starts: it reads what is there, and evaluates what comes."""
        self.monitor = Monitor(self.paths)
        self.monitor.take()

    def set_rules(self, text: str) -> None:
        (self.folder / ".liza" / "rules.yaml").write_text(text)

    def use(self, session: str, at: datetime, usage: Usage, **about: str) -> None:
        append_lines(self.paths, session, [{**usage_line(session, format_time(at), usage, **about), "event": HOOK}])

    def step(self, session: str, at: datetime, number: int, **about: Any) -> None:
        """A call with a result of its own, so that nothing repeats."""
        line = {"time": format_time(at), "session": session, "client": "claude", "id": f"{session}-{number}"}
        line |= {"tool": "Bash", "input": f"make {number}", "outcome": "ok", "result": f"{number} is built"}
        end = {"call": f"c{number}", "answer": f"a{number}", **about, "event": HOOK}
        append_lines(self.paths, session, [{**line, **end}])

    def look(self, now: datetime) -> Seen:
        """What the daemon does when something happened."""
        rules, broken = rules_in_force(self.paths.rules)
        assert broken is None
        self.monitor.poll(self.board, self.board.read(), rules, now)
        found = check(self.board, rules, now)
        halts = {action: {h.session for h in list_session_halts(self.paths.stopped) if h.action == action}
                 for action in ("warn", "stop")}  # fmt: skip
        pattern = str(found.trigger["pattern"]) if found.trigger is not None else None
        alarms = {match.rule.name for match in found.verdict.observed if match.rule.action == "ALERT"}
        return Seen(halts["warn"], halts["stop"], pattern, alarms)
