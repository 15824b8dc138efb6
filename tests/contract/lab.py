"""A blackboard, and the commands of one scope at work on it."""

import os
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.run import TIME_LIMIT, Result, environment, liza
from tests.contract.scopes import Scope
from tests.store.oracle import libyaml_value

STATE = """\
# a team's board
version: 1
tasks:
  # stays as it is
  - {id: task-1,   status: CLAIMED}
anomalies: []
"""
THRESHOLD = 3


class Lab:
    """Actions of a person and the agents, in the commands of one scope."""

    def __init__(self, scope: Scope, root: Path) -> None:
        self.scope = scope
        self.root = root
        self.folder = root / ".liza"
        self.folder.mkdir()
        self.state = self.folder / "state.yaml"
        self.save(STATE.encode())
        for words in scope.set_up:
            assert self.run(*words).code == 0

    def run(self, *words: str, **env: str) -> Result:
        return liza(self.root, *words, GIT_CEILING_DIRECTORIES=str(self.root.parent), **env)

    def record(self, *words: str, **env: str) -> int:
        """The exit code of the last command that one record takes."""
        code = self.run(*(words or self.scope.record), **env).code
        return self.run(*self.scope.evaluate, **env).code if self.scope.evaluate and code == 0 else code

    def trip(self) -> None:
        codes = [self.record() for _ in range(THRESHOLD)]
        assert codes == [0] * (THRESHOLD - 1) + [3]

    def check(self) -> int:
        return self.run("analyze").code

    def gate(self) -> int:
        return self.run(*self.scope.gate).code

    def yq(self, program: str) -> None:
        """Edit by hand, as documented."""
        command = ["yq", "-Y", "-i", program, str(self.state)]
        subprocess.run(command, env=environment(self.root), check=True, timeout=TIME_LIMIT)
        self.save(self.state.read_bytes())

    def save(self, raw: bytes) -> None:
        """A person's save, old enough to be read at once."""
        self.state.write_bytes(raw)
        os.utime(self.state, (1_000_000_000, 1_000_000_000))

    @property
    def board(self) -> dict[str, Any]:
        value = libyaml_value(self.state.read_bytes())
        assert isinstance(value, dict)
        return value

    @property
    def status(self) -> str | None:
        return self.scope.status(self.board)

    @property
    def logged(self) -> list[str]:
        """The log actions of this scope, in order."""
        file = self.folder / "log.yaml"
        entries = libyaml_value(file.read_bytes()) if file.exists() else []
        return [entry["action"] for entry in entries if entry["action"] in self.scope.actions]
