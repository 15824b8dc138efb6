"""The snapshot of the worktrees that one command leaves in `.liza/runs/` for the next to compare with."""

import os
from contextlib import suppress
from typing import Any, NamedTuple

from liza.store import files
from liza.store.files import make_folders, open_fd, write_atomically


class Measured(NamedTuple):
    """The files that changed since the kept snapshot, None where that is unknown, and the snapshot to keep instead."""

    files: tuple[str, ...] | None
    path: str
    snapshot: Any  # as JSON, or None

    def keep(self) -> None:
        write_snapshot(self.path, self.snapshot)


def read_snapshot(path: str) -> Any:
    """The snapshot as JSON; None where there is none that can be read."""
    import json  # most commands need no snapshot

    with suppress(OSError, ValueError), open(path, encoding="utf-8", opener=open_fd) as file:
        return json.load(file)
    return None


def write_snapshot(path: str, snapshot: Any) -> None:
    """Keep a snapshot, or delete the kept one if it is None. A failure only makes the next comparison unknown."""
    import json

    with suppress(OSError):
        if snapshot is None:
            files.remove(path)
            return
        folder = os.path.dirname(path)
        make_folders(os.path.dirname(folder), folder)
        write_atomically(path, json.dumps(snapshot).encode())
