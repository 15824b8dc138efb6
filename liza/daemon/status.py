"""The daemon of a blackboard as others see it, from its lock and from what it wrote about itself."""

import contextlib
import os
import time
from enum import StrEnum
from typing import Any, NamedTuple

from liza import __version__
from liza.daemon.watch_lock import waiting_lock
from liza.store.daemon_process import is_daemon, is_process_running, read_watch_facts
from liza.store.lock import command_of, holder, is_locked
from liza.store.paths import Paths

LONGEST_TICK = 3600.0
# The health of a process that has ended as it was meant to.
STOPPED = "stopped"
CHECKED_ONCE = "checked once"  # it was no daemon
STUCK = 10.0  # seconds without a heartbeat after which a daemon is not doing its work


class DaemonState(StrEnum):
    RUNNING = "running"
    WAITING = "waiting"  # for a blackboard that is not there
    DEGRADED = "degraded"
    STUCK = "stuck"
    GONE = "gone"  # it ended without notice
    NOT_RUNNING = "not running"


class DaemonStatus(NamedTuple):
    state: DaemonState
    facts: dict[str, Any]  # what it wrote about itself, or the last one did
    pid: int | None = None
    silent_for: float = 0.0  # seconds since its last heartbeat
    intruder: int | None = None  # another process that holds its lock

    @property
    def is_alive(self) -> bool:
        return self.state not in (DaemonState.GONE, DaemonState.NOT_RUNNING)

    @property
    def waits(self) -> bool:
        return self.state is DaemonState.WAITING

    @property
    def is_stuck(self) -> bool:
        return self.state is DaemonState.STUCK

    @property
    def other_version(self) -> str | None:
        """The version of liza that it is, if that is another one than this; `unknown` where it does not say."""
        if not self.is_alive or self.waits or not self.facts:
            return None
        version = self.facts.get("version")
        return None if version == __version__ else version if isinstance(version, str) else "unknown"

    @property
    def intruder_text(self) -> str | None:
        if self.intruder is None:
            return None
        who = f"process {self.intruder} ({command_of(self.intruder)})"
        return f"{who} holds watch.lock, but is not a known daemon"


def read_daemon(paths: Paths) -> DaemonStatus:
    """Agents can write `watch.json` and hold the lock, so neither is trusted alone: see `liza.store.daemon_process`."""
    lock = waiting_lock(paths)
    if not os.path.isdir(paths.folder) and is_locked(lock):
        return DaemonStatus(DaemonState.WAITING, {}, holder(lock))
    facts, pid = read_watch_facts(paths), holder(paths.watch_lock)
    is_proven = pid is not None and is_daemon(pid, facts, paths)
    found = _lock_holder(paths, facts, pid, is_proven)
    if found is None and is_process_running(facts):
        found = DaemonStatus(DaemonState.DEGRADED, facts, facts["pid"])
    if found is None:
        ended = not facts or facts.get("health") in (STOPPED, CHECKED_ONCE)
        found = DaemonStatus(DaemonState.NOT_RUNNING if ended else DaemonState.GONE, facts)
    return found._replace(intruder=None if is_proven else pid)


def _lock_holder(paths: Paths, facts: dict[str, Any], pid: int | None, is_proven: bool) -> DaemonStatus | None:
    """The process that holds the lock, if it may be the daemon."""
    names_one = isinstance(facts.get("pid"), int)
    # On another machine the pid is not known; a daemon that names no process may be on a full disk.
    if not is_locked(paths.watch_lock) or (names_one and pid is not None and not is_proven):
        return None
    with contextlib.suppress(OSError):
        # A heartbeat from the future counts as old: a daemon whose clock was set back beats again a tick later.
        silent = abs(time.time() - os.lstat(paths.watch_lock).st_mtime)
        is_well = names_one and facts.get("health") not in ("degraded", STOPPED, CHECKED_ONCE)
        state = DaemonState.RUNNING if is_well else DaemonState.DEGRADED
        return DaemonStatus(DaemonState.STUCK if _is_stuck(silent, facts) else state, facts, pid, silent)
    return None


def _is_stuck(silent: float, facts: dict[str, Any]) -> bool:
    interval = facts.get("interval")  # any program may have written there
    if not isinstance(interval, int | float) or not 0 <= interval <= LONGEST_TICK:
        interval = 0.0
    return silent > STUCK + interval
