"""`python -m benchmarks [NAME ...]`: run them, print the tables, and say last which targets were met."""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence

from benchmarks import (
    analyzing,
    command,
    following,
    grouping,
    looping,
    reading,
    tables,
    trying,
    validating,
    watching,
    writing,
)
from liza.store.locate import FOLDER

# Each is given an empty blackboard's folder to work in, and whether to leave out what takes minutes.
BENCHMARKS: dict[str, Callable[[str, bool], Sequence[tables.Table | tables.Figures]]] = {
    "analyzing": analyzing.run,
    "command": command.run,
    "following": following.run,
    "grouping": grouping.run,
    "looping": looping.run,
    "reading": reading.run,
    "trying": trying.run,
    "validating": validating.run,
    "watching": watching.run,
    "writing": writing.run,
}


def main() -> int:
    """A missed target is said, but is no failure: on another machine, at another moment, it may be met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Figures about liza, as ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="leave out ruamel.yaml's minute with 10,000 anomalies")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in BENCHMARKS]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")

    python = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    print(f"{python}; the best of interleaved rounds\n")
    found: list[tables.Table | tables.Figures] = []
    for name in given.names or BENCHMARKS:
        print(f"measuring: {name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="liza-bench-") as project:
            folder = os.path.join(project, FOLDER)
            os.mkdir(folder)
            made = BENCHMARKS[name](folder, given.quick)
        for table in made:
            print(table.text(given.markdown), flush=True)
        found += made
    print(tables.summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
