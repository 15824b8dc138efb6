"""The halt comes first: CHECKPOINT, the report, the blackboard, the log, and only then the notifications."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from liza import check
from liza.daemon.daemon import Watcher
from liza.daemon.options import Options
from liza.scopes.rules_file import read_rules
from liza.store.board import Board
from liza.store.paths import Paths
from tests.faults import steps
from tests.scopes.sprint.cases import RETRY, board_with
from tests.scopes.sprint.run import Board as Project

ORDER = ["halted", "reported", "entered", "logged"]


class Seen:
    """The parts of a trip in the order in which they appeared, checked before every step of liza."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.order: list[str] = []

    def look(self) -> list[str]:
        there = {
            "halted": self.project.checkpoint.exists(),
            "reported": self.project.report.exists(),
            "entered": b"status: TRIGGERED" in self.project.state.read_bytes(),
            "logged": self.project.log.exists() and b"tripped" in self.project.log.read_bytes(),
        }
        self.order += [name for name, is_there in there.items() if is_there and name not in self.order]
        return self.order

    def __call__(self, step: steps.Step, call: Callable[[], Any]) -> Any:
        self.look()
        return call()


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    monkeypatch.setattr(steps, "MODULES", (*steps.MODULES, *steps.BREAKER))
    return Seen(board_with(tmp_path, *RETRY.records))


def test_steps_of_a_trip_are_in_order(seen: Seen) -> None:
    board = Board(Paths(str(seen.project.folder)))
    with steps.around_each(seen):
        assert check.check(board, read_rules(None), datetime(2025, 1, 18, 18, tzinfo=UTC)).tripped
    assert seen.look() == ORDER


def test_notification_follows_all_other_steps(seen: Seen) -> None:
    notified: list[tuple[str, list[str]]] = []
    watcher = Watcher(
        Paths(str(seen.project.folder)),
        Options(poll=True),
        lambda event: notified.append((str(event.kind), list(seen.look()))),
        lambda: datetime(2025, 1, 18, 18, tzinfo=UTC),
    )
    watcher.watch_lock.take()
    try:
        watcher.tick()
    finally:
        watcher.watch_lock.release()
    assert [there for kind, there in notified if kind == "tripped"] == [ORDER]
