"""An unreadable state: the loop counts as open, the last copy is named, and nothing is restored silently."""

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import BIN, Result, served
from tests.scopes.loops.run import Loops


def restore(loops: Loops, err: str) -> None:
    """Run the command in the hint."""
    command = next(line for line in err.splitlines() if "cp " in line).partition("cp ")[2]
    subprocess.run(["cp", *shlex.split(command)], cwd=loops.root, check=True)


def test_restore_command_works_in_any_folder(tmp_path: Path) -> None:
    loops = Loops(tmp_path / "it's a team")
    loops.codes("--files-changed 1")
    loops.state.write_text("")
    restore(loops, run(loops, "loop", "status", "coder-1").err)
    assert loops.codes("--files-changed 1") == [0]


def run(loops: Loops, *words: str) -> Result:
    """A command on a broken board, without the check for unchanged bytes."""
    env = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(loops.root), "LANG": "C.UTF-8"}
    return served(words, loops.root, env)


BROKEN: dict[str, Callable[[str], str]] = {
    "no YAML": lambda text: text + "loops: [\n",
    "cut off in the middle of a key": lambda text: text[: text.index("trigger_reason") + 5],
    "empty": lambda text: "",
    "nothing but a word": lambda text: "null\n",
}


@pytest.mark.parametrize("how", BROKEN)
def test_hint_names_last_copy_and_restore_command(loops: Loops, how: str) -> None:
    loops.codes("--files-changed 1", "--files-changed 2")
    good = loops.state.read_text()
    loops.state.write_text(BROKEN[how](good))
    broken = loops.state.read_bytes()
    ran = run(loops, "loop", "record", "coder-1", "--files-changed", "1")
    assert ran.code == 4
    assert ".liza/backups/state-" in ran.err
    assert loops.state.read_bytes() == broken
    assert run(loops, "gate", "--loop", "coder-1").code == 2
    restore(loops, ran.err)
    assert loops.codes("--files-changed 1") == [0]
    assert loops.at()["loop_count"] == 3  # the copy's first, the waiting one, and this one


FIELDS = {
    "an unknown status": ("status: CLOSED", "status: closed", 4),
    "iterations that are no list": ("iterations:\n", "iterations: 5\n    more:\n", 4),
    "no record": ("  coder-1:\n", "  coder-1: 5\n  other:\n", 4),
}


@pytest.mark.parametrize(("old", "new", "code"), FIELDS.values(), ids=FIELDS)
def test_unreadable_loop_counts_as_open(loops: Loops, old: str, new: str, code: int) -> None:
    loops.codes("--files-changed 1")
    loops.write(loops.state.read_text().replace(old, new))
    ran = loops.record("--files-changed", "1")
    assert (ran.code, "state.yaml:" in ran.err) == (code, True)
    for words in (["loop", "record", "coder-1"], ["loop", "status", "coder-1"], ["gate", "--loop", "coder-1"]):
        tried = loops.run(*words)
        assert (tried.code, ".liza/backups/state-" in tried.err) == (2 if words[0] == "gate" else code, True)
    assert loops.loop("list").code == 4
    restore(loops, ran.err)
    assert loops.loop("status", "coder-1").code == 1  # the copy is from before the first iteration


def test_only_newest_copies_are_kept(loops: Loops) -> None:
    loops.codes(*["--files-changed 1"] * 14)
    copies = sorted(path.name for path in (loops.folder / "backups").iterdir())
    assert len(copies) == 10
    assert copies[-1] == "state-20250118T121400Z.yaml"


def test_copy_is_the_file_before_the_change(loops: Loops) -> None:
    before = loops.state.read_bytes()
    loops.codes("--files-changed 1")
    (copy,) = (loops.folder / "backups").iterdir()
    assert copy.read_bytes() == before
