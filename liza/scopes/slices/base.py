"""Where a slice began: a commit, and where the work tree was not as in it, another one that keeps what was there."""

import os
from contextlib import suppress
from typing import NamedTuple

from liza.errors import LizaError
from liza.git import snapshot, worktree
from liza.git.worktree import WorkTree
from liza.scopes.slices.names import file_name
from liza.scopes.slices.states import Checkpoint

REFS = "refs/liza"


class Captured(NamedTuple):
    """A checkpoint, or why there is none; and what should be known about it."""

    checkpoint: Checkpoint | None
    notes: tuple[str, ...] = ()


def light(folder: str, root: str) -> Captured:
    """The commit alone, for a slice whose beginning is kept already."""
    tree = worktree.find(folder)
    if tree is None:
        return Captured(None, ("this is no git work tree: there is no checkpoint to go back to",))
    return Captured(Checkpoint(tree.commit or "", tree.branch, False, relative(tree.top, root)))


def capture(folder: str, root: str, name: str) -> Captured:
    """The commit, kept from being thrown away; with what is in the work tree beyond it, in a commit of its own."""
    tree = worktree.find(folder)
    if tree is None:
        return Captured(None, ("this is no git work tree: there is no checkpoint to go back to",))
    seen = snapshot.snapshot([tree.top])
    here = seen.trees.get(tree.top) if seen is not None else None
    dirty = here is None or bool(here.dirty)
    notes: tuple[str, ...] = ()
    kept = tree.commit
    if dirty or tree.commit is None:
        try:
            kept = _content(tree, f"liza: slice {name} began here, with changes that were not committed")
        except LizaError as error:
            notes = (f"what is not committed could not be kept: {error.message}",)
    ref = None
    if kept is not None:
        ref = f"{REFS}/checkpoints/{file_name(name)}/{kept[:12]}"
        worktree.command(tree.top, "update-ref", ref, kept)
    if dirty and not notes:
        notes = (f"the work tree has changes that are not committed; they are kept as {ref}",)
    return Captured(Checkpoint(tree.commit or "", tree.branch, dirty, relative(tree.top, root), ref), notes)


def _content(tree: WorkTree, message: str) -> str:
    with worktree.aside(keep=True) as (index, _):
        found = worktree.present(tree, index, None)
    return commit(tree, found, message)


def commit(tree: WorkTree, found: worktree.Present, message: str) -> str:
    """A commit of what is in the work tree, behind that of HEAD; its second parent is what was staged, if anything."""
    parents = ["-p", tree.commit] if tree.commit else []
    base = worktree.command(tree.top, "rev-parse", f"{tree.commit}^{{tree}}").strip() if tree.commit else None
    if found.staged is not None and found.staged != base and tree.commit:
        staged = worktree.command(tree.top, "commit-tree", *parents, "-m", f"{message} (staged)", found.staged).strip()
        parents += ["-p", staged]
    return worktree.command(tree.top, "commit-tree", *parents, "-m", message, found.content).strip()


def forget(top: str, ref: str) -> None:
    """A checkpoint that nobody needs: another command was faster."""
    with suppress(LizaError):
        worktree.command(top, "update-ref", "-d", ref)


def relative(top: str, root: str) -> str:
    """A work tree as it is named on the blackboard: from the folder that has the `.liza/`, if it is below that."""
    path = os.path.relpath(os.path.realpath(top), os.path.realpath(root))
    return os.path.realpath(top) if path.startswith("..") else path
