"""Run the real `liza`."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.served import server
from tests.store.oracle import libyaml_value

BIN = Path(sys.executable).parent
LIZA = str(BIN / "liza")
TIME_LIMIT = 30


class Result(NamedTuple):
    """A command's exit code and output."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.out, parse_constant=_no_json)
        assert isinstance(value, dict)
        return value

    def hint(self) -> str:
        """The hint of an expected error, which is one line with at most one hint."""
        first, *rest = self.err.splitlines()
        assert first.startswith("liza: "), self.err
        assert len(rest) <= 1, self.err
        assert all(line.startswith("  hint: ") for line in rest), self.err
        return rest[0].removeprefix("  hint: ") if rest else ""


def _no_json(word: str) -> None:
    raise AssertionError(f"{word} is Python, not JSON")


def environment(home: Path, **more: str) -> dict[str, str]:
    """A person's shell environment, independent of the one that runs the tests."""
    state = str(home.parent / f"{home.name}.state")  # outside the working tree, as a person's is
    shell = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm"}
    return {**shell, "XDG_STATE_HOME": state, **more}


def served(words: Sequence[str], folder: Path, env: Mapping[str, str], **more: Any) -> Result:
    """Run `liza` in a process that has already loaded it."""
    return Result(*server().run(words, folder, dict(env), **more))


def liza(folder: Path, *words: str | bytes, stdin: str | bytes = "", **env: str) -> Result:
    """Run `liza` in a folder, with only `stdin` to read, in a process that has already loaded it."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    return served([os.fsdecode(word) for word in words], folder, environment(folder, **env), stdin=given)


def installed(folder: Path, *words: str | bytes, stdin: str | bytes = "", **env: str) -> Result:
    """The same with the installed program, for tests of a fresh start."""
    done = subprocess.run(
        [LIZA, *words],
        cwd=folder,
        env=environment(folder, **env),
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def on_a_terminal(folder: Path, *words: str | bytes, **env: str) -> Result:
    """Run `liza` on a terminal of its own; both streams come back as one, with their line ends."""
    code, seen = server().show([os.fsdecode(word) for word in words], folder, environment(folder, **env))
    return Result(code, seen, "")


def new_board(folder: Path, state: str | None = None) -> Path:
    """Create a blackboard in `folder`, old enough to be read at once; returns its state.yaml."""
    file = folder / ".liza" / "state.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(state if state is not None else "version: 1\nanomalies: []\n")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    return file


def anomalies(folder: Path) -> list[dict[str, Any]]:
    """The anomalies on the blackboard as another program reads them."""
    found: list[dict[str, Any]] = libyaml_value((folder / ".liza" / "state.yaml").read_bytes())["anomalies"]
    return found
