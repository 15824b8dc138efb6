"""Which files an attempt touched, and which a slice has touched since it began: git is asked, nothing is guessed."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from liza.git import snapshot, worktree
from liza.scopes.slices import rollback
from liza.scopes.slices.names import file_name
from liza.store import files
from liza.store.files import make_folders, open_fd, write_atomically
from liza.store.paths import Paths


class Touched(NamedTuple):
    """The files that differ from the last time; None where nobody can know."""

    files: tuple[str, ...] | None
    path: str
    now: Any  # a snapshot as JSON, or None

    def keep(self) -> None:
        """For the next attempt to be compared with; one that cannot be kept makes that unknown, and nothing worse."""
        with suppress(OSError):
            if self.now is not None:
                folder = os.path.dirname(self.path)
                make_folders(os.path.dirname(folder), folder)
                write_atomically(self.path, json.dumps(self.now).encode())
            else:
                files.remove(self.path)


def since_last(paths: Paths, name: str, folder: str) -> Touched:
    """What changed in a work tree since a test of this slice was started or attempted."""
    path = os.path.join(paths.runs, "slices", f"{file_name(name)}.snapshot.json")
    now = snapshot.snapshot([folder])
    before = None
    with suppress(OSError, ValueError), open(path, encoding="utf-8", opener=open_fd) as file:
        before = snapshot.load(json.load(file))
    if now is None or before is None or now.trees.keys() != before.trees.keys():
        return Touched(None, path, None if now is None else snapshot.dump(now))
    top = next(iter(now.trees))
    found = snapshot.touched(before, now)
    files = None if found is None else tuple(sorted(os.path.relpath(each, top) for each in found))
    return Touched(files, path, snapshot.dump(now))


def since_start(record: Mapping[str, Any], name: str, root: str) -> tuple[str, tuple[str, ...]]:
    """The work tree of a slice, and what differs in it from where the slice began, committed or not."""
    tree, target = rollback.beginning(record, name, root)
    with worktree.aside(keep=False) as (index, objects):
        seen = worktree.present(tree, index, objects)
        changes = worktree.changes(tree, target.content, seen.content, objects)
    return tree.top, tuple(change.path for change in changes)
