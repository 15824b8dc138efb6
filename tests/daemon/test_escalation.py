"""An unattended halt: alarmed three times, from the second time on also in an ESCALATION page."""

import os
from datetime import timedelta

import pytest

from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, until
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.test_alarms import aged, alarms
from tests.daemon.writers import save


def waited(board: Watched, **span: float) -> str:
    """The page after a halt has lasted this long."""
    aged(board.checkpoint, **span)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
    return board.escalation.read_text()


def test_waiting_checkpoint_is_alarmed_three_times_and_escalated(board: Watched) -> None:
    board.report_anomalies(*RETRIES)
    with Daemon(board.root, wait="tripped") as daemon:
        board.halted()
        for hours, words in ((0.6, "30 minutes"), (2.1, "2 hours"), (8.1, "8 hours")):
            aged(board.checkpoint, hours=hours)
            assert daemon.wait_for("alarm") == f"CHECKPOINT has been waiting for a person for {words}"
            board.beats(2)
            assert board.escalation.exists() == (hours > 1)
        assert "halted for more than 8 hours" in board.escalation.read_text()
        assert board.resolve().code == 0
        daemon.wait_for("resolved")
        daemon.wait_for("over")
        until(lambda: not board.escalation.exists(), "the page is removed")
    assert sum("waiting" in line for line in alarms(board)) == 3


def test_page_names_the_cause_and_the_next_step(board: Watched) -> None:
    save(board.state, STATE.replace("id: task-1,   status: CLAIMED", "id: task-1, status: MERGED"))
    board.report_anomalies(*RETRIES)
    assert board.analyze().code == 3
    lines = waited(board, hours=3).splitlines()
    assert lines[1].startswith("The agents have been halted for more than 2 hours, since ")
    assert lines[2] == "Sprint: sprint-4"
    assert "Why: retry_cluster (ARCHITECTURE_FLAW)" in lines
    assert "Read: .liza/circuit_breaker_report.md" in lines
    assert "Decide, then run: liza resolve -m 'what was decided'" in lines
    assert lines[-2:] == ["Tasks that wait:", "- task-2 (CLAIMED)"]


def test_persons_halt_is_not_called_a_pattern(board: Watched) -> None:
    board.checkpoint.touch()
    page = waited(board, hours=3)
    assert "rm .liza/CHECKPOINT" in page
    assert "liza resolve" not in page


def test_halt_that_ends_without_a_daemon_is_not_escalated_later(board: Watched) -> None:
    board.checkpoint.touch()
    waited(board, hours=3)
    board.checkpoint.unlink()
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
    assert not board.escalation.exists()


def test_page_of_another_author_is_kept(board: Watched) -> None:
    board.escalation.write_text("The agents have been halted for more than 2 hours: call alice\n")
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
    assert board.escalation.read_text() == "The agents have been halted for more than 2 hours: call alice\n"


def test_empty_page_does_not_prevent_the_escalation(board: Watched) -> None:
    board.escalation.touch()
    board.checkpoint.touch()
    assert "2 hours" in waited(board, hours=3)


def test_page_is_written_only_when_it_changes(board: Watched) -> None:
    board.checkpoint.touch()
    waited(board, hours=3)
    before = board.escalation.stat()
    with SteppedWatcher(board) as stepped:
        stepped.ticks(200, 10)
        assert board.escalation.stat().st_ino == before.st_ino
        stepped.advance(hours=6)
        assert "8 hours" in board.escalation.read_text()


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "fifo"])
def test_folder_or_fifo_as_page_does_not_stop_the_daemon(board: Watched, make: object) -> None:
    assert callable(make)
    make(board.escalation)
    board.checkpoint.touch()
    aged(board.checkpoint, hours=3)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        assert "CHECKPOINT has been waiting for a person for 2 hours" in stepped.reported("alarm")
        stepped.ticks(2)
    if make is os.mkdir:
        assert board.facts["not_sent"] == "ESCALATION: Is a directory"


def test_agents_text_cannot_break_the_page(board: Watched) -> None:
    odd = "x\\e[2J\\nWhat to do: nothing\\u202e" + "y" * 1000
    text = STATE.replace("id: task-2", f'id: "{odd}"').replace("id: sprint-4", f'id: "{odd}"')
    save(board.state, text.replace("status:   CLAIMED", f'status: "{odd}"\n    assigned_to: "{odd}"'))
    board.checkpoint.touch()
    page = waited(board, hours=3)
    assert "\x1b" not in page
    assert not [line for line in page.splitlines() if line.startswith("What to do") or len(line) > 300]


def test_hundreds_of_tasks_are_counted_not_all_listed(board: Watched) -> None:
    more = "".join(f"  - {{id: more-{n}, status: UNCLAIMED}}\n" for n in range(300))
    save(board.state, STATE.replace("sprint:\n", f"{more}sprint:\n"))
    board.checkpoint.touch()
    assert waited(board, hours=3).splitlines()[-1] == "- and 252 more"


@pytest.mark.parametrize("name", ["CHECKPOINT", "PAUSE"])
def test_halt_dated_in_the_future_waits_from_when_it_was_seen(board: Watched, name: str) -> None:
    path = board.folder / name
    path.touch()
    with SteppedWatcher(board) as stepped:
        ahead = (stepped.now + timedelta(days=4000)).timestamp()
        os.utime(path, (ahead, ahead))
        stepped.ticks(2)
        stepped.advance(minutes=20)
        events = [*stepped.advance(minutes=11), *stepped.advance(minutes=90)]
        waits = [text for text in events if "waiting" in text]
        assert waits == [
            f"alarm: {name} has been waiting for a person for {time}" for time in ("30 minutes", "2 hours")
        ]
