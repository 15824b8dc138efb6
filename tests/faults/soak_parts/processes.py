"""Facts of the kernel about a process: its open files, threads, memory, and processor time."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_HERTZ = os.sysconf("SC_CLK_TCK")
_MEGABYTE = 1 << 20
_LOCK = "/state.yaml.lock"
_AT_LEAST = 8  # samples in a third of a run; with fewer there is no result
_LIFE = 10.0  # seconds; in a shorter one the first trip, for which much is imported, may come in the last third
ROOM = 4.0  # megabytes by which the memory of a daemon may vary while it reads and evaluates; a leak keeps growing


class Sample(NamedTuple):
    """A process at one moment."""

    at: float  # monotonic
    files: int  # open, the blackboard's lock not counted
    threads: int
    megabytes: float
    cpu: float  # seconds, of the program and of the kernel for it


def sample(pid: int, at: float) -> Sample | None:
    """None if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            # The name of the program is in brackets and may hold anything; what follows has a fixed order.
            words = file.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
            pages = int(file.read().split()[1])
        names = open_files(pid)
        threads = len(os.listdir(f"/proc/{pid}/task"))
    except (FileNotFoundError, ProcessLookupError, PermissionError, IndexError):
        return None
    if words[0] in "ZX":
        return None
    cpu = (int(words[11]) + int(words[12])) / _HERTZ
    # A writer has the lock open, and beside programs that save without pause this may be all the time.
    files = names.total() - any(name.endswith(_LOCK) for name in names)
    return Sample(at, files, threads, pages * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE, cpu)


def open_files(pid: int) -> Counter[str]:
    """The open files of a process, by name; of pipes and the like only their kind."""
    found: Counter[str] = Counter()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[re.sub(r":\[\d+\]$", "", os.readlink(f"/proc/{pid}/fd/{fd}"))] += 1
        except FileNotFoundError:
            continue  # closed since
    return found


def leaks(samples: Sequence[Sample], rest: tuple[int, int], names: Mapping[str, int]) -> list[str]:
    """The files, threads and memory that a process has too much of, even in its idlest moments.

    A file that is open for the moment of a read is no leak: it is not there in every sample. `rest` says how many files
    and threads a daemon has that does nothing; memory may grow until all has been imported and seen once.
    """
    third = len(samples) // 3
    if third < _AT_LEAST:
        return []
    late = samples[-third:]
    files, threads = min(each.files for each in late), min(each.threads for each in late)
    found = []
    if files > rest[0]:
        found.append(f"{files} files open where {rest[0]} are needed: {dict(names)}")
    if threads > rest[1]:
        found.append(f"{threads} threads where {rest[1]} are needed")
    if samples[-1].at - samples[0].at >= _LIFE and grown(samples) > ROOM:
        found.append(f"{grown(samples):.1f} MB more at the end than halfway")
    return found


def grown(samples: Sequence[Sample]) -> float:
    """By how many megabytes the last third of a run is above the one in the middle."""
    third = len(samples) // 3
    middle, late = (sorted(each.megabytes for each in some) for some in (samples[third:-third], samples[-third:]))
    return late[third // 2] - middle[len(middle) // 2] if third else 0.0
