"""`liza rules test` on a file of many cases, beside the same on a file of one: the cost of one more case."""

import os
import sys
from collections.abc import Iterable
from functools import partial

from benchmarks.command import _process
from benchmarks.tables import Row, Table, Target
from benchmarks.timing import Contestant, race

_CASES = 200
_ROUNDS = 15
# Each with another error, as the cases of a real file have.
_CASE = """\
  - name: case {number}, three tasks and one error, each time on another line
    anomalies:
      - at: 10m
        task: task-3
        type: retry_loop
        count: 3
        error_pattern: {what} failure on nested entity at line 42
      - at: 20m
        task: task-5
        type: retry_loop
        count: 3
        error_pattern: {what} failure on nested entity at line 117
      - at: 30m
        task: task-6
        type: retry_loop
        count: 3
        error_pattern: {what} failure on nested entity at line 8
    trips:
      - {{at: 30m, rule: retry_cluster}}
"""
_WHAT = ("serialization", "validation", "migration", "encoding", "import", "export", "permission", "checksum")


def run(folder: str, quick: bool) -> list[Table]:
    """`quick` changes nothing here. A case that failed would end with another exit code, and be no figure."""
    liza = os.path.join(os.path.dirname(sys.executable), "liza")
    one, many = (os.path.join(folder, name) for name in ("one.yaml", "many.yaml"))
    _write(one, range(1))
    _write(many, range(_CASES))
    contestants = [
        Contestant("python -c pass", lambda: _process((sys.executable, "-c", "pass"))),
        Contestant("a file of one case", partial(_process, (liza, "rules", "test", one))),
        Contestant(f"a file of {_CASES} cases", partial(_process, (liza, "rules", "test", many))),
    ]
    bare, single, all_of_them = race(contestants, _ROUNDS)
    rows = [Row(bare), Row(single), Row(all_of_them, all_of_them.seconds / single.seconds, Target(5))]
    each = (all_of_them.seconds - single.seconds) / (_CASES - 1)
    note = f"one more case takes {each * 1000:.2f} ms"
    return [Table("liza rules test", "the file of many cases / the file of one", rows, note)]


def _write(path: str, numbers: Iterable[int]) -> None:
    cases = [_CASE.format(number=number, what=_WHAT[number % len(_WHAT)]) for number in numbers]
    with open(path, "w", encoding="utf-8") as file:
        file.write("cases:\n" + "".join(cases))
