"""A blackboard in a folder, and liza called on it.

Every call checks what holds for all commands: no byte of state.yaml outside `circuit_breaker` changes, no comment
inside it is lost, no control character is printed, and nothing ends as a bug.
"""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.cli.run import BIN, Result, served
from tests.served import server
from tests.store.oracle import libyaml_value

NOW = "2025-01-18T17:30:00Z"
LATER = "2025-01-18T18:30:00Z"
BUG = 70

# Written as people write: odd spacing, both kinds of quotes, comments everywhere.
HEAD = """\
# The blackboard of a team; people write on it, too.
version: 1
goal: {description:   "odd   spacing",status: IN_PROGRESS}   # stays as it is

tasks:
    - id: task-1
      spec_ref: 'specs/data-model.md#FR-007'
      status:    CLAIMED
    - {id: task-2, spec_ref: specs/data-model.md#FR-009, status: CLAIMED}
    - {id: task-3, status: CLAIMED}

sprint:
  id: sprint-4
  timeline: {started: 2025-01-18T09:00:00Z}
  metrics: {tasks_blocked: 1}

anomalies:
"""
NONE = "anomalies: []\n"
BREAKER = """\
circuit_breaker:  # liza's own section
  # when it was looked at last
  last_check: null  # never so far
  status: OK  # OK, TRIGGERED
  current_trigger: null  # nothing is open
  history: []  # oldest first
"""
TAIL = """\
# behind the section
config:
    max_review_cycles:   5
remarks: >-
  folded   text, with
   its own shape
"""
_BEGIN, _END = b"\ncircuit_breaker:", b"\n# behind the section"


def record(kind: str, task: str = "task-1", at: str = "2025-01-18T14:00:00Z", **details: Any) -> dict[str, Any]:
    return {"timestamp": at, "task": task, "reporter": "coder-1", "type": kind, "details": details}


def listed(records: Sequence[Mapping[str, Any]]) -> str:
    """The records as lines of a YAML list; JSON is YAML and escapes odd characters."""
    return "".join(f"  - {json.dumps(each)}\n" for each in records)


def state(records: Sequence[Mapping[str, Any]], breaker: str = BREAKER) -> str:
    """The text of a blackboard with these anomalies."""
    anomalies = HEAD + listed(records) if records else HEAD.replace("anomalies:\n", NONE)
    return anomalies + breaker + TAIL


def _start(program: str, arguments: Sequence[str], cwd: Path, env: dict[str, str]) -> Result:
    if program == "liza":
        return served(arguments, cwd, env)
    done = subprocess.run([BIN / program, *arguments], cwd=cwd, env=env, capture_output=True, check=False)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


class Board:
    """One blackboard."""

    def __init__(self, root: Path, text: str) -> None:
        self.root = root
        self.folder = root / ".liza"
        self.folder.mkdir(parents=True)
        self.state = self.folder / "state.yaml"
        self.checkpoint = self.folder / "CHECKPOINT"
        self.report = self.folder / "circuit_breaker_report.md"
        self.reports = self.folder / "reports"
        self.log = self.folder / "log.yaml"
        self.rules = self.folder / "rules.yaml"
        self.save(text)

    # --- actions of others ---

    def save(self, text: str) -> None:
        """Save as an editor does: a new file moved over the old one, old enough to be read at once."""
        fresh = self.root / "saved.yaml"
        fresh.write_text(text, encoding="utf-8")
        os.utime(fresh, (1e9, 1e9))
        fresh.rename(self.state)

    def edit(self, old: str, new: str) -> None:
        """Change one place by hand."""
        text = self.state.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        self.save(text.replace(old, new))

    def add(self, *records: Mapping[str, Any]) -> None:
        """Add anomalies, as an agent does."""
        before, section = self.text.replace(NONE, "anomalies:\n").split("\ncircuit_breaker:")
        self.save(f"{before}\n{listed(records)}circuit_breaker:{section}")

    # --- liza ---

    def run(self, *arguments: str, program: str = "liza", env: Mapping[str, str] | None = None) -> Result:
        before = self._bytes()
        ran = _start(program, arguments, self.root, self.environment(env))
        assert ran.code != BUG, ran.err
        assert controls(ran.out + ran.err) == [], "a raw control character was printed"
        if arguments[:1] not in (("log",), ("silence",)):  # they write to other sections
            unharmed(before, self._bytes())
        return ran

    def _bytes(self) -> bytes:
        return self.state.read_bytes() if self.state.is_file() else b""

    def analyze(self, *arguments: str, now: str = NOW, env: Mapping[str, str] | None = None) -> Result:
        return self.run("analyze", "--now", now, *arguments, env=env)

    def resolve(self, text: str = "ADR-003 created", *arguments: str, now: str = "2025-01-18T18:00:00Z") -> Result:
        return self.run("resolve", "-m", text, "--by", "alice", "--now", now, *arguments)

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LIZA_")}
        return {**clean, "XDG_STATE_HOME": str(self.root / "state"), **(env or {})}

    # --- contents ---

    @property
    def text(self) -> str:
        return self.state.read_text(encoding="utf-8")

    @property
    def section(self) -> dict[str, Any]:
        """`circuit_breaker`, as another YAML library reads it."""
        found = libyaml_value(self.state.read_bytes())["circuit_breaker"]
        assert isinstance(found, dict)
        return found

    @property
    def trigger(self) -> dict[str, Any]:
        found = self.section["current_trigger"]
        assert isinstance(found, dict)
        return found

    @property
    def trips(self) -> list[dict[str, Any]]:
        """The entries of the history that are not plain OK checks."""
        return [entry for entry in self.section["history"] if entry.get("result") != "OK"]

    @property
    def logged(self) -> list[str]:
        """Liza's entries in the log."""
        entries = libyaml_value(self.log.read_bytes()) if self.log.exists() else []
        return [f"{entry['action']}: {entry['detail']}" for entry in entries or [] if entry["agent"] == "liza"]

    @property
    def archived(self) -> list[Path]:
        found = self.reports.iterdir() if self.reports.is_dir() else []
        return sorted(path for path in found if not path.name.startswith("."))

    @property
    def halt(self) -> dict[str, str]:
        """The named lines of CHECKPOINT; the first line is the time."""
        first, *lines = self.checkpoint.read_text(encoding="utf-8").splitlines()
        return {"time": first, **dict(line.split(": ", 1) for line in lines)}

    def files(self) -> dict[str, bytes | str]:
        """Every file below the folder with its content, to check that nothing changed."""
        return {
            str(path.relative_to(self.root)): path.read_bytes() if path.is_file() else "not a file"
            for path in sorted(self.root.rglob("*"))
        }

    def leftovers(self) -> list[str]:
        """Temporary files, which only a write in progress may have."""
        return [path.name for path in self.root.rglob(".*") if path.name.endswith((".new", ".swap"))]


def unharmed(before: bytes, after: bytes) -> None:
    """Check that no byte outside liza's section changed, and no comment inside it is gone."""
    if before.count(_BEGIN) != 1 or before.count(_END) != 1:
        return  # the section's first and last line cannot be found
    assert before.split(_BEGIN)[0] == after.split(_BEGIN)[0], "liza changed another section"
    if before.index(_END) < before.index(_BEGIN):
        return  # liza put its section at the end
    assert before.split(_END)[1] == after.split(_END)[1], "liza changed another section"
    kept = _comments(after.split(_BEGIN)[1].split(_END)[0])
    assert [comment for comment in _comments(before.split(_BEGIN)[1].split(_END)[0]) if comment not in kept] == []


def _comments(section: bytes) -> list[bytes]:
    """The comments; a "#" inside quotes does not begin one."""
    quoted = rb"""(?<=[\s\[{,])(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*')"""
    return [found[1] for found in re.finditer(quoted + rb"|(#[^\n]*)", section) if found[1]]


def controls(text: str) -> list[str]:
    """The characters on which a terminal or a reader would act."""
    return [char for char in text if not char.isprintable() and char != "\n"]


def on_a_terminal(board: Board, *arguments: str) -> str:
    """The output of a command on a terminal, without liza's own colours."""
    _, printed = server().show(arguments, board.root, board.environment())
    return re.sub("\x1b\\[(?:0|1|3[1-6])m", "", printed)
