"""TRIGGERED means halted, no matter who set the status or removed CHECKPOINT."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from liza.scopes.sprint.open_trip import REPORT_RESTORED
from liza.store.checkpoint import HALT_RESTORED
from tests.scopes.sprint.cases import ASSUMPTION, RETRY, board_with, tripped
from tests.scopes.sprint.run import LATER, NOW, Board, record, state

EVENING = "2025-01-18T20:00:00Z"
NAMED = {"timestamp": "2025-01-18T17:00:00Z", "pattern": "retry_cluster", "severity": "SPEC_FLAW"}


def set_by_hand(board: Board, trigger: Any = None) -> Board:
    """Set the status as a person does with yq or an editor."""
    board.edit("  status: OK ", "  status: TRIGGERED ")
    if trigger is not None:
        board.edit("  current_trigger: null ", f"  current_trigger: {json.dumps(trigger)} ")
    return board


def in_effect(board: Board) -> dict[str, Any]:
    """CHECKPOINT, report, archive, trigger, history and log are of one trip; returns its entry."""
    (entry,) = [each for each in board.trips if each.get("resolved_at") is None]
    trip = entry["trip_id"]
    assert trip == board.trigger["trip_id"] == board.halt["trip"]
    assert entry["timestamp"] == board.trigger["timestamp"] == board.halt["time"]
    assert f"**Trip:** {trip}" in board.report.read_text()
    assert board.report.read_text() in [path.read_text() for path in board.archived]
    assert sum(f"trip {trip}" in line for line in board.logged) == 1
    for text in (board.checkpoint.read_text(), board.report.read_text(), *board.logged):
        assert "None" not in text
    assert board.run("validate").code == 0
    assert board.run("gate").code == 2
    return entry


# --- a status that a person set -------------------------------------------------------------------------------------


BY_HAND = [
    None,
    NAMED,
    {"pattern": "own_check"},
    {},
    *({**NAMED, "trip_id": each} for each in ("mine", "0123456789ab")),
]


@pytest.mark.parametrize("trigger", BY_HAND)
def test_status_set_by_hand_is_a_trip_like_any_other(tmp_path: Path, trigger: Any) -> None:
    board = set_by_hand(board_with(tmp_path), trigger)
    for printed in (board.run("status"), board.analyze()):
        assert printed.code == 3
        assert "None" not in printed.out + printed.err
        assert "removed by hand" not in printed.out
    entry = in_effect(board)
    assert entry["pattern"] == board.halt["pattern"] == ((trigger or {}).get("pattern") or "manual")
    before = board.files()
    assert board.analyze(now=LATER).code == 3
    assert in_effect(board)["trip_id"] == entry["trip_id"]
    assert {n: r for n, r in board.files().items() if n != ".liza/state.yaml"} == {
        n: r for n, r in before.items() if n != ".liza/state.yaml"
    }
    assert board.resolve().code == 0
    assert not board.checkpoint.exists()
    assert [each["resolution"] for each in board.trips] == ["ADR-003 created"]
    assert board.analyze(now=EVENING).code == 0


def test_evidence_below_threshold_is_reported_and_acknowledged(tmp_path: Path) -> None:
    """Two equal errors and one that a person considers the same: "these 2 + 1 are a pattern"."""
    board = set_by_hand(board_with(tmp_path, *RETRY.records[:2]), NAMED)
    assert board.analyze().code == 3
    entry = in_effect(board)
    assert (entry["severity"], len(entry["evidence"]["retry_cluster"].split())) == ("SPEC_FLAW", 2)
    assert "2 records (retry_loop)" in board.report.read_text()
    board.report.unlink()
    assert board.analyze(now=LATER).code == 3
    assert "2 records (retry_loop)" in board.report.read_text()
    board.resolve()
    board.add(RETRY.records[2])
    assert "1 of 3" in board.analyze(now=EVENING).out


def test_status_without_a_pattern_takes_the_one_that_matches(tmp_path: Path) -> None:
    board = set_by_hand(board_with(tmp_path, *ASSUMPTION.records))
    assert board.analyze().code == 3
    entry = in_effect(board)
    assert (entry["pattern"], entry["severity"]) == ("assumption_cascade", "SPEC_FLAW")
    board.resolve()
    assert board.analyze(now=EVENING).code == 0


def test_status_set_by_hand_twice_is_two_trips(tmp_path: Path) -> None:
    board = set_by_hand(board_with(tmp_path))
    board.analyze()
    board.resolve("the first")
    set_by_hand(board)
    assert board.analyze(now=LATER).code == 3
    in_effect(board)
    board.resolve("the second", now=EVENING)
    assert [each["resolution"] for each in board.trips] == ["the first", "the second"]
    assert len({each["trip_id"] for each in board.trips}) == 2


def test_trigger_edited_by_hand_stays_the_same_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    trip = board.trigger["trip_id"]
    text = board.text
    at = text.index("trip_id", text.index("current_trigger"))
    end = text.index("\n", at)
    board.save(text[: text.rindex("\n", 0, at)] + text[end:])
    assert board.analyze(now=LATER).code == 3
    assert in_effect(board)["trip_id"] == trip
    assert len(board.trips) == 1


def test_open_trip_whose_history_was_deleted_is_entered_again(tmp_path: Path) -> None:
    """A manual trip, so that no evidence enters it."""
    board = board_with(tmp_path)
    board.run("trip", "-m", "staging is gone", "--now", NOW)
    trip = board.trigger["trip_id"]
    head, tail = board.text.split("\n  history:", 1)
    board.save(f"{head}\n  history: []\n{tail[tail.index(chr(10) + '# behind the section') + 1 :]}")
    assert board.trips == []
    assert board.analyze(now=LATER).code == 3
    entry = in_effect(board)
    assert (entry["trip_id"], entry["message"]) == (trip, "staging is gone")
    board.resolve()
    assert board.analyze(now=EVENING).code == 0


def test_trigger_with_a_resolved_id_is_a_new_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    old = dict(board.trigger)
    board.resolve("the first")
    set_by_hand(board, {**old, "timestamp": LATER})
    assert board.analyze(now=LATER).code == 3
    assert in_effect(board)["trip_id"] != old["trip_id"]
    assert board.resolve("the second", now=EVENING).code == 0
    assert [each["resolution"] for each in board.trips] == ["the first", "the second"]


def test_human_checkpoint_stays_while_the_trip_is_entered(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.checkpoint.write_text("waiting for Bob\n")
    set_by_hand(board)
    assert board.analyze().code == 3
    assert board.checkpoint.read_text() == "waiting for Bob\n"
    assert board.trips[0]["trip_id"] == board.trigger["trip_id"]
    assert board.report.exists()


_TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), _TEXT, st.lists(st.integers(), max_size=2),
    st.sampled_from(["retry_cluster", "2025-01-18T17:00:00Z", "SPEC_FLAW", "0123456789ab", "x\ntrip: 0123456789ab"]),
)  # fmt: skip
_FIELDS = st.sampled_from(["timestamp", "pattern", "severity", "trip_id", "report_file", "message", "also_matched"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(st.none(), st.dictionaries(_FIELDS, _VALUES)))
def test_any_hand_written_trigger_halts_and_can_be_resolved(tmp_path_factory: Any, trigger: Any) -> None:
    board = set_by_hand(board_with(tmp_path_factory.mktemp("by-hand"), *RETRY.records[:2]), trigger)
    ran = board.analyze()
    assert ran.code == 3
    assert board.halt["trip"] == board.trigger["trip_id"]
    (entry,) = board.trips
    assert entry["trip_id"] == board.trigger["trip_id"]
    assert board.resolve().code == 0
    assert not board.checkpoint.exists()
    assert board.section["status"] == "OK"


# --- missing parts of an open trip ----------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [False, True], ids=["the same evidence", "more evidence"])
def test_missing_checkpoint_is_restored_with_a_note(tmp_path: Path, more: bool) -> None:
    board = tripped(tmp_path)
    before = board.halt
    board.checkpoint.unlink()
    if more:
        board.add(record("retry_loop", "task-4", LATER, **RETRY.records[0]["details"]))
    ran = board.analyze("--json", now=LATER)
    assert (ran.code, ran.json["notes"][0]) == (3, HALT_RESTORED)
    assert HALT_RESTORED in (board.folder / "alerts.log").read_text()
    assert board.halt == {**before, "restored": LATER}
    in_effect(board)
    assert board.analyze("--json", now=LATER).json["notes"] == [], "it must be reported once"


def test_restored_checkpoint_goes_when_the_trip_is_resolved_by_hand(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.checkpoint.unlink()
    board.analyze(now=LATER)
    board.edit("status: TRIGGERED", "status: OK")
    ran = board.analyze(now=EVENING)
    assert ran.code == 0
    assert not board.checkpoint.exists()
    assert board.run("gate").code == 0


def test_checkpoint_of_the_trip_itself_waits_for_resolve(tmp_path: Path) -> None:
    """Only a restored one is removed: a person who only set the status may not be done yet."""
    board = tripped(tmp_path)
    board.edit("status: TRIGGERED", "status: OK")
    assert board.analyze(now=EVENING).code == 0
    assert board.checkpoint.exists()
    assert board.resolve().code == 0
    assert not board.checkpoint.exists()


def test_trip_on_an_open_breaker_halts(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.checkpoint.unlink()
    assert board.run("trip", "-m", "staging is gone", "--now", LATER).code == 3
    assert board.halt["trip"] == board.trigger["trip_id"]
    assert board.trigger["message"] == "staging is gone"
    in_effect(board)


@pytest.mark.parametrize("damage", [None, "", " \n"])
def test_lost_report_is_written_again(tmp_path: Path, damage: str | None) -> None:
    board = tripped(tmp_path)
    page = board.report.read_text()
    for path in (board.report, *board.archived):
        path.unlink() if damage is None else path.write_text(damage)
    ran = board.analyze("--json", now=LATER)
    assert (ran.code, ran.json["notes"]) == (3, [REPORT_RESTORED])
    assert board.report.read_text() == page
    assert [path.read_text() for path in board.archived] == [page]


# --- trips missing on the blackboard --------------------------------------------------------------------------------


def remove_evidence(board: Board) -> None:
    """Save a copy of the board from before the evidence over it."""
    board.save(state(()))


@pytest.mark.parametrize("first", ["analyze", "resolve", "trip"])
def test_stale_copy_over_a_trip_is_a_recorded_decision(tmp_path: Path, first: str) -> None:
    board = tripped(tmp_path)
    trip, page = board.trigger["trip_id"], board.report.read_text()
    remove_evidence(board)
    assert board.run("gate").code == 2
    if first == "analyze":
        assert board.analyze(now=LATER).code == 3
        assert in_effect(board)["trip_id"] == trip
        assert board.report.read_text() == page, "the report has lost its evidence"
    elif first == "trip":
        assert board.run("trip", "-m", "staging is gone", "--now", LATER).code == 3
        assert (board.trigger["trip_id"], board.trigger["message"]) == (trip, "staging is gone")
    assert board.resolve("a decision", now=EVENING).code == 0
    (entry,) = board.trips
    assert (entry["trip_id"], entry["pattern"], entry["resolution"]) == (trip, "retry_cluster", "a decision")
    assert "> a decision" in board.archived[0].read_text()
    assert board.run("gate").code == 0
    assert board.analyze(now=EVENING).code == 0


def test_stale_copy_with_other_evidence_keeps_the_trip_id(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    trip = board.trigger["trip_id"]
    board.save(state(ASSUMPTION.records))
    assert board.analyze(now=LATER).code == 3
    assert (board.trigger["trip_id"], board.trigger["also_matched"]) == (trip, ["assumption_cascade"])
    board.resolve(now=EVENING)
    assert board.analyze(now=EVENING).code == 0


def test_manual_trip_that_was_not_entered_keeps_its_text(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.run("trip", "-m", "staging is gone\ntrip: 0123456789ab", "--now", NOW)
    trip = board.trigger["trip_id"]
    remove_evidence(board)
    assert board.analyze(now=LATER).code == 3
    assert (board.trigger["trip_id"], board.trigger["pattern"]) == (trip, "manual")
    assert board.trigger["message"] == "staging is gone trip: 0123456789ab"


@pytest.mark.parametrize("evidence", ["there", "gone"])
def test_first_trip_that_could_not_be_entered_is_completed(tmp_path: Path, evidence: str) -> None:
    """A board without the section: nothing of the trip is on it, and reports/ holds its report."""
    board = Board(tmp_path, json.dumps({"version": 1, "anomalies": list(RETRY.records)}))
    assert board.analyze().code == 3
    trip = board.halt["trip"]
    assert len(board.archived) == 1
    board.save(state(RETRY.records if evidence == "there" else (), breaker=""))
    assert board.run("status").code == 3
    assert board.analyze(now=LATER).code == 3
    assert in_effect(board)["trip_id"] == trip
    assert board.resolve(now=EVENING).code == 0
    assert [entry["trip_id"] for entry in board.trips] == [trip]
    assert board.analyze(now=EVENING).code == 0


def test_decision_on_a_trip_that_cannot_be_entered_is_refused(tmp_path: Path) -> None:
    """Not "nothing to resolve", which would send the person away with the agents halted."""
    text = json.dumps({"version": 1, "anomalies": list(RETRY.records)})
    board = Board(tmp_path, text)
    board.analyze()
    trip = board.halt["trip"]
    ran = board.run("resolve", "-m", "a decision", "--by", "alice", "--json")
    assert (ran.code, ran.json["status"]) == (1, "refused")
    assert ran.json["problems"][0]["file"] == str(board.state)
    assert (board.text, board.halt["trip"]) == (text, trip)
    board.save(state(RETRY.records, breaker=""))
    assert board.resolve("a decision").code == 0
    assert [(entry["trip_id"], entry["resolution"]) for entry in board.trips] == [(trip, "a decision")]


def test_missing_section_with_halt_of_another_trip_is_degraded(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    halt = board.checkpoint.read_text()
    for text in ("waiting for Bob\n", "", halt.replace(board.halt["trip"], "0123456789ab")):
        board.checkpoint.write_text(text)
        board.save(state(RETRY.records, breaker=""))
        assert board.analyze(now=LATER).code == 4
        assert board.checkpoint.read_text() == text
