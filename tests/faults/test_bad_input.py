"""Files that are no blackboard: a one-line message, the right exit code, quickly, and the file is left alone."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from liza.store.paths import Paths
from tests.faults import boards, launch

LIZA = os.path.join(os.path.dirname(sys.executable), "liza")
VALIDATE = ("validate",)
LOG = ("log", "anomaly", "--type", "spec_gap", "--task", "t", "--reporter", "r", "spec_ref=x")

DEEP = 10_000


@dataclass(frozen=True)
class Done:
    """The outcome of a command."""

    code: int
    cpu: float
    megabytes: float
    out: str
    err: str


def run(paths: Paths, *arguments: str) -> Done:
    reader, writer = os.pipe()
    with open(reader, "rb") as pipe:
        command = [sys.executable, "-S", launch.__file__, str(writer), LIZA, *arguments, "--root", paths.folder]
        # XDG_STATE_HOME: where the traceback of a bug would be saved.
        env = {**os.environ, "XDG_STATE_HOME": os.path.dirname(paths.folder)}
        done = subprocess.run(command, env=env, pass_fds=[writer], capture_output=True, text=True, check=True)
        os.close(writer)
        return Done(**json.load(pipe), out=done.stdout, err=done.stderr)


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines) + "\n"


def lines(lead: str, count: int) -> str:
    """Each line one column deeper than the one before."""
    return "".join(" " * column + lead + "\n" for column in range(count))


UNREADABLE: dict[str, str | bytes] = {
    "0 bytes": "",
    "only white space": " \n\n",
    "only a comment": "# nothing yet\n",
    "an empty mapping": "{}\n",
    "an empty list": "[]\n",
    "null": "null\n",
    "a scalar": "42\n",
    "a text": "not a blackboard\n",
    "a list": "- version: 1\n- tasks: []\n",
    "invalid UTF-8": boards.STATE.encode().replace(b"coder-0", b"c\xffder-0"),
    "UTF-16": boards.STATE.encode("utf-16"),
    "a NUL byte": boards.STATE.replace("coder-0", "co\0der-0"),
    "NUL bytes, as after a crash of the machine": "\0" * 4096,
    "an alias bomb": bomb(),
    "nested brackets": "tasks: " + "[" * DEEP + "]" * DEEP + "\n",
    "nested braces": "tasks: " + "{a: " * DEEP + "}" * DEEP + "\n",
    "brackets that are never closed": "[" * DEEP,
    "nested dashes": "tasks:\n  " + "- " * DEEP + "x\n",
    "nested dashes, far apart": "tasks:\n  " + "-   " * DEEP + "x\n",
    "nested dashes and questions": "tasks:\n  " + "- ? " * DEEP + "x\n",
    "nested questions and dashes": "? - " * DEEP + "x\n",
    "mappings a line each": lines("a:", 2_500),
    "questions a line each": lines("?", 2_500),
    "a duplicate section": boards.STATE + "marker: 1\n",
    "a duplicate field": boards.STATE.replace("  task: task-0\n", "  task: task-0\n  task: task-1\n"),
    "several documents": boards.STATE + "---\n" + boards.STATE,
    "tabs for indentation": boards.STATE.replace("  ", "\t"),
    "half a file": boards.STATE[: boards.STATE.index("type: spec") + 4],
}  # fmt: skip


def assert_reported(done: Done, codes: tuple[int, ...]) -> None:
    """One line with the fault and one with the next step; quickly, and in little memory."""
    assert "Traceback" not in done.err
    assert done.code in codes, done
    message, hint = done.err.splitlines()
    assert message.startswith("liza: ")
    assert len(message) < 500
    assert hint.startswith("  hint: ")
    assert (done.out == "") == (done.code != 0)
    assert_cheap(done)


def assert_answered(paths: Paths, arguments: tuple[str, ...]) -> None:
    """A board that cannot be used is reported; a record meanwhile waits in the inbox."""
    assert_reported(run(paths, *arguments), (4,) if arguments == VALIDATE else (0,))
    assert len(os.listdir(paths.inbox) if os.path.isdir(paths.inbox) else ()) == (arguments == LOG)


def assert_cheap(done: Done) -> None:
    assert done.cpu < 2
    assert done.megabytes < 200


COMMANDS = pytest.mark.parametrize("arguments", [VALIDATE, LOG], ids=["validate", "log"])


@COMMANDS
@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_board_is_reported_and_left_alone(
    tmp_path: Path, content: str | bytes, arguments: tuple[str, ...]
) -> None:
    paths = boards.make(tmp_path)
    raw = content if isinstance(content, bytes) else content.encode()
    Path(paths.state).write_bytes(raw)
    os.utime(paths.state, (1e9, 1e9))
    assert_answered(paths, arguments)
    assert Path(paths.state).read_bytes() == raw
    assert boards.leftovers(paths) == []


# --- readable, but not writable -------------------------------------------------------------------------------------

UNWRITABLE = {
    "a flow mapping": "{version: 1, circuit_breaker: {status: OK}, anomalies: []}\n",
    "a flow mapping over several lines": "{\n  version: 1,\n  circuit_breaker: {status: OK},\n  anomalies: []\n}\n",
    "a list that is a mapping": "version: 1\ncircuit_breaker:\n  status: OK\nanomalies:\n  a: 1\n",
}


@pytest.mark.parametrize("content", UNWRITABLE.values(), ids=UNWRITABLE)
def test_uncuttable_board_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    paths = boards.make(tmp_path, content)
    assert_answered(paths, LOG)
    validated = run(paths, *VALIDATE)
    assert validated.code in (0, 1)
    assert validated.err == ""
    assert_cheap(validated)
    assert Path(paths.state).read_text(encoding="utf-8") == content


# --- not a regular file ---------------------------------------------------------------------------------------------


def a_folder(state: str) -> None:
    os.mkdir(state)


def a_fifo(state: str) -> None:
    os.mkfifo(state)


def a_device_that_never_ends(state: str) -> None:
    os.symlink("/dev/zero", state)


def a_symlink_to_nowhere(state: str) -> None:
    os.symlink("nowhere", state)


def a_symlink_to_itself(state: str) -> None:
    os.symlink(state, state)


def nothing(state: str) -> None:
    pass


def an_unreadable_file(state: str) -> None:
    Path(state).write_text(boards.STATE, encoding="utf-8")
    os.chmod(state, 0)


@COMMANDS
@pytest.mark.parametrize(
    "put",
    [
        a_folder, a_fifo, a_device_that_never_ends, a_symlink_to_nowhere, a_symlink_to_itself, nothing,
        an_unreadable_file,
    ],
)  # fmt: skip
def test_path_that_is_not_a_readable_file_is_reported(
    tmp_path: Path, put: Callable[[str], None], arguments: tuple[str, ...]
) -> None:
    paths = boards.make(tmp_path)
    os.unlink(paths.state)
    put(paths.state)
    before = os.lstat(paths.state).st_ino if os.path.lexists(paths.state) else None
    assert_answered(paths, arguments)
    after = os.lstat(paths.state).st_ino if os.path.lexists(paths.state) else None
    assert before == after
    assert boards.leftovers(paths) == []


def test_unwritable_folder_is_reported_and_can_be_validated(tmp_path: Path) -> None:
    paths = boards.make(tmp_path)
    os.chmod(paths.folder, 0o500)
    try:
        assert_reported(run(paths, *LOG), (1,))
        assert run(paths, *VALIDATE).code == 0
    finally:
        os.chmod(paths.folder, 0o700)
    assert Path(paths.state).read_text(encoding="utf-8") == boards.STATE


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\xfd", b"- a\n\tb: [", b"a: b\n", b"[" * DEEP],
    ids=["not UTF-8", "unfinished", "a mapping", "nested brackets"],
)
def test_invalid_log_is_reported_and_left_alone(tmp_path: Path, content: bytes) -> None:
    paths = boards.make(tmp_path)
    Path(paths.log).write_bytes(content)
    os.utime(paths.log, (1e9, 1e9))
    assert_reported(run(paths, "log", "entry", "--agent", "a", "--action", "b"), (1, 4))
    assert_reported(run(paths, *VALIDATE), (4,))
    assert Path(paths.log).read_bytes() == content
