"""A blackboard with loops, and `liza` called with a clock that the test controls."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.scopes.sprint.run import BIN, BUG, Ran, served
from tests.served import Server
from tests.store.oracle import libyaml_value

START = datetime(2025, 1, 18, 12, 0, tzinfo=UTC)
STATE = """\
# a team's board
version: 1
tasks:
  - {id: task-1,   status: CLAIMED}  # stays as it is
anomalies: []
remarks: >-
  folded   text
"""


class Loops:
    """One blackboard, and a clock that advances by a minute with every command."""

    def __init__(self, root: Path, server: Server) -> None:
        self.root = root
        self.server = server
        self.folder = root / ".liza"
        self.folder.mkdir(parents=True)
        self.state = self.folder / "state.yaml"
        self.rules = self.folder / "rules.yaml"
        self.log = self.folder / "log.yaml"
        self.write(STATE)
        self.now = START
        self.env: dict[str, str] = {}

    def write(self, text: str) -> None:
        self.state.write_text(text)
        os.utime(self.state, (1_000_000_000, 1_000_000_000))  # old enough to be read at once

    def write_rules(self, text: str) -> None:
        self.rules.write_text(text)
        os.utime(self.rules, (1_000_000_000, 1_000_000_000))

    def run(self, *words: str) -> Ran:
        """Any command; other sections keep every byte."""
        env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(self.root), "LANG": "C.UTF-8", **self.env}
        before = self.state.read_bytes().partition(b"\nloops:")[0]
        ran = served(self.server, words, self.root, env)
        assert ran.code != BUG, ran.err
        assert self.state.read_bytes().partition(b"\nloops:")[0].rstrip() == before.rstrip()
        return ran

    def loop(self, verb: str, *words: str) -> Ran:
        """`liza loop VERB`, a minute after the last command."""
        self.now += timedelta(minutes=1)
        return self.run("loop", verb, *words, "--now", f"{self.now:%Y-%m-%dT%H:%M:%SZ}")

    def record(self, *words: str, name: str = "coder-1") -> Ran:
        return self.loop("record", name, *words)

    def codes(self, *iterations: str) -> list[int]:
        """The exit codes of iterations, each given as a string of options."""
        return [self.record(*words.split()).code for words in iterations]

    def at(self, name: str = "coder-1") -> dict[str, Any]:
        """The loop as another program reads it."""
        found = libyaml_value(self.state.read_bytes())["loops"][name]
        assert isinstance(found, dict)
        return found

    @property
    def actions(self) -> list[str]:
        return [entry["action"] for entry in libyaml_value(self.log.read_bytes())] if self.log.exists() else []

    def archived(self, name: str = "coder-1") -> list[str]:
        file = self.folder / "runs" / "loops" / f"{name}.jsonl"
        return file.read_text().splitlines() if file.exists() else []
