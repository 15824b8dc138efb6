"""How commands fail: one line, a hint, and the right exit code."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from liza.cli import group, main
from tests.cli.run import LIZA, TIME_LIMIT, environment, installed, liza, new_board
from tests.faults.test_bad_input import UNREADABLE
from tests.tools import needs

ENTRY = ["log", "entry", "--agent", "a", "--action", "x"]
ANOMALY = ["log", "anomaly", "--type", "workaround", "--task", "t", "--reporter", "r"]


def instead(file: Path, make: Callable[[], None]) -> None:
    file.unlink()
    make()


def containing(text: str | bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(text if isinstance(text, bytes) else text.encode())


BAD_FILES: dict[str, Callable[[Path], object]] = {
    "missing": lambda file: file.unlink(),
    "a folder": lambda file: instead(file, file.mkdir),
    "a fifo": lambda file: instead(file, lambda: os.mkfifo(file)),
    "a dangling link": lambda file: instead(file, lambda: file.symlink_to("nowhere")),
    "a mapping as a key": lambda file: file.write_text("? {a: []}\n: 1\n"),
    **{name: containing(text) for name, text in UNREADABLE.items()},
}


@pytest.mark.parametrize("spoil", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_file_is_one_line_with_hint_and_exit_4(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    file = new_board(tmp_path)
    spoil(file)
    before = file.read_bytes() if file.is_file() else None
    result = liza(tmp_path, "validate")
    assert (result.code, result.out) == (4, "")
    assert result.hint()
    answer = liza(tmp_path, "analyze", "--json")
    assert (answer.code, answer.json["command"], answer.json["status"]) == (4, "analyze", "degraded")
    (problem,) = answer.json["problems"]
    assert set(problem) >= {"file", "line", "column", "message", "hint"}
    assert not (tmp_path / ".liza" / "CHECKPOINT").exists()
    waiting = liza(tmp_path, *ANOMALY, "what=x")
    assert waiting.code == 0
    assert waiting.hint()
    assert len(list((tmp_path / ".liza" / "inbox").iterdir())) == 1
    assert (file.read_bytes() if file.is_file() else None) == before


COMMANDS = [
    ["status"], ["sessions"], ["replay"], ["stats"], ["resolve", "-m", "x"], ["rules", "explain", "retry_cluster"],
    ["silence", "add", "retry_cluster", "--all", "--for", "1h", "-m", "x"], ["silence", "list"],
    ["silence", "expire", "x"], ["session", "stop", "x", "-m", "y"], ["session", "resume", "x", "-m", "y"],
    ["loop", "list"], ["loop", "status", "x"], ["loop", "reset", "x"], ["claim", "list"], ["claim", "show", "C-1"],
    ["claim", "ledger"], ["claim", "promote", "C-1"], ["stage", "list"], ["stage", "close", "S5"],
    ["attempt", "status"], ["attempt", "status", "--slice", "S"], ["attempt", "reset", "--slice", "S", "-m", "x"],
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_is_degraded_by_an_unreadable_board(tmp_path: Path, words: list[str]) -> None:
    file = new_board(tmp_path, "anomalies: [\n")
    assert liza(tmp_path, *words).code == 4
    assert liza(tmp_path, *words, "--json").json["status"] == "degraded"
    assert file.read_text() == "anomalies: [\n"


@pytest.mark.parametrize(
    "words",
    [*COMMANDS, ["analyze"], ["analyze", "/nowhere"], ["validate"], ["rules", "list"], ["rules", "check"],
     [*ANOMALY, "what=x"], ENTRY],
    ids=" ".join,
)  # fmt: skip
def test_every_command_suggests_init_for_a_missing_board(tmp_path: Path, words: list[str]) -> None:
    result = liza(tmp_path, *words)
    assert (result.code, result.out) == (1, "")
    assert "liza init" in result.hint()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("digits", ["9" * 5_000, "0x" + "f" * 5_000])
def test_huge_number_is_not_a_bug(tmp_path: Path, digits: str) -> None:
    new_board(tmp_path, f"tasks: {digits}\nanomalies: []\n")
    assert liza(tmp_path, "validate").code == 1
    assert liza(tmp_path, *ANOMALY, "what=x", f"n={digits}").code == 0


def test_debug_shows_traceback_of_expected_error(tmp_path: Path) -> None:
    for words in (["--debug", "validate"], ["validate", "--debug"], [*ENTRY, "--debug"]):
        result = installed(tmp_path, *words)
        assert result.code == 1
        assert result.err.startswith("Traceback ")
        assert "\nliza: no .liza/ in " in result.err


WRONG_USAGE = [
    ["--bogus"], ["bogus"], ["log", "bogus"], ["validate", "a", "b"], ["log", "entry", "--bogus"], ["init", "x"],
    ["validate", "--root"], [*ENTRY, "--agent"],
]  # fmt: skip


@pytest.mark.parametrize("words", WRONG_USAGE)
def test_wrong_usage_is_exit_2_with_hint(tmp_path: Path, words: list[str]) -> None:
    result = installed(tmp_path, *words)
    assert (result.code, result.out) == (2, "")
    assert "--help" in result.hint()


def test_misspelt_command_gets_a_suggestion(tmp_path: Path) -> None:
    assert "did you mean validate?" in installed(tmp_path, "vaildate").err


@pytest.mark.parametrize("value", ["soon", "1,5", "nan", "-1", ""])
def test_invalid_lock_timeout_is_reported(tmp_path: Path, value: str) -> None:
    new_board(tmp_path)
    result = installed(tmp_path, *ENTRY, LIZA_LOCK_TIMEOUT=value)
    assert result.code == (0 if value == "" else 1)
    assert value == "" or "LIZA_LOCK_TIMEOUT" in result.hint()


# --- unexpected errors ----------------------------------------------------------------------------------------------


def broken(folder: Path) -> dict[str, str]:
    """An environment in which the real `liza` script raises an unexpected error."""
    (folder / "sitecustomize.py").write_text(
        "import liza.store.paths as paths\n"
        "def find(root=None):\n"
        "    raise ZeroDivisionError('split\\nacross \\x1b[31mlines')\n"
        "paths.find = find\n"
    )
    return {"PYTHONPATH": str(folder), "XDG_STATE_HOME": str(folder / "kept")}


@pytest.mark.parametrize("words", [ENTRY, ["validate"]])
def test_bug_is_reported_and_its_traceback_kept(tmp_path: Path, words: list[str]) -> None:
    env = broken(tmp_path)
    new_board(tmp_path)
    result = installed(tmp_path, *words, **env)
    assert (result.code, result.out) == (70, "")
    assert result.err.startswith("liza: a bug in liza: ZeroDivisionError: split\\nacross \\x1b[31mlines\n")
    (kept,) = (tmp_path / "kept" / "liza").iterdir()
    assert str(kept) in result.hint()
    saved = kept.read_text()
    assert "Traceback (most recent call last)" in saved
    assert repr(words) in saved
    assert os.listdir(tmp_path / ".liza") == ["state.yaml"], "nothing belongs on the blackboard"


def test_debug_shows_traceback_of_a_bug(tmp_path: Path) -> None:
    result = installed(tmp_path, *ENTRY, "--debug", **broken(tmp_path))
    assert result.code == 70
    assert "Traceback (most recent call last)" in result.err


def test_bug_is_reported_when_nothing_can_be_saved(tmp_path: Path) -> None:
    env = broken(tmp_path)
    (tmp_path / "file").touch()
    nowhere = str(tmp_path / "file" / "below")
    result = installed(tmp_path, *ENTRY, **{**env, "XDG_STATE_HOME": nowhere, "TMPDIR": nowhere})
    assert result.code == 70
    assert "a bug in liza: ZeroDivisionError" in result.err


# --- interruptions --------------------------------------------------------------------------------------------------


def test_ctrl_c_while_waiting_for_lock_is_exit_130(tmp_path: Path) -> None:
    state = new_board(tmp_path)
    lock = tmp_path / ".liza" / "state.yaml.lock"
    needs("flock")
    # flock(1) holds the lock until its `cat` reaches the end of its input.
    with subprocess.Popen(["flock", "-x", lock, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        try:
            holder.stdin.write(b"!")
            holder.stdin.flush()
            assert holder.stdout.read(1) == b"!"
            with subprocess.Popen(
                ["env", "--default-signal=INT", LIZA, *ANOMALY, "what=x"],  # also if the tests' shell ignores Ctrl-C
                cwd=tmp_path,
                env=environment(tmp_path, LIZA_LOCK_TIMEOUT="60"),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as waiting:
                while not is_polling(waiting.pid):
                    assert waiting.poll() is None, waiting.communicate()
                waiting.send_signal(signal.SIGINT)
                out, err = waiting.communicate(timeout=TIME_LIMIT)
        finally:
            holder.stdin.close()
    assert (waiting.returncode, out, err) == (130, "", "liza: interrupted\n")
    assert state.read_text() == "version: 1\nanomalies: []\n"


def is_polling(pid: int) -> bool:
    """Whether the process has slept so often that it must be polling for the lock."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) > 300


def test_held_lock_is_reported_and_record_waits(tmp_path: Path) -> None:
    new_board(tmp_path)
    lock = tmp_path / ".liza" / "state.yaml.lock"
    command = [*ANOMALY, "what=x"]
    needs("flock")
    done = subprocess.run(
        ["flock", "-x", lock, LIZA, *command], cwd=tmp_path, env=environment(tmp_path, LIZA_LOCK_TIMEOUT="0.05"),
        capture_output=True, text=True, timeout=TIME_LIMIT, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert len(list((tmp_path / ".liza" / "inbox").iterdir())) == 1
    assert "has held the lock" in done.stderr
    assert "flock" in done.stderr or "another process" in done.stderr
    assert "hint: " in done.stderr


@pytest.mark.parametrize("words", [["--help"], ["validate"], [*ENTRY]])
def test_closed_reader_is_not_a_bug(tmp_path: Path, words: list[str]) -> None:
    new_board(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [LIZA, *words], cwd=tmp_path, env=environment(tmp_path), stdout=writer, stderr=subprocess.PIPE,
            timeout=TIME_LIMIT, check=False,
        )  # fmt: skip
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


CLOSED = [
    (ENTRY, ">&-"), (["validate"], ">&-"), (ENTRY, "> /dev/full"), ([*ANOMALY, "what=-"], "<&-"),
    (["log", "anomaly", "--json"], "<&-"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "redirection"), CLOSED)
def test_closed_or_full_stream_is_not_a_bug(tmp_path: Path, words: list[str], redirection: str) -> None:
    # Hooks and daemons run commands like this. Exit code 70 for an added record would make them add it twice.
    new_board(tmp_path)
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {redirection}', LIZA, *words], cwd=tmp_path, env=environment(tmp_path),
        stderr=subprocess.PIPE, text=True, timeout=TIME_LIMIT, check=False,
    )  # fmt: skip
    assert "a bug in liza" not in done.stderr


def test_deleted_working_folder_is_not_a_bug(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as outside:
        done = subprocess.run(
            ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"', LIZA, *ENTRY], cwd=outside,
            env=environment(tmp_path), capture_output=True, text=True, timeout=TIME_LIMIT, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("liza: ")


def test_commands_of_a_family_are_named_by_two_words() -> None:
    context = click.Context(group.liza)
    commands = {name: group.liza.get_command(context, name) for name in group.liza.list_commands(context)}
    assert {name for name, command in commands.items() if isinstance(command, click.Group)} == set(main.FAMILIES)
