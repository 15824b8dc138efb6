"""`liza gate`: agents' hooks block on exit code 2 and on nothing else."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.run import BIN, Result
from tests.scopes.sprint.cases import RETRY, board_with, tripped
from tests.scopes.sprint.run import Board
from tests.tools import needs

GO_ON, STOP = 0, 2
PROGRAMS = pytest.mark.parametrize("program", [("liza", "gate"), ("liza-gate",)], ids=["liza gate", "liza-gate"])
SCOPES = """\
claims:
  - {id: c-1, status: DISPUTED}
  - {id: c-2, status: OPEN}
  - {id: 7, status: DISPUTED}
slices:
  s-1: {status: STOPPED}
  s-2: {status: ACTIVE}
  8: {status: STOPPED}
loops:
  nightly: {status: OPEN}
  daily: {status: CLOSED}
stages:
  - {name: S5, status: BLOCKED}
"""


def gate(board: Board, *options: str, program: Sequence[str] = ("liza", "gate"), root: str | None = None) -> Result:
    name, *first = program
    return board.run(*first, *options, program=name, env={"LIZA_ROOT": root} if root is not None else None)


@PROGRAMS
def test_gate_allows_without_checkpoint(tmp_path: Path, program: tuple[str, ...]) -> None:
    ran = gate(board_with(tmp_path), program=program)
    assert (ran.code, ran.out, ran.err) == (GO_ON, "", "")


@PROGRAMS
@pytest.mark.parametrize("kind", ["a file", "empty", "a folder", "a dangling link", "a FIFO", "a socket", "not text"])
def test_any_kind_of_checkpoint_stops(tmp_path: Path, program: tuple[str, ...], kind: str) -> None:
    board = board_with(tmp_path)
    if kind == "a folder":
        board.checkpoint.mkdir()
    elif kind == "a dangling link":
        board.checkpoint.symlink_to("nowhere")
    elif kind == "a FIFO":
        os.mkfifo(board.checkpoint)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as server:
            here = Path.cwd()
            os.chdir(board.folder)  # the path of a socket must be short
            try:
                server.bind("CHECKPOINT")
            finally:
                os.chdir(here)
    else:
        board.checkpoint.write_bytes({"a file": b"stop\n", "empty": b"", "not text": b"\x1b[2J\xff\x00\x07\n"}[kind])
    ran = gate(board, program=program)
    assert ran.code == STOP
    assert ran.out == ""
    assert "CHECKPOINT" in ran.err
    assert "hint: a person created it; wait" in ran.err


def test_unreadable_checkpoint_stops(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.checkpoint.write_text("stop\n")
    board.checkpoint.chmod(0)
    # Root reads everything unless it drops that capability.
    if os.geteuid() == 0:
        needs("setpriv")
    powerless = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    try:
        for mode in (0o755, 0o000):  # the file alone, then the whole folder
            board.folder.chmod(mode)
            for program in (["liza", "gate"], ["liza-gate"]):
                command = [*powerless, str(BIN / program[0]), *program[1:]]
                done = subprocess.run(
                    command, cwd=board.root, env=board.environment(), capture_output=True, check=False
                )
                assert done.returncode == STOP, done.stderr
    finally:
        board.folder.chmod(0o755)


def test_gate_shows_the_reason_of_a_trip(tmp_path: Path) -> None:
    ran = gate(tripped(tmp_path))
    assert ran.code == STOP
    assert "retry_cluster" in ran.err
    assert "ARCHITECTURE_FLAW" in ran.err
    assert ran.err.endswith("run: liza resolve -m 'what was decided'\n")


@PROGRAMS
def test_gate_stops_only_if_a_named_board_is_missing(tmp_path: Path, program: tuple[str, ...]) -> None:
    board = board_with(tmp_path / "board")
    empty = tmp_path / "empty"
    empty.mkdir()
    name, *first = program
    done = subprocess.run([BIN / name, *first], cwd=empty, env=board.environment(), check=False)
    assert done.returncode == GO_ON
    for root in (str(empty), "/nonexistent", str(board.state)):
        ran = gate(board, program=program, root=root)
        assert ran.code == STOP, root
        assert root in ran.err
        assert gate(board, "--root", root, program=program).code == STOP
    assert gate(board, program=program, root=str(board.root)).code == GO_ON
    assert gate(board, program=program, root=str(board.folder)).code == GO_ON


def test_gate_uses_nearest_board_upward(tmp_path: Path) -> None:
    outer = board_with(tmp_path)
    outer.checkpoint.touch()
    inner = board_with(tmp_path / "inner")
    deep = tmp_path / "inner" / "a" / "b"
    deep.mkdir(parents=True)
    assert subprocess.run([BIN / "liza", "gate"], cwd=deep, env=inner.environment(), check=False).returncode == GO_ON
    inner.checkpoint.touch()
    assert subprocess.run([BIN / "liza", "gate"], cwd=deep, env=inner.environment(), check=False).returncode == STOP


def test_bare_gate_does_not_read_the_board(tmp_path: Path) -> None:
    board = Board(tmp_path, "a: [\n")
    assert gate(board).code == GO_ON


SCOPED = {
    "a frozen claim": (("--claim", "c-1"), STOP),
    "another claim": (("--claim", "c-2"), GO_ON),
    "a claim that is a number": (("--claim", "7"), STOP),
    "a claim that is not on the board": (("--claim", "c-9"), GO_ON),
    "a stopped slice": (("--slice", "s-1"), STOP),
    "another slice": (("--slice", "s-2"), GO_ON),
    "a slice that is a number": (("--slice", "8"), STOP),
    "an open loop": (("--loop", "nightly"), STOP),
    "another loop": (("--loop", "daily"), GO_ON),
    "a blocked stage": (("--stage", "S5"), STOP),
    "two, of which one is stopped": (("--claim", "c-2", "--loop", "nightly"), STOP),
}


@pytest.mark.parametrize(("options", "code"), SCOPED.values(), ids=SCOPED.keys())
def test_scoped_gate_reads_the_board(tmp_path: Path, options: tuple[str, ...], code: int) -> None:
    ran = gate(Board(tmp_path, SCOPES), *options)
    assert ran.code == code
    assert ("hint: " in ran.err) == (code == STOP)


@pytest.mark.parametrize(("name", "code"), [("daily", STOP), ("unknown", GO_ON)])
def test_scoped_gate_reports_unusable_rules(tmp_path: Path, name: str, code: int) -> None:
    """They stop a loop that is on the board, and are a warning for one that is not."""
    board = Board(tmp_path, SCOPES)
    board.rules.write_text("rules: [{name: x}]\n")
    ran = gate(board, "--loop", name)
    assert (ran.code, str(board.rules) in ran.err) == (code, True)


@pytest.mark.parametrize("option", ["--claim", "--slice", "--loop"])
def test_unknown_name_warns_and_stops_if_strict(tmp_path: Path, option: str) -> None:
    board = Board(tmp_path, SCOPES)
    ran = gate(board, option, "no-such-name")
    assert (ran.code, "no-such-name" in ran.err) == (GO_ON, True)
    strict = gate(board, option, "no-such-name", "--strict")
    assert (strict.code, "hint: " in strict.err) == (STOP, True)


def test_scoped_gate_stops_for_checkpoint(tmp_path: Path) -> None:
    board = Board(tmp_path, SCOPES)
    board.checkpoint.touch()
    assert gate(board, "--claim", "c-2").code == STOP


BROKEN = {
    "broken YAML": "claims: [\n",
    "an empty file": "",
    "a list": "- a\n",
    "claims that are a number": "claims: 5\n",
    "claims that are no records": "claims: [c-1, c-2]\n",
    "a claim without fields": "claims: {c-1: DISPUTED}\n",
    "a key twice, with an escape sequence in it": '"\\e[2J": 1\n"\\e[2J": 2\n',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_scoped_gate_stops_on_unreadable_board(tmp_path: Path, text: str) -> None:
    ran = gate(Board(tmp_path, text), "--claim", "c-1")
    assert ran.code == STOP
    assert "state.yaml" in ran.err or "claim" in ran.err


@pytest.mark.parametrize("options", [("--clam", "x"), ("--claim",), ("extra",), ("--root",)])
@PROGRAMS
def test_wrong_gate_usage_stops(tmp_path: Path, program: tuple[str, ...], options: tuple[str, ...]) -> None:
    assert gate(board_with(tmp_path), *options, program=program).code == STOP


@PROGRAMS
@pytest.mark.parametrize("end", ["full", "closed", "a pipe without a reader"])
@pytest.mark.parametrize("options", [(), ("--claim", "c-1")], ids=["bare", "scoped"])
def test_gate_stops_even_if_printing_fails(
    tmp_path: Path, program: tuple[str, ...], end: str, options: tuple[str, ...]
) -> None:
    """Hooks allow every code but 2: an error while printing must not open the gate."""
    board = Board(tmp_path, SCOPES)
    board.checkpoint.touch()
    name, *first = program
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            ["sh", "-c", 'exec "$@"' + (" 2>&-" if end == "closed" else ""), "sh", BIN / name, *first, *options],
            cwd=board.root,
            env=board.environment(),
            stderr=full if end == "full" else writer,
            check=False,
        )
    os.close(writer)
    assert done.returncode == STOP


def test_deleted_working_folder_does_not_bypass_the_halt(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    for program in ('liza" gate', 'liza-gate"', 'liza" gate --claim c-1'):
        command = f'mkdir gone && cd gone && rmdir ../gone && exec "{BIN}/{program}'
        done = subprocess.run(["sh", "-c", command], cwd=board.root, env=board.environment(), check=False)
        assert done.returncode == STOP, program


# --- cost -----------------------------------------------------------------------------------------------------------

HEAVY = {"typing", "re", "click", "json", "pathlib", "enum", "dataclasses", "subprocess", "argparse", "datetime"}


def imported(board: Board, arguments: Sequence[str]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        cwd=board.root,
        env=board.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.split("|")[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    return set(lines[1:])


@pytest.mark.parametrize("halted", [False, True])
@PROGRAMS
def test_bare_gate_imports_almost_nothing(tmp_path: Path, program: tuple[str, ...], halted: bool) -> None:
    board = tripped(tmp_path) if halted else board_with(tmp_path, *RETRY.records)
    plain = imported(board, ["-c", "pass"])
    name, *first = program
    more = imported(board, [str(BIN / name), *first]) - plain
    own = {module for module in more if module.split(".")[0] == "liza"}
    assert own <= {
        f"liza{name}"
        for name in (
            "",
            ".cli",
            ".cli.bare_gate",
            ".cli.gate",
            ".cli.main",
            ".halt",
            ".store",
            ".store.locate",
            ".store.files",
            ".errors",
        )
    }
    assert {module.split(".")[0] for module in more - own} <= set(sys.stdlib_module_names)
    assert not more & HEAVY
