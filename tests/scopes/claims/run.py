"""A blackboard with claims, and `liza` called in this process, with a clock that the test controls."""

import io
import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from liza.cli.main import run as liza
from tests.cli.run import Result
from tests.scopes.board import ScopeBoard
from tests.scopes.sprint.run import BUG, controls
from tests.store.oracle import libyaml_value

# The example of the protocol.
HARNESS = "You must run confounder harness for GC content bias"
IMPOSSIBLE = "Dataset lacks GC annotation — test is impossible with available data"


class Claims(ScopeBoard):
    def __init__(self, root: Path, text: str = "") -> None:
        super().__init__(root, text)
        self.alerts = self.folder / "alerts.log"
        self.checkpoint = self.folder / "CHECKPOINT"

    def edit(self, old: str, new: str) -> None:
        """Change one place by hand."""
        assert self.text.count(old) == 1, f"{old!r} is there {self.text.count(old)} times"
        self.write(self.text.replace(old, new))

    @property
    def text(self) -> str:
        return self.state.read_text(encoding="utf-8")

    @property
    def other_bytes(self) -> bytes:
        """The bytes before any of liza's sections."""
        raw = self.state.read_bytes()
        ours = re.search(rb"^(?:claims|stages|circuit_breaker):", raw, re.MULTILINE)
        return raw[: ours.start() if ours else len(raw)].rstrip()

    def run(self, *words: str, stdin: bytes = b"") -> Result:
        """Any command; other sections keep every byte, and no control character is printed."""
        before = self.other_bytes
        out, err = io.StringIO(), io.StringIO()
        typed = io.TextIOWrapper(io.BytesIO(stdin))
        clean = {key: value for key, value in os.environ.items() if not key.startswith("LIZA_")}
        with (
            patch.dict(os.environ, clean, clear=True),
            patch.object(sys, "stdin", typed),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            options = words.index("--") if "--" in words else len(words)
            code = liza([*words[:options], "--root", str(self.root), *words[options:]])
        ran = Result(code, out.getvalue(), err.getvalue())
        assert code != BUG, ran.err
        assert controls(ran.out + ran.err) == [], "a raw control character was printed"
        assert self.other_bytes == before
        return ran

    def run_now(self, *words: str, stdin: bytes = b"") -> Result:
        """A command that takes `--now`, a minute after the last one."""
        return self.run(*words, *self.tick(), stdin=stdin)

    def claim(self, verb: str, *words: str, stdin: bytes = b"") -> Result:
        return self.run_now("claim", verb, *words, stdin=stdin)

    def stage(self, verb: str, *words: str) -> Result:
        return self.run_now("stage", verb, *words)

    def add(self, name: str = "C-001", *words: str) -> None:
        assert self.claim("add", name, "--text", f"the text of {name}", *words).code == 0

    def round(self, *objections: str, words: str = "", name: str = "C-001") -> Result:
        """One round with these objections, all answered alike."""
        pairs = [word for each in objections for word in ("--objection", each, "--response", f"no to {each}")]
        return self.claim("round", name, *pairs, *shlex.split(words))

    def codes(self, *rounds: str, name: str = "C-001") -> list[int]:
        """The exit codes of rounds; each is objections separated by |, then options after --."""
        found = []
        for each in rounds:
            text, _, words = each.partition(" --")
            found.append(self.round(*text.split("|"), words=f"--{words}" if words else "", name=name).code)
        return found

    def dispute(self, name: str = "C-001", objection: str = HARNESS) -> None:
        """Make a claim disputed, and so frozen."""
        if name not in self.claims:
            self.add(name)
        assert self.codes(objection, objection, objection, name=name) == [0, 0, 3]

    @property
    def claims(self) -> dict[str, dict[str, Any]]:
        """The claims as another program reads them, by id."""
        section = libyaml_value(self.state.read_bytes()).get("claims") or {}
        if isinstance(section, list):
            return {str(each.get("id")): each for each in section}
        return {str(name): each for name, each in section.items()}

    def at(self, name: str = "C-001") -> dict[str, Any]:
        return self.claims[name]

    def disputes(self, name: str = "C-001") -> list[dict[str, Any]]:
        """All disputes of a claim, oldest first."""
        return [each for each in self.at(name).get("history", []) if each["event"] == "disputed"]


def json_of(ran: Result) -> dict[str, Any]:
    return cast(dict[str, Any], json.loads(ran.out))


def frozen_part(claim: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that must not change while a claim is in dispute."""
    names = ("text", "confidence", "evidence", "rounds", "dispute_reason", "researcher_position")
    return {name: claim.get(name) for name in names}
