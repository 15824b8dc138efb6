"""The files that receive a run's own output: `liza run ... > run.log`, or `| tee run.log`.

They grow with every iteration and are not the agent's work. A file is identified by device and inode, not by name. The
readers of a pipe are looked up in /proc, and so on down the pipeline: what they hold open for writing is written by
them, and never by the agent, which is our child.

Not found: a reader of another user, one that opens its file for each line and closes it again, a recorder of the
terminal (`script`), and without /proc (macOS) everything behind a pipe.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress

FileId = tuple[int, int]  # device, inode
_STREAMS = (1, 2)
_FLAGS = re.compile(rb"^flags:\s*([0-7]+)$", re.MULTILINE)


def output_files() -> frozenset[FileId]:
    """The regular files that receive the output of this process, as far as they can be found."""
    found: set[FileId] = set()
    pipes: list[FileId] = []
    for stream in _STREAMS:
        with suppress(OSError):
            _classify(os.fstat(stream), found, pipes)
    seen: set[FileId] = set()
    while pipes:
        pipe = pipes.pop()
        if pipe not in seen:
            seen.add(pipe)
            for reader in _readers(pipe):
                for descriptor, is_writable in _descriptors(reader):
                    if is_writable:
                        with suppress(OSError):  # the process has ended
                            _classify(os.stat(descriptor), found, pipes)
    return frozenset(found)


def _classify(status: os.stat_result, files: set[FileId], pipes: list[FileId]) -> None:
    if stat.S_ISREG(status.st_mode):
        files.add((status.st_dev, status.st_ino))
    elif stat.S_ISFIFO(status.st_mode):
        pipes.append((status.st_dev, status.st_ino))


def _readers(pipe: FileId) -> Iterator[str]:
    """The /proc folders of the other processes that read this pipe."""
    with suppress(OSError):  # no /proc
        for entry in os.scandir("/proc"):
            if entry.name.isdecimal() and int(entry.name) != os.getpid() and _reads(entry.path, pipe):
                yield entry.path


def _reads(process: str, pipe: FileId) -> bool:
    for descriptor, is_writable in _descriptors(process):
        if not is_writable:
            with suppress(OSError):
                status = os.stat(descriptor)
                if (status.st_dev, status.st_ino) == pipe:
                    return True
    return False


def _descriptors(process: str) -> Iterator[tuple[str, bool]]:
    """The open files of a process, each with whether it is writable; none of another user's process."""
    try:
        numbers = os.listdir(f"{process}/fd")
    except OSError:
        return
    for number in numbers:
        with suppress(OSError), open(f"{process}/fdinfo/{number}", "rb") as file:
            flags = _FLAGS.search(file.read())
            if flags is not None:
                yield f"{process}/fd/{number}", int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY


def exclude_files(paths: frozenset[str] | None, files: frozenset[FileId]) -> frozenset[str] | None:
    """The paths that are none of the files."""
    return paths if not paths or not files else frozenset(path for path in paths if _id(path) not in files)


def _id(path: str) -> FileId | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
