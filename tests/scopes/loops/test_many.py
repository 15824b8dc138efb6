"""Concurrent programs on one loop, and a daemon watching a loop that others write."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.run import BIN
from tests.daemon.daemon import Daemon, Watched, until
from tests.scopes.loops.run import Loops

LOOP = """\
loops:
  nightly:   # written by a script
    status: CLOSED
    iterations:
      - {iteration: 1, files_changed: 0}
      - {iteration: 2, files_changed: 0}
  other: {status: CLOSED,  loop_count: 1, iterations: [{iteration: 1, files_changed: 3}]}
"""


@pytest.mark.slow
def test_ten_concurrent_records_make_ten_iterations(loops: Loops) -> None:
    command = [str(BIN / "liza"), "loop", "record", "shared", "--files-changed", "1"]
    running = [subprocess.Popen(command, cwd=loops.root, stdout=subprocess.DEVNULL) for _ in range(10)]
    assert [each.wait() for each in running] == [0] * 10
    loop = loops.at("shared")
    assert [each["iteration"] for each in loop["iterations"]] == list(range(1, 11))
    assert loop["loop_count"] == 10


def test_daemon_opens_loop_written_by_others(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team", f"version: 1\n{LOOP}remarks:   kept   # as it is\n")
    with Daemon(board.root) as daemon:
        third = "      - {iteration: 3, files_changed: 0}\n"
        board.save(board.text.replace("  other: {", f"{third}  other: {{"))
        assert daemon.wait_for("tripped", "loop nightly") == "loop nightly is OPEN: No progress for 3 iterations"
        text = board.text
        assert "    status: OPEN\n" in text
        assert "  nightly:   # written by a script\n" in text
        assert "  other: {status: CLOSED,  loop_count: 1, iterations: [{iteration: 1, files_changed: 3}]}\n" in text
        assert "remarks:   kept   # as it is\n" in text
        assert not board.checkpoint.exists()
        until(lambda: any("loop nightly" in line for line in board.alerts), "people are notified")
        before = board.versions()
        board.beats(6)
        assert board.versions().keys() == before.keys()
        assert board.text == text
        board.save(text.replace("status: OPEN", "status: CLOSED"))
        daemon.wait_for("resolved", "loop nightly")
        until(lambda: "loop_count: 0" in board.text, "the reset by hand is completed")
        assert daemon.stop() == 0
    assert len(daemon.reported("tripped")) == 1


def test_observing_daemon_opens_no_loop(tmp_path: Path) -> None:
    third = "      - {iteration: 3, files_changed: 0}\n"
    board = Watched(tmp_path / "team", "version: 1\n" + LOOP.replace("  other: {", f"{third}  other: {{"))
    before = board.text
    with Daemon(board.root, "--observe") as daemon:
        board.beats(4)
        assert daemon.stop() == 0
    assert board.text == before


def test_analyze_opens_loop_like_the_daemon(loops: Loops) -> None:
    third = "      - {iteration: 3, files_changed: 0}\n"
    loops.write("version: 1\nanomalies: []\n" + LOOP.replace("  other: {", f"{third}  other: {{"))
    ran = loops.run("analyze")
    assert (ran.code, "loop nightly is OPEN: No progress for 3 iterations" in ran.out) == (0, True)
    assert loops.at("nightly")["status"] == "OPEN"
    assert "loop_opened" in loops.actions


def test_singular_and_plural_counts(loops: Loops) -> None:
    loops.codes("--files-changed 1")
    assert "1 iteration  " in loops.loop("list").out
    loops.codes("--files-changed 0", "--files-changed 0", "--files-changed 0")
    assert "4 iterations  " in loops.loop("list").out
    assert "tripped once" in loops.loop("status", "coder-1").out
