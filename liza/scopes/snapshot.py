"""The facts of a blackboard for the rules: its sections, derived records, evidence kept in files, and the log."""

import os
from datetime import datetime
from types import MappingProxyType
from typing import Any

from liza.errors import Unreadable
from liza.model import Snapshot
from liza.rules.evaluate import RuleSet
from liza.schema.snapshot import take_snapshot
from liza.scopes.engine import derived
from liza.scopes.history import section as sections
from liza.store import versions
from liza.store.board import Board
from liza.store.document import Document, parse_log

# Sections that rules read as lists of records.
_LISTS = frozenset({"anomalies", "tasks", "discovered"})


def snapshot_of(
    board: Board, document: Document, rules: RuleSet, *, check: bool = True, now: datetime | None = None
) -> Snapshot:
    """The facts of a document, with the log where a rule reads it.

    `Unreadable` where a rule reads a section that does not hold records: it would see none, and report OK.
    """
    for name in sorted(rules.streams & _LISTS):
        if not isinstance(document.data.get(name), list | None):
            line, column = document.locate((name,)) or (None, None)
            hint = f"begin each record of {name} with '- '; see: liza validate"
            raise Unreadable(f"{name} is not a list", hint=hint, file=document.file, line=line, column=column)
    snapshot = take_snapshot(document, check=check, now=now)
    if os.path.isdir(board.paths.team):
        from liza.scopes.shared import with_team  # few blackboards belong to a team

        snapshot = snapshot._replace(sections=MappingProxyType(with_team(board, document.data)))
    snapshot = snapshot._replace(derived=derived(board.paths, document.data, rules, os.environ, now))
    section = document.data.get("circuit_breaker")
    if sections.history_of(section) and (whole := _with_files(board, section)) is not section:
        snapshot = snapshot._replace(sections=MappingProxyType({**snapshot.sections, "circuit_breaker": whole}))
    if "log" in rules.streams and os.path.exists(board.paths.log):
        log = parse_log(versions.read_stable(board.paths.log).raw, board.paths.log)
        snapshot = snapshot._replace(log=log.data)
    return snapshot


def _with_files(board: Board, section: Any) -> Any:
    """The `circuit_breaker` section with what other files know of its history."""
    from liza.scopes.history.evidence_files import with_kept  # without a history there is nothing to look up
    from liza.scopes.history.origin import with_origins

    return with_origins(board, with_kept(board, section))
