"""The six systemic patterns, each in its smallest case, with the expected parts of the report."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.scopes.sprint.run import Board, record, state


class Case(NamedTuple):
    """Records that trip exactly one pattern; without the last one, nothing trips."""

    pattern: str
    severity: str
    column: str  # the field that was grouped, as the report calls it
    common: str  # what the report names as the common factor
    records: tuple[dict[str, Any], ...]


def _times(number: int, kind: str, **details: Any) -> tuple[dict[str, Any], ...]:
    return tuple(record(kind, f"task-{n}", f"2025-01-18T1{n}:00:00Z", **details) for n in range(1, number + 1))


CASES = (
    Case(
        "retry_cluster",
        "ARCHITECTURE_FLAW",
        "Error Pattern",
        "serialization failure on nested entity",
        _times(3, "retry_loop", count=3, error_pattern="serialization failure on nested entity"),
    ),
    Case(
        "debt_accumulation",
        "SCOPE_FLAW",
        "Said",
        "Multiple trade-offs creating debt",
        tuple(
            record("trade_off", f"task-{n}", what=what, why="time", debt_created=True)
            for n, what in enumerate(["mock the mailer", "skip pagination", "hard-code the currency"], 1)
        ),
    ),
    Case(
        "assumption_cascade",
        "SPEC_FLAW",
        "Assumption",
        "API supports pagination",
        _times(2, "assumption_violated", assumption="API supports pagination", reality="it returns 100 at most"),
    ),
    Case(
        "workaround_pattern",
        "ARCHITECTURE_FLAW",
        "Root Cause Or What",
        "no shared clock",
        _times(2, "workaround", root_cause="no shared clock"),
    ),
    Case(
        "spec_gap_cluster",
        "SPEC_FLAW",
        "Spec Ref",
        "specs/import.md#FR-3",
        _times(2, "spec_ambiguity", spec_ref="specs/import.md#FR-3", question="are amounts net or gross?"),
    ),
    Case(
        "external_service_outage",
        "EXTERNAL_DEPENDENCY",
        "Blocker Service",
        "payments sandbox",
        _times(2, "external_blocker", blocker_service="payments sandbox"),
    ),
)
RETRY, DEBT, ASSUMPTION, WORKAROUND, GAP, OUTAGE = CASES
EACH = pytest.mark.parametrize("case", CASES, ids=[case.pattern for case in CASES])


def board_with(folder: Path, *records: dict[str, Any]) -> Board:
    return Board(folder, state(records))


def tripped(folder: Path, case: Case = RETRY) -> Board:
    """A blackboard on which a pattern has just tripped."""
    board = board_with(folder, *case.records)
    assert board.analyze().code == 3
    return board
