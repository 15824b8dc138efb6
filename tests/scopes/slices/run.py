"""A blackboard with slices, and `liza` called with a clock that the test controls."""

from pathlib import Path
from typing import Any

from tests.cli.run import Result
from tests.scopes.board import ServedBoard
from tests.store.oracle import libyaml_value


class Slices(ServedBoard):
    section = "slices"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.diagnostics = self.folder / "diagnostics"
        self.env = {"GIT_CEILING_DIRECTORIES": str(root.parent)}

    def attempt(self, verb: str, *words: str, cwd: Path | None = None) -> Result:
        """`liza attempt VERB`, a minute after the last command."""
        return self.run("attempt", verb, *self.tick(), *words, cwd=cwd)

    def does(self, *steps: str, name: str = "S-1") -> list[int]:
        """The exit codes of steps, each a verb and a test: `fail a`, `pass b`, `infra a`, `start c`."""
        return [self.attempt(verb, "--slice", name, "--test", test).code for verb, test in map(str.split, steps)]

    def at(self, name: str = "S-1") -> dict[str, Any]:
        return self.record_of(name)

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
