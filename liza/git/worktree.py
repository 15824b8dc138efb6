"""A work tree of git that slices are worked on in: where it is, what is in it now, and commands that change it.

What is in it is a tree object: every file that git would track, whatever is staged, without a `.liza/` anywhere and
without repositories inside. It is made beside the index of the repository, which stays as it is.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import NamedTuple

from liza.errors import Refused
from liza.git import command as gitcommand
from liza.git import snapshot
from liza.store.locate import FOLDER

TIME_LIMIT = 600.0  # seconds for one command: a large work tree is read whole
# Everything but blackboards; they are never read, saved or put back.
EVERYTHING = (":/", f":(exclude,top,glob)**/{FOLDER}", f":(exclude,top,glob)**/{FOLDER}/**")
_AUTHOR = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
           (("NAME", "liza"), ("EMAIL", "liza@localhost"))}  # fmt: skip
_UNFINISHED = {
    "MERGE_HEAD": "a merge", "rebase-merge": "a rebase", "rebase-apply": "a rebase or git am",
    "REVERT_HEAD": "a revert", "CHERRY_PICK_HEAD": "a cherry-pick", "BISECT_LOG": "a bisect",
    "sequencer": "a cherry-pick or revert of several commits",  # between two of them there is no other sign
}  # fmt: skip


_NO_FILTER = ("unspecified", "unset", "set")


class WorkTree(NamedTuple):
    """A work tree as it was found."""

    top: str
    git_dir: str
    commit: str | None  # None before the first
    branch: str | None  # None where HEAD is detached


def find(folder: str) -> WorkTree | None:
    """The work tree that a folder is in; None where there is none, or no git."""
    top, git_dir = _said(folder, "rev-parse", "--show-toplevel"), _said(folder, "rev-parse", "--absolute-git-dir")
    if not top or not git_dir or _said(top, "rev-parse", "--absolute-git-dir") != git_dir:
        return None  # the last: core.worktree names a folder that is not this repository's
    commit = _said(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return WorkTree(top, git_dir, commit, _said(top, "symbolic-ref", "--quiet", "--short", "HEAD"))


def is_of_repository(tree: WorkTree, root: str) -> bool:
    """Whether a work tree is one of the repository around `root`; where that is none, whether it is below `root`."""
    own = _said(root, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if own is not None:
        other = _said(tree.top, "rev-parse", "--path-format=absolute", "--git-common-dir")
        return other is not None and os.path.realpath(own) == os.path.realpath(other)
    return os.path.commonpath([os.path.realpath(root), os.path.realpath(tree.top)]) == os.path.realpath(root)


def _said(folder: str, *words: str) -> str | None:
    answer = snapshot.ask(folder, *words)
    return None if answer is None else os.fsdecode(answer.removesuffix(b"\n"))


def command(
    top: str, *words: str, index: str | None = None, objects: str | None = None, stdin: Iterable[str] = ()
) -> str:
    """What git says to these paths on its standard input; `Refused` with the reason it gives, where it fails."""
    start = gitcommand.start(top, *words)
    environment = {**start.environment, **_AUTHOR}
    look = f"see: git -C {shlex.quote(top)} status"
    if index is not None:
        environment["GIT_INDEX_FILE"] = index
    if objects is not None:
        environment |= {"GIT_OBJECT_DIRECTORY": objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES": _objects(top)}
    try:
        done = subprocess.run(
            start.words,
            env=environment,
            input=b"".join(os.fsencode(path) + b"\0" for path in stdin),
            capture_output=True,
            timeout=TIME_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"git {words[0]} took longer than {TIME_LIMIT:g} s", hint=look) from None
    except OSError as error:
        raise Refused(f"git could not be started: {error.strerror}", hint="install git") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = next((line for line in said if line.startswith(("fatal:", "error:"))), said[-1] if said else "no reason")
        raise Refused(f"git {words[0]} failed in {top}: {why}", hint=look)
    return os.fsdecode(done.stdout)


def _objects(top: str) -> str:
    answer = snapshot.ask(top, "rev-parse", "--git-path", "objects")
    path = os.fsdecode((answer or b"").removesuffix(b"\n"))
    quoted = path if os.path.isabs(path) else os.path.join(top, path)
    return f'"{quoted}"' if quoted.startswith('"') or ":" in quoted else quoted


def unfinished(tree: WorkTree) -> str | None:
    """What is in the middle of being done in a work tree, in which nothing may be put back."""
    for name, what in _UNFINISHED.items():
        if os.path.lexists(os.path.join(tree.git_dir, name)):
            return what
    conflicts = snapshot.ask(tree.top, "ls-files", "--unmerged", limit=1)
    return "a merge with conflicts" if conflicts else None


_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")


def everything(tree: WorkTree) -> tuple[str, ...]:
    """The paths that are saved and put back. A repository inside the work tree belongs to another."""
    answer = snapshot.ask(tree.top, *_STATUS) or b""
    left = [each.name for each in snapshot.listed(answer) if each.is_repository and not each.is_tracked]
    return (*EVERYTHING, *(f":(exclude,top,literal){path}" for path in left))


def differing(tree: WorkTree) -> list[str]:
    """The paths that are not as in the index and the commit, without repositories inside."""
    return [each.name for each in snapshot.listed(snapshot.ask(tree.top, *_STATUS) or b"") if not each.is_repository]


def filtered(tree: WorkTree, paths: Sequence[str], content: str | None = None) -> dict[str, str]:
    """Of these paths, those that git puts through a filter now, or did when that content was there; and which filter.

    No filter is run, so what is in such a file is not what git would keep of it: git-lfs keeps a pointer, git-crypt a
    secret. Saved and put back without the filter, the one would be in place of the other.
    """
    if not paths or not (known := gitcommand.filters(tree.top)):
        return {}
    found = _filters_of(tree, paths)
    if content is not None:
        with aside(keep=True) as (index, _):
            command(tree.top, "read-tree", content, index=index)
            found |= _filters_of(tree, paths, "--cached", index=index)
    return {path: name for path, name in found.items() if name in known}


def _filters_of(tree: WorkTree, paths: Sequence[str], *words: str, index: str | None = None) -> dict[str, str]:
    said = command(tree.top, "check-attr", "-z", "--stdin", *words, "filter", index=index, stdin=paths).split("\0")
    return {path: name for path, name in zip(said[0::3], said[2::3], strict=False) if name not in _NO_FILTER}


def hidden(tree: WorkTree) -> list[str]:
    """Files that git is set not to look at (assume-unchanged, skip-worktree): nothing can save what is in them."""
    lines = (snapshot.ask(tree.top, "ls-files", "-v", "-z", "--full-name") or b"").split(b"\0")
    return [os.fsdecode(line[2:]) for line in lines if line[:1] == b"S" or line[:1].islower()]


def once_ignored(tree: WorkTree, content: str, paths: Sequence[str]) -> list[str]:
    """Of new paths, those that git ignored when that content was there; a folder means all that is new in it."""
    there = command(tree.top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", content).split("\0")[:-1]
    rules = {path for path in there if os.path.basename(path) == ".gitignore"}
    folders = {above for path in there for above in _above(path)}
    with aside(keep=True) as (index, _), TemporaryDirectory(prefix="liza-") as folder:
        for path in rules:  # a work tree of what said what is ignored, and of these paths alone, empty
            _put(folder, path, snapshot.ask(tree.top, "cat-file", "blob", f"{content}:{path}") or b"")
        for path in paths:
            if path not in folders and not is_in(path, rules):  # else something else was there then
                _put(folder, path, b"")
        where = (f"--git-dir={tree.git_dir}", f"--work-tree={folder}")
        listed = command(folder, *where, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", index=index)
    ignored = set(listed.split("\0")).intersection(paths)
    others = {above for path in (*there, *paths) if path not in ignored for above in _above(path)}
    outermost = (next((above for above in _above(path) if above not in others), path) for path in sorted(ignored))
    return list(dict.fromkeys(outermost))


def _put(folder: str, path: str, text: bytes) -> None:
    os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
    with open(os.path.join(folder, path), "wb") as file:
        file.write(text)


def _above(path: str) -> list[str]:
    """The folders that a path is in, the outermost first."""
    return [path[:at] for at, char in enumerate(path) if char == "/"]


def is_in(path: str, places: Container[str]) -> bool:
    """Whether a path is one of these places, or in a folder that is."""
    return path in places or any(above in places for above in _above(path))


class Present(NamedTuple):
    """What is in a work tree now, as tree objects."""

    content: str
    staged: str | None  # None in the middle of a merge


@contextmanager
def aside(*, keep: bool) -> Iterator[tuple[str, str | None]]:
    """An index of one's own, and a place for objects; what is not to be kept leaves no trace in the repository."""
    with TemporaryDirectory(prefix="liza-") as folder:
        objects = None
        if not keep:
            objects = os.path.join(folder, "objects")
            os.mkdir(objects)
        yield os.path.join(folder, "index"), objects


def present(tree: WorkTree, index: str, objects: str | None, forced: Sequence[str] = ()) -> Present:
    """What is in a work tree now; `forced` are paths that count although git ignores them."""
    with suppress(FileNotFoundError):  # nothing was ever staged
        # With its time: by that git sees which files may have changed in the moment in which it was written.
        shutil.copy2(os.path.join(tree.git_dir, "index"), index)
    try:
        staged: str | None = command(tree.top, "write-tree", index=index, objects=objects).strip()
    except Refused:
        staged = None  # conflicts: a path has several contents at once
    changed = _to_save(tree)
    gone = [each.name for each in changed if each.is_gone]
    there = [*(each.name for each in changed if not each.is_gone), *forced]
    # Not git add: that starts a git in each submodule, with the filters of that one.
    for words, paths in (("--force-remove",), gone), (("--add", "--remove", "--replace"), there):
        command(tree.top, "update-index", *words, "-z", "--stdin", index=index, objects=objects, stdin=paths)
    return Present(command(tree.top, "write-tree", index=index, objects=objects).strip(), staged)


def _to_save(tree: WorkTree) -> list[snapshot.Listed]:
    """The paths that are not as in the index, without blackboards, others' repositories, and what has a filter."""
    found = [
        each
        for each in snapshot.listed(os.fsencode(command(tree.top, *_STATUS)))
        if FOLDER not in each.name.split("/") and (each.is_tracked or not each.is_repository)
    ]
    left = filtered(tree, [each.name for each in found])
    return [each for each in found if each.name not in left]


class Change(NamedTuple):
    """A path in which two trees differ: A added, M modified, D deleted, T another type."""

    status: str
    path: str
    is_repository: bool = False


def changes(tree: WorkTree, old: str, new: str, objects: str | None = None) -> list[Change]:
    """The paths in which the new tree differs from the old one, blackboards left out."""
    words = ("diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", old, new)
    parts = command(tree.top, *words, objects=objects).split("\0")
    found = []
    for about, path in zip(parts[0::2], parts[1::2], strict=False):
        old_mode, new_mode, _, _, status = about.lstrip(":").split(" ")
        if FOLDER not in path.split("/"):
            found.append(Change(status[0], path, "160000" in (old_mode, new_mode)))
    return found
