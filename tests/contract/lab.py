"""A blackboard, and the commands of one scope at work on it."""

import os
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.run import TIME_LIMIT, Result, environment, liza
from tests.clients import hook
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


class Lab:
    """Actions of a person and the agents, in the commands of one scope."""

    def __init__(self, scope: Scope, root: Path) -> None:
        self.scope = scope
        self.root = root
        self.calls = 0  # that a hook has reported
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
        code = self.report(*(words or self.scope.record), **env)
        for command in self.scope.evaluate if code == 0 else ():
            code = self.run(*command, **env).code
        return code

    def report(self, *words: str, **env: str) -> int:
        """One record alone; what a hook reports of a stopped session is recorded, too, and its client is refused."""
        if not self.scope.is_seen_by_hook:
            return self.run(*words, **env).code
        self.calls += 1
        call = hook.failing(f"call-{self.calls}", *words)
        answer = hook.run(self.root, "after", call, LIZA_HOOK_LIMIT="60.1", **env)
        return 0 if answer.code == 2 else answer.code

    def trip(self) -> None:
        codes = [self.record() for _ in range(self.scope.threshold)]
        assert codes == [0] * (self.scope.threshold - 1) + [3]

    def record_below_threshold(self) -> None:
        assert [self.record() for _ in range(self.scope.threshold - 1)] == [0] * (self.scope.threshold - 1)

    def check(self) -> int:
        return self.run(*self.scope.check).code

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
