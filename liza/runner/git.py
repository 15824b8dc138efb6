"""What an iteration changed in the work trees: two snapshots, compared.

A snapshot holds, for each repository, the commit and its tree, and a hash of the content of every path that is not as
in that tree: modified, deleted, staged or untracked, whatever `.gitignore` leaves. So a tree that was dirty before
and is dirty in the same way afterwards has not changed, a commit made meanwhile has, and so has a file that was dirty
and became different. Staging alone is no change: what counts is the content.

Nothing is written: no lock is taken, no index refreshed, no hook, pager or monitor started. What cannot be known (no
git, no repository, no answer in time) is None, which counts neither as a change nor as none.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from liza.blackboard.paths import FOLDER

TIME_LIMIT = 30.0  # seconds for one question to git

QUIETLY = (
    "--no-optional-locks",
    "--no-pager",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.quotePath=false",
)  # fmt: skip
_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none")
# Of git's own variables only these say nothing about which repository is meant. A hook of git sets the others.
_KEPT = ("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
         "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")  # fmt: skip
_PIECE = 1 << 20
_ABSENT = "-"
_FIELDS = {b"1": 8, b"2": 9, b"u": 10}  # of a status line, before its path


class Tree(NamedTuple):
    """One work tree: its commit, that commit's tree, and the content of every path that is not as in it."""

    commit: str | None  # None before the first commit
    tree: str | None
    dirty: Mapping[str, str]  # path below the work tree -> hash


class Snapshot(NamedTuple):
    """All that can be known of some folders at one moment."""

    trees: Mapping[str, Tree]  # by the absolute path of the work tree; repositories inside others have their own
    unknown: tuple[str, ...]  # folders of which git could say nothing
    exclude: tuple[str, ...]  # absolute paths that do not count, nor what is below them


def snapshot(roots: Sequence[str], exclude: Sequence[str] = ()) -> Snapshot | None:
    """How the work trees around these folders are now; None where git can say nothing of any of them.

    A folder stands for the whole work tree that it is in. Nothing inside a `.liza/` counts, nor below `exclude`.
    """
    trees: dict[str, Tree] = {}
    unknown = []
    left_out = tuple(os.path.realpath(path) for path in exclude)
    for root in dict.fromkeys(os.path.abspath(root) for root in roots):
        top = _look(root, trees, left_out)
        if top is None:
            unknown.append(root)
    return Snapshot(trees, tuple(unknown), left_out) if trees else None


def files_changed(before: Snapshot | None, after: Snapshot | None) -> int | None:
    """How many paths are different; None where nobody can know. Git is asked when there are new commits."""
    paths = changed(before, after)
    return None if paths is None else len(paths)


def changed(before: Snapshot | None, after: Snapshot | None) -> frozenset[str] | None:
    """The absolute paths that are different.

    None where some folder could not be looked at and no change was seen in the others: there may have been one.
    """
    if before is None or after is None:
        return None
    found: set[str] = set()
    for top in {**before.trees, **after.trees}:
        old, new = before.trees.get(top), after.trees.get(top)
        if old is not None and new is not None:
            names = _between(top, old, new, after.exclude)
        else:  # a repository inside another that came or went, or a submodule that was clean at one of the two times
            names = set((old or new or _NOTHING).dirty) or {""}
        found.update(os.path.join(top, name) if name else top for name in names)
    if not found and (before.unknown or after.unknown):
        return None
    return frozenset(found)


def touched(before: Snapshot | None, after: Snapshot | None) -> frozenset[str] | None:
    """The absolute paths whose content is different: to commit what was there before touches nothing."""
    paths = changed(before, after)
    if paths is None or before is None:
        return None
    known = {os.path.join(top, name): each for top, tree in before.trees.items() for name, each in tree.dirty.items()}
    return frozenset(path for path in paths if path not in known or known[path] != _content(path))


def _between(top: str, old: Tree, new: Tree, left_out: tuple[str, ...]) -> set[str]:
    names = {path for path in {**old.dirty, **new.dirty} if old.dirty.get(path) != new.dirty.get(path)}
    if old.tree != new.tree:
        committed = _committed(top, old.tree, new.tree)
        # Trees that differ do so somewhere, also where git no longer has the old one to say where.
        names |= {name for name in committed if _counts(top, name, left_out)} if committed is not None else {""}
    return names


def _committed(top: str, old: str | None, new: str | None) -> set[str] | None:
    """The paths in which two trees differ."""
    if old is None or new is None:
        answer = ask(top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", old or new or "")
    else:
        answer = ask(top, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none", old, new)
    return None if answer is None else {os.fsdecode(name) for name in answer.split(b"\0") if name}


# --- looking at a work tree -----------------------------------------------------------------------------------------

_NOTHING = Tree(None, None, {})


def _look(folder: str, trees: dict[str, Tree], left_out: tuple[str, ...], is_top: bool = False) -> str | None:
    """Put the work tree that `folder` is in, and those inside it, among `trees`; its top, or None."""
    where = _where(folder)
    if where is None:
        return None
    top, commit, tree = where
    if is_top and os.path.realpath(folder) != os.path.realpath(top):
        return None  # a submodule that is not checked out belongs to the repository around it
    if top in trees:
        return top
    answer = ask(top, *_STATUS)
    if answer is None:
        return None
    dirty: dict[str, str] = {}
    trees[top] = Tree(commit, tree, dirty)
    for name, is_repository in _listed(answer):
        path = os.path.join(top, name)
        if not _counts(top, name, left_out):
            continue
        if not is_repository or _look(path, trees, left_out, is_top=True) is None:
            dirty[name] = _content(path)
    return top


def _where(folder: str) -> tuple[str, str | None, str | None] | None:
    """The top of the work tree, the commit and its tree; None where there is no work tree."""
    answer = ask(folder, "rev-parse", "--show-toplevel", "HEAD", "HEAD^{tree}")
    if answer is not None:
        top, commit, tree = answer.removesuffix(b"\n").rsplit(b"\n", 2)
        return os.fsdecode(top), commit.decode(), tree.decode()
    answer = ask(folder, "rev-parse", "--show-toplevel")  # no commit yet, or no repository
    return None if answer is None or not answer.strip() else (os.fsdecode(answer.removesuffix(b"\n")), None, None)


def _listed(answer: bytes) -> Iterator[tuple[str, bool]]:
    """What `git status` lists: each path, and whether it is a repository of its own."""
    lines = iter(answer.split(b"\0"))
    for line in lines:
        kind = line[:1]
        if kind == b"?":
            name = line[2:]
            yield os.fsdecode(name.rstrip(b"/")), name.endswith(b"/")
        elif kind in _FIELDS:
            parts = line.split(b" ", _FIELDS[kind])
            yield os.fsdecode(parts[-1]), parts[2].startswith(b"S")
            if kind == b"2":
                yield os.fsdecode(next(lines)), False


def _counts(top: str, name: str, left_out: tuple[str, ...]) -> bool:
    if FOLDER in name.split("/"):
        return False
    return not left_out or not any(_is_below(os.path.join(top, name), folder) for folder in left_out)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _content(path: str) -> str:
    """What tells one content of a path from another. Read whole: size and time would miss some changes."""
    from hashlib import blake2b

    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return "l" + blake2b(os.fsencode(os.readlink(path)), digest_size=16).hexdigest()
        if not stat.S_ISREG(status.st_mode):
            return "d" if stat.S_ISDIR(status.st_mode) else "o"
        digest = blake2b(digest_size=16)
        # O_NONBLOCK: by now a pipe may stand where the file was.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb", 0) as file:
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


# --- asking git -----------------------------------------------------------------------------------------------------


def ask(folder: str, *words: str, limit: int | None = None) -> bytes | None:
    """What git answers, no more than `limit` bytes of it; None where it fails, takes too long or is not there."""
    import signal
    import subprocess
    import threading

    try:
        process = subprocess.Popen(
            ["git", *QUIETLY, "-C", folder, *words],
            env={**environment(), "GIT_LITERAL_PATHSPECS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a filter that it starts is ended with it
        )
    except OSError:
        return None

    def end() -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(TIME_LIMIT, end)
    timer.daemon = True
    timer.start()
    try:
        assert process.stdout is not None
        with process.stdout as stream:
            answer = stream.read() if limit is None else stream.read(limit)
        if limit is not None and len(answer) == limit:
            end()
            process.wait()
            return answer
        return answer if process.wait() == 0 else None
    except BaseException:
        end()
        process.wait()
        raise
    finally:
        timer.cancel()


def environment() -> dict[str, str]:
    """What git is started with: nothing of another repository's, nobody to ask, no lock that is not needed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}


# --- between two calls ----------------------------------------------------------------------------------------------


def dump(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as plain values, for a JSON file in ASCII: a path need not be UTF-8."""
    trees = {top: {**tree._asdict(), "dirty": dict(tree.dirty)} for top, tree in snapshot.trees.items()}
    return {"trees": trees, "unknown": list(snapshot.unknown), "exclude": list(snapshot.exclude)}


def load(value: Any) -> Snapshot | None:
    """The snapshot that `dump` made these values of; None where they are anything else."""
    try:
        trees = {top: _loaded(tree) for top, tree in value["trees"].items()}
        unknown, exclude = tuple(value["unknown"]), tuple(value["exclude"])
    except (TypeError, KeyError, AttributeError):
        return None
    return Snapshot(trees, unknown, exclude) if all(isinstance(path, str) for path in unknown + exclude) else None


def _loaded(tree: Any) -> Tree:
    commit, of_commit, dirty = tree["commit"], tree["tree"], tree["dirty"]
    texts = (*dirty, *dirty.values(), *(each for each in (commit, of_commit) if each is not None))
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    return Tree(commit, of_commit, dict(dirty))
