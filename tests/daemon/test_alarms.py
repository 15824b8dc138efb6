"""Alarms: each cause is told once until it is over, also across a restart, and written where people find it."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from liza.model import format_time
from liza.scopes.sprint import checkpoint
from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, until
from tests.daemon.looking import Looking
from tests.daemon.writers import save
from tests.faults.children import Child

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
            f"alarm: An agent has not renewed its lease for two minutes after its end: coder-7: lease expires {ends}"
        ]


def test_a_pause_that_nobody_ends_is_told_of(board: Watched) -> None:
    pause = board.folder / "PAUSE"
    pause.touch()
    aged(pause, minutes=31)
    with Daemon(board.root, wait="alarm"):
        until(lambda: alarms(board) == ["PAUSE has been waiting for a person for 30 minutes"], "it is written down")


def stalled(board: Watched) -> None:
    board.log.write_text("- {timestamp: 2025-01-18T14:32:00Z, agent: coder-1, action: began}\n")
    aged(board.log, minutes=31)


def test_a_log_that_nobody_writes_is_told_of(board: Watched) -> None:
    stalled(board)
    with Daemon(board.root, wait="alarm") as daemon:
        until(lambda: alarms(board) == ["no entry in log.yaml for 30 minutes"], "it is written down")
        with open(board.log, "a", encoding="utf-8") as file:
            file.write("- {timestamp: 2025-01-18T15:32:00Z, agent: coder-1, action: ended}\n")
        assert daemon.tells("over") == "no entry in log.yaml for 30 minutes (over)"


@pytest.mark.parametrize("name", ["CHECKPOINT", "PAUSE", "ABORT"])
def test_where_agents_are_to_stand_still_nobody_misses_their_entries(board: Watched, name: str) -> None:
    stalled(board)
    with Looking(board) as looking:
        looking.ticks(2)
        (board.folder / name).touch()
        looking.ticks(2, 10)
        assert looking.told("over") == ["no entry in log.yaml for 30 minutes (over)"]


@pytest.mark.parametrize(
    "state",
    [STATE.replace("CLAIMED", "MERGED"), STATE.replace("started:", "ended: 2025-01-18T17:00:00Z, started:")],
    ids=["every task is done", "the sprint has ended"],
)
def test_where_nobody_is_at_work_nobody_is_missed(board: Watched, state: str) -> None:
    save(board.state, state)
    stalled(board)
    with Looking(board) as looking:
        looking.ticks(3, 10)
        assert looking.told("alarm") == []


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


def test_a_silence_that_anybody_wrote_is_told_of_until_it_ends(board: Watched) -> None:
    with Looking(board) as looking:
        looking.ticks(2)
        begins, ends = (format_time(looking.now + timedelta(hours=hours)) for hours in (-1, 1))
        said = f"created: {begins}, until: {ends}, reason: it is in my way"
        board.save(f"{board.text}silences:\n- {{id: s-1, rule: retry_cluster, all: true, {said}, by: coder-1}}\n")
        looking.ticks(4)
        assert looking.told("alarm") == [f"retry_cluster is silenced until {ends} by coder-1: it is in my way"]
        assert [line for line in board.alerts if "retry_cluster is silenced" in line]
        assert not [text for text in looking.after(minutes=30) if "silenced" in text]
        assert [text for text in looking.after(minutes=31) if text.startswith("over: retry_cluster is silenced")]


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


OWN = """\
rules:
  - {name: own_alert, description: Notes pile up, condition: 'count(type=note, per(task)) >= 1', action: ALERT}
"""


def test_a_rule_of_ones_own_that_only_tells_is_told_as_any_other(board: Watched) -> None:
    with Looking(board) as looking:
        looking.ticks(2)
        save(board.rules, OWN)
        looking.ticks(3, 10)
        assert looking.told("alarm") == ["Notes pile up: task-1: began"]
        board.rules.unlink()
        looking.ticks(2)
        assert looking.told("over") == ["Notes pile up: task-1: began (over)"]


def test_a_rule_that_is_only_observed_is_said_to_be_so_and_is_no_alarm(board: Watched) -> None:
    save(board.rules, OWN.replace("action: ALERT", "severity: SPEC_FLAW, mode: observe"))
    with Looking(board) as looking:
        looking.ticks(2)
        assert looking.told("checked") == ["own_alert 1 of 1 (only observed)"]
        assert looking.told("alarm") == []


def test_an_alarm_that_somebody_made_a_reason_to_halt_halts(board: Watched) -> None:
    save(board.rules, "rules: [{name: task_blocked, action: CHECKPOINT, severity: SCOPE_FLAW}]\n")
    with Looking(board) as looking:
        looking.ticks(2)
        save(board.state, BLOCKED)
        looking.ticks(2)
        assert looking.told("tripped") == ["task_blocked (SCOPE_FLAW)"]
        assert board.halt["pattern"] == "task_blocked"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("review_cycles_current: 3", "A task is near its limit of review cycles: task-2: review cycles used 3 of 5"),
        ("iteration: 10", "A task has no iteration left: task-2: iterations used 10 of 10"),
        ("iteration: 3, max_iterations: 4", "A task is near its limit of iterations: task-2: iterations used 3 of 4"),
        ("failed_by: [c-1, c-2]", "Two agents have failed at one task: task-2: failed by c-1, c-2"),
        (
            "history: [{event: claimed, agent: c-2}, {event: claimed, agent: c-1}]",
            "A task went from one agent to another: task-2: claimed by c-2, c-1",
        ),
    ],
)
def test_an_alarm_says_what_it_is_about(board: Watched, fields: str, words: str) -> None:
    save(
        board.state,
        STATE.replace("  - id: task-2\n    status:   CLAIMED", f"  - {{id: task-2, status: CLAIMED, {fields}}}"),
    )
    with Looking(board) as looking:
        looking.ticks(2)
        assert looking.told("alarm") == [words]


# --- clocks ---------------------------------------------------------------------------------------------------------


def test_a_clock_that_is_set_back_delays_no_alarm_and_no_reminder(board: Watched) -> None:
    save(board.state, BLOCKED)
    with Looking(board) as looking:
        looking.ticks(2)
        looking.now -= timedelta(days=400)
        looking.ticks(2)
        assert any("(still, since " in text for text in looking.after(minutes=61))


def test_a_clock_that_is_set_back_does_not_hide_that_nothing_can_be_read(board: Watched) -> None:
    with Looking(board) as looking:
        looking.ticks(2)
        save(board.state, "anomalies: [\n")
        looking.ticks(1)
        looking.now -= timedelta(days=400)
        looking.ticks(2)
        assert len(looking.told("degraded")) == 1
        save(board.state, STATE)
        looking.ticks(2)
        assert len(looking.told("recovered")) == 1


def test_a_clock_that_is_set_back_does_not_keep_a_failed_write_from_being_tried_again(board: Watched) -> None:
    with Looking(board) as looking:
        looking.ticks(2)
        reports = board.folder / "reports"
        reports.touch()  # the report cannot be kept
        board.report_anomalies(*RETRIES)
        looking.ticks(2)
        reports.unlink()
        looking.now -= timedelta(days=400)
        looking.ticks(3)
        assert len(board.archived) == 1


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
            seen = checkpoint.read(str(board.checkpoint))
            assert seen is None or seen.trip_id == "0123456789ab"
