"""Which files an attempt touched, and which a slice has touched since its base, as git sees it."""

import os
from collections.abc import Mapping
from typing import Any

from liza.git import snapshot, worktree
from liza.git.kept_snapshot import Measured, read_snapshot
from liza.scopes.change import path_prefix
from liza.scopes.slices.fields import SLICES
from liza.scopes.slices.rollback import find_base
from liza.store.paths import Paths


def since_last_attempt(paths: Paths, name: str, folder: str) -> Measured:
    """What changed in a working tree since a test of this slice was started or attempted."""
    path = f"{path_prefix(paths, SLICES, name)}.snapshot.json"
    now, before = snapshot.snapshot([folder]), snapshot.load(read_snapshot(path))
    if now is None or before is None or now.trees.keys() != before.trees.keys():
        return Measured(None, path, None if now is None else snapshot.dump(now))
    top = next(iter(now.trees))
    found = snapshot.touched(before, now)
    files = None if found is None else tuple(sorted(os.path.relpath(each, top) for each in found))
    return Measured(files, path, snapshot.dump(now))


def since_base(record: Mapping[str, Any], name: str, root: str) -> tuple[str, tuple[str, ...]]:
    """The working tree of a slice, and the files in it that differ from its base, committed or not."""
    tree, target = find_base(record, name, root)
    return tree.top, tuple(change.path for change in worktree.changes_since(tree, target.content))
