"""A failing step of a trip does not prevent the other steps: the halt remains, and the exit code is 3."""

import errno
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from liza.check import check
from liza.scopes.rules_file import read_rules
from liza.scopes.sprint.evaluate import FollowUpFailed
from liza.store.board import Board as Blackboard
from liza.store.paths import Paths
from tests.cli.run import BIN
from tests.faults import steps
from tests.scopes.sprint.cases import RETRY, board_with, tripped
from tests.scopes.sprint.run import LATER, Board, listed, state
from tests.tools import needs

FLOW = "{version: 1, anomalies: [%s], circuit_breaker: {status: OK, current_trigger: null, history: []}}\n"


def in_braces(folder: Path, number: int) -> Board:
    """A blackboard in one flow mapping: readable, but not writable without reformatting."""
    lines = listed(RETRY.records[:number]).splitlines()
    return Board(folder, FLOW % ", ".join(line.strip().removeprefix("- ") for line in lines))


def with_an_anchor(folder: Path, number: int) -> Board:
    """Another section refers to a value that a trip would replace."""
    text = state(RETRY.records[:number]).replace("current_trigger: null", "current_trigger: &none null")
    return Board(folder, text.replace("max_review_cycles:   5", "max_review_cycles: *none"))


UNWRITABLE = pytest.mark.parametrize("make", [in_braces, with_an_anchor])


@UNWRITABLE
def test_unwritable_board_is_halted_and_reported(tmp_path: Path, make: Callable[[Path, int], Board]) -> None:
    board = make(tmp_path, 3)
    before = board.text
    for _ in range(2):
        ran = board.analyze()
        assert ran.code == 3
        assert "retry_cluster" in ran.err
        assert "state.yaml" in ran.err
        assert "hint:" in ran.err
        assert board.halt["pattern"] == "retry_cluster"
        assert "**Pattern:** retry_cluster" in board.report.read_text()
    assert board.text == before
    assert len(board.archived) == 1
    assert board.leftovers() == []


def test_trip_not_entered_is_in_json(tmp_path: Path) -> None:
    ran = in_braces(tmp_path, 3).analyze("--json")
    assert ran.code == 3
    answer = ran.json
    assert answer["status"] == "triggered"
    assert answer["problems"]
    assert answer["trigger"]["pattern"] == "retry_cluster", "a script that asks for .trigger gets none"


def test_quiet_unwritable_board_is_degraded(tmp_path: Path) -> None:
    board = in_braces(tmp_path, 2)
    ran = board.analyze()
    assert ran.code == 4
    assert not board.checkpoint.exists()


def test_open_trip_on_unwritable_board_is_exit_3(tmp_path: Path) -> None:
    board = Board(tmp_path, "{circuit_breaker: {status: TRIGGERED, current_trigger: {pattern: own_check}}}\n")
    ran = board.analyze()
    assert ran.code == 3
    assert "own_check" in ran.out + ran.err


def test_halt_of_trip_not_entered_is_ended_by_a_person(tmp_path: Path) -> None:
    board = in_braces(tmp_path, 3)
    board.analyze()
    ran = board.resolve()
    output = ran.out + ran.err
    assert "rm " in output or ran.code == 1
    assert "that liza did not make" not in output, "liza made it"
    board.save(state(RETRY.records))
    assert board.analyze(now=LATER).code == 3
    assert len(board.trips) == 1
    assert board.resolve().code == 0
    assert not board.checkpoint.exists()


LOGS = {
    "half an entry": b"- timestamp: 2025-01-18T10:00:00Z\n  age",
    "not UTF-8": b"- a: \xff\n",
    "a mapping": b"a: 1\n",
    "a list in brackets": b"[{a: 1}]\n",
}


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS.keys())
def test_unwritable_log_does_not_hide_the_trip(tmp_path: Path, log: bytes) -> None:
    board = board_with(tmp_path, *RETRY.records)
    board.log.write_bytes(log)
    for _ in range(2):
        ran = board.analyze()
        assert ran.code == 3
        assert "log.yaml" in ran.err + ran.out
        assert board.section["status"] == "TRIGGERED"
        assert board.halt["trip"] == board.trigger["trip_id"]
    assert board.log.read_bytes() == log
    assert board.resolve().code == 1, "the log lacks the decision"
    assert board.section["status"] == "OK"
    assert not board.checkpoint.exists()
    board.log.unlink()
    assert board.analyze(now=LATER).code == 0


def test_log_that_is_a_folder_does_not_hide_the_trip(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    board.log.mkdir()
    assert board.analyze().code == 3
    assert board.section["status"] == "TRIGGERED"
    assert board.analyze().code == 3


@pytest.mark.parametrize("in_the_way", ["reports is a file", "the report is a folder"])
def test_unwritable_report_does_not_prevent_other_steps(tmp_path: Path, in_the_way: str) -> None:
    board = board_with(tmp_path, *RETRY.records)
    if in_the_way == "reports is a file":
        board.reports.write_text("")
    else:
        board.report.mkdir()
    ran = board.analyze()
    assert ran.code == 3
    assert "report" in ran.err
    assert board.section["status"] == "TRIGGERED"
    assert board.halt["trip"] == board.trigger["trip_id"]
    assert len(board.logged) == 1
    assert board.analyze().code == 3
    assert board.leftovers() == []
    if in_the_way == "the report is a folder":
        board.report.rmdir()
        assert board.analyze().code == 3
        assert "**Pattern:** retry_cluster" in board.report.read_text()
    assert board.resolve().code == 0
    assert not board.checkpoint.exists()


def trips_where(
    board: Board, monkeypatch: pytest.MonkeyPatch, fails: Callable[[steps.Step], bool], code: int, message: str
) -> None:
    """Run a check that trips while some of its calls fail."""
    monkeypatch.setattr(steps, "MODULES", (*steps.MODULES, *steps.BREAKER))

    def around(step: steps.Step, call: Callable[[], Any]) -> Any:
        if fails(step):
            raise OSError(code, os.strerror(code))
        return call()

    with steps.around_each(around), pytest.raises(FollowUpFailed, match=message):
        check(Blackboard(Paths(str(board.folder))), read_rules(None), datetime(2025, 1, 18, 18, tzinfo=UTC))


def makes_a_halt(step: steps.Step) -> bool:
    return step.name == "open" and "CHECKPOINT" in step.arguments[0] and bool(step.arguments[1] & os.O_CREAT)


def test_failed_halt_does_not_prevent_other_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = board_with(tmp_path, *RETRY.records)
    trips_where(board, monkeypatch, makes_a_halt, errno.EIO, "could not be halted")
    assert not board.checkpoint.exists()
    assert "**Pattern:** retry_cluster" in board.report.read_text()
    assert len(board.logged) == 1
    assert board.section["status"] == "OK", "otherwise the next check would count the trip as ended by a person"
    assert board.analyze(now=LATER).code == 3
    assert board.halt["trip"] == board.trigger["trip_id"]
    assert len(board.logged) == 1


def test_empty_halt_is_recognised_as_lizas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = board_with(tmp_path, *RETRY.records)
    trips_where(board, monkeypatch, lambda step: step.name == "write", errno.ENOSPC, "some follow-up steps failed")
    assert board.checkpoint.read_bytes() == b""
    gate = board.run("gate")
    assert gate.code == 2
    assert "liza resolve" in gate.err
    assert "halted by trip" in board.run("status").out
    assert board.analyze(now=LATER).code == 3
    assert board.halt["trip"] == board.trigger["trip_id"]
    assert board.resolve().code == 0
    assert not board.checkpoint.exists()


@pytest.mark.parametrize("moment", [None, 0, 1, 86_400, 315_532_800])
def test_empty_checkpoint_of_a_person_is_recognised(tmp_path: Path, moment: int | None) -> None:
    """Also with an mtime set by a tool that gives all files the same time."""
    board = board_with(tmp_path, *RETRY.records)
    board.checkpoint.touch()
    if moment is not None:
        os.utime(board.checkpoint, (moment, moment))
    assert "a person created it" in board.run("gate").err
    assert board.analyze(now=LATER).code == 3
    board.resolve()
    assert board.checkpoint.read_bytes() == b""


def test_unwritable_folder_is_reported(tmp_path: Path) -> None:
    """Nothing can be halted there, and that is reported: never an OK."""
    board = board_with(tmp_path, *RETRY.records)
    if os.geteuid() == 0:
        needs("setpriv")
    powerless = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    board.folder.chmod(0o555)
    try:
        command = [*powerless, str(BIN / "liza"), "analyze"]
        done = subprocess.run(command, cwd=board.root, env=board.environment(), stderr=subprocess.PIPE, check=False)
    finally:
        board.folder.chmod(0o755)
    assert done.returncode in (1, 3)
    assert b"could not be halted" in done.stderr


def test_linked_board_is_followed(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    (tmp_path / "elsewhere").mkdir()
    board.state.rename(tmp_path / "elsewhere" / "state.yaml")
    board.state.symlink_to("../elsewhere/state.yaml")
    assert board.analyze().code == 3
    assert board.state.is_symlink()
    assert board.section["status"] == "TRIGGERED"
    assert board.resolve().code == 0
    assert board.leftovers() == []


def test_manual_trip_not_entered_is_repeated_by_its_command(tmp_path: Path) -> None:
    """No rule would find it again, so a check could not repeat it."""
    board = board_with(tmp_path)
    good = board.text
    board.save("anomalies: [")
    ran = board.run("trip", "-m", "the sandbox is down", "--now", LATER)
    assert ran.code == 3
    assert "run the same command again" in ran.err
    board.save(good)
    assert board.run("trip", "-m", "the sandbox is down", "--now", LATER).code == 3
    assert board.section["status"] == "TRIGGERED"
    assert board.halt["trip"] == board.trigger["trip_id"]


def test_interrupted_manual_trip_is_not_resolved(tmp_path: Path) -> None:
    """The halt exists, but the trip is not entered: the next check enters it, and it can be resolved."""
    board = tripped(tmp_path)
    halt = board.checkpoint.read_text()
    board.resolve()
    board.checkpoint.write_text(halt.replace(board.trips[0]["trip_id"], "0123456789ab"))
    assert board.analyze(now=LATER).code == 3
    assert board.trigger["trip_id"] == board.halt["trip"] == "0123456789ab"
    assert board.resolve("so be it", now=LATER).code == 0
    assert [entry["resolution"] for entry in board.trips] == ["ADR-003 created", "so be it"]
    assert not board.checkpoint.exists()
