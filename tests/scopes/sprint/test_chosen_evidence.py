"""A trip by hand for a pattern that a person sees: `liza trip --pattern RULE --evidence SELECTOR --by NAME`."""

from pathlib import Path

import pytest

from tests.scopes.sprint.cases import OUTAGE, RETRY, board_with
from tests.scopes.sprint.markdown import parts, tables
from tests.scopes.sprint.run import LATER, NOW, Board, record

ODD = record("retry_loop", "task-9", "2025-01-18T15:00:00Z", count=2, error_pattern="nesting is not serialised")
OTHER = record("trade_off", "task-8", "2025-01-18T15:30:00Z", what="mock it", why="time", debt_created=True)
TIMEOUT = ("--pattern", "retry_cluster", "--by", "alice")


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """Two equal errors, one that only a person takes for the same, and another record."""
    return board_with(tmp_path, *RETRY.records[:2], ODD, OTHER)


def trip(board: Board, *options: str, now: str = NOW) -> int:
    return board.run("trip", "-m", "two alike and one similar", *options, "--now", now).code


def reported(board: Board) -> list[str]:
    """The tasks of the evidence in the report."""
    (evidence,) = tables(parts(board.report.read_text())["Trigger Evidence"])
    return [row[0] for row in evidence.rows]


CHOSEN = {
    "a filter": ("type=retry_loop",),
    "places": ("anomalies[0]", "anomalies[1]", "anomalies[2]"),
    "numbers": ("0", "1", "2"),
    "both": ('error_pattern =~ "serial"', "anomalies[2]"),
    "several filters": ("type IN [retry_loop, trade_off], task != task-8",),
}


@pytest.mark.parametrize("selectors", CHOSEN.values(), ids=CHOSEN.keys())
def test_chosen_records_are_the_evidence(board: Board, selectors: tuple[str, ...]) -> None:
    assert board.analyze().code == 0
    options = [word for each in selectors for word in ("--evidence", each)]
    assert trip(board, *TIMEOUT, *options) == 3
    (entry,) = board.trips
    assert (entry["pattern"], entry["severity"], entry["tripped_by"]) == ("retry_cluster", "ARCHITECTURE_FLAW", "alice")
    assert len(entry["evidence"]["retry_cluster"].split()) == 3
    assert board.halt["pattern"] == "retry_cluster"
    assert reported(board) == ["task-9", "task-2", "task-1"]
    assert "**alice reports:** two alike and one similar" in board.report.read_text()


def test_decision_covers_the_chosen_records(board: Board) -> None:
    trip(board, *TIMEOUT, "--evidence", "type=retry_loop")
    board.resolve()
    board.add(RETRY.records[2])
    assert "1 of 3" in board.analyze(now=LATER).out


def test_chosen_records_stay_in_the_report_when_others_join(board: Board) -> None:
    trip(board, *TIMEOUT, "--evidence", "type=retry_loop")
    board.add(*OUTAGE.records)
    assert board.analyze(now=LATER).code == 3
    assert reported(board) == ["task-9", "task-2", "task-1"]
    assert board.trigger["also_matched"] == ["external_service_outage"]
    assert board.section["history"][-1]["tripped_by"] == "alice"


def test_pattern_alone_takes_what_the_rule_counts(board: Board) -> None:
    assert trip(board, *TIMEOUT) == 3
    assert reported(board) == ["task-2", "task-1"]


def test_records_join_an_open_trip(board: Board) -> None:
    trip(board)
    assert board.trigger["pattern"] == "manual"
    assert trip(board, *TIMEOUT, "--evidence", "type=retry_loop", now=LATER) == 3
    assert board.trigger["also_matched"] == ["retry_cluster"]
    (entry,) = board.trips
    assert len(entry["evidence"]["retry_cluster"].split()) == 3
    board.resolve(now=LATER)
    board.add(RETRY.records[2])
    assert "1 of 3" in board.analyze(now=LATER).out


def test_severity_may_be_another_than_that_of_the_rule(board: Board) -> None:
    trip(board, *TIMEOUT, "--severity", "TECH_STACK_FLAW")
    assert board.trigger["severity"] == "TECH_STACK_FLAW"


def test_records_without_a_pattern_are_listed(board: Board) -> None:
    trip(board, "--evidence", "anomalies[3]")
    assert (board.trigger["pattern"], reported(board)) == ("manual", ["task-8"])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--pattern", "retry_clutser"), 1),
        (("--evidence", "anomalies[9]"), 2),
        (("--evidence", "task=nobody"), 2),
        (("--evidence", "type="), 2),
        (("--evidence", "type=retry_loop) >= 1 OR count(type=trade_off"), 2),
        (("--evidence", "type=retry_loop, same(task)"), 2),
        (("--evidence", "nowhere[1]"), 2),
        (("--evidence", ""), 2),
    ],
)
def test_unusable_choice_is_refused_and_halts_nobody(board: Board, options: tuple[str, ...], code: int) -> None:
    assert trip(board, *options) == code
    assert not board.checkpoint.exists()
    assert board.trips == []


def test_unreadable_blackboard_is_halted_all_the_same(board: Board) -> None:
    board.save("a: [\n")
    assert trip(board, *TIMEOUT, "--evidence", "anomalies[0]") == 3
    assert board.checkpoint.exists()
