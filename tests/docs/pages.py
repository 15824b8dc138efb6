"""The blocks of the documentation pages, and a folder in which they are executed.

A page is tried from its first block to its last, in one new folder that is a git repository. Shell and Python are run,
JSON is parsed, YAML is used: rules are checked, cases run, boards validated. What readers need not see
is in comments of the page:

    <!-- sh
    liza init
    -->                     run here: what a block needs, or what must be true after it ($OUT, $ERR: its output)
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

from liza.schema import rules_yaml as schema
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
    """One block of a page, or a comment's commands to run."""

    kind: str
    text: str
    line: int
    exit: int | None = None
    file: str | None = None
    is_run: bool = True


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page in order, each with the options from the comments before it."""
    options: dict[str, str] = {}
    for part in _PART.finditer(text):
        line = text.count("\n", 0, part.start()) + 1
        comment = part["comment"]
        if comment is None:
            indented = re.sub(rf"^{part['indent']}", "", part["text"], flags=re.MULTILINE)
            code = int(options["exit"]) if "exit" in options else None
            yield Block(part["kind"], indented, line, code, options.get("file"), "not run" not in options)
            options.clear()
        elif comment.startswith(" sh\n"):
            yield Block("sh", comment.removeprefix(" sh\n"), line)
        else:
            key, colon, value = comment.strip().partition(": ")
            assert colon, f"line {line}: a comment needs the form `key: value`"
            assert key in ("exit", "file", "not run"), f"line {line}: {key}"
            options[key] = value
    assert not options, "a comment without a block"


class Place:
    """Where the blocks of one page are tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = repository(folder / "project")
        self.outside = folder
        self.boards = 0
        self.sockets = tempfile.TemporaryDirectory()  # the path of a socket must be short

    def try_block(self, block: Block) -> None:
        """Run or parse a block; the assertion that fails shows its output."""
        if block.file is not None:
            file = self.folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        if block.kind == "json":
            json.loads(block.text)
        elif block.kind == "yaml":
            self._yaml(block)
        elif block.kind in ("sh", "python") and block.is_run:
            self._run(block)

    def _run(self, block: Block) -> None:
        needs_all_in(block.text)
        shell = ["sh", "-eu" if block.exit is None else "-u", "-c"]
        words = shell if block.kind == "sh" else [sys.executable, "-W", "error", "-c"]
        done = subprocess.run(
            [*words, block.text], cwd=self.folder, env=self._environment(), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        (self.outside / "out").write_bytes(done.stdout)
        (self.outside / "err").write_bytes(done.stderr)
        shown = f"line {block.line}: {done.returncode}\n{block.text}{done.stdout.decode()}{done.stderr.decode()}"
        assert done.returncode == (block.exit or 0), shown
        assert b"a bug in liza" not in done.stderr, shown

    def _environment(self) -> dict[str, str]:
        files = {
            "OUT": str(self.outside / "out"),
            "ERR": str(self.outside / "err"),
            "EXAMPLE": str(ROOT / ".liza.example"),
        }
        more = {
            "TMUX_TMPDIR": self.sockets.name,
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        return environment(self.outside, **SETTINGS, **files, **more)

    def _yaml(self, block: Block) -> None:
        keys = set(ruamel_value(block.text.encode()))
        name = block.file or "block.yaml"
        if block.file is None:
            (self.folder / name).write_text(block.text)
        if "cases" in keys:
            answer = liza(self.folder, "rules", "test", name, "--json").json
            assert (answer["status"], answer["failed"]) == ("ok", 0), answer
            assert answer["passed"] == block.text.count("- name: ")
        elif keys <= set(schema.FILE.fields):
            checked = liza(self.folder, "rules", "check", name)
            assert checked.code == 0, f"line {block.line}: {checked.out}"
        elif keys <= set(state.SECTIONS):
            self.boards += 1
            folder = self.outside / f"board-{self.boards}"
            new_board(folder, f"version: 1\nanomalies: []\n{block.text}")
            valid = liza(folder, "validate")
            assert valid.out.endswith("valid\n"), f"line {block.line}: {valid.out}"
        else:
            assert block.file is not None, f"line {block.line}: YAML of no known use must be named: <!-- file: NAME -->"

    def close(self) -> None:
        """End the daemons and terminals that the page started."""
        if which("tmux"):
            subprocess.run(["tmux", "kill-server"], env=self._environment(), stderr=subprocess.DEVNULL, check=False)
        self.sockets.cleanup()
        if os.path.isdir(self.folder / ".liza"):
            liza(self.folder, "watch", "--stop")
