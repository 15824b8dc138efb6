"""A blackboard with slices, and `liza` called with a clock that the test controls."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.scopes.sprint.run import BIN, BUG, Ran, controls, served
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


class Slices:
    """One blackboard, and a clock that advances by a minute with every command."""

    def __init__(self, root: Path, server: Server) -> None:
        self.root = root
        self.server = server
        self.folder = root / ".liza"
        self.folder.mkdir(parents=True)
        self.state = self.folder / "state.yaml"
        self.rules = self.folder / "rules.yaml"
        self.log = self.folder / "log.yaml"
        self.diagnostics = self.folder / "diagnostics"
        self.write(STATE)
        self.now = START
        self.env: dict[str, str] = {"GIT_CEILING_DIRECTORIES": str(root.parent)}

    def write(self, text: str) -> None:
        self.state.write_text(text)
        os.utime(self.state, (1_000_000_000, 1_000_000_000))  # old enough to be read at once

    def run(self, *words: str, cwd: Path | None = None) -> Ran:
        """Any command; other sections keep every byte, and no control character is printed."""
        env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(self.root), "LANG": "C.UTF-8", **self.env}
        before = self.state.read_bytes().partition(b"\nslices:")[0]
        ran = served(self.server, words, cwd or self.root, env)
        assert ran.code != BUG, ran.err
        assert controls(ran.out.replace("\t", "") + ran.err) == [], "a raw control character was printed"
        assert self.state.read_bytes().partition(b"\nslices:")[0].rstrip() == before.rstrip()
        return ran

    def attempt(self, verb: str, *words: str, cwd: Path | None = None) -> Ran:
        """`liza attempt VERB`, a minute after the last command."""
        self.now += timedelta(minutes=1)
        return self.run("attempt", verb, "--now", f"{self.now:%Y-%m-%dT%H:%M:%SZ}", *words, cwd=cwd)

    def does(self, *steps: str, name: str = "S-1") -> list[int]:
        """The exit codes of steps, each a verb and a test: `fail a`, `pass b`, `infra a`, `start c`."""
        return [self.attempt(verb, "--slice", name, "--test", test).code for verb, test in map(str.split, steps)]

    def at(self, name: str = "S-1") -> dict[str, Any]:
        """The slice as another program reads it."""
        found = libyaml_value(self.state.read_bytes())["slices"][name]
        assert isinstance(found, dict)
        return found

    def counts(self, name: str = "S-1") -> tuple[dict[str, int], int, int]:
        """The counters: of each test, of the slice, and of infrastructure errors."""
        record = self.at(name)
        tests = {test["test_name"]: test["attempt_count"] for test in record["tests"]}
        return tests, record["total_failed_attempts"], record["infra_errors"]

    def results(self, name: str = "S-1") -> list[str]:
        return [each["result"] for each in self.at(name)["attempts"]]

    def reported(self, name: str = "S-1") -> list[str]:
        """The tests with a report in the open trip; each report exists."""
        entries = self.at(name)["current_trip"].get("reports", [])
        assert [entry["file"] for entry in entries if not (self.root / entry["file"]).is_file()] == []
        return [entry["test"] for entry in entries]

    def report(self, test: str, name: str = "S-1") -> dict[str, Any]:
        """The report on a test as another program reads it."""
        entry = next(entry for entry in self.at(name)["current_trip"]["reports"] if entry["test"] == test)
        found = libyaml_value((self.root / entry["file"]).read_bytes())
        assert isinstance(found, dict)
        return found

    @property
    def actions(self) -> list[str]:
        return [entry["action"] for entry in libyaml_value(self.log.read_bytes())] if self.log.exists() else []
