"""kill -9 at every step of a trip and of a resolution, then the same command again: as if nothing had happened.

Exactly one entry in the history, one line in the log, one archived report; CHECKPOINT, report, trigger and history
have the same trip and the same time; there are no leftovers. And at no moment is a trip entered on the
blackboard while the agents are not halted.
"""

import contextlib
import io
import itertools
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from liza.cli import main
from tests.faults import steps
from tests.faults.children import Child
from tests.faults.expected import (
    collect_failures,
    never_open_without_a_halt,
    one_open_trip_with_our_halt,
    one_open_trip_with_their_halt,
    one_resolved_trip_and_no_halt,
    one_resolved_trip_and_their_halt,
)
from tests.scopes.sprint.cases import ASSUMPTION, RETRY
from tests.scopes.sprint.run import LATER, NOW, Board, record, state

AGAIN = "2025-01-18T18:00:00Z"  # the second try comes later than the first
TRIP = ("trip", "-m", "the sandbox is down", "--now")
DECIDE = ("resolve", "-m", "ADR-003 created", "--by", "alice", "--now")

Prepare = Callable[[Path], Board]
Expected = Callable[[Board], None]


@pytest.fixture(autouse=True)
def _more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MODULES", (*steps.MODULES, *steps.BREAKER))


# --- killing --------------------------------------------------------------------------------------------------------


def killed(board: Board, arguments: tuple[str, ...], is_it: Callable[[steps.Step], bool]) -> str | None:
    """The step at which the command was killed; None if it ended before such a step."""
    epitaph = board.root / "died"

    def around(step: steps.Step, call: Callable[[], Any]) -> Any:
        if is_it(step):
            with open(epitaph, "w") as file:
                file.write(f"{step.number} {step.name} {os.path.basename(str(step.arguments[:1]))[:60]}")
            os.kill(os.getpid(), signal.SIGKILL)
        return call()

    def work() -> None:
        os.chdir(board.root)
        os.environ.clear()
        os.environ.update(board.environment())
        with contextlib.redirect_stdout(io.StringIO()), steps.around_each(around):
            main.run(list(arguments))

    with Child(work) as child:
        status = child.wait()
    assert status in (0, -signal.SIGKILL)
    return epitaph.read_text() if status else None


def each_kill(
    folder: Path, prepare: Prepare, arguments: tuple[str, ...], moment: Callable[[int], Callable[[steps.Step], bool]]
) -> Iterator[tuple[Board, str]]:
    """A blackboard for each step of the command, on which it has been killed there."""
    for number in itertools.count(1):
        board = prepare(folder / str(number))
        step = killed(board, arguments, moment(number))
        if step is None:
            assert number > 1, "there was no step to be killed at"
            return
        yield board, step


def survives(
    folder: Path, prepare: Prepare, first: tuple[str, ...], again: Sequence[tuple[str, ...]], expected: Expected
) -> None:
    """Kill `first` at each step and run `again`: the board is as expected; reports every deviation."""
    found: list[str] = []
    for moment in (steps.before, steps.half_way):
        for board, step in each_kill(folder / moment.__name__, prepare, first, moment):
            with collect_failures(f"killed {moment.__name__} {step}", found):
                never_open_without_a_halt(board)
            with collect_failures(f"killed {moment.__name__} {step}", found):
                for command in again:
                    board.run(*command)
                expected(board)
            with collect_failures(f"killed {moment.__name__} {step}", found):
                assert board.leftovers() == [], f"left behind: {board.leftovers()}"
    if found:
        pytest.fail("\n".join(found), pytrace=False)


# --- boards ---------------------------------------------------------------------------------------------------------


def about_to_trip(folder: Path) -> Board:
    return Board(folder, state([*RETRY.records, *ASSUMPTION.records]))


def about_to_trip_while_a_human_has_halted(folder: Path) -> Board:
    board = about_to_trip(folder)
    board.checkpoint.write_text("waiting for Bob\n")
    return board


def never_checked(folder: Path) -> Board:
    """Without liza's section, like a board of another tool."""
    return Board(folder, state(RETRY.records, breaker=""))


def quiet(folder: Path) -> Board:
    return Board(folder, state(RETRY.records[:2]))


def tripped(folder: Path) -> Board:
    board = Board(folder, state(RETRY.records))
    assert board.analyze().code == 3
    return board


def tripped_while_a_human_has_halted(folder: Path) -> Board:
    board = tripped(folder)
    board.checkpoint.write_text("waiting for Bob\n")
    return board


def tripped_with_new_evidence(folder: Path) -> Board:
    board = tripped(folder)
    board.add(record("retry_loop", "task-4", AGAIN, **RETRY.records[0]["details"]), *ASSUMPTION.records)
    return board


def tripped_by_hand(folder: Path) -> Board:
    board = quiet(folder)
    assert board.run(*TRIP, NOW).code == 3
    return board


# --- tests ----------------------------------------------------------------------------------------------------------

CHECK = ("analyze", "--now")


@pytest.mark.parametrize(
    ("prepare", "expected"),
    [
        (about_to_trip, one_open_trip_with_our_halt),
        (never_checked, one_open_trip_with_our_halt),
        (about_to_trip_while_a_human_has_halted, one_open_trip_with_their_halt),
        (tripped_with_new_evidence, one_open_trip_with_our_halt),
    ],
)
def test_killed_trip_is_completed_by_the_next_check(tmp_path: Path, prepare: Prepare, expected: Expected) -> None:
    survives(tmp_path, prepare, (*CHECK, NOW), [(*CHECK, AGAIN)], expected)


@pytest.mark.parametrize("trip", ["", "0123456789ab"])
def test_killed_check_of_a_status_set_by_hand_is_completed(tmp_path: Path, trip: str) -> None:
    """A person wrote TRIGGERED, also with an id: the check that puts it into effect is killed at each step."""

    def set_by_hand(folder: Path) -> Board:
        board = quiet(folder)
        board.edit("  status: OK ", "  status: TRIGGERED ")
        if trip:
            board.edit("  current_trigger: null ", f'  current_trigger: {{pattern: own, trip_id: "{trip}"}} ')
        return board

    found: list[str] = []
    for board, step in each_kill(tmp_path, set_by_hand, (*CHECK, NOW), steps.before):
        with collect_failures(f"killed before {step}", found):
            board.run(*CHECK, AGAIN)
            one_open_trip_with_our_halt(board)
    assert found == []


def test_killed_manual_trip_is_completed_by_the_next_one(tmp_path: Path) -> None:
    """The same command again, then a check: one trip, for that reason."""

    def expected(board: Board) -> None:
        one_open_trip_with_our_halt(board)
        assert board.trigger["message"] == "the sandbox is down"

    survives(tmp_path, quiet, (*TRIP, NOW), [(*TRIP, AGAIN), (*CHECK, LATER)], expected)


@pytest.mark.parametrize(
    ("prepare", "expected"),
    [
        (tripped, one_resolved_trip_and_no_halt),
        (tripped_by_hand, one_resolved_trip_and_no_halt),
        (tripped_while_a_human_has_halted, one_resolved_trip_and_their_halt),
    ],
)
def test_killed_resolution_is_completed_by_the_next_one(tmp_path: Path, prepare: Prepare, expected: Expected) -> None:
    survives(tmp_path, prepare, (*DECIDE, AGAIN), [(*DECIDE, LATER)], expected)


def test_decision_completes_a_killed_trip(tmp_path: Path) -> None:
    """No check comes in between: an entered trip is resolved, and its records completed."""

    def expected(board: Board) -> None:
        if board.trips:
            one_resolved_trip_and_no_halt(board)
        else:
            assert board.section["status"] == "OK", "half a trip"
            assert board.logged == [], "logged before it was entered"

    survives(tmp_path, about_to_trip, (*CHECK, NOW), [(*DECIDE, AGAIN)], expected)


def test_decision_completes_a_killed_trip_overtaken_by_another_pattern(tmp_path: Path) -> None:
    """Between the halt and the commit an agent reports a record that completes an earlier pattern.

    The trip has the pattern of the CHECKPOINT that the kill left, with the other one beside it.
    """
    found: list[str] = []
    for number in itertools.count(1):
        board = Board(tmp_path / str(number), state([*RETRY.records[:2], *ASSUMPTION.records]))
        step = killed(board, (*CHECK, NOW), _overtaken(board, steps.before(number)))
        if step is None:
            break
        with collect_failures(f"killed before {step}", found):
            never_open_without_a_halt(board)
            halted_by = board.checkpoint.read_text() if board.checkpoint.exists() else f"pattern: {RETRY.pattern}"
            board.run(*DECIDE, AGAIN)
            if board.trips:
                assert f"pattern: {board.trips[0]['pattern']}" in halted_by
                one_resolved_trip_and_no_halt(board)
    assert number > 20, "there was hardly a step to be killed at"
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def _overtaken(board: Board, is_it: Callable[[steps.Step], bool]) -> Callable[[steps.Step], bool]:
    left = [RETRY.records[2]]

    def at(step: steps.Step) -> bool:
        if left and step.name == "open" and str(step.arguments[0]).endswith("state.yaml.lock"):
            board.add(left.pop())
        return is_it(step)

    return at


def test_check_after_a_killed_resolution_keeps_the_decision(tmp_path: Path) -> None:
    def expected(board: Board) -> None:
        (entry,) = board.trips
        if entry.get("resolution") is None:
            assert board.section["status"] == "TRIGGERED", "closed without a decision"
            assert board.checkpoint.exists(), "let go without a decision"
        else:
            assert board.section["status"] == "OK", "tripped again"

    survives(tmp_path, tripped, (*DECIDE, AGAIN), [(*CHECK, LATER)], expected)


def test_killed_check_without_a_match_leaves_nothing(tmp_path: Path) -> None:
    def expected(board: Board) -> None:
        (entry,) = board.section["history"]
        assert entry.get("checks", 1) <= 2
        assert not board.checkpoint.exists()

    survives(tmp_path, quiet, (*CHECK, NOW), [(*CHECK, AGAIN)], expected)


def test_trip_killed_twice_is_still_one_trip(tmp_path: Path) -> None:
    """The second try is killed as well, at another step; all pairs of a coarse grid."""
    found: list[str] = []
    for first, second in itertools.product(range(1, 40, 4), range(1, 40, 4)):
        board = about_to_trip(tmp_path / f"{first}-{second}")
        one = killed(board, (*CHECK, NOW), steps.before(first))
        two = killed(board, (*CHECK, AGAIN), steps.before(second))
        with collect_failures(f"killed at {one}, then at {two}", found):
            never_open_without_a_halt(board)
            board.run(*CHECK, LATER)
            one_open_trip_with_our_halt(board)
    if found:
        pytest.fail("\n".join(found), pytrace=False)
