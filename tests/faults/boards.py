"""Blackboards for fault tests, and the state that must hold afterwards."""

import os
from pathlib import Path
from typing import Any

from liza.store.board import Board
from liza.store.compare import identical
from liza.store.document import parse, parse_log
from liza.store.edit import append_record
from liza.store.paths import Paths
from tests.store.oracle import ruamel_value

# The list is the last section, so that a shell script can append a record with `>>`.
STATE = """\
# a board that people write on, too
version: 1
marker: 0
circuit_breaker:
  status: OK  # fine so far
  current_trigger: null
  history: []

anomalies:
- timestamp: 2025-01-18T14:32:00Z
  task: task-0
  reporter: coder-0
  type: spec_gap
  details:
    spec_ref: docs/spec.md
"""
LOG = """\
- timestamp: 2025-01-18T14:32:00Z
  agent: coder-0
  action: began
"""


def version(marker: int) -> str:
    """The board as another program may have saved it; the marker identifies the version."""
    return STATE.replace("marker: 0", f"marker: {marker}")


def make(folder: Path, state: str = STATE, log: str | None = LOG) -> Paths:
    """A `.liza/` in that folder, with files that are old enough to be read at once."""
    paths = Paths(str(folder / ".liza"))
    os.makedirs(paths.folder)
    for file, text in ((paths.state, state), (paths.log, log)):
        if text is not None:
            Path(file).write_text(text, encoding="utf-8")
            os.utime(file, (1e9, 1e9))
    return paths


def anomaly(reporter: str, number: int = 0) -> dict[str, Any]:
    return {
        "timestamp": "2025-01-18T14:33:00Z",
        "task": "task-1",
        "reporter": reporter,
        "type": "spec_gap",
        "details": {"spec_ref": "docs/spec.md", "number": number},
    }


def entry(agent: str, number: int = 0) -> dict[str, Any]:
    return {"timestamp": "2025-01-18T14:33:00Z", "agent": agent, "action": "worked", "detail": f"number {number}"}


def add(paths: Paths, reporter: str = "liza") -> Board:
    """Append an anomaly to the board with liza's own writer."""
    board = Board(paths)
    board.rewrite(lambda document: append_record(document, "anomalies", anomaly(reporter)))
    return board


def anomalies(paths: Paths) -> list[Any]:
    """The records on the board, as liza reads them and as ruamel.yaml does."""
    raw = Path(paths.state).read_bytes()
    found = parse(raw, paths.state).data
    assert identical(found, ruamel_value(raw)), "the two parsers read different things"
    records = found["anomalies"]
    assert isinstance(records, list)
    return records


def entries(paths: Paths) -> list[Any]:
    """The same for the log."""
    raw = Path(paths.log).read_bytes()
    found = parse_log(raw, paths.log).data
    assert identical(found, ruamel_value(raw) or []), "the two parsers read different things"
    assert isinstance(found, list)
    return found


def reporters(paths: Paths) -> list[str]:
    return [record["reporter"] for record in anomalies(paths)]


def leftovers(paths: Paths) -> list[str]:
    """Files beside those of the blackboard that only a write in progress may have there."""
    return sorted(name for name in os.listdir(paths.folder) if name.startswith((".state.yaml.", ".log.yaml.")))


def rescued(board: Board) -> list[str]:
    """The texts of the versions rescued from an interrupted write; each is where the board reports it."""
    folder = Path(board.paths.backups)
    kept = sorted(str(file) for file in folder.iterdir()) if folder.exists() else []
    assert set(board.rescued) <= set(kept), "the board reports a backup that is not there"
    return [Path(file).read_text(encoding="utf-8") for file in kept]
