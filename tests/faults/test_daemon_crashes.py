"""kill -9 at every step of a trip that the daemon makes, then another daemon: one trip, reported at most once."""

import itertools
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, until
from tests.daemon.served import Hooks, webhook
from tests.daemon.writers import text_of
from tests.faults import doomed
from tests.faults.expected import (
    collect_failures,
    never_open_without_a_halt,
    one_open_trip_with_our_halt,
    one_open_trip_with_their_halt,
)

Prepare = Callable[[Path, str], Watched]
Change = Callable[[Watched], None]
Expected = Callable[[Watched], None]


def quiet(folder: Path, rules: str) -> Watched:
    return Watched(folder, STATE, rules)


def about_to_trip(folder: Path, rules: str) -> Watched:
    return Watched(folder, STATE + text_of(RETRIES), rules)


def halted_by_a_human(folder: Path, rules: str) -> Watched:
    board = quiet(folder, rules)
    board.checkpoint.write_text("waiting for Bob\n")
    return board


def nothing(board: Watched) -> None:
    """The board trips when the daemon starts."""


def the_last_record(board: Watched) -> None:
    board.report_anomalies(*RETRIES)


class Case:
    """One way to a trip, the moments at which the daemon is killed during it, and the failures afterwards."""

    def __init__(self, folder: Path, hooks: Hooks, prepare: Prepare, change: Change) -> None:
        self.folder, self.hooks, self.prepare, self.change = folder, hooks, prepare, change
        self.wrong: list[str] = []

    def each_kill(self, moment: str, expected: Expected) -> int:
        """Kill at the first such moment, the second, and so on; how many there were."""
        return next(number for number in itertools.count() if not self.at(moment, number + 1, expected))

    def at(self, moment: str, number: int, expected: Expected) -> bool:
        """Kill at that moment and start another daemon; False if there is no such moment."""
        place = f"/{moment}-{number}"
        notify = json.dumps({"webhook": self.hooks.url + place})
        board = self.prepare(self.folder / place[1:], f"notify: {notify}\n")
        step = self.killed(board, moment, number)
        if step is None:
            return False
        with collect_failures(f"killed {moment} {step}", self.wrong):
            never_open_without_a_halt(board)
            is_marked = board.watch_json.exists() and bool(board.facts["notified"])
            with Daemon(board.root, wait="tripped") as daemon:
                board.halt_is_logged()
                assert daemon.stop() == 0, "the second daemon did not end well"
            expected(board)
            assert board.leftovers() == [], f"left behind: {board.leftovers()}"
            sent = self.hooks.paths.count(place)
            assert sent <= 1, f"sent {sent} times"
            assert sent or is_marked, "no message was sent, although none had been before"
            assert sum(line.startswith("tripped") for line in board.alerts) <= 1, f"alerts: {board.alerts}"
        return True

    def killed(self, board: Watched, moment: str, number: int) -> str | None:
        """Where the daemon was killed; None if it came through the whole trip."""
        epitaph = board.root / "died"
        when = "at once" if self.change is nothing else "when it changes"
        program = (sys.executable, doomed.__file__, moment, str(number), when, str(epitaph))
        with Daemon(board.root, program=program, wait="" if self.change is nothing else "checked") as daemon:
            self.change(board)
            place = f"/{moment}-{number}"
            until(
                lambda: daemon.process.poll() is not None or place in self.hooks.paths,
                "it is killed, or has sent its message",
            )
            if moment in doomed.MOMENTS and daemon.process.poll() is None:
                assert daemon.stop() in (0, -signal.SIGKILL)
            else:
                daemon.process.wait()
        return epitaph.read_text() if epitaph.exists() else None


@pytest.mark.parametrize(
    ("prepare", "change", "expected"),
    [
        (quiet, the_last_record, one_open_trip_with_our_halt),
        (about_to_trip, nothing, one_open_trip_with_our_halt),
        (halted_by_a_human, the_last_record, one_open_trip_with_their_halt),
    ],
    ids=["while it watches", "while it starts", "while a human has halted"],
)
def test_killed_trip_is_completed_by_the_next_daemon(
    tmp_path: Path, prepare: Prepare, change: Change, expected: Expected
) -> None:
    with webhook() as hooks:
        case = Case(tmp_path, hooks, prepare, change)
        kills = {moment: case.each_kill(moment, expected) for moment in doomed.MOMENTS}
    assert kills["before"] > 40, f"there were hardly steps to be killed at: {kills}"
    assert kills["half_way"] > 4, f"there were hardly writes to be killed in: {kills}"
    if case.wrong:
        pytest.fail("\n".join(case.wrong), pytrace=False)


@pytest.mark.parametrize("moment", ["sending", "sent"])
def test_daemon_killed_at_its_message_does_not_send_it_twice(tmp_path: Path, moment: str) -> None:
    """The message may be lost, but is never sent twice: it was marked before."""
    with webhook() as hooks:
        case = Case(tmp_path, hooks, quiet, the_last_record)
        assert case.at(moment, 1, one_open_trip_with_our_halt)
        assert hooks.paths.count(f"/{moment}-1") == (moment == "sent")
    assert case.wrong == []
