"""Alarms: each cause is reported once until it is over, even across a restart, and recorded in alerts.log."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from liza.model import format_time
from liza.store import checkpoint
from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, until
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.writers import save
from tests.faults.children import Child

BLOCKED = STATE.replace("status:   CLAIMED", "status: BLOCKED\n    blocked_reason: no access")


def alarms(board: Watched) -> list[str]:
    return [line.removeprefix("alarm ") for line in board.alerts if line.startswith("alarm ")]


def aged(path: Path, **span: float) -> None:
    """Set its time back by so much."""
    moment = time.time() - timedelta(**span).total_seconds()
    os.utime(path, (moment, moment), follow_symlinks=False)


# --- once a cause ---------------------------------------------------------------------------------------------------


def test_cause_is_alarmed_once_until_it_is_over(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        save(board.state, BLOCKED)
        assert daemon.wait_for("alarm") == "A task is blocked: task-2: blocked reason no access"
        save(board.state, BLOCKED.replace("max_review_cycles:   5", "max_review_cycles: 6"))
        until(lambda: board.facts["checks"] == 3, "it has checked again")
        board.beats(3)
        assert len(daemon.reported("alarm")) == 1
        save(board.state, STATE)
        daemon.wait_for("over")
        save(board.state, BLOCKED)
        daemon.wait_for("alarm", "task-2")
        assert daemon.stop() == 0
    assert len(alarms(board)) == 2


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_restart_does_not_repeat_an_alarm(board: Watched, end: str) -> None:
    save(board.state, BLOCKED)
    with Daemon(board.root, wait="alarm") as daemon:
        board.beats(2)
        if end == "killed":
            daemon.kill()
        else:
            assert daemon.stop() == 0
    with Daemon(board.root) as daemon:
        board.beats(3)
        assert daemon.reported("alarm") == daemon.reported("over") == []
        save(board.state, STATE)
        daemon.wait_for("over", "task-2")
    assert len(alarms(board)) == 1


def test_restart_does_not_repeat_the_alarm_about_an_invalid_board(board: Watched) -> None:
    save(board.state, STATE.replace("type: note", "type: 5"))
    with Daemon(board.root, wait="alarm") as daemon:
        board.beats(2)
        daemon.kill()
    with Daemon(board.root) as daemon:
        board.beats(3)
        assert daemon.reported("alarm") == daemon.reported("over") == []


def test_lasting_cause_is_repeated_after_growing_pauses(board: Watched) -> None:
    save(board.state, BLOCKED)
    with SteppedWatcher(board) as stepped:
        for _ in range(3 * 24 * 12):
            stepped.ticks(1, 300)
    reported = [each.at - stepped.events[0].at for each in stepped.events if each.kind == "alarm"]
    hours = [round(span.total_seconds() / 3600) for span in reported]
    assert hours[:5] == [0, 1, 5, 17, 41]
    assert len(hours) == 6
    assert "(still, since " in stepped.reported("alarm")[1]


def test_two_tasks_are_two_causes(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        save(board.state, BLOCKED.replace("status: CLAIMED", "status: BLOCKED"))
        assert {daemon.wait_for("alarm").split(": ")[1], daemon.wait_for("alarm").split(": ")[1]} == {
            "task-1",
            "task-2",
        }


# --- causes ---------------------------------------------------------------------------------------------------------


def test_expired_lease_is_alarmed_after_its_grace_period(board: Watched) -> None:
    now = datetime.now(UTC)
    ends = f"{now + timedelta(seconds=60):%FT%TZ}"
    agents = f"agents:\n  coder-7: {{role: coder, status: WORKING, lease_expires: {ends}}}\nconfig:\n"
    save(board.state, STATE.replace("config:\n", agents))
    with SteppedWatcher(board, now) as stepped:
        stepped.ticks(2)
        assert stepped.advance(seconds=170) == []
        assert stepped.advance(seconds=20) == [
            f"alarm: An agent's lease ended two minutes ago and was not renewed: coder-7: lease expires {ends}"
        ]


def test_pause_file_without_an_end_is_alarmed(board: Watched) -> None:
    pause = board.folder / "PAUSE"
    pause.touch()
    aged(pause, minutes=31)
    with Daemon(board.root, wait="alarm"):
        until(lambda: alarms(board) == ["PAUSE has been waiting for a person for 30 minutes"], "it is recorded")


def stalled(board: Watched) -> None:
    board.log.write_text("- {timestamp: 2025-01-18T14:32:00Z, agent: coder-1, action: began}\n")
    aged(board.log, minutes=31)


def test_log_without_new_entries_is_alarmed(board: Watched) -> None:
    stalled(board)
    with Daemon(board.root, wait="alarm") as daemon:
        until(lambda: alarms(board) == ["no entry in log.yaml for 30 minutes"], "it is recorded")
        with open(board.log, "a", encoding="utf-8") as file:
            file.write("- {timestamp: 2025-01-18T15:32:00Z, agent: coder-1, action: ended}\n")
        assert daemon.wait_for("over") == "no entry in log.yaml for 30 minutes"


@pytest.mark.parametrize("name", ["CHECKPOINT", "PAUSE", "ABORT"])
def test_log_without_new_entries_is_expected_during_a_halt(board: Watched, name: str) -> None:
    stalled(board)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        (board.folder / name).touch()
        stepped.ticks(2, 10)
        assert stepped.reported("over") == ["no entry in log.yaml for 30 minutes"]


@pytest.mark.parametrize(
    "state",
    [STATE.replace("CLAIMED", "MERGED"), STATE.replace("started:", "ended: 2025-01-18T17:00:00Z, started:")],
    ids=["every task is done", "the sprint has ended"],
)
def test_log_without_new_entries_is_expected_after_the_work(board: Watched, state: str) -> None:
    save(board.state, state)
    stalled(board)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(3, 10)
        assert stepped.reported("alarm") == []


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
def test_loosened_rules_are_alarmed(board: Watched, rules: str, words: str) -> None:
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        save(board.rules, rules)
        stepped.ticks(2)
        assert [text for text in stepped.reported("alarm") if words in text]
        stepped.ticks(20, 10)
        assert len(stepped.reported("alarm")) == 1
        board.rules.unlink()
        stepped.ticks(2)
        assert len(stepped.reported("over")) == 1


def test_silence_is_alarmed_until_it_ends(board: Watched) -> None:
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        begins, ends = (format_time(stepped.now + timedelta(hours=hours)) for hours in (-1, 1))
        silence = f"created: {begins}, until: {ends}, reason: it is in my way"
        board.save(f"{board.text}silences:\n- {{id: s-1, rule: retry_cluster, all: true, {silence}, by: coder-1}}\n")
        stepped.ticks(4)
        assert stepped.reported("alarm") == [f"retry_cluster is silenced until {ends} by coder-1: it is in my way"]
        assert [line for line in board.alerts if "retry_cluster is silenced" in line]
        assert not [text for text in stepped.advance(minutes=30) if "silenced" in text]
        assert [text for text in stepped.advance(minutes=31) if text.startswith("over: retry_cluster is silenced")]


def test_invalid_board_is_alarmed_with_the_position(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        save(board.state, STATE.replace("type: note", "type: 5"))
        assert "not valid: 18:" in daemon.wait_for("alarm")
        save(board.state, STATE)
        daemon.wait_for("over", "not valid")


def test_halt_after_a_manual_resolution_is_one_alarm(board: Watched) -> None:
    """The agents stay halted although the breaker is closed: a person should know, for as long as that lasts."""
    board.report_anomalies(*RETRIES)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(3)
        board.edit("status: TRIGGERED", "status: OK")
        stepped.ticks(3)
        assert stepped.reported("resolved")
        for number in range(20):
            board.save(board.text.replace("config:\n", f"config:\n  round_{number}: 1\n", 1))
            stepped.ticks(2, 15)
        reported = [text for text in stepped.reported("alarm") if "CHECKPOINT of trip" in text]
        assert len(reported) == 1
        assert not [text for text in stepped.reported("over") if "CHECKPOINT of trip" in text]


OWN = """\
rules:
  - {name: own_alert, description: Notes pile up, condition: 'count(type=note, per(task)) >= 1', action: ALERT}
"""


def test_own_alert_rule_is_alarmed(board: Watched) -> None:
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        save(board.rules, OWN)
        stepped.ticks(3, 10)
        assert stepped.reported("alarm") == ["Notes pile up: task-1: began"]
        board.rules.unlink()
        stepped.ticks(2)
        assert stepped.reported("over") == ["Notes pile up: task-1: began"]


def test_observed_rule_is_marked_and_is_not_an_alarm(board: Watched) -> None:
    save(board.rules, OWN.replace("action: ALERT", "severity: SPEC_FLAW, mode: observe"))
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        assert stepped.reported("checked") == ["own_alert 1 of 1 (only observed)"]
        assert stepped.reported("alarm") == []


def test_alarm_rule_changed_to_checkpoint_halts(board: Watched) -> None:
    save(board.rules, "rules: [{name: task_blocked, action: CHECKPOINT, severity: SCOPE_FLAW}]\n")
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        save(board.state, BLOCKED)
        stepped.ticks(2)
        assert stepped.reported("tripped") == ["task_blocked (SCOPE_FLAW)"]
        assert board.halt["pattern"] == "task_blocked"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("review_cycles_current: 3", "A task is near its limit of review cycles: task-2: review cycles used 3 of 5"),
        ("iteration: 10", "A task has no iterations left: task-2: iterations used 10 of 10"),
        ("iteration: 3, max_iterations: 4", "A task is near its limit of iterations: task-2: iterations used 3 of 4"),
        ("failed_by: [c-1, c-2]", "Two agents have failed at one task: task-2: failed by c-1, c-2"),
        (
            "history: [{event: claimed, agent: c-2}, {event: claimed, agent: c-1}]",
            "A task went from one agent to another: task-2: claimed by c-2, c-1",
        ),
    ],
)
def test_alarm_names_its_subject(board: Watched, fields: str, words: str) -> None:
    save(
        board.state,
        STATE.replace("  - id: task-2\n    status:   CLAIMED", f"  - {{id: task-2, status: CLAIMED, {fields}}}"),
    )
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        assert stepped.reported("alarm") == [words]


# --- clocks ---------------------------------------------------------------------------------------------------------


def test_clock_set_back_delays_no_alarm_and_no_reminder(board: Watched) -> None:
    save(board.state, BLOCKED)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        stepped.now -= timedelta(days=400)
        stepped.ticks(2)
        assert any("(still, since " in text for text in stepped.advance(minutes=61))


def test_clock_set_back_does_not_hide_an_unreadable_board(board: Watched) -> None:
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        save(board.state, "anomalies: [\n")
        stepped.ticks(1)
        stepped.now -= timedelta(days=400)
        stepped.ticks(2)
        assert len(stepped.reported("degraded")) == 1
        save(board.state, STATE)
        stepped.ticks(2)
        assert len(stepped.reported("recovered")) == 1


def test_clock_set_back_keeps_retrying_a_failed_write(board: Watched) -> None:
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        reports = board.folder / "reports"
        reports.touch()  # the report cannot be kept
        board.report_anomalies(*RETRIES)
        stepped.ticks(2)
        reports.unlink()
        stepped.now -= timedelta(days=400)
        stepped.ticks(3)
        assert len(board.archived) == 1


def test_our_halt_being_removed_is_never_taken_for_a_persons(board: Watched) -> None:
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
