"""A daemon on a blackboard where nothing happens: `python -m tests.faults.idle MINUTES [--poll]`.

It must write no file of the blackboard, use hardly any time, and not grow. Prints its figures, and exits with 1 if one
of them is broken.
"""

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks import boards
from tests.daemon.daemon import Watched, run, until
from tests.faults.soak_parts.processes import Sample, leaks, open_files, sample
from tests.faults.soak_parts.supervisor import REST, started

ANOMALIES = 1_000
MOST_CPU = 0.005  # of one core
MOST_MEMORY = 80.0  # megabytes
_IDLE_AFTER = 3  # ticks after the first check, from which on the daemon is idle


class Idled(NamedTuple):
    """The activity of a daemon while there was nothing to do."""

    backend: str
    seconds: float
    cpu: float  # of one core
    samples: tuple[Sample, ...]
    names: Mapping[str, int]  # of the files that it has open
    written: tuple[str, ...]  # files that changed

    @property
    def wrong(self) -> list[str]:
        found = [f"written while idle: {name}" for name in self.written]
        if self.cpu > MOST_CPU:
            found.append(f"{self.cpu:.2%} of a core is more than {MOST_CPU:.2%}")
        if self.megabytes[1] > MOST_MEMORY:
            found.append(f"{self.megabytes[1]:.1f} MB are more than {MOST_MEMORY:g}")
        return [f"{self.backend}: {each}" for each in (*found, *leaks(self.samples, REST, self.names))]

    @property
    def megabytes(self) -> tuple[float, float]:
        """At the beginning, and at most."""
        return self.samples[0].megabytes, max(each.megabytes for each in self.samples)

    def __str__(self) -> str:
        first, most = self.megabytes
        return (
            f"{self.backend}: {self.seconds / 60:.1f} minutes idle beside {ANOMALIES:,} anomalies, {self.cpu:.3%} of a "
            f"core, {first:.1f} MB at first and {most:.1f} at most, {self.samples[-1].files} files and "
            f"{self.samples[-1].threads} threads, {len(self.written)} files written"
        )


def idle(folder: Path, seconds: float, *options: str) -> Idled:
    """Watch an idle blackboard for this long, with ticks of the default length."""
    board = Watched(folder)
    boards.put(str(board.state), boards.board(ANOMALIES))
    while run(board.root, "analyze").code == 3:
        assert run(board.root, "resolve", "-m", "decided before").code == 0
    with started(board.root, folder / "daemon", "--interval", "1", *options) as daemon:
        until(lambda: board.facts["checks"] and board.facts["pid"] == daemon.pid, "it has checked the blackboard")
        board.beats(_IDLE_AFTER)
        before = _versions(board.folder)
        samples = [_sampled(daemon.pid)]
        while samples[-1].at - samples[0].at < seconds:
            time.sleep(min(1.0, seconds / 20))
            samples.append(_sampled(daemon.pid))
        after = _versions(board.folder)
        names, backend = open_files(daemon.pid), str(board.facts["backend"])
    written = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    took = samples[-1].at - samples[0].at
    return Idled(backend, took, (samples[-1].cpu - samples[0].cpu) / took, tuple(samples), names, tuple(written))


def _sampled(pid: int) -> Sample:
    found = sample(pid, time.monotonic())
    assert found is not None, "the daemon has ended"
    return found


def _versions(folder: Path) -> dict[str, tuple[int, ...]]:
    """Everything that a write would change of each file and folder, except the heartbeat."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        times = () if path.name == "watch.lock" else (status.st_mtime_ns, status.st_ctime_ns)
        found[os.path.relpath(path, folder)] = (status.st_ino, status.st_size, *times)
    return found


def main(arguments: list[str]) -> int:
    try:
        minutes = float(arguments[0])
    except (IndexError, ValueError):
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="liza-idle-") as folder:
        found = idle(Path(folder, "team"), minutes * 60, *arguments[1:])
    print(found)
    for each in found.wrong:
        print(f"  {each}")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
