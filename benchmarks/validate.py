"""Checking a whole board of 10,000 anomalies against the schema: all valid, and all faulty."""

import os

from benchmarks import boards
from benchmarks.read import fast_read
from benchmarks.tables import Row, Table, Target
from benchmarks.timing import Contestant, race
from liza.model import Snapshot
from liza.schema.snapshot import take_snapshot

_ANOMALIES = 10_000


class Unexpected(Exception):
    """The board has another number of problems than it was made with."""


def run(folder: str, quick: bool) -> list[Table]:
    """`quick` changes nothing here."""
    valid, faulty = (os.path.join(folder, name) for name in ("valid.yaml", "faulty.yaml"))
    boards.put(valid, boards.board(_ANOMALIES))
    boards.put(faulty, boards.board(_ANOMALIES, faulty=True))
    _expect(valid, 0)
    _expect(faulty, _ANOMALIES)
    contestants = [
        Contestant("one fast full read", lambda: fast_read(valid)),
        Contestant("read and validated, all valid", lambda: _validate(valid)),
        Contestant("read and validated, all faulty", lambda: _validate(faulty)),
    ]
    read, fine, bad = race(contestants, 20)
    rows = [
        Row(read),
        Row(fine, fine.seconds / read.seconds, Target(5)),
        Row(bad, bad.seconds / read.seconds),
    ]
    return [Table(f"validating {_ANOMALIES:,} anomalies", "the validation / one fast full read", rows)]


def _validate(path: str) -> Snapshot:
    return take_snapshot(fast_read(path))


def _expect(path: str, problems: int) -> None:
    found = _validate(path).problems
    if len(found) != problems:
        raise Unexpected(f"{len(found)} problems were found where {problems} were made: {found[:1]}")
