"""A blackboard with one section under test, and `liza` called with a clock that the test controls."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from tests.cli.run import BIN, Result, served
from tests.scopes.sprint.run import BUG, controls
from tests.store.oracle import libyaml_value

STATE = """\
# a team's board
version: 1
tasks:
  - {id: task-1,   status: CLAIMED}  # stays as it is
anomalies: []
remarks: >-
  folded   text
"""


class ScopeBoard:
    """One blackboard, and a clock that advances by a minute with every command that takes a time."""

    def __init__(self, root: Path, more: str = "") -> None:
        self.root = root
        self.folder = root / ".liza"
        self.folder.mkdir(parents=True)
        self.state = self.folder / "state.yaml"
        self.rules = self.folder / "rules.yaml"
        self.log = self.folder / "log.yaml"
        self.now = datetime(2025, 1, 18, 12, 0, tzinfo=UTC)
        self.write(STATE + more)

    def write(self, text: str) -> None:
        """A person writes the file, old enough to be read at once."""
        self.state.write_text(text, encoding="utf-8")
        os.utime(self.state, (1_000_000_000, 1_000_000_000))

    def write_rules(self, text: str) -> None:
        self.rules.write_text(text)
        os.utime(self.rules, (1_000_000_000, 1_000_000_000))

    def tick(self) -> tuple[str, str]:
        """The option for a minute after the last command."""
        self.now += timedelta(minutes=1)
        return "--now", f"{self.now:%Y-%m-%dT%H:%M:%SZ}"

    @property
    def logged(self) -> list[tuple[str, str]]:
        entries = libyaml_value(self.log.read_bytes()) if self.log.exists() else []
        return [(entry["action"], entry["detail"]) for entry in entries or []]

    @property
    def actions(self) -> list[str]:
        return [action for action, _ in self.logged]


class ServedBoard(ScopeBoard):
    """Commands run in a process of their own."""

    section: ClassVar[str]

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.env: dict[str, str] = {}

    def run(self, *words: str, cwd: Path | None = None) -> Result:
        """Any command; other sections keep every byte, and no control character is printed."""
        env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(self.root), "LANG": "C.UTF-8", **self.env}
        before = self._other_bytes()
        ran = served(words, cwd or self.root, env)
        assert ran.code != BUG, ran.err
        assert controls(ran.out.replace("\t", "") + ran.err) == [], "a raw control character was printed"
        assert self._other_bytes() == before
        return ran

    def _other_bytes(self) -> bytes:
        return self.state.read_bytes().partition(f"\n{self.section}:".encode())[0].rstrip()

    def record_of(self, name: str) -> dict[str, Any]:
        """A record of the section as another program reads it."""
        found = libyaml_value(self.state.read_bytes())[self.section][name]
        assert isinstance(found, dict)
        return found
