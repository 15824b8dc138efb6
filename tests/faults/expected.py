"""The required state of a blackboard after a crash at any step."""

import contextlib
from collections.abc import Iterator

from ruamel.yaml.error import YAMLError

from tests.scopes.sprint.run import Board


@contextlib.contextmanager
def collect_failures(step: str, found: list[str]) -> Iterator[None]:
    try:
        yield
    except (AssertionError, ValueError, KeyError, OSError, YAMLError) as error:
        found.append(f"{step}: {str(error).splitlines()[0] or repr(error)}")


def never_open_without_a_halt(board: Board) -> None:
    if "\n  status: TRIGGERED" in board.text:
        assert board.checkpoint.exists(), "a trip is open but the agents are not halted"


def one_open_trip(board: Board) -> None:
    assert board.section["status"] == "TRIGGERED", "not entered"
    (entry,) = board.trips
    trigger = board.trigger
    assert entry["trip_id"] == trigger["trip_id"], "two ids"
    assert entry["timestamp"] == trigger["timestamp"], f"two times: {entry['timestamp']}, {trigger['timestamp']}"
    text = board.report.read_text()
    assert f"**Trip:** {trigger['trip_id']}" in text, "the report is on another trip"
    assert f"**Triggered:** {trigger['timestamp']}" in text, "the report has another time"
    assert text in [path.read_text() for path in board.archived], "the report is not in the archive"
    assert len(board.archived) == 1, f"archived: {[path.name for path in board.archived]}"
    assert len(board.logged) == 1, f"logged {len(board.logged)} times"
    assert trigger["trip_id"] in board.logged[0]


def one_open_trip_with_our_halt(board: Board) -> None:
    one_open_trip(board)
    assert board.halt["trip"] == board.trigger["trip_id"], "CHECKPOINT has another id"
    assert board.halt["time"] == board.trigger["timestamp"], "CHECKPOINT has another time"


def one_open_trip_with_their_halt(board: Board) -> None:
    one_open_trip(board)
    assert board.checkpoint.read_text() == "waiting for Bob\n", "a human's CHECKPOINT was changed"


def one_resolved_trip(board: Board) -> None:
    assert (board.section["status"], board.section["current_trigger"]) == ("OK", None), "still open"
    (entry,) = board.trips
    assert (entry["resolution"], entry["resolved_by"]) == ("ADR-003 created", "alice"), "the decision is lost"
    for path in (board.report, *board.archived):
        assert path.read_text().count("## Decision") == 1, f"not in {path.name}"
        assert "ADR-003 created" in path.read_text(), f"not in {path.name}"
        assert f"**Resolved:** {entry['resolved_at']}" in path.read_text(), f"another time in {path.name}"
    assert len(board.archived) == 1
    actions = [line.split(":")[0] for line in board.logged]
    assert actions == ["tripped", "resolved"], f"logged: {actions}"


def one_resolved_trip_and_no_halt(board: Board) -> None:
    one_resolved_trip(board)
    assert not board.checkpoint.exists(), "still halted"


def one_resolved_trip_and_their_halt(board: Board) -> None:
    one_resolved_trip(board)
    assert board.checkpoint.read_text() == "waiting for Bob\n", "a human's CHECKPOINT was changed"
