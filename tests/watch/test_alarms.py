"""Alarms: each cause is told once until it is over, also across a restart, and written where people find it."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from liza.breaker import checkpoint
from tests.faults.children import Child
from tests.watch.daemon import RETRIES, STATE, Daemon, Watched, until
from tests.watch.looking import Looking
from tests.watch.writers import save

BLOCKED = STATE.replace("status:   CLAIMED", "status: BLOCKED\n    blocked_reason: no access")


@pytest.fixture
def board(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "team")


def alarms(board: Watched) -> list[str]:
    return [line.removeprefix("alarm ") for line in board.alerts if line.startswith("alarm ")]


def aged(path: Path, **span: float) -> None:
    """As if it had been written so long ago."""
    moment = time.time() - timedelta(**span).total_seconds()
    os.utime(path, (moment, moment), follow_symlinks=False)


# --- once a cause ---------------------------------------------------------------------------------------------------


def test_a_cause_is_told_once_until_it_is_over(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        save(board.state, BLOCKED)
        assert daemon.tells("alarm") == "A task is blocked: task-2: blocked reason no access"
        save(board.state, BLOCKED.replace("max_review_cycles:   5", "max_review_cycles: 6"))
        until(lambda: board.facts["checks"] == 3, "it has looked again")
        board.beats(3)
        assert len(daemon.told("alarm")) == 1
        save(board.state, STATE)
        daemon.tells("over")
        save(board.state, BLOCKED)
        daemon.tells("alarm", "task-2")
        assert daemon.stop() == 0
    assert len(alarms(board)) == 2


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_a_restart_does_not_tell_what_everybody_knows(board: Watched, end: str) -> None:
    save(board.state, BLOCKED)
    with Daemon(board.root, wait="alarm") as daemon:
        board.beats(2)
        if end == "killed":
            daemon.kill()
        else:
            assert daemon.stop() == 0
    with Daemon(board.root) as daemon:
        board.beats(3)
        assert daemon.told("alarm") == daemon.told("over") == []
        save(board.state, STATE)
        daemon.tells("over", "task-2")
    assert len(alarms(board)) == 1


def test_a_restart_does_not_tell_again_that_the_blackboard_is_not_valid(board: Watched) -> None:
    save(board.state, STATE.replace("type: note", "type: 5"))
    with Daemon(board.root, wait="alarm") as daemon:
        board.beats(2)
        daemon.kill()
    with Daemon(board.root) as daemon:
        board.beats(3)
        assert daemon.told("alarm") == daemon.told("over") == []


def test_a_cause_that_lasts_is_told_again_after_growing_pauses(board: Watched) -> None:
    save(board.state, BLOCKED)
    with Looking(board) as looking:
        for _ in range(3 * 24 * 12):
            looking.ticks(1, 300)
    said = [each.at - looking.happened[0].at for each in looking.happened if each.kind == "alarm"]
    hours = [round(span.total_seconds() / 3600) for span in said]
    assert hours[:5] == [0, 1, 5, 17, 41]
    assert len(hours) == 6
    assert "(still, since " in looking.told("alarm")[1]


def test_two_tasks_are_two_causes(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        save(board.state, BLOCKED.replace("status: CLAIMED", "status: BLOCKED"))
        assert {daemon.tells("alarm").split(": ")[1], daemon.tells("alarm").split(": ")[1]} == {"task-1", "task-2"}


# --- what is worth one ----------------------------------------------------------------------------------------------


def test_a_lease_that_expires_is_told_after_its_grace(board: Watched) -> None:
    now = datetime.now(UTC)
    ends = f"{now + timedelta(seconds=60):%FT%TZ}"
    agents = f"agents:\n  coder-7: {{role: coder, status: WORKING, lease_expires: {ends}}}\nconfig:\n"
    save(board.state, STATE.replace("config:\n", agents))
    with Looking(board, now) as looking:
        looking.ticks(2)
        assert looking.after(seconds=170) == []
        assert looking.after(seconds=20) == [
            "alarm: An agent has not renewed its lease for two minutes after its end: coder-7"
        ]


def test_a_checkpoint_that_waits_is_told_of_three_times_and_escalated(board: Watched) -> None:
    board.report_anomalies(*RETRIES)
    with Daemon(board.root, wait="tripped") as daemon:
        board.halted()
        for hours, words in ((0.6, "30 minutes"), (2.1, "2 hours"), (8.1, "8 hours")):
            aged(board.checkpoint, hours=hours)
            assert daemon.tells("alarm") == f"CHECKPOINT has been waiting for a person for {words}"
            board.beats(2)
            assert board.escalation.exists() == (hours > 1)
        assert board.resolve().code == 0
        daemon.tells("resolved")
        daemon.tells("over")
    text = board.escalation.read_text()
    assert "sprint-4" in text
    assert "task-2 (CLAIMED)" in text
    assert "liza resolve" in text
    assert sum("waiting" in line for line in alarms(board)) == 3


def test_a_halt_that_is_resolved_is_no_longer_escalated(board: Watched) -> None:
    board.checkpoint.touch()
    with Daemon(board.root, wait="alarm") as daemon:
        aged(board.checkpoint, hours=3)
        daemon.tells("alarm", "2 hours")
        until(board.escalation.exists, "it is escalated")
        board.checkpoint.unlink()
        daemon.tells("over", "2 hours")
        assert daemon.stop() == 0


def test_a_pause_that_nobody_ends_is_told_of(board: Watched) -> None:
    pause = board.folder / "PAUSE"
    pause.touch()
    aged(pause, minutes=31)
    with Daemon(board.root, wait="alarm"):
        until(lambda: alarms(board) == ["PAUSE has been waiting for a person for 30 minutes"], "it is written down")


def test_a_log_that_nobody_writes_is_told_of_unless_the_agents_are_halted(board: Watched) -> None:
    board.log.write_text("- {timestamp: 2025-01-18T14:32:00Z, agent: coder-1, action: began}\n")
    aged(board.log, minutes=31)
    with Daemon(board.root, wait="alarm") as daemon:
        until(lambda: alarms(board) == ["no entry in log.yaml for 30 minutes"], "it is written down")
        with open(board.log, "a", encoding="utf-8") as file:
            file.write("- {timestamp: 2025-01-18T15:32:00Z, agent: coder-1, action: ended}\n")
        daemon.tells("over")
        aged(board.log, minutes=31)
        daemon.tells("alarm", "30 minutes")
        board.checkpoint.touch()
        daemon.tells("over", "30 minutes")


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("rules: [{name: retry_cluster, enabled: false}]\n", "retry_cluster is disabled"),
        ("rules: [{name: retry_cluster, mode: observe}]\n", "retry_cluster: mode is"),
        (
            "rules: [{name: retry_cluster, condition: 'count(type=retry_loop, same(error_pattern)) >= 9'}]\n",
            "retry_cluster: condition is",
        ),
        ("rules: [{name: task_blocked, enabled: false}]\n", "task_blocked is disabled"),
    ],
    ids=["disabled", "observe", "condition", "an alarm disabled"],
)
def test_rules_that_are_loosened_are_told_of(board: Watched, rules: str, words: str) -> None:
    with Looking(board) as looking:
        looking.ticks(2)
        save(board.rules, rules)
        looking.ticks(2)
        assert [text for text in looking.told("alarm") if words in text]
        looking.ticks(20, 10)
        assert len(looking.told("alarm")) == 1
        board.rules.unlink()
        looking.ticks(2)
        assert len(looking.told("over")) == 1


def test_a_blackboard_that_is_not_valid_is_told_of_with_the_place(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        save(board.state, STATE.replace("type: note", "type: 5"))
        assert "not valid: 18:" in daemon.tells("alarm")
        save(board.state, STATE)
        daemon.tells("over", "not valid")


def test_a_halt_left_after_a_resolution_by_hand_is_told_once_and_stands(board: Watched) -> None:
    """The agents stand still although the breaker is closed: somebody should know, for as long as it is so."""
    board.report_anomalies(*RETRIES)
    with Looking(board) as looking:
        looking.ticks(3)
        board.edit("status: TRIGGERED", "status: OK")
        looking.ticks(3)
        assert looking.told("resolved")
        for number in range(20):
            board.save(board.text.replace("config:\n", f"config:\n  round_{number}: 1\n", 1))
            looking.ticks(2, 15)
        said = [text for text in looking.told("alarm") if "CHECKPOINT of trip" in text]
        assert len(said) == 1
        assert not [text for text in looking.told("over") if "CHECKPOINT of trip" in text]


def test_a_halt_of_ours_that_is_just_taken_away_is_never_taken_for_a_persons(board: Watched) -> None:
    trigger = {"timestamp": "2025-01-18T10:00:00Z", "pattern": "p", "severity": "s", "report_file": "r"}
    checkpoint.make(str(board.checkpoint), {**trigger, "trip_id": "0123456789ab"})
    aside = board.folder / "aside"

    def away_and_back() -> None:
        while True:
            board.checkpoint.rename(aside)
            aside.rename(board.checkpoint)

    with Child(away_and_back):
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            seen = checkpoint.look(str(board.checkpoint))
            assert seen is None or seen.trip_id == "0123456789ab"
