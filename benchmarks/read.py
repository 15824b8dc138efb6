"""Reading a board: liza's reader against the loader that keeps comments, which is the usual way to edit YAML."""

import os

from ruamel.yaml import YAML

from benchmarks import boards
from benchmarks.tables import Row, Table, Target
from benchmarks.timing import Contestant, race
from liza.store import versions
from liza.store.document import Document, parse

# Anomalies on the board; rounds of all; rounds of ruamel.yaml, which takes half a minute for the largest.
_SIZES = ((100, 40, 10), (1_000, 30, 5), (10_000, 30, 1))
_LARGEST = 10_000


def fast_read(path: str) -> Document:
    """One fast full read, the yardstick of the other benchmarks."""
    return parse(versions.read_stable(path).raw, path)


def run(folder: str, quick: bool) -> list[Table]:
    tables = []
    for anomalies, rounds, slow_rounds in _SIZES:
        path = os.path.join(folder, "state.yaml")
        raw = boards.board(anomalies)
        boards.put(path, raw)
        title = f"reading {anomalies:,} anomalies ({len(raw) / 1000:,.0f} KB)"
        if anomalies < _LARGEST:
            tables.append(_compare(path, title, rounds, slow_rounds, None))
        else:
            tables.append(_compare(path, title, rounds, 0 if quick else slow_rounds, Target(100, at_least=True)))
    return tables


def _compare(path: str, title: str, rounds: int, slow_rounds: int, target: Target | None) -> Table:
    liza = Contestant("liza", lambda: fast_read(path))
    ruamel = Contestant("ruamel.yaml, round trip", lambda: _load(path), at_most=slow_rounds)
    fast, *slow = race([liza, ruamel] if slow_rounds else [liza], rounds)
    ratio = slow[0].seconds / fast.seconds if slow else None
    return Table(title, "ruamel.yaml / liza", [Row(fast, ratio, target), *map(Row, slow)])


def _load(path: str) -> object:
    with open(path, "rb") as file:
        return YAML(typ="rt", pure=True).load(file)
