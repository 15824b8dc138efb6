"""What the daemon does when one record is added: reading only that, and judging only what it changes.

A ratio is the time for one record more divided by that of doing everything anew: for reading a full fast parse and
nothing else, for judging the same judgement without what was remembered.
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
from liza.scopes.sprint.evaluate import snapshot_of
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
    return [_reading(board, before, after, size, rounds), _judging(board, before, after, size, rounds)]


def _reading(board: Board, before: Document, after: Document, size: int, rounds: int) -> Table:
    text = after.raw.decode()
    if after.data != yaml_rs.loads(text, parse_datetime=False):
        raise Failed("what was followed is not what is there")
    parse, follow = race(
        [
            Contestant("a full fast parse", lambda: yaml_rs.loads(text, parse_datetime=False)),
            Contestant("the record that was added, from the disk", lambda: board.read(before, patient=True)),
        ],
        rounds,
    )
    rows = [Row(parse), Row(follow, follow.seconds / parse.seconds, Target(0.1))]
    return Table(f"reading one record more, {size:,} anomalies", "one record / a full fast parse", rows)


def _judging(board: Board, before: Document, after: Document, size: int, rounds: int) -> Table:
    rules = read_rules(None)
    memo: dict[Any, Any] = {}

    def judged(document: Document, memo: dict[Any, Any] | None) -> Verdict:
        return evaluate(rules, snapshot_of(board, document, rules, check=False), _NOW, memo)

    def remember() -> None:
        memo.update(new_memo())
        judged(before, memo)

    remember()
    if judged(after, memo) != judged(after, None):
        raise Failed("what was remembered is not what would be found")
    whole, more = race(
        [
            Contestant("judging anew", lambda: judged(after, None)),
            Contestant("judging with memory", lambda: judged(after, memo), before=remember),
        ],
        rounds,
    )
    rows = [Row(whole), Row(more, more.seconds / whole.seconds, Target(0.25))]  # or everything was grouped again
    return Table(f"judging one record more, {size:,} anomalies", "with memory / anew", rows)
