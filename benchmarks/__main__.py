"""`python -m benchmarks [NAME ...]`: run them, print the tables, and last which targets were met."""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence

from benchmarks import (
    analyze,
    budgets,
    command,
    follow,
    group,
    hook,
    loop,
    read,
    rules_test,
    stuck,
    tables,
    team,
    transcripts,
    validate,
    watch,
    write,
)
from liza.store.locate import FOLDER

# Each gets an empty blackboard's folder to work in, and whether to skip measurements that take minutes.
BENCHMARKS: dict[str, Callable[[str, bool], Sequence[tables.Table | tables.Figures | tables.Sheet]]] = {
    "analyze": analyze.run,
    "budgets": budgets.run,
    "command": command.run,
    "follow": follow.run,
    "group": group.run,
    "hook": hook.run,
    "loop": loop.run,
    "read": read.run,
    "rules_test": rules_test.run,
    "stuck": stuck.run,
    "team": team.run,
    "transcripts": transcripts.run,
    "validate": validate.run,
    "watch": watch.run,
    "write": write.run,
}


def main() -> int:
    """A missed target is reported, but is not a failure: on another machine, at another moment, it may be met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Figures about liza, as ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="leave out ruamel.yaml's minute with 10,000 anomalies")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in BENCHMARKS]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")

    python = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    print(f"{python}; the best of interleaved rounds\n")
    found: list[tables.Table | tables.Figures | tables.Sheet] = []
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
