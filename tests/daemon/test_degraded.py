"""DEGRADED is a visible state: the last good verdict stays in effect, and recovery is automatic."""

from pathlib import Path

import pytest

from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, run, until
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.writers import save, text_of

BAD = STATE + "  - {type: retry_loop\nversion: 2\n"
UNREADABLE = {
    "bad YAML": BAD,
    "empty": "",
    "a mapping of nothing": "{}\n",
    "a list": "[]\n",
    "nothing": "null\n",
    "half of a quote": STATE.replace("'specs/a.md'", "'specs/a.md"),
}


def test_unreadable_board_is_reported_after_a_while_and_recovers(board: Watched) -> None:
    text = BAD
    with Daemon(board.root) as daemon:
        save(board.state, text)
        until(lambda: board.facts["health"] == "degraded", "it is degraded")
        assert daemon.reported("degraded") == [], "a save may take a moment"
        assert "state.yaml" in daemon.wait_for("degraded")
        status = run(board.root, "watch", "--status")
        assert (status.code, "degraded" in status.out) == (4, True)
        assert board.state.read_text() == text, "the daemon must not repair it"
        save(board.state, STATE + text_of(RETRIES[:1]))
        daemon.wait_for("recovered")
        until(lambda: board.facts["health"] == "ok", "it has recovered")
        assert board.facts["last_error"] is None
        assert len(daemon.reported("degraded")) == 1
        board.report_anomalies(*RETRIES[1:])
        daemon.wait_for("tripped")
        assert daemon.stop() == 0


def test_every_unreadable_board_is_degraded(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        for text in UNREADABLE.values():
            save(board.state, text)
            until(lambda: board.facts["health"] == "degraded", "it is degraded")
            assert str(board.state) in board.facts["last_error"]
            save(board.state, STATE)
            until(lambda: board.facts["health"] == "ok", "it has recovered")
        assert daemon.reported("degraded") == daemon.reported("resolved") == []


def test_position_of_the_fault_is_shown(board: Watched) -> None:
    with Daemon(board.root):
        save(board.state, BAD)
        until(lambda: board.facts["last_error"], "the error is shown")
        line = BAD.splitlines().index("  - {type: retry_loop") + 1
        assert board.facts["last_error"].startswith(f"{board.state}:{line}:5: ")


def test_missing_file_is_degraded_and_a_returning_one_evaluated(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.state.unlink()
        assert "file not found" in until(lambda: board.facts["last_error"], "it is degraded")
        save(board.state, STATE + text_of(RETRIES))
        daemon.wait_for("tripped")
        assert daemon.stop() == 0


def test_open_breaker_stays_open_while_the_board_is_unreadable(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        before, text = board.halted(), board.text
        save(board.state, "")
        until(lambda: board.facts["health"] == "degraded", "it is degraded")
        assert board.halt == before
        save(board.state, text)
        until(lambda: board.facts["health"] == "ok", "it has recovered")
        board.beats(3)
        assert board.halt == before
        assert daemon.reported("resolved") == []
        assert len(daemon.reported("tripped")) == 1
    assert len(board.trips) == len(board.logged) == 1


def test_section_lost_while_halted_is_entered_again(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        before = board.halted()
        start, end = board.text.index("circuit_breaker:"), board.text.index("anomalies:")
        save(board.state, board.text[:start] + board.text[end:])
        daemon.wait_for("alarm", "retry_cluster")
        assert board.trigger["trip_id"] == before["trip"]
        assert board.halt == before
        assert daemon.reported("resolved") == []


def test_section_lost_beside_old_reports_is_not_a_new_board(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        board.halted()
        assert board.resolve().code == 0
        daemon.wait_for("resolved")
        start, end = board.text.index("circuit_breaker:"), board.text.index("anomalies:")
        save(board.state, board.text[:start] + board.text[end:])
        assert "no circuit_breaker section" in until(lambda: board.facts["last_error"], "it is degraded")
        assert len(daemon.reported("tripped")) == 1


def test_save_in_two_halves_is_not_reported(board: Watched) -> None:
    text = STATE + text_of(RETRIES)
    cut = text.index("reporter") + 3  # in the middle of a record: this half is not YAML
    with Daemon(board.root) as daemon:
        with open(board.state, "w", encoding="utf-8") as file:
            file.write(text[:cut])
            file.flush()
            until(lambda: board.facts["health"] == "degraded", "the half has been seen")
            file.write(text[cut:])
        daemon.wait_for("tripped")
        until(lambda: board.facts["health"] == "ok", "it has recovered")
        assert daemon.stop() == 0
    assert daemon.reported("degraded") == daemon.reported("recovered") == []
    assert not any("degraded" in line for line in board.alerts)
    assert len(board.trips) == 1


HALVES = ["max_review_cycles:   5\n", "status: TRIGGERED\n", "pattern: retry", "trip_id: ", "history:\n"]


@pytest.mark.parametrize("last", HALVES)
def test_half_a_section_is_not_an_unknown_trip(board: Watched, last: str) -> None:
    """The writer pauses in the middle for longer than a save takes, but keeps the file open."""
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        until(lambda: board.trips, "the trip is entered, after it was reported")
        before, text = board.halted(), board.text.replace("TRIGGERED  # OK, TRIGGERED", "TRIGGERED")
        cut = text.index(last) + len(last) + (5 if last == "trip_id: " else 0)
        with open(board.state, "w", encoding="utf-8") as file:
            file.write(text[:cut])
            file.flush()
            until(lambda: board.facts["health"] == "degraded", "the half has been seen")
            file.write(text[cut:])
        until(lambda: board.facts["health"] == "ok", "it has recovered")
        board.beats(3)
        assert board.halt == before
        assert daemon.reported("resolved") == daemon.reported("alarm") == []
        assert len(daemon.reported("tripped")) == 1
    assert len(board.trips) == 1


def test_invalid_rules_keep_the_last_valid_ones(board: Watched) -> None:
    loose = "rules:\n  - {name: retry_cluster, condition: 'count(type=retry_loop) >= 2'}\n"
    board.rules.write_text(loose)
    with Daemon(board.root) as daemon:
        save(board.rules, "rules:\n  - {name: retry_cluster, condition: 'cuont(type=retry_loop) >= 9'}\n")
        assert "rules.yaml:2:" in daemon.wait_for("degraded")
        assert run(board.root, "watch", "--status").code == 4
        board.report_anomalies(*RETRIES[:2])
        daemon.wait_for("tripped", "retry_cluster")
        save(board.rules, loose)
        daemon.wait_for("recovered")
        until(lambda: board.facts["health"] == "ok", "it has recovered")
        assert daemon.stop() == 0


def test_invalid_rules_at_the_start_leave_the_shipped_ones(board: Watched) -> None:
    board.rules.write_text("rules: [\n")
    with Daemon(board.root) as daemon:
        assert "rules.yaml" in until(lambda: board.facts["last_error"], "it is degraded")
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped", "retry_cluster")


def test_changed_rules_apply_at_once(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES[:2])
        daemon.wait_for("checked", "2 of 3")
        save(board.rules, "rules:\n  - {name: retry_cluster, condition: 'count(type=retry_loop) >= 2'}\n")
        daemon.wait_for("reloaded")
        daemon.wait_for("tripped", "retry_cluster")
        assert daemon.stop() == 0


def test_unwritable_board_is_halted(board: Watched) -> None:
    flow = "{version: 1, circuit_breaker: {status: OK}, anomalies: [%s]}\n"
    with Daemon(board.root) as daemon:
        save(board.state, flow % ", ".join(line.strip(" -\n") for line in text_of(RETRIES).splitlines()))
        daemon.wait_for("tripped")
        assert board.halt["pattern"] == "retry_cluster"
        until(lambda: board.facts["health"] == "degraded", "it is degraded")
        board.beats(3)
        assert len(daemon.reported("tripped")) == 1


def test_section_with_a_non_string_name_is_read_again(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team", STATE.replace("config:\n", "2025:\n  own: 1\nconfig:\n"))
    with Daemon(board.root) as daemon:
        board.edit("own: 1", "own: 2")
        until(lambda: board.facts["checks"] == 2 or daemon.process.poll(), "it has checked")
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")


def test_restart_does_not_repeat_the_degraded_message(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        save(board.state, BAD)
        daemon.wait_for("degraded")
        until(lambda: board.facts["errors"], "it is recorded that people know")
        daemon.kill()
    with Daemon(board.root, wait="started") as daemon:
        until(lambda: board.facts["pid"] == daemon.pid and board.facts["health"] == "degraded", "it has checked")
        board.beats(3)
        assert daemon.reported("degraded") == daemon.reported("recovered") == []
        save(board.state, STATE)
        daemon.wait_for("recovered", "state.yaml:19:5")
    assert sum("degraded" in line for line in board.alerts) == 1


def test_lasting_degraded_state_is_repeated_but_not_for_every_error(board: Watched) -> None:
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        for number in range(30):
            save(board.state, "\n" * number + "anomalies: [\n")
            stepped.ticks(1, 10)
        assert len(stepped.reported("degraded")) == 1
        stepped.advance(hours=1)
        first, second = stepped.reported("degraded")
        assert "(still, since " in second
        assert "(still, since " not in first
