"""The evidence of a trip on disk, and the evidence that still counts after the resolution."""

import json
import shutil
from pathlib import Path

import pytest

from tests.scopes.sprint.cases import board_with
from tests.scopes.sprint.markdown import parts, tables
from tests.scopes.sprint.run import LATER, NOW, Board, record, state

STORED = Path(__file__).parent / "stored"
MANY = 501  # more than an entry holds itself


def boom(number: int, text: str = "boom", at: str = "14") -> dict[str, object]:
    when = f"2025-01-18T{at}:{number // 60 % 60:02}:{number % 60:02}Z"
    return record("retry_loop", f"task-{number}", when, count=3, error_pattern=text)


def of_many(folder: Path) -> Board:
    """A trip with very many records, after two of the same rule that are no evidence."""
    return board_with(folder, *(boom(n, "disk corrupted") for n in range(2)), *(boom(n) for n in range(MANY)))


def without_anomalies(board: Board) -> None:
    before, section = board.text.split("\nanomalies:")
    board.save(before + "\nanomalies: []\ncircuit_breaker:" + section.split("\ncircuit_breaker:")[1])


def test_new_records_trip_after_a_large_trip(tmp_path: Path) -> None:
    board = of_many(tmp_path)
    assert board.analyze().code == 3
    assert board.resolve().code == 0
    assert board.analyze("--json", now=LATER).json["anomalies"]["acknowledged"] == MANY
    without_anomalies(board)
    board.add(*(boom(n, "kernel panic in scheduler", at="19") for n in range(5)))
    again = board.analyze("--json", now="2025-01-18T20:00:00Z")
    assert (again.code, again.json["anomalies"]["acknowledged"], len(again.json["matches"][0]["evidence"])) == (3, 0, 5)


def test_other_groups_of_a_large_trip_still_count(tmp_path: Path) -> None:
    board = of_many(tmp_path)
    board.analyze()
    board.resolve()
    board.add(boom(9, "disk corrupted", at="19"))
    assert board.analyze(now="2025-01-18T20:00:00Z").code == 3


def test_entry_names_its_evidence_file(tmp_path: Path) -> None:
    board = of_many(tmp_path)
    board.analyze()
    reference = board.trips[0]["evidence"]["retry_cluster"]
    assert reference["records"] == MANY
    listed = json.loads((board.root / reference["file"]).read_text())
    assert len(set(listed["retry_cluster"].split())) == MANY
    assert [path.name.split(".")[0] for path in board.archived] == [Path(reference["file"]).name.split(".")[0]] * 2


@pytest.mark.slow
def test_new_evidence_of_large_open_trip_is_added_to_file(tmp_path: Path) -> None:
    board = of_many(tmp_path)
    board.analyze()
    trip = board.trigger["trip_id"]
    board.add(boom(700))
    assert board.analyze(now="2025-01-18T17:40:00Z").code == 3
    assert board.trips[0]["evidence"]["retry_cluster"]["records"] == MANY + 1
    before = board.files()
    board.analyze(now="2025-01-18T17:40:00Z")
    assert (board.files(), board.trigger["trip_id"]) == (before, trip)
    board.resolve()
    assert board.analyze(now=LATER).code == 0


@pytest.mark.slow
def test_large_first_trip_killed_before_entry_is_completed(tmp_path: Path) -> None:
    """Its evidence file is written before the board, and the archived report after it."""
    records = [boom(n) for n in range(MANY)]
    board = Board(tmp_path, json.dumps({"version": 1, "anomalies": records}))
    assert board.analyze().code == 3
    trip = board.halt["trip"]
    (evidence,) = [path for path in board.archived if path.suffix == ".json"]
    for path in board.archived:
        if path != evidence:
            path.unlink()
    board.save(state(records, breaker=""))
    assert board.analyze(now=LATER).code == 3
    assert [entry["trip_id"] for entry in board.trips] == [trip]


@pytest.mark.slow
def test_lost_evidence_file_is_reported_and_covers_earlier_records(tmp_path: Path) -> None:
    board = of_many(tmp_path)
    board.analyze()
    board.resolve()
    (board.root / board.trips[0]["evidence"]["retry_cluster"]["file"]).unlink()
    quiet = board.analyze(now=LATER)
    assert (quiet.code, quiet.out.count(".evidence.json")) == (0, 1)
    board.add(*(boom(n, at="19") for n in range(3)))
    assert board.analyze(now="2025-01-18T20:00:00Z").code == 3


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b'{"retry_cluster": 5}',
        *(pytest.param(each, marks=pytest.mark.slow) for each in (b"", b"[]", b'{"other": "x"}', b"\xff\xfe")),
    ],
)
def test_broken_evidence_file_counts_as_lost(tmp_path: Path, content: bytes) -> None:
    board = of_many(tmp_path)
    board.analyze()
    board.resolve()
    (board.root / board.trips[0]["evidence"]["retry_cluster"]["file"]).write_bytes(content)
    quiet = board.analyze(now=LATER)
    assert (quiet.code, quiet.out.count(".evidence.json")) == (0, 1)


@pytest.mark.slow
def test_evidence_reference_cannot_leave_the_folder(tmp_path: Path) -> None:
    board = of_many(tmp_path)
    board.analyze()
    board.resolve()
    file = board.trips[0]["evidence"]["retry_cluster"]["file"]
    shutil.move(board.root / file, board.root / "outside.json")
    board.save(board.text.replace(file, "../../outside.json"))
    assert board.analyze(now=LATER).out.count("outside.json") == 1


@pytest.mark.slow
def test_evidence_without_a_file_is_in_the_entry(tmp_path: Path) -> None:
    """If the reports folder cannot be made, a long entry is better than lost evidence."""
    board = of_many(tmp_path)
    board.reports.write_text("in the way")
    board.analyze()
    assert len(board.trips[0]["evidence"]["retry_cluster"].split()) == MANY


# --- boards of earlier releases ---------------------------------------------------------------------------------------


def stored(folder: Path) -> Board:
    """A board on which 0.1.0, as first published, tripped on every rule, and a person resolved it."""
    board = Board(folder, (STORED / "state.yaml").read_text())
    shutil.copytree(STORED, board.folder, dirs_exist_ok=True)
    board.save((STORED / "state.yaml").read_text())
    return board


def test_board_of_earlier_release_opens_without_a_trip(tmp_path: Path) -> None:
    board = stored(tmp_path)
    log = board.log.read_bytes()
    opened = board.analyze("--json", now=LATER)
    assert (opened.code, opened.json["anomalies"]["acknowledged"]) == (0, 11)
    assert board.log.read_bytes() == log, "a decision was logged twice"
    assert board.run("watch", "--once").code == 0
    assert board.analyze(now="2025-01-18T19:30:00Z").code == 0


@pytest.mark.parametrize("pattern", ["retry_cluster", "external_service_outage", "workaround_pattern", "flaky"])
def test_new_evidence_counts_on_board_of_earlier_release(tmp_path: Path, pattern: str) -> None:
    board = stored(tmp_path)
    known: dict[str, tuple[str, dict[str, object]]] = {
        "retry_cluster": ("retry_loop", {"count": 3, "error_pattern": "serialization failure"}),
        "external_service_outage": ("external_blocker", {"blocker_service": "payments-api"}),
        "workaround_pattern": ("scope_deviation", {"what": "skipped the migration"}),
        "flaky": ("flaky_test", {"test": "test_login"}),
    }
    kind, details = known[pattern]
    for n in range(3):
        given = [f"{name}={value}" for name, value in details.items()]
        at = ["--timestamp", f"2025-01-18T19:0{n}:00Z"]
        assert board.run("log", "anomaly", "--type", kind, "--task", f"t{n}", "--reporter", "c", *at, *given).code == 0
    again = board.analyze("--json", now="2025-01-18T19:30:00Z")
    assert (again.code, again.json["trigger"]["pattern"]) == (3, pattern)


def test_worse_number_trips_on_board_of_earlier_release(tmp_path: Path) -> None:
    board = stored(tmp_path)
    assert board.analyze(now=LATER).code == 0
    board.edit("tasks_blocked: 2", "tasks_blocked: 3")
    assert board.analyze("--json", now="2025-01-18T19:30:00Z").json["trigger"]["pattern"] == "too_many_blocked"


@pytest.mark.parametrize("place", ["    reporter: ", "      error_pattern: ", "      blocker_service: "])
def test_note_on_board_of_earlier_release_is_not_evidence(tmp_path: Path, place: str) -> None:
    """Its fingerprints cover notes too, and its records have undeclared details."""
    board = stored(tmp_path)
    note = f"{' ' * (len(place) - len(place.lstrip()))}note: looked at it\n"
    records, rest = board.text.split("circuit_breaker:")
    board.save(f"{records.replace(place, note + place)}circuit_breaker:{rest}")
    assert board.analyze(now=LATER).code == 0


def test_legacy_position_opens_quietly_but_not_blindly(tmp_path: Path) -> None:
    """Earlier releases wrote `first 501 anomalies` for much evidence."""
    entry = {"timestamp": "2025-01-18T15:00:00Z", "pattern": "retry_cluster", "severity": "ARCHITECTURE_FLAW"}
    entry |= {"result": "TRIGGERED", "trip_id": "bf66a874f4a1", "resolution": "fixed", "resolved_by": "alice"}
    whole = {**entry, "resolved_at": "2025-01-18T16:00:00Z", "evidence": {"retry_cluster": f"first {MANY} anomalies"}}
    section = {"last_check": NOW, "status": "OK", "current_trigger": None, "history": [whole]}
    breaker = f"circuit_breaker: {json.dumps(section)}\n"
    board = Board(tmp_path, state([boom(n) for n in range(MANY)], breaker))
    tripped_entry = "detail: 'circuit breaker tripped: retry_cluster (ARCHITECTURE_FLAW), trip bf66a874f4a1'"
    board.log.write_text(f"- {{timestamp: 2025-01-18T15:00:00Z, agent: liza, action: tripped, {tripped_entry}}}\n")
    board.reports.mkdir()
    (board.reports / "20250118T150000Z-retry_cluster-bf66a874f4a1.md").write_text("trip bf66a874f4a1\n")
    assert board.analyze().code == 0
    board.save(state([boom(n, "kernel panic", at="17") for n in range(5)], breaker))
    assert board.analyze(now=LATER).code == 3


# --- notes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", ['"details": {', '"task": "'])
def test_note_on_resolved_records_is_not_evidence(tmp_path: Path, old: str) -> None:
    board = board_with(tmp_path, *(boom(n) for n in range(3)))
    board.analyze()
    board.resolve()
    board.save(board.text.replace(old, f'"note": "looked at it", {old}' if old[-1] == '"' else f'{old}"note": "x", '))
    assert board.analyze(now=LATER).code == 0


def test_replacement_of_a_resolved_task_is_not_evidence(tmp_path: Path) -> None:
    """How many tasks it replaces is derived from the other tasks: the task itself is the same."""
    task = "- {id: task-2, spec_ref: specs/data-model.md#FR-009, status: "
    board = board_with(tmp_path)
    board.rules.write_text(
        "rules:\n- {name: blocked_tasks, condition: 'count(tasks, status=BLOCKED) >= 1', severity: SPEC_FLAW}\n"
    )
    board.edit(f"{task}CLAIMED}}", f"{task}BLOCKED}}")
    assert board.analyze().code == 3
    board.resolve()
    board.edit(f"{task}BLOCKED}}", f"{task}BLOCKED}}\n    {task.replace('task-2', 'task-0')}SUPERSEDED}}")
    assert board.analyze(now=LATER).code == 0


# --- numbers ----------------------------------------------------------------------------------------------------------

BLOCKED = """\
rules:
  - name: too_many_blocked
    condition: metric(sprint.metrics.tasks_blocked) >= 2
    severity: SCOPE_FLAW
"""


def numbers(board: Board) -> list[list[str]]:
    """The rows of the report's table of numbers."""
    (table,) = tables(parts(board.report.read_text())["Trigger Evidence"])
    return table.rows


def blocked(board: Board, number: int, minute: int) -> int:
    before, rest = board.text.split("tasks_blocked: ")
    board.save(f"{before}tasks_blocked: {number}}}{rest.partition('}')[2]}")
    return board.analyze(now=f"2025-01-18T19:{minute:02}:00Z").code


def test_number_trips_again_when_worse_or_recovered(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.rules.write_text(BLOCKED)
    assert blocked(board, 2, 0) == 3
    board.resolve(now="2025-01-18T19:01:00Z")
    assert [blocked(board, 2, 2), blocked(board, 3, 3)] == [0, 3]
    board.resolve(now="2025-01-18T19:04:00Z")
    assert [blocked(board, number, 5 + number) for number in (3, 2)] == [0, 0]
    assert [blocked(board, 1, 10), blocked(board, 2, 11)] == [0, 3]
    assert [trip["evidence"]["too_many_blocked"].split("=")[1] for trip in board.trips] == ["2", "3", "2"]
    assert len({trip["trip_id"] for trip in board.trips}) == 3


def test_number_worse_while_open_is_acknowledged_at_later_value(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.rules.write_text(BLOCKED)
    assert [blocked(board, 2, 0), blocked(board, 5, 1)] == [3, 3]
    assert ["sprint.metrics.tasks_blocked", "5", ">= 2"] in numbers(board)
    board.resolve(now="2025-01-18T19:02:00Z")
    assert [blocked(board, 5, 3), blocked(board, 6, 4)] == [0, 3]


def test_report_names_the_metric_and_its_value(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.rules.write_text(BLOCKED)
    blocked(board, 2, 0)
    assert ["sprint.metrics.tasks_blocked", "2", ">= 2"] in numbers(board)


def test_trip_after_a_shortened_history_has_lines_of_its_own(tmp_path: Path) -> None:
    """Its id counts the earlier trips; where one was deleted it must not be that of another, which the log has."""
    board = board_with(tmp_path)
    board.rules.write_text(
        "rules:\n- {name: blocked, condition: metric(sprint.metrics.tasks_blocked) >= 1, severity: SCOPE_FLAW}\n"
    )
    for number in (1, 2):
        assert board.analyze().code == 3
        board.resolve(f"decision {number}")
        board.edit(f"tasks_blocked: {number}", f"tasks_blocked: {number + 1}")
    first, second = board.text.index("\n    - timestamp:"), board.text.rindex("\n    - timestamp:")
    board.save(board.text[:first] + board.text[second:])
    (kept,) = board.trips
    assert kept["resolution"] == "decision 2"
    assert board.analyze(now=LATER).code == 3
    board.resolve("decision 3", now=LATER)
    assert len({entry["trip_id"] for entry in board.trips}) == 2
    assert len(board.logged) == 6
