"""`liza log anomaly` as agents' hooks call it: a whole process, against one that does nothing."""

import os
import sys
from collections.abc import Callable
from contextlib import chdir

from benchmarks import boards
from benchmarks.tables import Row, Table, Target
from benchmarks.timing import Contestant, race

_ANOMALIES = 1_000
_ROUNDS = 40
_LOG = (
    "log", "anomaly", "--type", "retry_loop", "--task", "task-3", "--reporter", "coder-1", "count=3",
    "error_pattern=serialization failure on nested entity",
)  # fmt: skip
_NOWHERE = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1)]


class Failed(Exception):
    """A timed command failed."""


def run(folder: str, quick: bool) -> list[Table]:
    """`quick` changes nothing here. The processes run in the project's folder and find the board as an agent would."""
    path = os.path.join(folder, "state.yaml")
    raw = boards.board(_ANOMALIES)
    liza = os.path.join(os.path.dirname(sys.executable), "liza")
    if not os.path.exists(liza):
        raise Failed(f"there is no {liza}: install the project in this environment first")

    def restore() -> None:
        boards.put(path, raw)

    def contestant(name: str, command: tuple[str, ...], after: Callable[[], object] = lambda: None) -> Contestant:
        return Contestant(name, lambda: _process(command), before=restore, after=after)

    def grown() -> None:
        if os.path.getsize(path) <= len(raw):
            raise Failed("liza log anomaly succeeded, yet the board has not grown")

    def python(code: str) -> Contestant:
        return contestant(f"python -c '{code}'", (sys.executable, "-c", code))

    contestants = [
        python("pass"),
        contestant("liza log anomaly ...", (liza, *_LOG), grown),
        contestant("the same through click", (liza, "--root", ".", *_LOG), grown),
        contestant("liza validate", (liza, "validate")),
        contestant("liza --help", (liza, "--help")),
        python("import yaml_rs"),
        python("import click"),
        python("import click, yaml_rs"),
    ]
    with chdir(os.path.dirname(folder)):
        bare, logging, *others = race(contestants, _ROUNDS)
    rows = [
        Row(bare),
        Row(logging, logging.seconds / bare.seconds, Target(8)),
        *(Row(each, each.seconds / bare.seconds) for each in others),
    ]
    return [Table(f"commands on a board with {_ANOMALIES:,} anomalies", "the command / python -c pass", rows)]


def _process(command: tuple[str, ...]) -> None:
    """Start it and wait for it, with as little overhead as possible."""
    process = os.posix_spawn(command[0], command, _ENVIRONMENT, file_actions=_NOWHERE)
    status = os.waitpid(process, 0)[1]
    if status != 0:
        raise Failed(f"exit code {os.waitstatus_to_exitcode(status)}: {' '.join(command)}")


# Settings of the person who measures (another board, no byte code, a trace of imports) are not part of the command.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("LIZA_", "PYTHON"))}
