"""What follows for each step from the others: repetition, what makes up for it, cycles, and futile edits."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liza.clients.event import Call, Event, Kind, Outcome
from liza.scopes.sessions.progress import KEPT, Progress
from liza.scopes.sessions.step import steps_of
from liza.scopes.sessions.step_window import StepWindow

Made = tuple[str, str, Outcome]  # input, result, outcome
OK, FAILED = Outcome.OK, Outcome.FAILED


def step(given: Made, number: int = 0) -> dict[str, Any]:
    text, result, outcome = given
    edit = {"file_path": "a.py", "old_string": "a", "new_string": text}
    tool, values = ("Patch", edit) if text.startswith("edit") else ("Shell", {"command": text})
    event = Event("claude", "PostToolUse", Kind.AFTER, "s", calls=(Call(None, tool, values, result, outcome),))
    return next(steps_of(event, f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"))


def fields(steps: Sequence[Made], name: str) -> list[Any]:
    progress = Progress("s")
    for each in steps:
        progress.add(step(each))
    return [record.fields[name] for record in progress.records]


def test_known_result_is_stale_until_something_new_makes_up_for_it() -> None:
    again: list[Made] = [("ls", "a b", OK)] * 3
    assert fields(again, "stale") == [False, True, True]
    assert fields([*again, ("cat a", "text", OK)], "stale") == [False, False, True, False]


def test_failure_brings_nothing_new() -> None:
    made: list[Made] = [("ls", "a b", OK), ("ls", "a b", OK), ("make", "error 1", FAILED)]
    assert fields(made, "stale") == [False, True, False]


def test_check_after_an_edit_is_futile_only_where_it_fails() -> None:
    for result, outcome, futile in (("2 failed", FAILED, True), ("ERROR: no x", OK, True), ("3 passed", OK, False)):
        made: list[Made] = [("make", result, outcome), ("edit 1", "done", OK), ("make", result, outcome)]
        assert fields(made, "futile") == [False, False, futile]
        assert fields(made, "stale") == [False] * 3


def test_read_between_edit_and_check_keeps_it_futile() -> None:
    made: list[Made] = [("make", "2 failed", FAILED), ("edit 1", "done", OK), ("cat a", "1", OK)]
    assert fields([*made, ("make", "2 failed", FAILED)], "futile") == [False, False, False, True]
    assert fields([*made, ("make", "2 failed", FAILED), ("make", "2 failed", FAILED)], "stale")[-2:] == [False, True]


def test_few_words_said_before_make_up_for_nothing() -> None:
    made: list[Made] = [("ls", "a b", OK), ("find x", "none", OK), ("ls", "a b", OK)]
    assert fields([*made, ("find y", "none", OK)], "stale") == [False, False, True, False]
    assert fields([*made, ("find y", "y.py", OK)], "stale") == [False] * 4


def test_call_made_again_after_a_pause_waits() -> None:
    for outcome in (OK, FAILED):
        looks: list[Made] = [("gh run view", "in progress", outcome), ("sleep 60", "", OK)] * 3
        assert fields(looks, "waits") == [False, True, True, True, True, True]
        assert fields(looks, "repeats") == [False, True, True, True, True, True]
        assert not any(fields(looks, "stale"))


def test_cycle_is_counted_in_rounds() -> None:
    made: list[Made] = [("a", "1", OK), ("b", "2", OK), ("c", "3", OK)] * 3
    assert fields(made, "rounds") == [0, 0, 0, 0, 0, 2, 2, 2, 3]
    assert fields(made, "cycle")[-1].count("then") == 2


def test_one_repeated_call_is_not_a_cycle() -> None:
    assert fields([("a", "1", OK)] * 12, "rounds") == [0] * 12


def test_call_without_a_result_repeats_nothing() -> None:
    assert fields([("tmux send-keys u", "", OK)] * 5, "repeats") == [False] * 5


def test_only_the_last_steps_are_kept() -> None:
    assert len(fields([(f"c{n % 7}", "x", OK) for n in range(KEPT + 50)], "stale")) == KEPT


MADE = st.tuples(st.sampled_from(["a", "b", "c", "edit 1", "sleep 9"]), st.sampled_from(["", "x", "Error: y"]),
                 st.sampled_from([OK, FAILED, Outcome.REFUSED]))  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(MADE, max_size=30), st.integers(0, 30))
def test_steps_at_once_or_one_by_one_come_to_the_same(made: list[Made], since: int) -> None:
    """The account is kept as steps arrive; a session that was resumed starts it anew."""
    lines = [{**step(each, number), "session": "s", "id": str(number)} for number, each in enumerate(made)]
    one, all_at_once = StepWindow("s"), StepWindow("s")
    resumed = lines[since]["time"] if since < len(lines) else ""
    for line in lines:
        one.add(line)
        one.records(resumed)
    for line in lines:
        all_at_once.add(line)
    assert one.records(resumed) == all_at_once.records(resumed)
    assert json.dumps([record.fields for record in one.records()]) == json.dumps(
        [record.fields for record in all_at_once.records()]
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(MADE, max_size=40))
def test_stale_steps_repeat_and_never_wait(made: list[Made]) -> None:
    progress = Progress("s")
    for each in made:
        progress.add(step(each))
        found = [record.fields for record in progress.records]
        assert all(f["repeats"] and not f["waits"] and not f["silent"] for f in found if f["stale"])
        assert sum(f["stale"] for f in found) <= sum(f["repeats"] for f in found)


def by(tool: str, text: str, result: str, outcome: Outcome = OK) -> dict[str, Any]:
    event = Event("claude", "PostToolUse", Kind.AFTER, "s", calls=(Call(None, tool, {"text": text}, result, outcome),))
    return next(steps_of(event, "2026-01-01T00:00:00Z"))


def idle(*steps: dict[str, Any]) -> list[bool]:
    progress = Progress("s")
    for each in steps:
        progress.add(each)
    return [record.fields["idle"] for record in progress.records]


@pytest.mark.parametrize("answer", ["", "Your thought has been logged."])
def test_note_with_the_answer_that_its_tool_always_gives_is_idle(answer: str) -> None:
    assert idle(by("think", "a", answer), by("think", "b", answer), by("think", "c", answer)) == [False, True, True]
    assert idle(by("think", "a", answer), by("think", "a", answer)) == [False, False]


def test_call_of_a_tool_with_several_answers_is_not_idle() -> None:
    assert idle(by("sh", "a", "1"), by("sh", "b", "2"), by("sh", "c", "2"), by("sh", "d", "")) == [False] * 4
    assert idle(by("sh", "a", "no", FAILED), by("sh", "b", "no", FAILED)) == [False] * 2
