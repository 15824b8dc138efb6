"""The progress protocol: percentages, the limits on loops, the states, and what a person decides."""

import json
from datetime import timedelta

import pytest

from tests.scopes.board import STATE
from tests.scopes.loops.run import Loops


def percent(*progress: float) -> list[str]:
    return [f"--files-changed 1 --progress {each}" for each in progress]


def test_loop_with_progress_stays_closed(loops: Loops) -> None:
    assert loops.codes(*percent(10, 25, 40, 55, 70, 85, 99)) == [0] * 7
    loop = loops.at()
    assert (loop["status"], loop["trigger_reason"], loop["trigger_count"]) == ("CLOSED", "", 0)
    assert (loop["loop_count"], loop["consecutive_no_progress_loops"]) == (7, 0)


def test_ten_flat_loops_trip_with_protocol_reason(loops: Loops) -> None:
    assert loops.codes(*percent(*[0] * 10)) == [0] * 9 + [3]
    loop = loops.at()
    assert (loop["status"], loop["trigger_reason"]) == ("OPEN", "Stagnation: 10 loops without progress")
    assert (loop["trigger_count"], loop["loop_count"], loop["consecutive_no_progress_loops"]) == (1, 10, 10)
    assert loop["last_trigger_time"] == "2025-01-18T12:10:00Z"


def test_step_equal_to_threshold_is_progress(loops: Loops) -> None:
    loops.codes(*percent(10, 13, 15.5, 18))
    assert loops.at()["consecutive_no_progress_loops"] == 2
    loops.codes(*percent(21))
    assert loops.at()["consecutive_no_progress_loops"] == 0


def test_falling_percentage_is_not_progress(loops: Loops) -> None:
    loops.codes(*percent(50, 40, 30))
    assert loops.at()["consecutive_no_progress_loops"] == 2


def test_unknown_percentage_counts_neither_way(loops: Loops) -> None:
    loops.codes(*percent(0, 0), "--files-changed 1", "--files-changed 1", *percent(0))
    assert loops.at()["consecutive_no_progress_loops"] == 3
    assert loops.at()["loop_count"] == 5


def test_absolute_limit_stops_a_progressing_loop(loops: Loops) -> None:
    assert loops.codes(*percent(*range(4, 84, 4))) == [0] * 19 + [3]
    assert loops.at()["trigger_reason"] == "Absolute max: 20 loops"
    assert loops.at()["consecutive_no_progress_loops"] == 0


@pytest.mark.parametrize("iterations", ["[]", "null", "[{iteration: 19, files_changed: 1}]"])
def test_unlisted_iterations_count(loops: Loops, iterations: str) -> None:
    loops.write(f"{STATE}loops:\n  coder-1: {{status: CLOSED, loop_count: 19, iterations: {iterations}}}\n")
    ran = loops.record("--progress", "50", "--files-changed", "1")
    assert (ran.code, loops.at()["trigger_reason"]) == (3, "Absolute max: 20 loops")


def test_unlisted_iterations_count_for_analyze(loops: Loops) -> None:
    loops.write(f"{STATE}loops:\n  coder-1: {{status: CLOSED, loop_count: 25}}\n  late: {{loop_count: 8}}\n")
    assert "loop coder-1 is OPEN: Absolute max: 25 loops" in loops.run("analyze").out
    assert loops.at("late") == {"loop_count": 8}
    assert "Warning: 8 loops" in loops.loop("status", "late").out


def test_completion_comes_before_the_absolute_limit(loops: Loops) -> None:
    assert loops.codes(*percent(*range(4, 80, 4), 100)) == [0] * 20
    assert (loops.at()["status"], loops.at()["loop_count"]) == ("CLOSED", 20)
    assert "loop_completed" in loops.actions


def test_completed_loop_restarts_with_next_iteration(loops: Loops) -> None:
    loops.codes(*percent(50, 100))
    assert loops.record("--files-changed", "1", "--progress", "10").code == 0
    loop = loops.at()
    assert (loop["loop_count"], [each["progress"] for each in loop["iterations"]]) == (1, [10])
    assert len(loops.archived()) == 2


def test_hundred_percent_with_failing_tests_is_not_complete(loops: Loops) -> None:
    loops.record("--files-changed", "1", "--progress", "100", "--evidence", "tests=fail")
    assert "completed_at" not in loops.at()
    assert "loop_completed" not in loops.actions


def test_warning_and_critical_levels_do_not_stop(loops: Loops) -> None:
    outputs = [loops.record(*words.split()).out for words in percent(*range(5, 85, 5))]
    assert ["Warning: " in out for out in outputs] == [False] * 7 + [True] * 7 + [False] * 2
    assert ["Critical: " in out for out in outputs] == [False] * 14 + [True] * 2
    assert loops.at()["status"] == "CLOSED"


def test_json_has_the_fields_for_hooks(loops: Loops) -> None:
    loops.codes("--files-changed 0", "--files-changed 0")
    answer = loops.record("--files-changed", "0", "--json")
    assert answer.code == 3
    found = json.loads(answer.out)
    assert found | {
        "loop": "coder-1", "status": "open", "loop_status": "OPEN", "reason": "No progress for 3 iterations",
        "loop_count": 3, "consecutive_no_progress_loops": 0,
    } == found  # fmt: skip
    assert found["signals"] == []
    assert found["schema"] == 1


def test_progress_towards_each_signal_is_shown(loops: Loops) -> None:
    loops.codes("--files-changed 0")
    found = loops.record("--files-changed", "0", "--json").json
    nearest = {each["rule"]: (each["count"], each["threshold"], each["matched"]) for each in found["signals"]}
    assert nearest["no_file_changes"] == (2, 3, False)
    assert "no_file_changes 2 of 3" in loops.loop("status", "coder-1").out


# --- reset ------------------------------------------------------------------------------------------------------------


def test_reset_clears_counters_and_keeps_trip_count(loops: Loops) -> None:
    loops.codes(*percent(*[0] * 10))
    assert loops.loop("reset", "coder-1", "-m", "the plan was wrong", "--by", "ann").code == 0
    loop = loops.at()
    assert (loop["status"], loop["trigger_reason"], loop["trigger_count"]) == ("CLOSED", "", 1)
    assert (loop["loop_count"], loop["consecutive_no_progress_loops"], loop["iterations"]) == (0, 0, [])
    (trip,) = loop["history"]
    assert (trip["reason"], trip["how"], trip["by"], trip["why"]) == (
        "Stagnation: 10 loops without progress", "reset", "ann", "the plan was wrong",
    )  # fmt: skip
    assert loops.actions == ["loop_opened", "loop_closed"]
    assert len(loops.archived()) == 10


def test_limits_restart_after_reset(loops: Loops) -> None:
    loops.codes(*percent(*range(4, 84, 4)))
    loops.loop("reset", "coder-1")
    assert loops.codes(*percent(*range(81, 91))) == [0] * 9 + [3]  # one percent a loop, from 80 on
    assert loops.at()["trigger_reason"] == "Stagnation: 10 loops without progress"


def test_status_closed_by_hand_is_a_reset(loops: Loops) -> None:
    loops.codes(*percent(*[0] * 10))
    loops.write(loops.state.read_text().replace("status: OPEN", "status: CLOSED"))
    assert loops.record("--files-changed", "1", "--progress", "0").code == 0
    loop = loops.at()
    assert (loop["status"], loop["loop_count"], loop["trigger_reason"], loop["trigger_count"]) == ("CLOSED", 1, "", 1)
    assert loop["history"][0]["how"] == "by hand"
    assert loops.actions == ["loop_opened", "loop_closed"]


def test_reset_by_hand_may_clear_the_reason(loops: Loops) -> None:
    loops.codes(*percent(*[0] * 10))
    text = loops.state.read_text().replace("status: OPEN", "status: CLOSED")
    loops.write(text.replace('trigger_reason: "Stagnation: 10 loops without progress"', 'trigger_reason: ""'))
    assert loops.record("--files-changed", "1").code == 0
    assert loops.at()["loop_count"] == 1


def test_loop_opened_by_others_can_be_closed_by_hand(loops: Loops) -> None:
    entries = "".join("      - {files_changed: 0}\n" for _ in range(4))
    fields = "    status: CLOSED\n    trigger_reason: stuck\n    loop_count: 4\n    last_trigger_time: 1704123456\n"
    loops.write(f"version: 1\nloops:\n  coder-1:\n{fields}    iterations:\n{entries}")
    assert loops.record("--files-changed", "0").code == 0
    assert loops.at()["loop_count"] == 1


def test_reset_of_unknown_loop_gets_a_suggestion(loops: Loops) -> None:
    loops.record("--files-changed", "1")
    ran = loops.loop("reset", "coder1")
    assert ran.code == 1
    assert "did you mean coder-1?" in ran.err


# --- half open --------------------------------------------------------------------------------------------------------


def opened(loops: Loops) -> None:
    assert loops.codes("--files-changed 0", "--files-changed 0", "--files-changed 0") == [0, 0, 3]


def probe(loops: Loops) -> None:
    """Probe the loop right after its cooldown."""
    loops.now += timedelta(seconds=300 - 60)
    assert loops.loop("probe", "coder-1").code == 0


GOOD = "--files-changed 2"
BAD = {
    "nothing changed": "--files-changed 0",
    "unknown whether anything changed": "--task t",
    "changed, with an error": "--files-changed 2 --error TypeError:x",
    "changed, and the tests fail": "--files-changed 2 --evidence tests=fail",
    "changed, and crashed": "--files-changed 2 --outcome crash",
    "changed, and claims done without evidence": "--files-changed 2 --claims-done",
}


def test_progress_closes_a_half_open_loop(loops: Loops) -> None:
    opened(loops)
    probe(loops)
    assert loops.at()["status"] == "HALF_OPEN"
    assert loops.codes(GOOD) == [0]
    loop = loops.at()
    assert (loop["status"], loop["loop_count"], loop["iterations"], loop["trigger_count"]) == ("CLOSED", 0, [], 1)
    assert loop["history"][0]["how"] == "probe"


@pytest.mark.parametrize("words", BAD.values(), ids=BAD)
def test_anything_else_reopens_a_half_open_loop(loops: Loops, words: str) -> None:
    opened(loops)
    probe(loops)
    assert loops.codes(words) == [3]
    loop = loops.at()
    assert (loop["status"], loop["trigger_count"]) == ("OPEN", 2)
    assert loop["trigger_reason"] == "No progress for 3 iterations"


def test_half_open_loop_gets_exactly_one_iteration(loops: Loops) -> None:
    opened(loops)
    probe(loops)
    assert loops.codes("--files-changed 0", GOOD) == [3, 3]
    assert loops.at()["status"] == "OPEN"


def test_old_failures_do_not_reopen_after_good_iteration(loops: Loops) -> None:
    opened(loops)
    probe(loops)
    assert loops.codes(GOOD, "--files-changed 0", "--files-changed 0") == [0, 0, 0]


def test_probe_can_complete_the_loop(loops: Loops) -> None:
    opened(loops)
    probe(loops)
    ran = loops.record("--claims-done", "--evidence", "tests=pass", "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["loop_status"], answer["completed"], answer["loop_count"]) == (0, "CLOSED", True, 0)
    assert loops.actions == ["loop_opened", "loop_probing", "loop_closed", "loop_completed"]
    assert loops.codes(GOOD) == [0]
    assert loops.at()["loop_count"] == 1  # it restarts, as any completed loop does


def test_status_half_open_by_hand_probes_next_iteration(loops: Loops) -> None:
    assert loops.codes(GOOD, "--files-changed 0", "--files-changed 0", "--files-changed 0")[-1] == 3
    loops.write(loops.state.read_text().replace("status: OPEN", "status: HALF_OPEN"))
    loops.run("analyze")
    assert loops.at()["status"] == "HALF_OPEN"  # no earlier iteration was a probe
    assert loops.actions == ["loop_opened", "loop_probing"]
    assert loops.codes("--files-changed 0") == [3]
    assert loops.at()["trigger_count"] == 2


def test_stagnant_loop_may_be_probed_after_cooldown(loops: Loops) -> None:
    opened(loops)
    loops.now += timedelta(seconds=300 - 61)
    early = loops.loop("probe", "coder-1")  # a second too early
    assert (early.code, "liza loop reset coder-1" in early.err, loops.at()["status"]) == (1, True, "OPEN")
    loops.now -= timedelta(seconds=59)
    assert loops.loop("probe", "coder-1", "--by", "ann").code == 0
    assert (loops.at()["status"], loops.at()["history"][0]["probe_by"]) == ("HALF_OPEN", "ann")


def test_open_loop_does_not_probe_by_default(loops: Loops) -> None:
    opened(loops)
    loops.now += timedelta(days=30)
    assert loops.loop("status", "coder-1").out.startswith("loop coder-1: OPEN")
    assert loops.codes(GOOD) == [3]


def limited(loops: Loops, rules: str = "") -> None:
    """Bring a loop to absolute_max_loops with progress in every iteration."""
    loops.write_rules(f"circuit_breaker: {{absolute_max_loops: 16, auto_probe: true}}\n{rules}")
    codes = loops.codes(*(f"--files-changed 1 --progress {5 * n}" for n in range(1, 17)))
    assert codes == [0] * 15 + [3]
    assert loops.at()["history"][-1]["rules"] == ["absolute_max"]


def test_absolute_max_is_closed_only_by_reset(loops: Loops) -> None:
    limited(loops)
    loops.now += timedelta(days=30)
    assert loops.codes("--files-changed 1 --progress 85") == [3]  # not by time
    refused = loops.loop("probe", "coder-1")
    assert (refused.code, "liza loop reset coder-1" in refused.err) == (1, True)  # not by a probe
    loops.write(loops.state.read_text().replace("status: OPEN", "status: HALF_OPEN"))
    assert loops.codes("--files-changed 1 --progress 95") == [3]  # not by a probe by hand
    assert (loops.at()["status"], loops.at()["trigger_count"]) == ("OPEN", 1)
    assert loops.actions == ["loop_opened", "loop_probe_refused"]
    assert loops.loop("reset", "coder-1", "--by", "ann").code == 0
    assert loops.codes(GOOD) == [0]


def test_absolute_max_is_closed_by_hand(loops: Loops) -> None:
    limited(loops)
    loops.write(loops.state.read_text().replace("status: OPEN", "status: CLOSED"))
    assert loops.codes(GOOD) == [0]


def test_probe_does_not_exceed_absolute_max(loops: Loops) -> None:
    """The probing iteration counts: with it the limit is reached, no matter what it achieved."""
    loops.write_rules("circuit_breaker: {warning_threshold: 5, critical_threshold: 10, absolute_max_loops: 12}\n")
    loops.codes(*[GOOD] * 8, *["--files-changed 0"] * 3)
    assert (loops.at()["status"], loops.at()["loop_count"]) == ("OPEN", 11)
    probe(loops)
    assert loops.codes(GOOD) == [3]
    assert loops.at()["history"][-1]["rules"] == ["absolute_max"]


def test_auto_probe_tries_after_cooldown(loops: Loops) -> None:
    loops.write_rules("circuit_breaker: {auto_probe: true}\n")
    opened(loops)
    loops.now += timedelta(seconds=300 - 61)
    assert loops.codes(GOOD) == [3]  # a second too early
    loops.now += timedelta(seconds=300)
    assert loops.loop("status", "coder-1").out.startswith("loop coder-1: HALF_OPEN")
    assert loops.codes(GOOD) == [0]
    assert loops.at()["status"] == "CLOSED"


def test_cooldown_can_be_disabled(loops: Loops) -> None:
    loops.write_rules("circuit_breaker: {cooldown_seconds: 0, auto_probe: true}\n")
    opened(loops)
    loops.now += timedelta(days=30)
    assert loops.codes(GOOD) == [3]


def test_clock_set_back_keeps_loop_open(loops: Loops) -> None:
    loops.write_rules("circuit_breaker: {auto_probe: true}\n")
    opened(loops)
    loops.now -= timedelta(days=400)
    assert loops.codes(GOOD) == [3]
    assert loops.at()["status"] == "OPEN"


@pytest.mark.parametrize("time", ["null", "yesterday", "[]", "-5", "''"])
def test_unknown_opening_time_keeps_loop_open(loops: Loops, time: str) -> None:
    loops.write_rules("circuit_breaker: {auto_probe: true}\n")
    opened(loops)
    written = f"{loops.now:%Y-%m-%dT%H:%M:%SZ}"
    loops.write(loops.state.read_text().replace(f"last_trigger_time: {written}", f"last_trigger_time: {time}"))
    loops.now += timedelta(days=30)
    assert loops.codes(GOOD) == [3]


def test_opening_time_may_be_epoch_seconds(loops: Loops) -> None:
    loops.write_rules("circuit_breaker: {auto_probe: true}\n")
    opened(loops)
    written = f"{loops.now:%Y-%m-%dT%H:%M:%SZ}"
    seconds = str(int(loops.now.timestamp()))
    loops.write(loops.state.read_text().replace(f"last_trigger_time: {written}", f"last_trigger_time: {seconds}"))
    loops.now += timedelta(minutes=6)
    assert loops.codes(GOOD) == [0]


def test_gate_of_open_loop_opens_for_a_probe(loops: Loops) -> None:
    opened(loops)
    loops.write_rules("circuit_breaker: {cooldown_seconds: 0}\n")
    ran = loops.run("gate", "--loop", "coder-1")
    assert (ran.code, "loop coder-1 is OPEN: No progress for 3 iterations" in ran.err) == (2, True)
    assert loops.loop("probe", "coder-1").code == 0
    assert loops.run("gate", "--loop", "coder-1").code == 0


def test_iteration_of_open_loop_is_kept(loops: Loops) -> None:
    opened(loops)
    assert loops.codes(GOOD) == [3]
    assert loops.at()["loop_count"] == 4
    assert loops.at()["trigger_count"] == 1
