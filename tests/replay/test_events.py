"""A blackboard taken apart into its events, in order of time."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from liza.replay.events import Recording, read_recording
from liza.replay.playback import RECORD, RESOLVE, Event, play
from liza.rules.acknowledged import trip_id
from tests.replay.generated import minute
from tests.rules.boards import anomaly, rules, snapshot

LOG = ({"timestamp": "2025-01-18T12:05:00Z", "agent": "a", "action": "x"},)


def trip(at: int, resolved: int | None, **fields: Any) -> dict[str, Any]:
    entry = {"timestamp": minute(at).isoformat(), "pattern": "retry_cluster", "result": "TRIGGERED", "trip_id": "t"}
    decision = {"resolution": "ADR-7", "resolved_by": "ann"}
    return {**entry, **({"resolved_at": minute(resolved).isoformat(), **decision} if resolved else {}), **fields}


def taken(*anomalies: Any, streams: tuple[str, ...] = ("anomalies",), **sections: Any) -> Recording:
    return read_recording(snapshot(*anomalies, **sections), frozenset(streams))


def keys(found: Recording) -> list[int | str]:
    return [event.key for event in found.events if event.kind == RECORD]


def test_records_are_ordered_by_time() -> None:
    found = taken(anomaly("a", 20), anomaly("b", 10), anomaly("c", 30))
    assert keys(found) == [1, 0, 2]
    assert [event.at for event in found.events] == [minute(10), minute(20), minute(30)]


def test_out_of_order_records_are_evaluated_in_file_order() -> None:
    board = snapshot(anomaly("a", 10), anomaly("a", 5), anomaly("a", 20))
    found = read_recording(board, frozenset(["anomalies"]))
    (trip,) = play(rules("count(type=a) >= 3"), found.board, found.events).trips
    assert [each.fields for each in trip.match.evidence] == [each.fields for each in board.records("anomalies")]
    assert trip.trip_id == trip_id("own", board.records("anomalies"), 3)


def test_records_of_the_same_time_keep_file_order() -> None:
    assert keys(taken(*(anomaly("a", 10) for _ in range(5)))) == [0, 1, 2, 3, 4]


def test_record_without_a_usable_time_follows_the_one_before() -> None:
    bare = {"type": "a", "task": "task-1"}
    found = taken(anomaly("a", 10), bare, {**bare, "timestamp": "soon"}, anomaly("a", 20))
    assert [event.at for event in found.events] == [minute(10), minute(10), minute(10), minute(20)]
    assert found.timeless == 2


def test_untimed_records_come_with_the_first_timed_one() -> None:
    bare = {"type": "a", "task": "task-1"}
    assert [event.at for event in taken(bare, anomaly("a", 10)).events] == [minute(10), minute(10)]


def test_board_without_any_time_keeps_file_order() -> None:
    found = taken(*({"type": "a", "task": f"task-{number}"} for number in range(4)))
    assert (keys(found), found.timeless) == ([0, 1, 2, 3], 4)


def test_resolutions_are_placed_at_their_time() -> None:
    history = [{"timestamp": "2025-01-18T09:00:00Z", "pattern": None, "result": "OK"}, trip(10, 15), trip(20, None)]
    found = taken(anomaly("a", 10), anomaly("a", 20), circuit_breaker={"history": history})
    assert [event.kind for event in found.events] == [RECORD, RESOLVE, RECORD]
    assert found.events[1] == Event(minute(15), RESOLVE, text="ADR-7", by="ann")


def test_trips_are_kept_and_checks_dropped() -> None:
    history = [{"timestamp": "2025-01-18T09:00:00Z", "pattern": None, "result": "OK"}, trip(10, 15), trip(20, None)]
    assert taken(circuit_breaker={"history": history}).trips == (history[1], history[2])


def test_resolution_follows_the_records_of_the_same_second() -> None:
    found = taken(anomaly("a", 10), anomaly("a", 11), circuit_breaker={"history": [trip(10, 11)]})
    assert [event.kind for event in found.events] == [RECORD, RECORD, RESOLVE]


def test_log_is_played_only_if_a_rule_reads_it() -> None:
    assert [event.stream for event in taken(anomaly("a", 10), log=LOG, streams=("anomalies", "log")).events] == [
        "log",
        "anomalies",
    ]
    assert [event.stream for event in taken(anomaly("a", 10), log=LOG).events] == ["anomalies"]


def test_played_records_are_not_on_the_initial_board() -> None:
    found = taken(anomaly("a", 10), circuit_breaker={"history": [trip(10, 15)]}, tasks=[{"id": "task-1"}])
    assert set(found.board) == {"version", "sprint", "tasks"}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.just("2025-01-18T12:00:00Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
ENTRIES = st.dictionaries(
    st.sampled_from(["timestamp", "pattern", "result", "resolved_at", "resolution", "resolved_by", "trip_id"]), JUNK
)


@given(st.lists(JUNK | ENTRIES, max_size=4), st.lists(JUNK | ENTRIES, max_size=4) | JUNK, JUNK)
def test_arbitrary_boards_lose_no_record_and_keep_time_order(anomalies: list[Any], history: Any, breaker: Any) -> None:
    section = {"history": history} if breaker is None else breaker
    board = snapshot(*anomalies, circuit_breaker=section)
    found = read_recording(board, frozenset(["anomalies"]))
    assert sorted(keys(found), key=str) == [record.key for record in board.records("anomalies")]
    assert [event.at for event in found.events] == sorted(event.at for event in found.events)
    assert found.timeless == sum(record.timestamp is None for record in board.records("anomalies"))
