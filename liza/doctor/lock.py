"""The blackboard's lock, by trying to take it: the age of a lock file means nothing."""

import os
import time
from collections.abc import Iterator
from datetime import datetime

from liza.doctor.finding import Finding, Level
from liza.store.files import is_alive
from liza.store.lock import Lock, command_of, holder, is_locked
from liza.store.paths import Paths
from liza.text import shell_quoted

PATIENCE = 1.0  # seconds; a change of the blackboard holds the lock for milliseconds
_POLL = 0.02


def lock(paths: Paths, now: datetime) -> Iterator[Finding]:
    Lock(paths.lock)  # refuses an invalid LIZA_LOCK_TIMEOUT, as every command that writes does
    if not os.path.lexists(paths.lock):
        yield Finding("lock", Level.OK, "free; the first write creates the lock file")
    elif not os.path.isfile(paths.lock):
        text, hint = (
            "not a regular file, so the lock cannot be taken",
            f"mv {shell_quoted(paths.lock)} {shell_quoted(paths.lock + '.odd')}",
        )
        yield Finding("lock", Level.ERROR, text, hint, paths.lock)
    elif not os.access(paths.lock, os.R_OK | os.W_OK, effective_ids=True):
        text, hint = (
            "no permission to write it: you cannot take the lock",
            f"sudo chmod a+rw {shell_quoted(paths.lock)}",
        )
        yield Finding("lock", Level.ERROR, text, hint, paths.lock)
    elif _stays_locked(paths.lock):
        yield _held(paths.lock)
    else:
        yield Finding("lock", Level.OK, "free")


def _stays_locked(path: str) -> bool:
    started = time.monotonic()
    while is_locked(path):
        if time.monotonic() - started > PATIENCE:
            return True
        time.sleep(_POLL)
    return False


def _held(path: str) -> Finding:
    """The process that holds it, if the kernel knows. A process that has ended may have left it to its children."""
    pid = holder(path)
    if pid is not None and is_alive(pid):
        text = f"process {pid} ({command_of(pid)}) has held it for more than {PATIENCE:g} s: all others wait"
        hint = f"see what it is doing: ps -fp {pid}   (end it with: kill {pid})"
        return Finding("lock", Level.ERROR, text, hint, path)
    whose = "another process" if pid is None else f"a child of process {pid}, which has ended,"
    text = f"{whose} has held it for more than {PATIENCE:g} s: all others wait"
    return Finding("lock", Level.ERROR, text, f"see who has it open: fuser -v {shell_quoted(path)}", path)
