"""Whether a daemon watches a blackboard, as far as that can be proved.

Agents can write `watch.json`, hold `watch.lock` and set its mtime, so none of these is trusted alone. The daemon is the
process that holds the lock according to the kernel, that watch.json names by pid and start time, and that belongs to
an expected user.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from liza.store import files
from liza.store.lock import holder
from liza.store.paths import Paths

_LARGEST = 1 << 22  # bytes of watch.json


def read_watch_facts(paths: Paths) -> dict[str, Any]:
    """What the present or the last daemon wrote about itself; empty where watch.json cannot be used."""
    import json

    try:
        facts = json.loads(files.read(paths.watch_json, _LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def is_daemon_running(paths: Paths) -> bool:
    """Whether the daemon of this blackboard is proved to run."""
    pid = holder(paths.watch_lock)
    return pid is not None and is_daemon(pid, read_watch_facts(paths), paths)


def is_daemon(pid: int, facts: Mapping[str, Any], paths: Paths) -> bool:
    """Whether the process that holds the lock is the one that watch.json names."""
    named, start = facts.get("pid"), facts.get("process_start")
    # A daemon of an older release names no start.
    if not isinstance(named, int) or (start is not None and start != process_start(pid)):
        return False
    with suppress(OSError):
        trusted = (0, os.geteuid(), os.stat(paths.folder).st_uid)
        return named in _pids(pid) and os.stat(f"/proc/{pid}").st_uid in trusted
    return False


def is_process_running(facts: Mapping[str, Any]) -> bool:
    """Whether the process that watch.json names still runs, and its pid was not reused."""
    pid, start = facts.get("pid"), facts.get("process_start")
    return isinstance(pid, int) and isinstance(start, str) and process_start(pid) == start


def process_start(pid: int) -> str | None:
    """When a process was started, in clock ticks since boot; None where the kernel does not say.

    None, too, for one that has ended and that its parent has not waited for: in many containers no process ever does.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else fields[19].decode()
    except (OSError, IndexError):
        return None


def _pids(pid: int) -> set[int]:
    """The pids of a process in all its namespaces: inside a container it has another one than outside."""
    with suppress(OSError, ValueError), open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith(b"NSpid:"):
                return {int(word) for word in line.split()[1:]}
    return {pid}
