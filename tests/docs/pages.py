"""The pages for people: what stands in their blocks, and a folder in which all of it is tried.

A page is tried from its first block to its last, in one new folder that is a git repository. Shell and Python are run,
JSON is parsed, YAML is put to its use: rules are checked, cases tried, boards validated. What readers need not see
stands in comments of the page:

    <!-- sh
    liza init
    -->                     run here: what a block needs, or what must be true after it ($OUT, $ERR: what it said)
    <!-- exit: 3 -->        the next block is run to its end, and its last command ends with this code
    <!-- file: NAME -->     the next block is put into this file
    <!-- not run: WHY -->   the next block is not tried
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import NamedTuple

from liza.rules.load import FILE_KEYS
from liza.schema import state
from tests.cli.run import environment, liza, new_board
from tests.run.repositories import SETTINGS, repository
from tests.store.oracle import ruamel_value
from tests.tools import needs_all_in

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
KINDS = ("sh", "python", "json", "yaml", "text")
_PART = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^(?P=indent)```$|^ *<!--(?P<comment>.*?)-->$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """One block of a page, or what a comment says to run."""

    kind: str
    text: str
    line: int
    exit: int | None = None
    file: str | None = None
    is_run: bool = True


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page in their order, each with what the comments before it say."""
    said: dict[str, str] = {}
    for part in _PART.finditer(text):
        line = text.count("\n", 0, part.start()) + 1
        comment = part["comment"]
        if comment is None:
            indented = re.sub(rf"^{part['indent']}", "", part["text"], flags=re.MULTILINE)
            code = int(said["exit"]) if "exit" in said else None
            yield Block(part["kind"], indented, line, code, said.get("file"), "not run" not in said)
            said.clear()
        elif comment.startswith(" sh\n"):
            yield Block("sh", comment.removeprefix(" sh\n"), line)
        else:
            key, colon, value = comment.strip().partition(": ")
            assert colon, f"line {line}: what does this comment say?"
            assert key in ("exit", "file", "not run"), f"line {line}: {key}"
            said[key] = value
    assert not said, "a comment without a block"


class Place:
    """Where the blocks of one page are tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = repository(folder / "project")
        self.said = folder
        self.boards = 0
        self.sockets = tempfile.TemporaryDirectory()  # the path of a socket must be short

    def tries(self, block: Block) -> None:
        """Put a block to its use; the assertion that fails says what came of it."""
        if block.file is not None:
            file = self.folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        if block.kind == "json":
            json.loads(block.text)
        elif block.kind == "yaml":
            self._yaml(block)
        elif block.kind in ("sh", "python") and block.is_run:
            self._runs(block)

    def _runs(self, block: Block) -> None:
        needs_all_in(block.text)
        shell = ["sh", "-eu" if block.exit is None else "-u", "-c"]
        words = shell if block.kind == "sh" else [sys.executable, "-W", "error", "-c"]
        done = subprocess.run(
            [*words, block.text], cwd=self.folder, env=self._environment(), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        (self.said / "out").write_bytes(done.stdout)
        (self.said / "err").write_bytes(done.stderr)
        said = f"line {block.line}: {done.returncode}\n{block.text}{done.stdout.decode()}{done.stderr.decode()}"
        assert done.returncode == (block.exit or 0), said
        assert b"a bug in liza" not in done.stderr, said

    def _environment(self) -> dict[str, str]:
        files = {"OUT": str(self.said / "out"), "ERR": str(self.said / "err"), "EXAMPLE": str(ROOT / ".liza.example")}
        more = {
            "TMUX_TMPDIR": self.sockets.name,
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        return environment(self.said, **SETTINGS, **files, **more)

    def _yaml(self, block: Block) -> None:
        keys = set(ruamel_value(block.text.encode()))
        name = block.file or "block.yaml"
        if block.file is None:
            (self.folder / name).write_text(block.text)
        if "cases" in keys:
            answer = liza(self.folder, "rules", "test", name, "--json").json
            assert (answer["status"], answer["failed"]) == ("ok", 0), answer
            assert answer["passed"] == block.text.count("- name: ")
        elif keys <= set(FILE_KEYS):
            checked = liza(self.folder, "rules", "check", name)
            assert checked.code == 0, f"line {block.line}: {checked.out}"
        elif keys <= set(state.SECTIONS):
            self.boards += 1
            folder = self.said / f"board-{self.boards}"
            new_board(folder, f"version: 1\nanomalies: []\n{block.text}")
            valid = liza(folder, "validate")
            assert valid.out.endswith("valid\n"), f"line {block.line}: {valid.out}"
        else:
            assert block.file is not None, f"line {block.line}: YAML of no known use must be named: <!-- file: NAME -->"

    def close(self) -> None:
        """No daemon and no terminal that a page starts outlives it."""
        if which("tmux"):
            subprocess.run(["tmux", "kill-server"], env=self._environment(), stderr=subprocess.DEVNULL, check=False)
        self.sockets.cleanup()
        if os.path.isdir(self.folder / ".liza"):
            liza(self.folder, "watch", "--stop")
