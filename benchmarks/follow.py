"""The daemon when one record is added: reading only that, and evaluating only what it changes.

A ratio is the time for one more record divided by that of starting over: for reading a full fast parse and nothing
else, for evaluating the same evaluation without the memo.
"""

from datetime import UTC, datetime
from typing import Any

import yaml_rs

from benchmarks import boards
from benchmarks.command import Failed
from benchmarks.tables import Row, Table, Target
from benchmarks.timing import Contestant, race
from liza.model import Verdict
from liza.rules.evaluate import evaluate
from liza.rules.memo import new_memo
from liza.scopes.rules_file import read_rules
from liza.scopes.snapshot import snapshot_of
from liza.store.board import Board
from liza.store.document import Document
from liza.store.paths import Paths

# Anomalies on the board, and rounds.
_SIZES = ((10_000, 30), (100_000, 7))
_RECORD = b"""\
  - timestamp: 2025-01-18T14:31:00Z
    task: task-3
    reporter: coder-1
    type: external_blocker
    details:
      blocker_service: queue-staging
"""
_NOW = datetime(2025, 1, 18, 14, 32, tzinfo=UTC)


def run(folder: str, quick: bool) -> list[Table]:
    """`quick` leaves out the larger board."""
    return [table for size, rounds in (_SIZES[:1] if quick else _SIZES) for table in _measure(folder, size, rounds)]


def _measure(folder: str, size: int, rounds: int) -> list[Table]:
    board = Board(Paths(folder))
    old = boards.board(size)
    at = old.index(b"\nsprint:") + 1
    boards.put(board.paths.state, old)
    before = board.read()
    boards.put(board.paths.state, old[:at] + _RECORD + old[at:])
    after = board.read(before)
    return [_following(board, before, after, size, rounds), _evaluation(board, before, after, size, rounds)]


def _following(board: Board, before: Document, after: Document, size: int, rounds: int) -> Table:
    text = after.raw.decode()
    if after.data != yaml_rs.loads(text, parse_datetime=False):
        raise Failed("the followed document differs from the file")
    parse, follow = race(
        [
            Contestant("a full fast parse", lambda: yaml_rs.loads(text, parse_datetime=False)),
            Contestant("the record that was added, from the disk", lambda: board.read(before, reject_unstable=True)),
        ],
        rounds,
    )
    rows = [Row(parse), Row(follow, follow.seconds / parse.seconds, Target(0.1))]
    return Table(f"reading one more record, {size:,} anomalies", "one record / a full fast parse", rows)


def _evaluation(board: Board, before: Document, after: Document, size: int, rounds: int) -> Table:
    rules = read_rules(None)
    memo: dict[Any, Any] = {}

    def verdict(document: Document, memo: dict[Any, Any] | None) -> Verdict:
        return evaluate(rules, snapshot_of(board, document, rules, check=False), _NOW, memo)

    def remember() -> None:
        memo.update(new_memo())
        verdict(before, memo)

    remember()
    if verdict(after, memo) != verdict(after, None):
        raise Failed("the memo changes the verdict")
    whole, more = race(
        [
            Contestant("evaluating without memo", lambda: verdict(after, None)),
            Contestant("evaluating with memo", lambda: verdict(after, memo), before=remember),
        ],
        rounds,
    )
    rows = [Row(whole), Row(more, more.seconds / whole.seconds, Target(0.25))]  # above it, everything was grouped again
    return Table(f"evaluating one more record, {size:,} anomalies", "with / without memo", rows)
