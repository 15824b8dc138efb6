"""`liza serve` on a terminal of its own, as a person starts it."""

import re
from pathlib import Path

from tests.run.terminals import Terminal


class Serving(Terminal):
    """A running server; what a person reads on its terminal."""

    def __init__(self, folder: Path, *words: str, **env: str) -> None:
        super().__init__(folder, "serve", "--port", "0", *words, **env)
        self.shows("?token=")
        self.shows("\n")

    @property
    def address(self) -> str:
        """With the token."""
        return str(re.findall(r"http://\S+", self.text)[-1])

    @property
    def base(self) -> str:
        return self.address.partition("?")[0]

    @property
    def code_for_decisions(self) -> str:
        """The newest one."""
        if "code for decisions" not in self.text:
            self.shows("code for decisions: ")
            self.shows("\n")
        return str(re.findall(r"code for decisions: (\d{6})", self.text)[-1])
