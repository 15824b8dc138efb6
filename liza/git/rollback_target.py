"""Where a rollback of a slice goes back to: the working tree, the base, and the commits that have its content."""

import os
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.git import worktree
from liza.git.base import REFS, RecordedBase
from liza.git.command import ask
from liza.git.worktree import Worktree


class Target(NamedTuple):
    commit: str | None  # where the branch is afterwards; None before the first commit
    content: str  # the commit that has the files
    staged: str | None  # the commit that has what was staged; None if nothing was


def find_worktree(about: Mapping[str, Any], name: str, root: str) -> Worktree:
    """The working tree that a base is in; `Refused` where it is gone, or is one of another repository."""
    given = about.get("work_tree")
    folder = os.path.normpath(os.path.join(root, given if isinstance(given, str) else "."))
    tree = worktree.find(folder) if os.path.isdir(folder) else None
    if tree is None:
        hint = "restore it, or go back by hand and reset without --rollback"
        raise Refused(f"{folder}, the working tree of slice {name}, is not a git worktree", hint=hint)
    if not worktree.is_of_repository(tree, root):
        hint = f"go back there by hand: git -C {shlex.quote(tree.top)} status; then reset without --rollback"
        message = f"slice {name} names a worktree of another repository than the blackboard's; nothing was changed"
        raise Refused(message, hint=hint, file=tree.top)
    return tree


def resolve_target(tree: Worktree, base: RecordedBase, name: str, *, has_attempts: bool) -> Target:
    """The commits of a base; `Refused`, with the fix, where there is none or it is gone."""
    tag, placed = base
    ref = placed.get("ref")
    kept = resolve_commit(tree, ref) if isinstance(ref, str) and ref.startswith(f"{REFS}/") else None
    if not tag and kept is not None:
        return Target(None, kept, None)  # there was no commit yet
    if not tag and not has_attempts:
        hint = f"liza attempt start --slice {shlex.quote(name)} --test NAME"
        raise Refused(f"slice {name} has no base: no test was started yet", hint=hint)
    if not tag:
        hint = f"set checkpoint_tag of slice {name} in .liza/state.yaml to the commit to go back to"
        raise Refused(f"slice {name} has no base: no test was started before the first attempt", hint=hint)
    commit = resolve_commit(tree, tag)
    if commit is None:
        hint = f"get it with git fetch, or set another checkpoint_tag of slice {name} in .liza/state.yaml"
        raise Refused(f"the base {tag[:60]!r} of slice {name} is not a commit in {tree.top}", hint=hint)
    parents = (ask(tree.top, "rev-parse", f"{kept}^@") or b"").decode().split() if kept is not None else []
    if kept is None or kept == commit or parents[:1] != [commit]:
        if placed.get("dirty") is True:
            hint = f"git -C {shlex.quote(tree.top)} for-each-ref {REFS}"
            raise Refused(
                f"slice {name} began with uncommitted changes, and the commit that kept them is gone", hint=hint
            )
        return Target(commit, commit, None)
    return Target(commit, kept, parents[1] if len(parents) > 1 else None)


def resolve_commit(tree: Worktree, name: str) -> str | None:
    if name.startswith("-") or not name.isprintable():
        return None
    answer = ask(tree.top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return None if answer is None else answer.decode().strip()


def is_ancestor(tree: Worktree, commit: str, other: str) -> bool:
    return commit == other or ask(tree.top, "merge-base", "--is-ancestor", commit, other) is not None


def require_branch(tree: Worktree, about: Mapping[str, Any], name: str) -> None:
    """`Refused` on another branch than the slice began on: that one may be the work of others, and is never moved."""
    if "branch" not in about or about["branch"] == tree.branch:
        return
    began = about["branch"]
    there = f"on the branch {tree.branch}" if tree.branch else "on no branch"
    words = ["git", "-C", tree.top, "switch", *([str(began)] if began else ["--detach"])]
    raise Refused(
        f"slice {name} began {f'on the branch {began}' if began else 'on no branch'}, but {tree.top} is {there}; "
        "nothing was changed",
        hint=shlex.join(words),
    )
