"""`liza analyze` and `liza gate` as whole processes, beside only parsing the file and beside doing nothing."""

import os
import sys
from collections.abc import Mapping
from contextlib import chdir
from functools import partial

import yaml_rs

from benchmarks import boards
from benchmarks.command import _ENVIRONMENT, _NOWHERE, Failed, _process
from benchmarks.tables import Row, Table, Target
from benchmarks.timing import Contestant, Measured, race

_SIZES = {100: 15, 1_000: 15, 10_000: 10, 100_000: 3}  # anomalies, and rounds
_FAST = "import sys, yaml_rs; yaml_rs.loads(open(sys.argv[1]).read(), parse_datetime=False)"
_RUAMEL = "import sys; from ruamel.yaml import YAML; YAML().load(open(sys.argv[1]))"
_RATIO = "the process / (python -c pass + the fast parse)"
_GOALS = {"liza analyze": 2.0, "liza analyze --json": 3.0}
# A board of 100,000 anomalies is over the limits that every other is evaluated under.
_RAISED = {"LIZA_LIMIT_FILE_BYTES": "100000000", "LIZA_LIMIT_VALUES": "5000000", "LIZA_LIMIT_RECORDS": "200000"}
_RAISED_FROM = 100_000
_RUAMEL_UP_TO = 1_000  # beyond, it takes minutes


def run(folder: str, quick: bool) -> list[Table]:
    """Dry runs, so that every round sees the same board; exit code 3 of a board that trips is expected, too."""
    path = os.path.join(folder, "state.yaml")
    programs = os.path.dirname(sys.executable)
    tables = []
    whole: dict[int, float] = {}
    with chdir(os.path.dirname(folder)):
        for size, rounds in _SIZES.items():
            if quick and size > 10_000:
                continue
            boards.put(path, boards.board(size))
            analyze = (os.path.join(programs, "liza"), "analyze", "--dry-run", "--quiet")
            limits = _RAISED if size >= _RAISED_FROM else {}
            contestants = [
                Contestant("python -c pass", lambda: _process((sys.executable, "-c", "pass"))),
                Contestant("the fast parse alone", partial(_parse, path)),
                Contestant("a process that only parses", lambda: _process((sys.executable, "-c", _FAST, path))),
                Contestant("liza analyze", partial(_analyze, analyze, limits)),
                Contestant("liza analyze --json", partial(_analyze, (*analyze[:-1], "--json"), limits)),
            ]
            if size <= _RUAMEL_UP_TO:
                parse = (sys.executable, "-c", _RUAMEL, path)
                contestants.append(Contestant("only ruamel.yaml's parse", partial(_process, parse), at_most=3))
            bare, parsed, *others = race(contestants, rounds)
            least = bare.seconds + parsed.seconds
            rows = [Row(bare), Row(parsed)]
            for each in others:
                goal = _GOALS.get(each.name) if size == 10_000 else None
                rows.append(Row(each, each.seconds / least, Target(goal) if goal else None))
            whole[size] = others[1].seconds
            note = f"peak memory of liza analyze: {_peak(analyze, limits):.0f} MB"
            tables.append(
                Table(f"a check of {size:,} anomalies", "the process / (python -c pass + the fast parse)", rows, note)
            )
        if 100_000 in whole:
            growth = whole[100_000] / whole[10_000]
            row = Row(Measured("liza analyze, 100,000 after 10,000", whole[100_000], 3), growth, Target(12))
            tables.append(Table("growth with the number of anomalies", "ten times as many / as many", [row]))
        gates = {
            "liza gate": (os.path.join(programs, "liza"), "gate"),
            "liza-gate": (os.path.join(programs, "liza-gate"),),
        }
        bare, *gated = race(
            [
                Contestant("python -c pass", lambda: _process((sys.executable, "-c", "pass"))),
                *(Contestant(name, partial(_process, command)) for name, command in gates.items()),
            ],
            60,
        )
    rows = [Row(bare), *(Row(each, each.seconds / bare.seconds, Target(1.3)) for each in gated)]
    return [*tables, Table("the gate that every hook passes", "the command / python -c pass", rows)]


def _parse(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        yaml_rs.loads(file.read(), parse_datetime=False)


def _analyze(command: tuple[str, ...], limits: Mapping[str, str]) -> None:
    if _run(command, limits)[0] not in (0, 3):
        raise Failed(f"no verdict: {' '.join(command)}")


def _peak(command: tuple[str, ...], limits: Mapping[str, str]) -> float:
    return _run(command, limits)[1] / 1024


def _run(command: tuple[str, ...], limits: Mapping[str, str]) -> tuple[int, int]:
    process = os.posix_spawn(command[0], command, {**_ENVIRONMENT, **limits}, file_actions=_NOWHERE)
    _, status, usage = os.wait4(process, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss
