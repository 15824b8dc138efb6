"""The folders of earlier runs: those that are too old, or too large together, are deleted."""

import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from liza.schema.rules_yaml import KEEP_RUNS

_NAME = re.compile(r"\d{8}-\d{6}(?:-\d+)?")
_SPARED = timedelta(days=1)  # since the last iteration: such a run may still be running, or be resumed


class _Run(NamedTuple):
    saved: float  # when, in seconds
    size: int
    folder: str


def delete_old(runs: str, block: Mapping[str, float], now: datetime) -> tuple[int, str]:
    """Delete old runs, the oldest first. Returns how many, and the limits as text."""
    kept = {**{name: limit.default for name, limit in KEEP_RUNS.items()}, **block}
    found = sorted(_runs(runs))
    total = sum(each.size for each in found)
    oldest = now.timestamp() - kept["days"] * 86_400
    deleted = 0
    for each in found:
        is_recent = each.saved > now.timestamp() - _SPARED.total_seconds()
        if is_recent or (each.saved >= oldest and total <= kept["megabytes"] * 1e6):
            break
        with suppress(OSError):  # another run deletes it, or it cannot be deleted
            shutil.rmtree(each.folder)
            deleted += 1
        total -= each.size
    return deleted, f"keep_runs: {kept['days']:g} days, {kept['megabytes']:g} MB"


def _runs(runs: str) -> Iterator[_Run]:
    with suppress(OSError), os.scandir(runs) as entries:
        for entry in entries:
            with suppress(OSError):
                saved = os.lstat(os.path.join(entry.path, "session.json"))
                is_run = entry.is_dir(follow_symlinks=False) and stat.S_ISREG(saved.st_mode)
                if is_run and _NAME.fullmatch(entry.name):
                    yield _Run(saved.st_mtime, _size(entry.path), entry.path)


def _size(folder: str) -> int:
    return sum(os.lstat(os.path.join(where, name)).st_size for where, _, names in os.walk(folder) for name in names)
