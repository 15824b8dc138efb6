"""The daemon: how long from the write of the last record until CHECKPOINT is there.

A ratio is the p99 divided by the time that the way of writing allows: for a record that
is moved into place 20 ms and half a parse, for one that is written in place 100 ms and a parse, and one more tick
if it only polls.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import yaml_rs

from benchmarks import boards
from benchmarks.command import _ENVIRONMENT, Failed
from benchmarks.tables import Row, Table, Target
from benchmarks.timing import Contestant, Measured, race
from liza.check import check
from liza.scopes.rules_file import read_rules
from liza.scopes.sprint.resolve import resolve
from liza.store.board import Board
from liza.store.daemon_process import read_watch_facts
from liza.store.paths import Paths

_SIZES = (10, 1_000, 10_000)
_TRIPS = 100
_TICK = 1.0
_RECORD = """\
  - timestamp: {at}
    task: task-{task}
    reporter: coder-1
    type: external_blocker
    details:
      blocker_service: service-{number}
"""


def run(folder: str, quick: bool) -> list[Table]:
    """`quick` measures a tenth as often, and does not poll."""
    trips = _TRIPS // 10 if quick else _TRIPS
    ways: dict[str, tuple[Callable[[str, str], None], tuple[str, ...]]] = {
        "moved into place": (_move, ()),
        "written in place": (_write, ()),
    }
    if not quick:
        ways |= {f"{name}, polling": (write, ("--poll",)) for name, (write, _) in ways.items()}
    tables = []
    for size in _SIZES:
        rows = []
        for name, (write, options) in ways.items():
            count = trips if not options else trips // 5
            parse, times = _measure(folder, size, write, options, count)
            allowed = (0.02 + parse / 2 if write is _move else 0.1 + parse) + (_TICK if options else 0.0)
            p50, p99 = (times[-(-len(times) * percent // 100) - 1] for percent in (50, 99))
            rows.append(Row(Measured(f"{name}, p50", p50, count)))
            rows.append(Row(Measured(f"{name}, p99", p99, count), p99 / allowed, Target(1)))
        tables.append(Table(f"from the write to the halt, {size:,} anomalies", "p99 / the allowed time", rows))
    return tables


def _measure(
    folder: str, size: int, write: Callable[[str, str], None], options: tuple[str, ...], trips: int
) -> tuple[float, list[float]]:
    """The time of a fast parse of the blackboard, and that of each trip, in order."""
    paths = Paths(folder)
    text = boards.board(size).decode()
    boards.put(paths.state, text.encode())
    (parsed,) = race([Contestant("parse", lambda: yaml_rs.loads(text, parse_datetime=False))], 5)
    while check(Board(paths), read_rules(None), datetime.now(UTC)).trigger is not None:
        resolve(Board(paths), "resolved before", "benchmark", datetime.now(UTC))
    times: list[float] = []
    with _daemon(paths, options):
        for number in range(trips):
            _add(paths, write, number, 1)
            _until(lambda: _has_seen(paths))
            times.append(_add(paths, write, number, 2))
            _until(lambda: _has_seen(paths))
            resolve(Board(paths), "measured", "benchmark", datetime.now(UTC))
            _until(lambda: _has_seen(paths))
    return parsed.seconds, sorted(times)


def _add(paths: Paths, write: Callable[[str, str], None], number: int, task: int) -> float:
    """Put a record on the blackboard; the time until CHECKPOINT is there, for the second of its kind."""
    with open(paths.state, encoding="utf-8") as file:
        text = file.read()
    at = text.index("\nsprint:")
    record = _RECORD.format(at=f"{datetime.now(UTC):%FT%TZ}", task=task, number=number)
    new = f"{text[: at + 1]}{record}{text[at + 1 :]}"
    write(paths.state, new)
    started = time.perf_counter()
    if task == 1:
        return 0.0
    _until(lambda: os.path.exists(paths.checkpoint), pause=0.0002)
    return time.perf_counter() - started


def _move(path: str, text: str) -> None:
    draft = f"{path}.draft"
    with open(draft, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(draft, path)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _has_seen(paths: Paths) -> bool:
    """Whether the daemon has evaluated the current version."""
    facts = read_watch_facts(paths)
    return facts.get("seen") == os.stat(paths.state).st_mtime_ns


def _until(holds: Callable[[], bool], pause: float = 0.002, patience: float = 30.0) -> None:
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            raise Failed("the daemon did not answer in time")
        time.sleep(pause)


@contextmanager
def _daemon(paths: Paths, options: tuple[str, ...]) -> Iterator[None]:
    liza = os.path.join(os.path.dirname(sys.executable), "liza")
    command = (liza, "watch", *options, "--root", os.path.dirname(paths.folder))
    process = subprocess.Popen(command, env=_ENVIRONMENT, stdout=subprocess.DEVNULL)
    try:
        _until(lambda: _has_seen(paths))
        yield
    finally:
        process.terminate()
        process.wait()
