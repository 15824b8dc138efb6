"""Budgets beside a hundred thousand answers that were used: what the daemon takes for one more step."""

from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.command import Failed
from benchmarks.tables import Row, Table, Target
from benchmarks.timing import Contestant, race
from liza.check import check
from liza.clients.usage import Usage
from liza.model import format_time
from liza.rules.rule_set import RuleSet
from liza.scopes.rules_file import read_rules
from liza.scopes.sessions.monitor import Monitor
from liza.scopes.sessions.step import usage_line
from liza.store.board import Board
from liza.store.paths import Paths
from liza.store.steps import append_lines

_SESSIONS, _ANSWERS = 100, 1_000  # of each
_ROUNDS = 20
_NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
_RULES = "budgets: {session: {cost: 1e9}, sprint: {cost: 1e9}, day: {cost: 1e9, tokens: 1e12}}\n"


def run(folder: str, quick: bool) -> list[Table]:
    """`quick` has a tenth of the answers."""
    names, answers = ("none", "all"), _ANSWERS // 10 if quick else _ANSWERS
    boards = {name: Board(Paths(str(Path(folder) / name))) for name in names}
    looks = []
    for name, board in boards.items():
        Path(board.paths.folder).mkdir(parents=True)
        Path(board.paths.state).write_text("version: 1\nanomalies: []\n")
        Path(board.paths.rules).write_text(_RULES)
        for number in range(_SESSIONS if name == "all" else 0):
            _use(board.paths, f"session-{number}", answers)
        monitor, rules = Monitor(board.paths), read_rules(board.paths.rules)
        monitor.take()
        looks.append(Contestant(name, partial(_look, board, monitor, rules), partial(_step, board.paths, count())))
    alone, beside = race(looks, _ROUNDS)
    title = f"the daemon's look at one more step, with budgets, beside {_SESSIONS * answers:,} answers of models"
    return [
        Table(title, "beside them / without", [Row(alone), Row(beside, beside.seconds / alone.seconds, Target(10))])
    ]


def _use(paths: Paths, session: str, answers: int) -> None:
    used = Usage(1_000, 100, model="claude-sonnet-4-5")
    times = (format_time(_NOW - timedelta(seconds=6 * number)) for number in range(answers, 0, -1))
    append_lines(paths, session, [usage_line(session, time, used, client="claude") for time in times])


def _step(paths: Paths, numbers: "count[int]") -> None:
    """One that is like no other."""
    name = str(next(numbers))
    line = {"time": format_time(_NOW), "session": "at-work", "tool": "Bash", "input": name, "outcome": "ok"}
    append_lines(paths, "at-work", [{**line, "result": name, "call": name, "answer": name}])


def _look(board: Board, monitor: Monitor, rules: RuleSet) -> None:
    """What the daemon does once an event has come."""
    found = monitor.poll(board, board.read(), rules, _NOW)
    check(board, rules, _NOW)
    if found.events:
        raise Failed("a budget was used up")
