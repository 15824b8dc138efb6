"""Capture the base of a slice: its commit and, where the working tree was dirty, another commit with its content."""

import os
from contextlib import suppress
from typing import NamedTuple

from liza.errors import LizaError
from liza.git import worktree
from liza.git.base import REFS, Base
from liza.git.command import run
from liza.git.status import Differing, differing_paths
from liza.git.worktree import Worktree
from liza.store.locate import FOLDER
from liza.text import file_name

_NO_WORKTREE = "not a git worktree, so there is nothing to roll back to"


class Captured(NamedTuple):
    """A base, or None where there is none, and notes for the caller."""

    base: Base | None
    notes: tuple[str, ...] = ()


def read_base(folder: str, root: str) -> Captured:
    """The commit alone, for a slice whose base is already kept."""
    tree = worktree.find(folder)
    if tree is None:
        return Captured(None, (_NO_WORKTREE,))
    return Captured(Base(tree.commit or "", tree.branch, False, relative_worktree(tree.top, root)))


def capture_base(folder: str, root: str, name: str) -> Captured:
    """The commit, and a reference that keeps it; uncommitted changes are kept in a commit of their own."""
    tree = worktree.find(folder)
    if tree is None:
        return Captured(None, (_NO_WORKTREE,))
    differing = differing_paths(tree.top)
    dirty = differing is None or any(_is_work(each) for each in differing)
    notes: tuple[str, ...] = ()
    kept = tree.commit
    if dirty or tree.commit is None:
        try:
            message = f"liza: base of slice {name}, with uncommitted changes"
            kept = commit_content(tree, worktree.capture(tree), message)
        except LizaError as error:
            notes = (f"uncommitted changes could not be kept: {error.message}",)
    ref = None
    if kept is not None:
        ref = f"{REFS}/checkpoints/{file_name(name)}/{kept[:12]}"
        run(tree.top, "update-ref", ref, kept)
    if dirty and not notes:
        notes = (f"the working tree has uncommitted changes; they are kept as {ref}",)
    return Captured(Base(tree.commit or "", tree.branch, dirty, relative_worktree(tree.top, root), ref), notes)


def _is_work(each: Differing) -> bool:
    return not each.is_repository and FOLDER not in each.name.split("/")


def commit_content(tree: Worktree, found: worktree.Content, message: str) -> str:
    """Commit the content of the working tree on top of HEAD; its second parent has what was staged, if anything."""
    parents = ["-p", tree.commit] if tree.commit else []
    base = run(tree.top, "rev-parse", f"{tree.commit}^{{tree}}").strip() if tree.commit else None
    if found.staged is not None and found.staged != base and tree.commit:
        staged = run(tree.top, "commit-tree", *parents, "-m", f"{message} (staged)", found.staged).strip()
        parents += ["-p", staged]
    return run(tree.top, "commit-tree", *parents, "-m", message, found.tree).strip()


def delete_base(top: str, ref: str) -> None:
    """Delete the reference of a base that is not needed, because another command was faster."""
    with suppress(LizaError):
        run(top, "update-ref", "-d", ref)


def relative_worktree(top: str, root: str) -> str:
    """The path of a working tree for the blackboard: relative to the project folder if it is below that."""
    path = os.path.relpath(os.path.realpath(top), os.path.realpath(root))
    return os.path.realpath(top) if path.startswith("..") else path
