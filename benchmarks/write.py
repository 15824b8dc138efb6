"""Writing to a board of 10,000 anomalies: one section replaced, one record appended, everything else as it was."""

import os
from bisect import bisect_left
from typing import Any

from ruamel.yaml import YAML

from benchmarks import boards
from benchmarks.read import fast_read
from benchmarks.tables import Row, Table, Target
from benchmarks.timing import Contestant, race
from liza.scopes.anomalies import add_anomaly
from liza.store import edit, versions
from liza.store import replace as storage
from liza.store.board import Board
from liza.store.compare import identical
from liza.store.document import Document, parse
from liza.store.paths import Paths

_ANOMALIES = 10_000
_SECTION = "circuit_breaker"
_BREAKER: dict[str, Any] = {
    "last_check": "2025-01-18T15:00:00Z",
    "status": "TRIGGERED",
    "current_trigger": {
        "timestamp": "2025-01-18T15:00:00Z",
        "pattern": "retry_cluster",
        "severity": "ARCHITECTURE_FLAW",
        "report_file": ".liza/circuit_breaker_report.md",
    },
    "history": [{"timestamp": "2025-01-18T14:30:00Z", "result": "OK", "checks": 12}],
}
_RECORD: dict[str, Any] = {
    "timestamp": "2025-01-18T15:00:00Z",
    "task": "task-3",
    "reporter": "coder-1",
    "type": "retry_loop",
    "details": {"count": 3, "error_pattern": "serialization failure: 'nested' entity"},
}


class NotProven(Exception):
    """A write changed something that it should not have; its speed means nothing."""


def run(folder: str, quick: bool) -> list[Table]:
    raw = boards.board(_ANOMALIES)
    board = Board(Paths(folder))
    return [_replacing(board, raw, quick), _appending(board, raw)]


def _replacing(board: Board, raw: bytes, quick: bool) -> Table:
    path = board.paths.state
    pristine = parse(raw, path)
    span = pristine.sections[_SECTION]
    meant = {**pristine.data, _SECTION: _BREAKER}
    held: dict[str, Any] = {}

    def hold() -> None:
        """A snapshot as the daemon has it: parsed, but with no part of its layout computed yet."""
        boards.put(path, raw)
        held["seen"] = versions.read_stable(path)
        held["document"] = Document(held["seen"].raw, pristine.data, path)

    def replace() -> None:
        storage.replace(path, held["seen"], edit.replace_section(held["document"], _SECTION, _BREAKER))

    def proof() -> None:
        after = _bytes(path)
        tail = len(raw) - span.end
        if after[: span.start] != raw[: span.start] or after[len(after) - tail :] != raw[span.end :]:
            raise NotProven("bytes outside the section have changed")
        if not identical(parse(after, path).data, meant):
            raise NotProven("the section has another value than intended")

    liza = Contestant("liza, from a snapshot, with fsync", replace, before=hold, after=proof)
    floor = Contestant("writing the same bytes, with fsync", lambda: boards.put(path, raw))
    ruamel = Contestant("ruamel.yaml: load, set, dump", lambda: _round_trip(path), before=floor.run, at_most=1)
    fast, bare, *slow = race([liza, floor] if quick else [liza, floor, ruamel], 30)
    ratio = slow[0].seconds / fast.seconds if slow else None
    rows = [Row(fast, ratio, Target(500, at_least=True)), *map(Row, slow), Row(bare)]
    note = f"after each write the {len(raw) - (span.end - span.start):,} bytes outside the section were identical"
    return Table(f"replacing {_SECTION} beside {_ANOMALIES:,} anomalies", "ruamel.yaml / liza", rows, note)


def _appending(board: Board, raw: bytes) -> Table:
    path = board.paths.state
    pristine = parse(raw, path)
    meant = {**pristine.data, "anomalies": [*pristine.data["anomalies"], _RECORD]}

    def restore() -> None:
        boards.put(path, raw)

    def append() -> None:
        board.rewrite(lambda document: edit.append_record(document, "anomalies", _RECORD))

    def proof() -> None:
        after = _bytes(path)
        added = len(after) - len(raw)
        kept = bisect_left(range(len(raw)), True, key=lambda at: raw[: at + 1] != after[: at + 1])
        if added <= 0 or after[kept + added :] != raw[kept:]:
            raise NotProven("bytes outside the new record have changed")
        if not identical(parse(after, path).data, meant):
            raise NotProven("the anomalies are not the old ones and the new one")

    contestants = [
        Contestant("one fast full read", lambda: fast_read(path), before=restore),
        Contestant("an append, read included", append, before=restore, after=proof),
        Contestant(
            "the same with check and line number", lambda: add_anomaly(board, _RECORD), before=restore, after=proof
        ),
    ]
    read, appended, added = race(contestants, 40)
    rows = [
        Row(read),
        Row(appended, appended.seconds / read.seconds, Target(2)),
        Row(added, added.seconds / read.seconds),
    ]
    note = f"after each append the {len(raw):,} bytes that were there before were identical"
    return Table(f"appending to {_ANOMALIES:,} anomalies", "the append / one fast full read", rows, note)


def _round_trip(path: str) -> None:
    yaml = YAML(typ="rt", pure=True)
    with open(path, "rb") as file:
        document = yaml.load(file)
    document[_SECTION] = _BREAKER
    with open(path, "wb") as file:
        yaml.dump(document, file)
        file.flush()
        os.fsync(file.fileno())


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
