"""Whether a daemon watches a blackboard, as far as that can be proved.

Agents can write `watch.json`, hold `watch.lock` and set its time. So none of these is believed alone: a daemon is the
process that holds the lock, as the kernel says, is the one that watch.json names by its number and its start, and
belongs to a user who may be expected here.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from liza.store import files
from liza.store.lock import holder
from liza.store.paths import Paths

_LARGEST = 1 << 22  # bytes of watch.json


def told(paths: Paths) -> dict[str, Any]:
    """What the present or the last daemon said of itself."""
    import json

    try:
        facts = json.loads(files.read(paths.watch_json, _LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def is_at_work(paths: Paths) -> bool:
    """Whether a process is proved to be the daemon of this blackboard."""
    pid = holder(paths.watch_lock)
    return pid is not None and is_daemon(pid, told(paths), paths)


def is_daemon(pid: int, facts: Mapping[str, Any], paths: Paths) -> bool:
    """Whether the process that holds the lock is the one that watch.json speaks of."""
    said, start = facts.get("pid"), facts.get("process_start")
    if not isinstance(said, int) or (start is not None and start != start_of(pid)):  # an older daemon names no start
        return False
    with suppress(OSError):
        trusted = (0, os.geteuid(), os.stat(paths.folder).st_uid)
        return said in _numbers(pid) and os.stat(f"/proc/{pid}").st_uid in trusted
    return False


def is_running(facts: Mapping[str, Any]) -> bool:
    """Whether the process that watch.json names has not ended; its number may have been given to another since."""
    pid, start = facts.get("pid"), facts.get("process_start")
    return isinstance(pid, int) and isinstance(start, str) and start_of(pid) == start


def start_of(pid: int) -> str | None:
    """When a process was started, in the kernel's ticks since the machine was; None where the kernel does not say."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return None


def _numbers(pid: int) -> set[int]:
    """By which numbers a process is known: one in a container has another there than here."""
    with suppress(OSError, ValueError), open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith(b"NSpid:"):
                return {int(word) for word in line.split()[1:]}
    return {pid}
