"""A working tree that slices are worked on in: where it is, and its content as tree objects.

The content is every file that git would track, staged or not, without a `.liza/` anywhere and without repositories
inside. It is captured through a temporary index; the index of the repository stays as it is.
"""

import os
import shutil
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import NamedTuple

from liza.errors import Refused
from liza.git.command import ask, filters, line, run
from liza.git.status import Differing, require_differing_paths
from liza.store.locate import FOLDER

# Everything but blackboards; they are never read, saved or put back.
EVERYTHING = (":/", f":(exclude,top,glob)**/{FOLDER}", f":(exclude,top,glob)**/{FOLDER}/**")
_UNFINISHED = {
    "MERGE_HEAD": "a merge", "rebase-merge": "a rebase", "rebase-apply": "a rebase or git am",
    "REVERT_HEAD": "a revert", "CHERRY_PICK_HEAD": "a cherry-pick", "BISECT_LOG": "a bisect",
    "sequencer": "a cherry-pick or revert of several commits",  # the only sign between two of them
}  # fmt: skip
_NO_FILTER = ("unspecified", "unset", "set")


class Worktree(NamedTuple):
    """A working tree: its place and what is checked out."""

    top: str
    git_dir: str
    commit: str | None  # None before the first commit
    branch: str | None  # None if HEAD is detached


def find(folder: str) -> Worktree | None:
    """The working tree around a folder; None if there is none, or no git."""
    top, git_dir = line(folder, "rev-parse", "--show-toplevel"), line(folder, "rev-parse", "--absolute-git-dir")
    if not top or not git_dir or line(top, "rev-parse", "--absolute-git-dir") != git_dir:
        return None  # the last test fails if core.worktree names a folder that is not this repository's
    commit = line(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return Worktree(top, git_dir, commit, line(top, "symbolic-ref", "--quiet", "--short", "HEAD"))


def is_of_repository(tree: Worktree, root: str) -> bool:
    """Whether a working tree belongs to the repository around `root`, or without one is below `root`."""
    own = line(root, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if own is not None:
        other = line(tree.top, "rev-parse", "--path-format=absolute", "--git-common-dir")
        return other is not None and os.path.realpath(own) == os.path.realpath(other)
    return os.path.commonpath([os.path.realpath(root), os.path.realpath(tree.top)]) == os.path.realpath(root)


def unfinished(tree: Worktree) -> str | None:
    """The unfinished operation of a working tree, during which nothing may be restored."""
    for name, operation in _UNFINISHED.items():
        if os.path.lexists(os.path.join(tree.git_dir, name)):
            return operation
    conflicts = ask(tree.top, "ls-files", "--unmerged", limit=1)
    return "a merge with conflicts" if conflicts else None


def everything(tree: Worktree) -> tuple[str, ...]:
    """Pathspecs of all that is saved and restored, which excludes repositories inside the working tree."""
    found = require_differing_paths(tree.top)
    excluded = [each.name for each in found if each.is_repository and not each.is_tracked]
    return (*EVERYTHING, *(f":(exclude,top,literal){path}" for path in excluded))


def differing(tree: Worktree) -> list[str]:
    """The paths that differ from the index or the commit, without repositories inside."""
    return [each.name for each in require_differing_paths(tree.top) if not each.is_repository]


def filtered(tree: Worktree, paths: Sequence[str], content: str | None = None) -> dict[str, str]:
    """The paths that have a filter now or had one in `content`, each with the filter's name.

    liza runs no filter, so such a file is not what git would store of it: git-lfs stores a pointer, git-crypt a cipher
    text. Saved and restored without the filter, one would replace the other.
    """
    if not paths or not (known := filters(tree.top)):
        return {}
    found = _filters_of(tree, paths)
    if content is not None:
        with _temporary_index(keep=True) as (index, _):
            run(tree.top, "read-tree", content, index=index)
            found |= _filters_of(tree, paths, "--cached", index=index)
    return {path: name for path, name in found.items() if name in known}


def _filters_of(tree: Worktree, paths: Sequence[str], *words: str, index: str | None = None) -> dict[str, str]:
    parts = run(tree.top, "check-attr", "-z", "--stdin", *words, "filter", index=index, stdin=paths).split("\0")
    return {path: name for path, name in zip(parts[0::3], parts[2::3], strict=False) if name not in _NO_FILTER}


def hidden(tree: Worktree) -> list[str]:
    """Files that git is set to skip (assume-unchanged, skip-worktree): their content cannot be saved."""
    entries = (ask(tree.top, "ls-files", "-v", "-z", "--full-name") or b"").split(b"\0")
    return [os.fsdecode(entry[2:]) for entry in entries if entry[:1] == b"S" or entry[:1].islower()]


def once_ignored(tree: Worktree, content: str, paths: Sequence[str]) -> list[str]:
    """The new paths that git ignored under the `.gitignore` files of `content`; a folder means all new paths in it."""
    there = run(tree.top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", content).split("\0")[:-1]
    rules = {path for path in there if os.path.basename(path) == ".gitignore"}
    folders = {above for path in there for above in _above(path)}
    with _temporary_index(keep=True) as (index, _), TemporaryDirectory(prefix="liza-") as folder:
        for path in rules:  # a working tree of the .gitignore files, and these paths as empty files
            _put(folder, path, ask(tree.top, "cat-file", "blob", f"{content}:{path}") or b"")
        for path in paths:
            if path not in folders and not is_in(path, rules):  # else it had another type then
                _put(folder, path, b"")
        where = (f"--git-dir={tree.git_dir}", f"--work-tree={folder}")
        listed = run(folder, *where, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", index=index)
    ignored = set(listed.split("\0")).intersection(paths)
    others = {above for path in (*there, *paths) if path not in ignored for above in _above(path)}
    outermost = (next((above for above in _above(path) if above not in others), path) for path in sorted(ignored))
    return list(dict.fromkeys(outermost))


def _put(folder: str, path: str, text: bytes) -> None:
    os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
    with open(os.path.join(folder, path), "wb") as file:
        file.write(text)


def _above(path: str) -> list[str]:
    """The folders above a path, the outermost first."""
    return [path[:at] for at, char in enumerate(path) if char == "/"]


def is_in(path: str, places: Container[str]) -> bool:
    return path in places or any(above in places for above in _above(path))


class Change(NamedTuple):
    """A path in which two trees differ: A added, M modified, D deleted, T another type."""

    status: str
    path: str
    is_repository: bool = False


class Content(NamedTuple):
    """The content of a working tree as tree objects."""

    tree: str
    staged: str | None  # None in the middle of a merge


@contextmanager
def _temporary_index(*, keep: bool) -> Iterator[tuple[str, str | None]]:
    """A path for an index, and one for objects that leave no trace in the repository; None to keep them there."""
    with TemporaryDirectory(prefix="liza-") as folder:
        objects = None
        if not keep:
            objects = os.path.join(folder, "objects")
            os.mkdir(objects)
        yield os.path.join(folder, "index"), objects


def capture(tree: Worktree, forced: Sequence[str] = ()) -> Content:
    """The present content, kept in the repository; `forced` are paths that count although git ignores them."""
    with _temporary_index(keep=True) as (index, _):
        return _capture(tree, index, None, forced)


def changes_since(tree: Worktree, base: str, forced: Sequence[str] = ()) -> list[Change]:
    """The paths in which the present content differs from a commit or tree; nothing is kept."""
    with _temporary_index(keep=False) as (index, objects):
        seen = _capture(tree, index, objects, forced)
        return _diff(tree, base, seen.tree, objects)


def _capture(tree: Worktree, index: str, objects: str | None, forced: Sequence[str]) -> Content:
    with suppress(FileNotFoundError):  # nothing was ever staged
        # With its time, by which git knows files that may have changed in the moment in which it was written.
        shutil.copy2(os.path.join(tree.git_dir, "index"), index)
    try:
        staged: str | None = run(tree.top, "write-tree", index=index, objects=objects).strip()
    except Refused:
        staged = None  # conflicts: a path has several contents at once
    changed = _to_save(tree)
    gone = [each.name for each in changed if each.is_gone]
    there = [*(each.name for each in changed if not each.is_gone), *forced]
    # Not git add: that starts a git in each submodule, with the filters of that one.
    for words, paths in (("--force-remove",), gone), (("--add", "--remove", "--replace"), there):
        run(tree.top, "update-index", *words, "-z", "--stdin", index=index, objects=objects, stdin=paths)
    return Content(run(tree.top, "write-tree", index=index, objects=objects).strip(), staged)


def _to_save(tree: Worktree) -> list[Differing]:
    """The paths that differ from the index, without blackboards, repositories of others, and files with a filter."""
    found = [
        each
        for each in require_differing_paths(tree.top)
        if FOLDER not in each.name.split("/") and (each.is_tracked or not each.is_repository)
    ]
    left_out = filtered(tree, [each.name for each in found])
    return [each for each in found if each.name not in left_out]


def _diff(tree: Worktree, old: str, new: str, objects: str | None) -> list[Change]:
    words = ("diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", old, new)
    parts = run(tree.top, *words, objects=objects).split("\0")
    found = []
    for about, path in zip(parts[0::2], parts[1::2], strict=False):
        old_mode, new_mode, _, _, letter = about.lstrip(":").split(" ")
        if FOLDER not in path.split("/"):
            found.append(Change(letter[0], path, "160000" in (old_mode, new_mode)))
    return found
