"""A blackboard with loops, and `liza` called with a clock that the test controls."""

from typing import Any

from tests.cli.run import Result
from tests.scopes.board import ServedBoard


class Loops(ServedBoard):
    section = "loops"

    def loop(self, verb: str, *words: str) -> Result:
        """`liza loop VERB`, a minute after the last command."""
        return self.run("loop", verb, *words, *self.tick())

    def record(self, *words: str, name: str = "coder-1") -> Result:
        return self.loop("record", name, *words)

    def codes(self, *iterations: str) -> list[int]:
        """The exit codes of iterations, each given as a string of options."""
        return [self.record(*words.split()).code for words in iterations]

    def at(self, name: str = "coder-1") -> dict[str, Any]:
        return self.record_of(name)

    def archived(self, name: str = "coder-1") -> list[str]:
        file = self.folder / "runs" / "loops" / f"{name}.jsonl"
        return file.read_text().splitlines() if file.exists() else []
