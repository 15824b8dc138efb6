"""Measure what changed in worktrees: two snapshots, compared.

A snapshot holds, for each repository, the commit and its tree, and a hash of the content of every path that differs
from that tree: modified, deleted, staged or untracked, unless ignored. So a tree that was dirty before and is dirty in
the same way afterwards has not changed, a commit made meanwhile has, and so has a dirty file that became different.
Staging alone is not a change: what counts is the content.

Nothing is written: no lock is taken, no index refreshed, no hook, pager or monitor started. What cannot be known (no
git, no repository, no answer in time) is None: neither a change nor its absence.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from liza.git.command import ask, line
from liza.git.status import Differing, differing_paths, submodules
from liza.store.files import open_in_place
from liza.store.locate import FOLDER

_PIECE = 1 << 20
_ABSENT = "-"
# Files that tools generate. Caches are never written by hand; the others count once git tracks them.
_CACHES = frozenset({
    "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".nyc_output", ".parcel-cache",
    ".turbo", ".gradle", ".DS_Store", ".coverage",
})  # fmt: skip
_GENERATED = frozenset({"node_modules", "bower_components", ".venv", "venv", ".tox", ".nox", ".eggs", ".next"})
_COMPILED = (".pyc", ".pyo", ".class", ".tsbuildinfo")


class Tree(NamedTuple):
    """One working tree: its commit, that commit's tree, and the content of every path that differs from it."""

    commit: str | None  # None before the first commit
    tree: str | None
    dirty: Mapping[str, str]  # path below the working tree -> hash


class Snapshot(NamedTuple):
    """The state of some folders at one moment, as far as it is known."""

    trees: Mapping[str, Tree]  # by the absolute path of the working tree; repositories inside others have their own
    unknown: tuple[str, ...]  # folders that git could not read
    work_only: bool = False  # generated files do not count


def snapshot(roots: Sequence[str], *, work_only: bool = False) -> Snapshot | None:
    """Measure the worktrees around these folders; None if git can read none of them.

    A folder means the whole working tree that it is in. Nothing inside a `.liza/` counts; with `work_only` neither
    do generated files that a `.gitignore` usually names.
    """
    trees: dict[str, Tree] = {}
    unknown = []
    for root in dict.fromkeys(os.path.abspath(root) for root in roots):
        top = _read_tree(root, trees, work_only)
        if top is None:
            unknown.append(root)
    return Snapshot(trees, tuple(unknown), work_only) if trees else None


def changed(before: Snapshot | None, after: Snapshot | None) -> frozenset[str] | None:
    """The absolute paths that differ. Git is asked only if there are new commits.

    None if a folder could not be read and the others have no change: there may have been one.
    """
    if before is None or after is None:
        return None
    found: set[str] = set()
    for top in {**before.trees, **after.trees}:
        old, new = before.trees.get(top), after.trees.get(top)
        if old is not None and new is not None:
            names = _between(top, old, new, after)
        else:  # a repository inside another that came or went, or a submodule that was clean at one of the two times
            names = set((old or new or _NOTHING).dirty) or {""}
        found.update(os.path.join(top, name) if name else top for name in names)
    if not found and (before.unknown or after.unknown):
        return None
    return frozenset(found)


def touched(before: Snapshot | None, after: Snapshot | None) -> frozenset[str] | None:
    """The absolute paths whose content differs: committing earlier changes touches nothing."""
    paths = changed(before, after)
    if paths is None or before is None:
        return None
    known = {os.path.join(top, name): each for top, tree in before.trees.items() for name, each in tree.dirty.items()}
    return frozenset(path for path in paths if path not in known or known[path] != _hash(path))


def _between(top: str, old: Tree, new: Tree, after: Snapshot) -> set[str]:
    names = {path for path in {**old.dirty, **new.dirty} if old.dirty.get(path) != new.dirty.get(path)}
    if old.tree != new.tree:
        committed = _committed(top, old.tree, new.tree)
        # Trees that differ have a change, even if git no longer has the old one to list it.
        names |= set(filter(_counts, committed)) if committed is not None else {""}
        names = {name for name in names if not (after.work_only and is_generated(name, is_tracked=True))}
    return names


def _committed(top: str, old: str | None, new: str | None) -> set[str] | None:
    """The paths in which two trees differ."""
    if old is None or new is None:
        answer = ask(top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", old or new or "")
    else:
        answer = ask(top, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none", old, new)
    return None if answer is None else {os.fsdecode(name) for name in answer.split(b"\0") if name}


# --- reading a working tree -------------------------------------------------------------------------------------------

_NOTHING = Tree(None, None, {})


def _read_tree(folder: str, trees: dict[str, Tree], work_only: bool, is_top: bool = False) -> str | None:
    """Add the working tree around `folder`, and those inside it, to `trees`; its top, or None."""
    where = _where(folder)
    if where is None:
        return None
    top, commit, tree = where
    if is_top and os.path.realpath(folder) != os.path.realpath(top):
        return None  # a submodule that is not checked out belongs to the repository around it
    if top in trees:
        return top
    differing = differing_paths(top)
    if differing is None:
        return None
    dirty: dict[str, str] = {}
    trees[top] = Tree(commit, tree, dirty)
    known = {each.name for each in differing}
    others = [Differing(name, True, True) for name in submodules(top) if name not in known]
    for name, is_repository, is_tracked, _ in (*differing, *others):
        path = os.path.join(top, name)
        if not _counts(name) or (work_only and is_generated(name, is_tracked)):
            continue
        found = _read_tree(path, trees, work_only, is_top=True) if is_repository else None
        if found is None and name in known:
            dirty[name] = _hash(path)
    return top


def _where(folder: str) -> tuple[str, str | None, str | None] | None:
    """The top of the working tree, its commit and that commit's tree; None if there is no working tree."""
    answer = ask(folder, "rev-parse", "--show-toplevel", "HEAD", "HEAD^{tree}")
    if answer is not None:
        top, commit, tree = answer.removesuffix(b"\n").rsplit(b"\n", 2)
        return os.fsdecode(top), commit.decode(), tree.decode()
    empty_top = line(folder, "rev-parse", "--show-toplevel")  # no commit yet, or no repository
    return (empty_top, None, None) if empty_top else None


def is_generated(name: str, is_tracked: bool) -> bool:
    """Whether a path below a working tree is generated by a tool and not work."""
    parts = name.split("/")
    if not _CACHES.isdisjoint(parts) or name.endswith(_COMPILED):
        return True
    return not is_tracked and (not _GENERATED.isdisjoint(parts) or any(part.endswith(".egg-info") for part in parts))


def _counts(name: str) -> bool:
    return FOLDER not in name.split("/")


def _hash(path: str) -> str:
    """A hash of what a path has: type, mode and content. Read whole: size and time would miss some changes."""
    from hashlib import blake2b

    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return "l" + blake2b(os.fsencode(os.readlink(path)), digest_size=16).hexdigest()
        if not stat.S_ISREG(status.st_mode):
            return "d" if stat.S_ISDIR(status.st_mode) else "o"
        digest = blake2b(digest_size=16)
        with open(path, "rb", 0, opener=open_in_place) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
        return ("x" if status.st_mode & stat.S_IXUSR else "f") + digest.hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return _ABSENT
    except OSError:
        with suppress(OSError):
            status = os.lstat(path)
            return f"?{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}"  # no permission to read it
        return "?"


# --- between two calls ----------------------------------------------------------------------------------------------


def dump(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as plain values for an ASCII JSON file: a path need not be UTF-8."""
    trees = {top: {**tree._asdict(), "dirty": dict(tree.dirty)} for top, tree in snapshot.trees.items()}
    # An earlier release does not read a snapshot without `exclude`.
    return {"trees": trees, "unknown": list(snapshot.unknown), "exclude": [], "work_only": snapshot.work_only}


def load(value: Any) -> Snapshot | None:
    """Restore a snapshot from the values that `dump` made; None for anything else."""
    try:
        trees = {top: _loaded(tree) for top, tree in value["trees"].items()}
        unknown, work_only = tuple(value["unknown"]), value.get("work_only") is True
    except (TypeError, KeyError, AttributeError):
        return None
    if not all(isinstance(path, str) for path in unknown):
        return None
    return Snapshot(trees, unknown, work_only)


def _loaded(tree: Any) -> Tree:
    commit, of_commit, dirty = tree["commit"], tree["tree"], tree["dirty"]
    texts = (*dirty, *dirty.values(), *(each for each in (commit, of_commit) if each is not None))
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    return Tree(commit, of_commit, dict(dirty))
