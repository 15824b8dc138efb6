"""`play` skips what cannot matter, and finds the same as evaluating every rule after every event."""

from typing import Any

import pytest
from hypothesis import given, settings

from liza.model import Reason
from liza.replay.playback import CHECK, RECORD, RESOLVE, SET, Event, Played, play
from liza.rules.acknowledged import trip_id
from liza.scopes.rules_file import read_rules
from tests.replay.generated import Recorded, minute, recordings
from tests.replay.naive import naive, result_of
from tests.rules.boards import rule, rules

SHIPPED = read_rules(None)
TWO = rules("count(type=a) >= 2")
DONE = ("opened", "closed", "painted", "washed", "broken", "lifted")


def record(at: float, kind: str = "a", stream: str = "anomalies", task: str = "task-1", **details: Any) -> Event:
    fields = {"timestamp": minute(at).isoformat(), "task": task, "type": kind, "details": details}
    return Event(minute(at), RECORD, stream, fields)


def resolve(at: float) -> Event:
    return Event(minute(at), RESOLVE, text="decided", by="ann")


def change(at: float, **sections: Any) -> Event:
    return Event(minute(at), SET, fields=sections)


def silence(start: float, end: float, **fields: Any) -> dict[str, Any]:
    times = {"created": minute(start).isoformat(), "until": minute(end).isoformat()}
    return {"id": "s1", "rule": "own", "reason": "known", "by": "ann", **times, **({"all": True} | fields)}


def times(played: Played) -> list[tuple[str, float]]:
    """Each trip: the rule, and how many minutes after noon."""
    return [(trip.rule.name, (trip.at - minute(0)).total_seconds() / 60) for trip in played.trips]


# --- the same as evaluating after every event -------------------------------------------------------------------------


@settings(max_examples=2 * settings().max_examples)
@given(recordings())
def test_playback_finds_the_same_as_evaluating_every_event(stretch: Recorded) -> None:
    assert result_of(play(*stretch)) == naive(*stretch)


@given(recordings())
def test_input_order_of_events_at_different_times_does_not_matter(stretch: Recorded) -> None:
    forwards = sorted(stretch.events, key=lambda event: event.at)
    alone = [event for i, event in enumerate(forwards) if i == 0 or event.at != forwards[i - 1].at]
    there = play(stretch.rules, stretch.board, alone)
    back = play(stretch.rules, stretch.board, alone[::-1])
    assert result_of(there) == result_of(back)


@given(recordings())
def test_playback_does_not_change_its_input(stretch: Recorded) -> None:
    before = repr((stretch.board, stretch.events))
    play(*stretch)
    assert repr((stretch.board, stretch.events)) == before


# --- trips ------------------------------------------------------------------------------------------------------------


def test_record_that_completes_a_pattern_trips() -> None:
    third = record(30, "retry_loop", error_pattern="timeout after 30 s")
    events = [record(at, "retry_loop", error_pattern="timeout after 30 s") for at in (10, 20)]
    (trip,) = play(SHIPPED, {}, [*events, third, record(40, "retry_loop", error_pattern="timeout after 5 s")]).trips
    assert (trip.rule.name, trip.event, trip.at) == ("retry_cluster", third, minute(30))
    assert trip.resolution is None


def test_no_events_give_an_empty_playback() -> None:
    played = play(SHIPPED, {}, [])
    assert (played.trips, played.observed, played.silenced) == ((), (), ())
    assert {each.reason for each in played.last.progress} == {Reason.BELOW}


def test_trip_id_equals_the_breakers() -> None:
    (trip,) = play(TWO, {}, [record(1), record(2), record(3)]).trips
    assert trip.trip_id == trip_id("own", trip.match.evidence[:2], 2)


def test_trip_ids_of_a_rule_without_evidence_are_numbered() -> None:
    ruleset = rules("metric(sprint.metrics.tasks_blocked) >= 1")
    blocked, free = ({"metrics": {"tasks_blocked": number}} for number in (1, 0))
    events = [change(1, sprint=blocked), change(2, sprint=free), resolve(3), change(4, sprint=blocked)]
    first, second = play(ruleset, {}, events).trips
    assert first.trip_id == trip_id("own", (), 1)
    assert second.trip_id == trip_id("own", (), 1, 1)


def test_records_during_an_open_trip_belong_to_it() -> None:
    events = [record(1), record(2), record(3), record(4), resolve(5), record(6), record(7)]
    assert times(play(TWO, {}, events)) == [("own", 2), ("own", 7)]


def test_rule_matching_during_an_open_trip_joins_it() -> None:
    both = rules(rule("count(type=a) >= 2", "first"), rule("count(type=b) >= 2", "second"))
    (trip,) = play(both, {}, [record(1), record(2), record(3, "b"), record(4, "b"), resolve(9), record(10, "b")]).trips
    assert [(each.match.rule.name, each.at) for each in trip.joined] == [("second", minute(4))]


def test_first_rule_of_the_file_trips_when_several_match() -> None:
    both = rules(rule("count(type=b) >= 1", "late"), rule("count() >= 1", "early"))
    (trip,) = play(both, {}, [record(1, "b")]).trips
    assert (trip.rule.name, [each.match.rule.name for each in trip.joined]) == ("late", ["early"])


def test_resolution_without_an_open_trip_has_no_effect() -> None:
    assert times(play(TWO, {}, [record(1), resolve(2), record(3)])) == [("own", 3)]


def test_resolved_condition_does_not_trip_again() -> None:
    played = play(rules("count(tasks where status=BLOCKED) < 1"), {}, [record(1), resolve(2)])
    assert [(trip.at, trip.event.kind) for trip in played.trips] == [(minute(1), RECORD)]


def test_events_at_one_moment_keep_their_input_order() -> None:
    assert times(play(TWO, {}, [record(1), record(1), resolve(1), record(1), record(1)])) == [("own", 1), ("own", 1)]
    assert times(play(TWO, {}, [record(1), resolve(1), record(1), record(1), record(1)])) == [("own", 1)]


def test_time_alone_trips_only_at_a_check() -> None:
    old = rules("count(type=a, age(timestamp) > 30m) >= 1")
    assert times(play(old, {}, [record(0), Event(minute(10), CHECK)])) == []
    assert times(play(old, {}, [record(0), Event(minute(31), CHECK)])) == [("own", 31)]


def test_records_on_the_initial_board_count() -> None:
    assert times(play(TWO, {"anomalies": [record(0).fields]}, [record(5)])) == [("own", 5)]


def test_new_sprint_excludes_old_records() -> None:
    ruleset = rules("count(type=a) >= 2", window="current_sprint")
    began = change(5, sprint={"timeline": {"started": minute(4).isoformat()}})
    assert times(play(ruleset, {}, [record(1), began, record(6)])) == []
    assert times(play(ruleset, {}, [record(1), began, record(6), record(7)])) == [("own", 7)]


def test_pattern_completed_before_the_new_sprint_has_tripped() -> None:
    ruleset = rules("count(type=a) >= 2", window="current_sprint")
    began = change(5, sprint={"timeline": {"started": minute(4).isoformat()}})
    assert times(play(ruleset, {}, [record(1), record(2), began, record(6)])) == [("own", 2)]


@pytest.mark.parametrize(
    ("window", "expected"), [("10m", []), ("25m", [("own", 20.0)]), ("last 2", []), ("last 3", [("own", 20.0)])]
)
def test_window_holds_the_recent_records_at_each_moment(window: str, expected: list[tuple[str, float]]) -> None:
    events = [record(0), record(15, "z"), record(20), record(60, "z"), record(61, "z")]
    assert times(play(rules("count(type=a) >= 2", window=window), {}, events)) == expected


def test_resolution_covers_more_than_five_hundred_records() -> None:
    many = [record(number / 60) for number in range(600)]
    events = [*many, resolve(11), record(12), record(13)]
    stretch = Recorded(rules("count(type=a) >= 2"), {}, events)
    assert times(play(*stretch)) == [("own", 1 / 60), ("own", 13)]


def test_resolution_covers_evidence_that_has_left_the_window() -> None:
    events = [record(0), record(1), record(20), resolve(40), record(45)]
    assert times(play(rules("count(type=a) >= 2", window="30m"), {}, events)) == [("own", 1)]


def test_earlier_cluster_trips_even_if_a_denser_one_follows() -> None:
    """The later cluster is denser but concerns one task only, so it does not match `distinct(task) >= 2`."""
    ruleset = rules("count(type=a, within(10m), distinct(task) >= 2) >= 2")
    events = [record(1), record(2, task="task-2"), record(20), record(21), record(22)]
    assert times(play(ruleset, {}, events)) == [("own", 2)]


def test_record_leaving_the_window_can_complete_a_match() -> None:
    ruleset = rules("count(type=a, within(1h), distinct(task) >= 2) >= 2", window="5h")
    events = [record(1), record(2), record(3), record(200), record(201, task="task-2"), record(310, "z")]
    assert times(play(ruleset, {}, events)) == [("own", 310)]


def test_record_leaving_the_window_can_complete_a_match_with_any_new() -> None:
    ruleset = rules(rule("count(type=a, within(10m)) >= 2", rearm="any_new", window="40m"))
    events = [record(0), record(1), record(2), resolve(2), record(30), record(31), record(45, "z")]
    assert times(play(ruleset, {}, events)) == [("own", 1), ("own", 45)]


# --- a trip that was open from the beginning --------------------------------------------------------------------------


def open_breaker() -> dict[str, Any]:
    """The breaker of a blackboard with an open trip."""
    trigger = {"timestamp": minute(-9).isoformat(), "pattern": "own", "severity": "SPEC_FLAW", "trip_id": "abc"}
    entry = {**trigger, "result": "TRIGGERED", "evidence": {}}
    return {"status": "TRIGGERED", "current_trigger": trigger, "history": [entry]}


def test_open_trip_on_the_board_prevents_another() -> None:
    assert times(play(TWO, {"circuit_breaker": open_breaker()}, [record(1), record(2)])) == []


def test_resolving_the_boards_trip_allows_another() -> None:
    events = [record(1), resolve(2), record(3), record(4)]
    assert times(play(TWO, {"circuit_breaker": open_breaker()}, events)) == [("own", 3)]


# --- rules that only watch, and silences ------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"mode": "observe"}, {"action": "ALERT"}], ids=["observed", "alerting"])
def test_first_match_of_a_non_halting_rule_is_observed(fields: dict[str, Any]) -> None:
    played = play(rules(rule("count(type=a) >= 2", **fields)), {}, [record(1), record(2), resolve(3), record(4)])
    assert played.trips == ()
    assert [(each.at, each.match.value) for each in played.observed] == [(minute(2), 2)]


def test_silenced_match_trips_when_the_silence_ends() -> None:
    events = [record(1), record(2), record(20, "z"), record(40, "z")]
    played = play(TWO, {"silences": [silence(0, 30)]}, events)
    assert times(played) == [("own", 40)]
    assert [(each.silence.id, each.match.value) for each in played.silenced] == [("s1", 2)]


def test_silence_that_starts_too_late_has_no_effect() -> None:
    played = play(TWO, {"silences": [silence(2.5, 30)]}, [record(1), record(2), record(3)])
    assert times(played) == [("own", 2)]


def test_silence_written_during_playback_applies_from_then_on() -> None:
    written = change(2, silences=[silence(2, 30)])
    assert times(play(TWO, {}, [record(1), written, record(3), record(31, "z")])) == [("own", 31)]


def test_task_silence_hides_only_matches_entirely_about_that_task() -> None:
    silences = [silence(0, 50, all=None, match={"task": "task-1"})]
    events = [record(1), record(2), record(3, task="task-2")]
    assert times(play(TWO, {"silences": silences}, events)) == [("own", 3)]


def test_task_silence_keeps_an_earlier_cluster() -> None:
    silences = [silence(0, 50, all=None, match={"task": "task-1"})]
    events = [record(1, task="task-2"), record(2, task="task-2"), record(20), record(21), record(22)]
    assert times(play(rules("count(type=a, within(10m)) >= 2"), {"silences": silences}, events)) == [("own", 2)]


def test_group_trips_before_it_grows_into_a_silence() -> None:
    first, *others, silenced = (f"the door was {what} again" for what in DONE)
    events = [record(1, k=first), *(record(at, k=text) for at, text in enumerate([first, *others], 2))]
    silences = [silence(0, 50, all=None, match={"k": silenced})]
    assert times(play(rules("count(type=a, similar(k)) >= 2"), {"silences": silences}, events)) == [("own", 2)]


def test_joined_rule_silenced_at_resolution_counts_as_resolved() -> None:
    both = rules(rule("count(type=a) >= 2", "first"), rule("count(type=b) >= 2", "own"))
    events = [record(1), record(2), record(3, "b"), record(4, "b"), resolve(20), record(40, "z")]
    assert times(play(both, {"silences": [silence(10, 30)]}, events)) == [("first", 2)]


def test_silence_written_twice_is_listed_once() -> None:
    silences = [silence(0, 50)]
    events = [record(1), record(2), change(3, silences=silences), record(4, "z")]
    assert len(play(TWO, {"silences": silences}, events).silenced) == 1


def test_final_progress_shows_how_near_a_rule_came() -> None:
    (found,) = play(rules("count(type=a) >= 5"), {}, [record(1), record(2)]).last.progress
    assert (found.value, found.threshold) == (2, 5)


def _sprint(at: int, started: int) -> Event:
    return change(at, sprint={"timeline": {"started": minute(started).isoformat()}})


_BARE = Event(minute(0), RECORD, "anomalies", {"task": "task-1", "type": "a"})
WHILE_OPEN = {
    "a sprint that begins anew": (
        rules("count(type=a) >= 2", window="current_sprint"),
        [record(1), record(2), record(3), record(4), _sprint(10, 10), resolve(20), _sprint(25, 0)],
        ["12:02"],
    ),
    "no evaluation at the moment of the resolution": (
        rules("count(type=a) = 2", window="10m"),
        [record(0), record(0), _BARE, _BARE, resolve(11)],
        ["12:00", "12:11"],
    ),
    "what grows old after the last record": (
        rules("count(type=a, age(timestamp) > 30m) >= 1"),
        [record(0), record(10), record(31, "z"), resolve(45), record(46, "z")],
        ["12:31", "12:45"],
    ),
}


@pytest.mark.parametrize("name", WHILE_OPEN)
def test_evidence_that_comes_and_goes_during_an_open_trip(name: str) -> None:
    ruleset, events, expected = WHILE_OPEN[name]
    assert [trip.at.strftime("%H:%M") for trip in play(ruleset, {}, events).trips] == expected
    assert result_of(play(ruleset, {}, events)) == naive(ruleset, {}, events)
