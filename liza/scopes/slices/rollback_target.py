"""Where a rollback of a slice goes back to: the work tree, the base, and the commits that have its content."""

import os
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.git import worktree
from liza.git.command import ask
from liza.git.worktree import WorkTree
from liza.model import MAPPINGS
from liza.scopes.records import list_of
from liza.scopes.slices import rollback_bases
from liza.scopes.slices.base import REFS
from liza.scopes.slices.fields import named_tests
from liza.scopes.slices.rollback_bases import RecordedBase


class Target(NamedTuple):
    commit: str | None  # where the branch is afterwards; None before the first commit
    content: str  # the commit that has the files
    staged: str | None  # the commit that has what was staged; None if nothing was


def find_base(record: Mapping[str, Any], name: str, root: str) -> tuple[WorkTree, Target]:
    """The work tree of a slice, and what was in it at its base."""
    tree = find_work_tree(record, name, root)
    own = rollback_bases.recorded_base(record)
    known = [
        each for each in (own, *(rollback_bases.recorded_base(test) for _, test in named_tests(record))) if each.tag
    ]
    return tree, resolve_target(tree, own if own.about or not known else known[0], record, name)


def find_work_tree(record: Mapping[str, Any], name: str, root: str) -> WorkTree:
    about = record.get("checkpoint")
    given = about.get("work_tree") if isinstance(about, MAPPINGS) else None
    folder = os.path.normpath(os.path.join(root, given if isinstance(given, str) else "."))
    tree = worktree.find(folder) if os.path.isdir(folder) else None
    if tree is None:
        hint = "restore it, or go back by hand and reset without --rollback"
        raise Refused(f"{folder}, the work tree of slice {name}, is not a git work tree", hint=hint)
    if not worktree.is_of_repository(tree, root):
        hint = f"go back there by hand: git -C {shlex.quote(tree.top)} status; then reset without --rollback"
        message = f"slice {name} names a work tree of another repository than the blackboard's; nothing was changed"
        raise Refused(message, hint=hint, file=tree.top)
    return tree


def oldest_base(tree: WorkTree, record: Mapping[str, Any]) -> RecordedBase:
    """The oldest base of the tests that are reset; the slice's, where those are not ancestors of each other."""
    own = rollback_bases.recorded_base(record)
    known = sorted(
        rollback_bases.bases_to_reset(record), key=lambda base: (base != own, str(base.about.get("taken") or ""))
    )
    if len(known) < 2:
        return known[0] if known else own
    commits = [resolve_commit(tree, base.tag) if base.tag else None for base in known]
    for base, commit in zip(known, commits, strict=True):
        if commit is None or all(other is not None and is_ancestor(tree, commit, other) for other in commits):
            return base
    return own if own.tag or own.about else known[0]


def resolve_target(tree: WorkTree, base: RecordedBase, record: Mapping[str, Any], name: str) -> Target:
    """The commits of a base; `Refused`, with the fix, where there is none or it is gone."""
    tag, placed = base
    ref = placed.get("ref")
    kept = resolve_commit(tree, ref) if isinstance(ref, str) and ref.startswith(f"{REFS}/") else None
    if not tag and kept is not None:
        return Target(None, kept, None)  # there was no commit yet
    if not tag and not list_of(record, "attempts"):
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


def resolve_commit(tree: WorkTree, name: str) -> str | None:
    if name.startswith("-") or not name.isprintable():
        return None
    answer = ask(tree.top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return None if answer is None else answer.decode().strip()


def is_ancestor(tree: WorkTree, commit: str, other: str) -> bool:
    return commit == other or ask(tree.top, "merge-base", "--is-ancestor", commit, other) is not None


def require_branch(tree: WorkTree, record: Mapping[str, Any], name: str) -> None:
    """`Refused` on another branch than the slice began on: that one may be the work of others, and is never moved."""
    about = record.get("checkpoint")
    if not isinstance(about, MAPPINGS) or "branch" not in about or about["branch"] == tree.branch:
        return
    began = about["branch"]
    there = f"on the branch {tree.branch}" if tree.branch else "on no branch"
    words = ["git", "-C", tree.top, "switch", *([str(began)] if began else ["--detach"])]
    raise Refused(
        f"slice {name} began {f'on the branch {began}' if began else 'on no branch'}, but {tree.top} is {there}; "
        "nothing was changed",
        hint=shlex.join(words),
    )
