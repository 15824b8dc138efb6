"""`play` leaves out what cannot matter; what it finds is what asking every rule after every event finds."""

from typing import Any

import pytest
from hypothesis import given, settings

from liza.model import Reason
from liza.replay.playback import CHECK, RECORD, RESOLVE, SET, Event, Played, play
from liza.rules.acknowledged import trip_id
from liza.scopes.rules_file import read_rules
from tests.replay.generated import Stretch, minute, stretches
from tests.replay.naive import naive, told
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


# --- the same as asking after every event -----------------------------------------------------------------------------


@settings(max_examples=2 * settings().max_examples)
@given(stretches())
def test_all_is_found_that_asking_after_every_event_finds(stretch: Stretch) -> None:
    assert told(play(*stretch)) == naive(*stretch)


@given(stretches())
def test_the_order_in_which_events_of_different_times_are_given_changes_nothing(stretch: Stretch) -> None:
    forwards = sorted(stretch.events, key=lambda event: event.at)
    alone = [event for i, event in enumerate(forwards) if i == 0 or event.at != forwards[i - 1].at]
    there = play(stretch.rules, stretch.board, alone)
    back = play(stretch.rules, stretch.board, alone[::-1])
    assert told(there) == told(back)


@given(stretches())
def test_nothing_that_is_played_is_changed_by_it(stretch: Stretch) -> None:
    before = repr((stretch.board, stretch.events))
    play(*stretch)
    assert repr((stretch.board, stretch.events)) == before


# --- trips ------------------------------------------------------------------------------------------------------------


def test_the_record_that_completes_a_pattern_brings_the_trip_about() -> None:
    third = record(30, "retry_loop", error_pattern="timeout after 30 s")
    events = [record(at, "retry_loop", error_pattern="timeout after 30 s") for at in (10, 20)]
    (trip,) = play(SHIPPED, {}, [*events, third, record(40, "retry_loop", error_pattern="timeout after 5 s")]).trips
    assert (trip.rule.name, trip.event, trip.at) == ("retry_cluster", third, minute(30))
    assert trip.resolution is None


def test_nothing_comes_of_no_events() -> None:
    played = play(SHIPPED, {}, [])
    assert (played.trips, played.observed, played.silenced) == ((), (), ())
    assert {each.reason for each in played.last.progress} == {Reason.BELOW}


def test_a_trip_has_the_name_that_the_breaker_would_give_it() -> None:
    (trip,) = play(TWO, {}, [record(1), record(2), record(3)]).trips
    assert trip.trip_id == trip_id("own", trip.match.evidence[:2], 2)


def test_trips_of_a_rule_without_evidence_are_told_apart_by_their_number() -> None:
    ruleset = rules("metric(sprint.metrics.tasks_blocked) >= 1")
    blocked, free = ({"metrics": {"tasks_blocked": number}} for number in (1, 0))
    events = [change(1, sprint=blocked), change(2, sprint=free), resolve(3), change(4, sprint=blocked)]
    first, second = play(ruleset, {}, events).trips
    assert first.trip_id == trip_id("own", (), 1)
    assert second.trip_id == trip_id("own", (), 1, 1)


def test_what_comes_while_a_trip_is_open_belongs_to_it() -> None:
    events = [record(1), record(2), record(3), record(4), resolve(5), record(6), record(7)]
    assert times(play(TWO, {}, events)) == [("own", 2), ("own", 7)]


def test_a_rule_that_matches_while_another_ones_trip_is_open_joins_it() -> None:
    both = rules(rule("count(type=a) >= 2", "first"), rule("count(type=b) >= 2", "second"))
    (trip,) = play(both, {}, [record(1), record(2), record(3, "b"), record(4, "b"), resolve(9), record(10, "b")]).trips
    assert [(each.match.rule.name, each.at) for each in trip.joined] == [("second", minute(4))]


def test_of_rules_that_match_at_the_same_event_the_first_of_the_file_trips() -> None:
    both = rules(rule("count(type=b) >= 1", "late"), rule("count() >= 1", "early"))
    (trip,) = play(both, {}, [record(1, "b")]).trips
    assert (trip.rule.name, [each.match.rule.name for each in trip.joined]) == ("late", ["early"])


def test_a_resolution_while_nothing_is_open_is_none() -> None:
    assert times(play(TWO, {}, [record(1), resolve(2), record(3)])) == [("own", 3)]


def test_what_is_still_so_after_a_resolution_does_not_trip_again() -> None:
    played = play(rules("count(tasks where status=BLOCKED) < 1"), {}, [record(1), resolve(2)])
    assert [(trip.at, trip.event.kind) for trip in played.trips] == [(minute(1), RECORD)]


def test_events_at_one_moment_happen_in_the_order_in_which_they_are_given() -> None:
    assert times(play(TWO, {}, [record(1), record(1), resolve(1), record(1), record(1)])) == [("own", 1), ("own", 1)]
    assert times(play(TWO, {}, [record(1), resolve(1), record(1), record(1), record(1)])) == [("own", 1)]


def test_time_alone_can_bring_a_trip_about_where_somebody_looks() -> None:
    old = rules("count(type=a, age(timestamp) > 30m) >= 1")
    assert times(play(old, {}, [record(0), Event(minute(10), CHECK)])) == []
    assert times(play(old, {}, [record(0), Event(minute(31), CHECK)])) == [("own", 31)]


def test_records_that_the_blackboard_always_had_count() -> None:
    assert times(play(TWO, {"anomalies": [record(0).fields]}, [record(5)])) == [("own", 5)]


def test_a_sprint_that_begins_anew_leaves_the_old_records_behind() -> None:
    ruleset = rules("count(type=a) >= 2", window="current_sprint")
    began = change(5, sprint={"timeline": {"started": minute(4).isoformat()}})
    assert times(play(ruleset, {}, [record(1), began, record(6)])) == []
    assert times(play(ruleset, {}, [record(1), began, record(6), record(7)])) == [("own", 7)]


def test_a_pattern_that_only_held_before_the_sprint_began_anew_has_tripped() -> None:
    ruleset = rules("count(type=a) >= 2", window="current_sprint")
    began = change(5, sprint={"timeline": {"started": minute(4).isoformat()}})
    assert times(play(ruleset, {}, [record(1), record(2), began, record(6)])) == [("own", 2)]


@pytest.mark.parametrize(
    ("window", "expected"), [("10m", []), ("25m", [("own", 20.0)]), ("last 2", []), ("last 3", [("own", 20.0)])]
)
def test_a_window_holds_what_is_recent_at_each_moment(window: str, expected: list[tuple[str, float]]) -> None:
    events = [record(0), record(15, "z"), record(20), record(60, "z"), record(61, "z")]
    assert times(play(rules("count(type=a) >= 2", window=window), {}, events)) == expected


def test_more_than_five_hundred_records_of_one_trip_are_dealt_with_together() -> None:
    many = [record(number / 60) for number in range(600)]
    events = [*many, resolve(11), record(12), record(13)]
    stretch = Stretch(rules("count(type=a) >= 2"), {}, events)
    assert times(play(*stretch)) == [("own", 1 / 60), ("own", 13)]


def test_evidence_that_came_while_a_trip_was_open_is_dealt_with_though_the_window_has_passed_it() -> None:
    events = [record(0), record(1), record(20), resolve(40), record(45)]
    assert times(play(rules("count(type=a) >= 2", window="30m"), {}, events)) == [("own", 1)]


def test_what_is_near_to_each_other_has_tripped_though_more_comes_that_is_nearer_but_of_one_task() -> None:
    ruleset = rules("count(type=a, within(10m), distinct(task) >= 2) >= 2")
    events = [record(1), record(2, task="task-2"), record(20), record(21), record(22)]
    assert times(play(ruleset, {}, events)) == [("own", 2)]


def test_what_leaves_a_window_can_bring_a_match_about() -> None:
    ruleset = rules("count(type=a, within(1h), distinct(task) >= 2) >= 2", window="5h")
    events = [record(1), record(2), record(3), record(200), record(201, task="task-2"), record(310, "z")]
    assert times(play(ruleset, {}, events)) == [("own", 310)]


def test_with_any_new_what_leaves_a_window_can_bring_a_match_about() -> None:
    ruleset = rules(rule("count(type=a, within(10m)) >= 2", rearm="any_new", window="40m"))
    events = [record(0), record(1), record(2), resolve(2), record(30), record(31), record(45, "z")]
    assert times(play(ruleset, {}, events)) == [("own", 1), ("own", 45)]


# --- a trip that was open from the beginning --------------------------------------------------------------------------


def standing() -> dict[str, Any]:
    """The breaker of a blackboard on which a trip waits for somebody."""
    trigger = {"timestamp": minute(-9).isoformat(), "pattern": "own", "severity": "SPEC_FLAW", "trip_id": "abc"}
    entry = {**trigger, "result": "TRIGGERED", "evidence": {}}
    return {"status": "TRIGGERED", "current_trigger": trigger, "history": [entry]}


def test_while_a_trip_of_the_blackboard_is_open_there_is_no_other() -> None:
    assert times(play(TWO, {"circuit_breaker": standing()}, [record(1), record(2)])) == []


def test_after_the_resolution_of_a_trip_of_the_blackboard_there_can_be_another() -> None:
    events = [record(1), resolve(2), record(3), record(4)]
    assert times(play(TWO, {"circuit_breaker": standing()}, events)) == [("own", 3)]


# --- rules that only watch, and silences ------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"mode": "observe"}, {"action": "ALERT"}], ids=["observed", "alerting"])
def test_of_a_rule_that_stops_nobody_the_first_match_is_told(fields: dict[str, Any]) -> None:
    played = play(rules(rule("count(type=a) >= 2", **fields)), {}, [record(1), record(2), resolve(3), record(4)])
    assert played.trips == ()
    assert [(each.at, each.match.value) for each in played.observed] == [(minute(2), 2)]


def test_what_is_silenced_trips_when_the_silence_is_over() -> None:
    events = [record(1), record(2), record(20, "z"), record(40, "z")]
    played = play(TWO, {"silences": [silence(0, 30)]}, events)
    assert times(played) == [("own", 40)]
    assert [(each.silence.id, each.match.value) for each in played.silenced] == [("s1", 2)]


def test_a_silence_that_comes_too_late_keeps_nothing_from_tripping() -> None:
    played = play(TWO, {"silences": [silence(2.5, 30)]}, [record(1), record(2), record(3)])
    assert times(played) == [("own", 2)]


def test_a_silence_written_while_things_happen_holds_from_then_on() -> None:
    written = change(2, silences=[silence(2, 30)])
    assert times(play(TWO, {}, [record(1), written, record(3), record(31, "z")])) == [("own", 31)]


def test_a_silence_about_one_task_hides_only_what_is_all_about_it() -> None:
    silences = [silence(0, 50, all=None, match={"task": "task-1"})]
    events = [record(1), record(2), record(3, task="task-2")]
    assert times(play(TWO, {"silences": silences}, events)) == [("own", 3)]


def test_a_silence_about_one_task_does_not_take_back_what_was_near_to_each_other_of_another() -> None:
    silences = [silence(0, 50, all=None, match={"task": "task-1"})]
    events = [record(1, task="task-2"), record(2, task="task-2"), record(20), record(21), record(22)]
    assert times(play(rules("count(type=a, within(10m)) >= 2"), {"silences": silences}, events)) == [("own", 2)]


def test_a_group_has_tripped_that_grows_into_a_silence_later() -> None:
    first, *others, silenced = (f"the door was {what} again" for what in DONE)
    events = [record(1, k=first), *(record(at, k=text) for at, text in enumerate([first, *others], 2))]
    silences = [silence(0, 50, all=None, match={"k": silenced})]
    assert times(play(rules("count(type=a, similar(k)) >= 2"), {"silences": silences}, events)) == [("own", 2)]


def test_a_rule_that_joined_a_trip_and_is_silenced_when_that_is_resolved_is_dealt_with() -> None:
    both = rules(rule("count(type=a) >= 2", "first"), rule("count(type=b) >= 2", "own"))
    events = [record(1), record(2), record(3, "b"), record(4, "b"), resolve(20), record(40, "z")]
    assert times(play(both, {"silences": [silence(10, 30)]}, events)) == [("first", 2)]


def test_a_silence_that_is_written_again_is_told_once() -> None:
    silences = [silence(0, 50)]
    events = [record(1), record(2), change(3, silences=silences), record(4, "z")]
    assert len(play(TWO, {"silences": silences}, events).silenced) == 1


def test_the_end_tells_how_near_a_rule_came() -> None:
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
    "nothing is judged at the moment of the resolution": (
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
def test_evidence_that_comes_and_goes_while_a_trip_is_open(name: str) -> None:
    ruleset, events, expected = WHILE_OPEN[name]
    assert [trip.at.strftime("%H:%M") for trip in play(ruleset, {}, events).trips] == expected
    assert told(play(ruleset, {}, events)) == naive(ruleset, {}, events)
