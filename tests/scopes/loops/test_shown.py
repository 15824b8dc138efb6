"""How a loop is shown: as it would be evaluated, with commands that can be typed, and safe on a terminal."""

import json
import shlex

import pytest

from tests.cli.run import on_a_terminal
from tests.cli.test_untrusted_text import NASTY, harmless
from tests.scopes.loops.run import Loops

IDLE = "{files_changed: 0}"
WRITTEN = f"version: 1\nloops:\n  coder-1:\n    iterations: [{IDLE}, {IDLE}, {IDLE}]\n"


def test_unchecked_loop_is_shown_and_gated_as_open(loops: Loops) -> None:
    loops.write(WRITTEN)
    ran = loops.loop("status", "coder-1")
    assert (ran.code, ran.out.splitlines()[0]) == (
        3, "loop coder-1: OPEN after 3 iterations: No progress for 3 iterations",
    )  # fmt: skip
    listed = loops.loop("list")
    assert (listed.code, "3 iterations  No progress for 3 iterations" in listed.out) == (3, True)
    assert loops.run("gate", "--loop", "coder-1").code == 2
    assert loops.state.read_text() == WRITTEN  # showing writes nothing


def test_missing_counters_are_computed(loops: Loops) -> None:
    loops.write("version: 1\nloops:\n  coder-1:\n    iterations: [{progress: 1}, {progress: 1}]\n")
    answer = json.loads(loops.loop("status", "coder-1", "--json").out)
    assert (answer["loop_count"], answer["consecutive_no_progress_loops"]) == (2, 2)
    assert loops.loop("status", "coder-1").out.startswith("loop coder-1: CLOSED, iteration 2\n")


@pytest.mark.parametrize("name", ["my loop", "it's", "-x", "a;b", "$HOME", "日本 語"])
def test_suggested_commands_can_be_typed(loops: Loops, name: str) -> None:
    loops.write_rules("circuit_breaker: {cooldown_seconds: 0}\n")
    answer = [loops.run("loop", "record", "--files-changed", "0", "--", name).out for _ in range(3)][-1]
    line = answer.splitlines()[1].strip().removeprefix("to continue: ")
    reset, probe = line.removesuffix(")").split("   (or try one iteration: ")
    for command, status in ((probe, "HALF_OPEN"), (reset, "CLOSED")):
        ran = loops.run(*shlex.split(command)[1:])
        assert (ran.code, ran.err, loops.at(name)["status"]) == (0, "", status)


def test_percentages_are_listed(loops: Loops) -> None:
    for words in ("--progress 10", "--progress 12.5", "", "--progress 14"):
        loops.record("--files-changed", "1", *words.split())
    shown = loops.loop("status", "coder-1").out
    assert "  progress 10% → 12.5% → ? → 14%, " in shown
    assert "! Stagnation count: 2 of 10 " in shown
    answer = json.loads(loops.loop("status", "coder-1", "--json").out)
    assert [(each["iteration"], each["progress"]) for each in answer["progress"]] == [
        (1, 10),
        (2, 12.5),
        (3, None),
        (4, 14),
    ]
    assert answer["consecutive_no_progress_loops"] == 2


def test_event_log_has_each_iteration_and_change(loops: Loops) -> None:
    loops.record("--progress", "10", "--files-changed", "1")
    for _ in range(3):
        loops.record("--files-changed", "0", "--error", "\x1b[31mE: x\ny")
    loops.loop("reset", "coder-1", "-m", "the fixture\nwas wrong")
    loops.write(loops.state.read_text().replace("status: CLOSED", "status: HALF_OPEN", 1))
    loops.run("analyze")
    text = (loops.folder / "runs" / "loops" / "coder-1.log").read_text()
    found = [line.partition(" ")[2].partition(":")[0] for line in text.splitlines()]
    assert found == ["INIT", "LOOP", *["STAGNATION"] * 3, "TRIGGER", "RESET", "PROBE"]
    assert text.startswith("[2025-01-18T12:01:00Z] INIT: ")
    assert text.replace("\n", "").isprintable()


def test_missing_event_log_stops_nothing(loops: Loops) -> None:
    (loops.folder / "runs").write_text("no folder")
    assert loops.record("--files-changed", "1").code == 0
    assert loops.at()["loop_count"] == 1
    assert "coder-1.log cannot be written" in loops.record("--files-changed", "1").out


def test_missing_reason_is_shown_as_missing(loops: Loops) -> None:
    loops.write("version: 1\nloops: {coder-1: {status: OPEN, loop_count: 1}}\n")
    answer = loops.loop("status", "coder-1").out
    assert answer.startswith("loop coder-1: OPEN after 1 iteration: no reason recorded\n")


def test_untrusted_loop_fields_are_escaped(loops: Loops) -> None:
    text = json.dumps(NASTY)
    fields = ("loop_count", "trigger_count", "consecutive_no_progress_loops", "trigger_reason", "last_trigger_time")
    lines = "".join(f"    {field}: {text}\n" for field in fields)
    inner = ", ".join(f"{name}: {text}" for name in ("opened", "reason", "iteration", "signature", "file", "progress"))
    lists = "".join(f"    {name}: [{{{inner}}}]\n" for name in ("iterations", "history", "error_history"))
    loops.write(f"version: 1\nloops:\n  coder-1:\n    status: OPEN\n{lines}{lists}")
    for words in (["loop", "status", "coder-1"], ["loop", "list"], ["gate", "--loop", "coder-1"]):
        shown = on_a_terminal(loops.root, *words).out
        assert harmless(shown), ascii(shown)
