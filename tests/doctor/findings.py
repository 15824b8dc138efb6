"""Findings of the doctor about one subject."""

from datetime import UTC, datetime
from pathlib import Path

from liza.doctor.checks import run_check
from liza.doctor.finding import Finding, Level
from liza.store.paths import find
from tests.cli.run import new_board

STATE = """\
version: 1
anomalies:
- {timestamp: 2025-01-18T10:00:00Z, task: task-1, reporter: coder-1, type: workaround, details: {what: x}}
circuit_breaker: {last_check: null, status: OK, current_trigger: null, history: []}
"""


def board(folder: Path) -> Path:
    """The folder of a blackboard without findings."""
    return new_board(folder, STATE).parent


def found(folder: Path, about: str, now: datetime | None = None) -> list[Finding]:
    """All findings about one subject, in order."""
    return run_check(about, find(str(folder)), now or datetime.now(UTC))


def wrong(folder: Path, about: str, now: datetime | None = None) -> Finding:
    """The only finding about a subject that is not OK."""
    (only,) = [each for each in found(folder, about, now) if each.level is not Level.OK]
    assert only.hint
    return only


def is_well(folder: Path, about: str) -> bool:
    return {each.level for each in found(folder, about)} == {Level.OK}
