"""The file system of the blackboard, probed where its name is not enough."""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from liza.doctor.finding import Finding, Level
from liza.store.files import draft_name, open_fd
from liza.store.filesystem import NETWORKS, exchange, mount_of
from liza.store.paths import Paths
from liza.text import shell_quoted

SCARCE = 100_000_000  # bytes, below which a night's work may fill the disk
_SPARE = 1_000_000


class Probe(NamedTuple):
    """What came of making two files and exchanging them."""

    exchanges: bool
    mtime: float  # of a file that was made just now, by the clock of the file system


def filesystem(paths: Paths, now: datetime) -> Iterator[Finding]:
    mount = mount_of(paths.folder)
    kind = mount.kind if mount is not None else "of unknown kind"
    status = os.statvfs(paths.folder)
    free = status.f_bavail * status.f_frsize
    if status.f_flag & os.ST_RDONLY:
        hint = f"sudo mount -o remount,rw {shell_quoted(mount.point if mount is not None else paths.folder)}"
        yield Finding(
            "filesystem", Level.ERROR, f"{kind}, mounted read-only: agents cannot be halted", hint, paths.folder
        )
        return
    if kind in NETWORKS:
        text = f"{kind} is a network file system: the daemon polls once a second, and locks are as good as its server"
        yield Finding("filesystem", Level.WARNING, text, "keep .liza/ on a disk of the machine that the agents run on")
    short = [*_room(paths, free), *_inodes(status)]
    yield from short
    try:
        tried = probe(paths.folder)
    except OSError as error:
        text, hint = (
            f"no file can be created here: {error.strerror}",
            f"ls -lad {shell_quoted(paths.folder)}; df {shell_quoted(paths.folder)}",
        )
        yield Finding("filesystem", Level.ERROR, text, hint, paths.folder)
        return
    if not tried.exchanges:
        text = f"{kind} cannot exchange two files: what a program writes without the lock can be lost"
        hint = f"have every writer take the lock: flock -x {shell_quoted(paths.lock)} -c '...'"
        yield Finding("filesystem", Level.WARNING, text, hint)
    elif not short:
        yield Finding("filesystem", Level.OK, f"{kind}, {_size(free)} free")


def _room(paths: Paths, free: int) -> Iterator[Finding]:
    """Every change writes a whole new state.yaml beside the old one, and a trip a copy of it and a report."""
    try:
        needed = 3 * os.path.getsize(paths.state) + _SPARE
    except OSError:
        needed = _SPARE
    if free < needed:
        text = f"{_size(free)} free, and a trip may need {_size(needed)}"
        yield Finding("filesystem", Level.ERROR, text, f"free disk space: df -h {paths.folder}", paths.folder)
    elif free < SCARCE:
        yield Finding("filesystem", Level.WARNING, f"only {_size(free)} free", f"free disk space: df -h {paths.folder}")


def _inodes(status: os.statvfs_result) -> Iterator[Finding]:
    if status.f_files and not status.f_favail:
        yield Finding("filesystem", Level.ERROR, "no more files can be created (no free inodes)", "see: df -i")


def probe(folder: str) -> Probe:
    """Make two files, exchange them, and take them away. If we are killed meanwhile, they go with other leftovers."""
    names = [os.path.join(folder, draft_name("doctor")) for _ in range(2)]
    try:
        for name in names:
            os.close(open_fd(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        mtime = os.stat(names[1]).st_mtime
        return Probe(exchange(names[0], names[1]), mtime)
    finally:
        for name in names:
            with suppress(OSError):
                os.unlink(name)


def _size(count: int) -> str:
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
