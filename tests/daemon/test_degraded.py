"""What cannot be read is a state that people see: the last good verdict stands, and all mends itself."""

from pathlib import Path

import pytest

from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, run, until
from tests.daemon.looking import Looking
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


@pytest.fixture
def board(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "team")


def test_what_cannot_be_read_is_told_after_a_while_and_mends_itself(board: Watched) -> None:
    text = BAD
    with Daemon(board.root) as daemon:
        save(board.state, text)
        until(lambda: board.facts["health"] == "degraded", "it says that it cannot see")
        assert daemon.told("degraded") == [], "a save is not always done at once"
        assert "state.yaml" in daemon.tells("degraded")
        status = run(board.root, "watch", "--status")
        assert (status.code, "degraded" in status.out) == (4, True)
        assert board.state.read_text() == text, "it is not for the daemon to mend it"
        save(board.state, STATE + text_of(RETRIES[:1]))
        daemon.tells("recovered")
        until(lambda: board.facts["health"] == "ok", "it says that it can see again")
        assert board.facts["last_error"] is None
        assert len(daemon.told("degraded")) == 1
        board.report_anomalies(*RETRIES[1:])
        daemon.tells("tripped")
        assert daemon.stop() == 0


def test_whatever_cannot_be_judged_is_no_ok(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        for text in UNREADABLE.values():
            save(board.state, text)
            until(lambda: board.facts["health"] == "degraded", "it says that it cannot see")
            assert str(board.state) in board.facts["last_error"]
            save(board.state, STATE)
            until(lambda: board.facts["health"] == "ok", "it says that it can see again")
        assert daemon.told("degraded") == daemon.told("resolved") == []


def test_the_place_of_what_is_wrong_is_told(board: Watched) -> None:
    with Daemon(board.root):
        save(board.state, BAD)
        until(lambda: board.facts["last_error"], "it says why")
        line = BAD.splitlines().index("  - {type: retry_loop") + 1
        assert board.facts["last_error"].startswith(f"{board.state}:{line}:5: ")


def test_a_file_that_vanishes_is_told_and_one_that_comes_back_is_judged(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.state.unlink()
        assert "not there" in until(lambda: board.facts["last_error"], "it says that it cannot see")
        save(board.state, STATE + text_of(RETRIES))
        daemon.tells("tripped")
        assert daemon.stop() == 0


def test_while_it_cannot_be_read_an_open_breaker_stays_open(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        before, text = board.halted(), board.text
        save(board.state, "")
        until(lambda: board.facts["health"] == "degraded", "it says that it cannot see")
        assert board.halt == before
        save(board.state, text)
        until(lambda: board.facts["health"] == "ok", "it says that it can see again")
        board.beats(3)
        assert board.halt == before
        assert daemon.told("resolved") == []
        assert len(daemon.told("tripped")) == 1
    assert len(board.trips) == len(board.logged) == 1


def test_a_section_that_is_gone_while_halted_is_entered_again(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        before = board.halted()
        start, end = board.text.index("circuit_breaker:"), board.text.index("anomalies:")
        save(board.state, board.text[:start] + board.text[end:])
        daemon.tells("alarm", "retry_cluster")
        assert board.trigger["trip_id"] == before["trip"]
        assert board.halt == before
        assert daemon.told("resolved") == []


def test_a_section_that_is_gone_beside_old_reports_is_no_new_beginning(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        board.halted()
        assert board.resolve().code == 0
        daemon.tells("resolved")
        start, end = board.text.index("circuit_breaker:"), board.text.index("anomalies:")
        save(board.state, board.text[:start] + board.text[end:])
        assert "no circuit_breaker section" in until(lambda: board.facts["last_error"], "it says that it cannot see")
        assert len(daemon.told("tripped")) == 1


def test_a_save_in_two_halves_is_not_told_of(board: Watched) -> None:
    text = STATE + text_of(RETRIES)
    cut = text.index("reporter") + 3  # in the middle of a record: this half is no YAML
    with Daemon(board.root) as daemon:
        with open(board.state, "w", encoding="utf-8") as file:
            file.write(text[:cut])
            file.flush()
            until(lambda: board.facts["health"] == "degraded", "the half has been seen")
            file.write(text[cut:])
        daemon.tells("tripped")
        until(lambda: board.facts["health"] == "ok", "it says that it can see again")
        assert daemon.stop() == 0
    assert daemon.told("degraded") == daemon.told("recovered") == []
    assert not any("degraded" in line for line in board.alerts)
    assert len(board.trips) == 1


def test_half_a_file_that_parses_is_no_resolution(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        before, text = board.halted(), board.text
        with open(board.state, "w", encoding="utf-8") as file:
            file.write(text[: text.index("circuit_breaker:")])
            file.flush()
            until(lambda: board.facts["health"] == "degraded", "the half has been seen")
            file.write(text[text.index("circuit_breaker:") :])
        until(lambda: board.facts["health"] == "ok", "it says that it can see again")
        board.beats(3)
        assert daemon.told("resolved") == []
        assert board.halt == before
    assert len(board.trips) == 1


@pytest.mark.parametrize("last", ["status: TRIGGERED\n", "pattern: retry", "trip_id: ", "history:\n"])
def test_half_of_the_section_is_no_trip_that_nobody_knows(board: Watched, last: str) -> None:
    """The writer stands still in the middle for longer than a save takes, but it has not let go of the file."""
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        until(lambda: board.trips, "the trip is entered, which people hear of before")
        before, text = board.halted(), board.text.replace("TRIGGERED  # OK, TRIGGERED", "TRIGGERED")
        cut = text.index(last) + len(last) + (5 if last == "trip_id: " else 0)
        with open(board.state, "w", encoding="utf-8") as file:
            file.write(text[:cut])
            file.flush()
            until(lambda: "open for writing" in str(board.facts["last_error"]), "the half has been seen")
            file.write(text[cut:])
        until(lambda: board.facts["health"] == "ok", "it says that it can see again")
        board.beats(3)
        assert board.halt == before
        assert daemon.told("resolved") == daemon.told("alarm") == []
        assert len(daemon.told("tripped")) == 1
    assert len(board.trips) == 1


def test_a_bad_file_of_rules_keeps_the_last_good_ones(board: Watched) -> None:
    loose = "rules:\n  - {name: retry_cluster, condition: 'count(type=retry_loop) >= 2'}\n"
    board.rules.write_text(loose)
    with Daemon(board.root) as daemon:
        save(board.rules, "rules:\n  - {name: retry_cluster, condition: 'cuont(type=retry_loop) >= 9'}\n")
        assert "rules.yaml:2:" in daemon.tells("degraded")
        assert run(board.root, "watch", "--status").code == 4
        board.report_anomalies(*RETRIES[:2])
        daemon.tells("tripped", "retry_cluster")
        save(board.rules, loose)
        daemon.tells("recovered")
        until(lambda: board.facts["health"] == "ok", "all is well again")
        assert daemon.stop() == 0


def test_a_bad_file_of_rules_at_the_start_leaves_the_shipped_ones(board: Watched) -> None:
    board.rules.write_text("rules: [\n")
    with Daemon(board.root) as daemon:
        assert "rules.yaml" in until(lambda: board.facts["last_error"], "it says that it cannot see")
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped", "retry_cluster")


def test_changed_rules_are_in_force_at_once(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES[:2])
        daemon.tells("checked", "2 of 3")
        save(board.rules, "rules:\n  - {name: retry_cluster, condition: 'count(type=retry_loop) >= 2'}\n")
        daemon.tells("reloaded")
        daemon.tells("tripped", "retry_cluster")
        assert daemon.stop() == 0


def test_a_blackboard_that_cannot_be_written_is_halted_all_the_same(board: Watched) -> None:
    flow = "{version: 1, circuit_breaker: {status: OK}, anomalies: [%s]}\n"
    with Daemon(board.root) as daemon:
        save(board.state, flow % ", ".join(line.strip(" -\n") for line in text_of(RETRIES).splitlines()))
        daemon.tells("tripped")
        assert board.halt["pattern"] == "retry_cluster"
        until(lambda: board.facts["health"] == "degraded", "it says that not all could be done")
        board.beats(3)
        assert len(daemon.told("tripped")) == 1


def test_a_section_whose_name_is_no_text_is_read_again(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team", STATE.replace("config:\n", "2025:\n  own: 1\nconfig:\n"))
    with Daemon(board.root) as daemon:
        board.edit("own: 1", "own: 2")
        until(lambda: board.facts["checks"] == 2 or daemon.process.poll(), "it has looked")
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")


def test_a_restart_does_not_tell_again_that_it_cannot_see(board: Watched) -> None:
    with Daemon(board.root) as daemon:
        save(board.state, BAD)
        daemon.tells("degraded")
        until(lambda: board.facts["errors"], "it is written down that people know")
        daemon.kill()
    with Daemon(board.root, wait="started") as daemon:
        until(lambda: board.facts["pid"] == daemon.pid and board.facts["health"] == "degraded", "it has looked")
        board.beats(3)
        assert daemon.told("degraded") == daemon.told("recovered") == []
        save(board.state, STATE)
        daemon.tells("recovered", "state.yaml:19:5")
    assert sum("degraded" in line for line in board.alerts) == 1


def test_hours_without_sight_are_told_again_and_not_for_every_new_error(board: Watched) -> None:
    with Looking(board) as looking:
        looking.ticks(2)
        for number in range(30):
            save(board.state, "\n" * number + "anomalies: [\n")
            looking.ticks(1, 10)
        assert len(looking.told("degraded")) == 1
        looking.after(hours=1)
        first, second = looking.told("degraded")
        assert "(still, since " in second
        assert "(still, since " not in first
