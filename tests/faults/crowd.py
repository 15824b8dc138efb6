"""Many programs that write one blackboard at the same time, all with the lock: liza's own and shell scripts."""

import itertools
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from liza.scopes.anomalies import add_anomaly
from liza.store.board import Board
from liza.store.log import append_entry
from liza.store.paths import Paths
from tests.faults import boards
from tests.faults.children import Child, Signal, no_leaked_files
from tests.faults.children import Counter as Shared


@dataclass(frozen=True)
class Crowd:
    """How many write, and how often each."""

    writers: int = 8
    appends: int = 200
    shells: int = 4
    shell_appends: int = 100

    @property
    def expected(self) -> dict[str, int]:
        """How many records each of them adds."""
        liza = {f"liza-{number}": self.appends for number in range(self.writers)}
        return liza | {f"shell-{number}": self.shell_appends for number in range(self.shells)}


# Both are edits in place: the first only adds, the second writes the whole file anew over the old one.
_APPEND = 'printf -- "$RECORD" "$NAME" "$i" >> "$FILE"'
_REWRITE = 'text=$(cat "$FILE") && { printf "%s\\n" "$text"; printf -- "$RECORD" "$NAME" "$i"; } > "$FILE"'
_LOOP = """
i=0
while [ "$i" -lt "$TIMES" ]; do
  i=$((i + 1))
  export i
  flock -x "$LOCK" sh -c "$EDIT" || exit 1
done
"""

_ANOMALY = (
    "- timestamp: 2025-01-18T14:33:00Z\n  task: task-1\n  reporter: %s\n  type: spec_gap\n"
    "  details:\n    spec_ref: docs/spec.md\n    number: %s\n"
)
_ENTRY = "- timestamp: 2025-01-18T14:33:00Z\n  agent: %s\n  action: worked\n  detail: number %s\n"


def write_state(paths: Paths, crowd: Crowd, deaths: int = 0) -> list[str]:
    """All of them add anomalies; returns the faults of the outcome.

    Meanwhile, as many further writers as `deaths` says are killed, one after the other, wherever they happen to be.
    """

    def writer(name: str) -> None:
        board = Board(paths)
        for number in range(1, crowd.appends + 1):
            add_anomaly(board, boards.anomaly(name, number))

    acknowledged: dict[str, int] = {}
    with _started(crowd, writer, paths, paths.state, _ANOMALY):
        for number in range(deaths):
            acknowledged[f"doomed-{number}"] = _doomed(paths, f"doomed-{number}", number % 5 + 1)
    add_anomaly(Board(paths), boards.anomaly("coder-0"))  # cleans up after the last killed writer
    found = [(record["reporter"], record["details"].get("number")) for record in boards.anomalies(paths)]
    expected = crowd.expected
    for name, count in acknowledged.items():
        # The last one may have been on the board before its writer was killed, unacknowledged.
        expected[name] = count + ((name, count + 1) in found)
    return _wrong(found, expected) + [f"left behind: {name}" for name in boards.leftovers(paths)]


def _doomed(paths: Paths, name: str, at_least: int) -> int:
    """A writer that is killed after at least that many records; returns the number acknowledged."""
    done = Shared()
    with Signal() as written:

        def endless(name: str) -> None:
            for number in itertools.count(1):
                add_anomaly(Board(paths), boards.anomaly(name, number))
                done.value = number
                written.give()

        with Child(partial(_with_long_timeout, endless, name)) as child:
            for _ in range(at_least):
                written.take()
            child.kill()
    return done.value


def write_log(paths: Paths, crowd: Crowd) -> list[str]:
    """The same with entries of the log."""

    def writer(name: str) -> None:
        for number in range(1, crowd.appends + 1):
            append_entry(paths, boards.entry(name, number))

    with _started(crowd, writer, paths, paths.log, _ENTRY):
        pass
    found = [(each["agent"], int(each.get("detail", "number 0").split()[1])) for each in boards.entries(paths)]
    return _wrong(found, crowd.expected)


@contextmanager
def _started(crowd: Crowd, writer: Callable[[str], None], paths: Paths, file: str, record: str) -> Iterator[None]:
    """All of them run inside; at its end each has ended well."""
    with ExitStack() as stack:
        shells = [
            stack.enter_context(_shell(f"shell-{number}", number % 2 == 0, crowd, paths, file, record))
            for number in range(crowd.shells)
        ]
        children = [
            stack.enter_context(Child(partial(_with_long_timeout, writer, f"liza-{number}")))
            for number in range(crowd.writers)
        ]
        for shell in shells:
            stack.callback(shell.kill)
        yield
        for child in children:
            child.result()
        for shell in shells:
            assert shell.wait() == 0


def _with_long_timeout(writer: Callable[[str], None], name: str) -> None:
    os.environ["LIZA_LOCK_TIMEOUT"] = "300"  # a dozen busy writers wait for each other longer than agents do
    with no_leaked_files():
        writer(name)


def _shell(name: str, adds: bool, crowd: Crowd, paths: Paths, file: str, record: str) -> subprocess.Popen[bytes]:
    settings = {"NAME": name, "TIMES": str(crowd.shell_appends), "LOCK": paths.lock, "FILE": file, "RECORD": record}
    edit = _APPEND if adds else _REWRITE
    return subprocess.Popen(["sh", "-c", _LOOP], env={**os.environ, **settings, "EDIT": edit})


def _wrong(found: list[tuple[str, Any]], expected: dict[str, int]) -> list[str]:
    """Whether each record is there exactly once, and those of one writer in the order in which it wrote them."""
    wrong = []
    for name, count in expected.items():
        numbers = [number for writer, number in found if writer == name]
        if sorted(numbers) != list(range(1, count + 1)):
            missing = sorted(set(range(1, count + 1)) - set(numbers))
            twice = [number for number, times in Counter(numbers).items() if times > 1]
            wrong.append(f"{name}: missing {missing}, more than once {twice}")
        elif numbers != sorted(numbers):
            wrong.append(f"{name}: its records are out of order")
    strangers = {writer for writer, _ in found} - set(expected) - {"coder-0"}
    return wrong + [f"a record of an unknown writer: {name}" for name in sorted(strangers)]
