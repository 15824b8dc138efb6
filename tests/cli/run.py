"""Running the real `liza` as a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.served import server
from tests.store.oracle import libyaml_value

BIN = Path(sys.executable).parent
LIZA = str(BIN / "liza")
TIME_LIMIT = 30


class Result(NamedTuple):
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.out, parse_constant=_no_json)
        assert isinstance(value, dict)
        return value

    def hint(self) -> str:
        """The hint of an expected error, which is one line and one hint and nothing else."""
        first, *rest = self.err.splitlines()
        assert first.startswith("liza: "), self.err
        assert len(rest) <= 1, self.err
        assert all(line.startswith("  hint: ") for line in rest), self.err
        return rest[0].removeprefix("  hint: ") if rest else ""


def _no_json(word: str) -> None:
    raise AssertionError(f"{word} is Python, not JSON")


def environment(home: Path, **more: str) -> dict[str, str]:
    """As a person's shell would have it, with nothing of the one that runs the tests."""
    state = str(home.parent / f"{home.name}.state")  # not in the work tree, as it is not for a person
    shell = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm"}
    return {**shell, "XDG_STATE_HOME": state, **more}


def liza(folder: Path, *words: str | bytes, stdin: str | bytes = "", **env: str) -> Result:
    """Run `liza` in a folder, with nothing but `stdin` to read, in a process that has loaded it already."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    return Result(*server().run([os.fsdecode(word) for word in words], folder, environment(folder, **env), given))


def installed(folder: Path, *words: str | bytes, stdin: str | bytes = "", **env: str) -> Result:
    """The same with the installed program, for what only a fresh start shows."""
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
    """Run `liza` on a terminal of its own; both streams come back as one, line ends as they were written."""
    code, seen = server().show([os.fsdecode(word) for word in words], folder, environment(folder, **env))
    return Result(code, seen, "")


def new_board(folder: Path, state: str | None = None) -> Path:
    """A blackboard in `folder`, its state.yaml as given and old enough to be read at once; returns that file."""
    file = folder / ".liza" / "state.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(state if state is not None else "version: 1\nanomalies: []\n")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    return file


def anomalies(folder: Path) -> list[dict[str, Any]]:
    """The anomalies on the blackboard as another program reads them."""
    found: list[dict[str, Any]] = libyaml_value((folder / ".liza" / "state.yaml").read_bytes())["anomalies"]
    return found
