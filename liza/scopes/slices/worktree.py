"""Where a slice is worked on: the working tree that a command is about, what was changed in it, and where it began.

This joins git, which knows the working tree, to the blackboard, which knows the slice.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused
from liza.git import worktree
from liza.git.base import Base
from liza.git.capture import capture_base, delete_base, read_base
from liza.git.kept_snapshot import Measured
from liza.model import MAPPINGS
from liza.scopes.change import read_usable
from liza.scopes.records import list_of, mappings_of
from liza.scopes.slices import touched_files
from liza.scopes.slices.fields import ACTIVE, SLICES, STOPPED, find_test, named_tests, status_of
from liza.scopes.slices.record import SliceResult
from liza.scopes.slices.rollback_bases import recorded_base
from liza.store.board import Board
from liza.store.paths import Paths
from liza.text import escape_surrogates


class Site(NamedTuple):
    """What a command has found out before the blackboard is changed."""

    folder: str
    checkpoint: Base | None = None
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    seen: Measured | None = None

    def leave(self, done: SliceResult) -> None:
        """Keep what the next attempt is compared with; and no checkpoint that the slice does not have."""
        if self.seen is not None and not done.is_stopped:
            self.seen.keep()
        used = {recorded_base(each).about.get("ref") for each in (done.record, *mappings_of(done.record, "tests"))}
        if self.checkpoint is not None and self.checkpoint.ref not in (None, *used):
            delete_base(self.folder, str(self.checkpoint.ref))


def arrive(board: Board, name: str, test: str, workdir: str | None) -> Site:
    """Before a test is started: where the slice begins, if this is its beginning."""
    record = _record(board, name)
    if workdir is not None and not os.path.isdir(workdir):
        raise Refused(f"--workdir {workdir} is not a folder", hint="name a folder in the git worktree")
    folder = _folder(board.paths, record, workdir)
    if status_of(record) != ACTIVE:
        return Site(folder)
    root = board.paths.project
    begins = not list_of(record, "attempts") and not record.get("checkpoint")
    late = bool(list_of(record, "attempts")) and not record.get("checkpoint") and not record.get("checkpoint_tag")
    is_new = not late and not find_test(record, test).get("checkpoint_tag")
    # The blackboard may name any folder: in another repository nothing is written that the caller has not asked for.
    is_own = workdir is not None or not _recorded(board.paths, record) or _is_own(folder, root)
    found = capture_base(folder, root, name) if (begins or is_new) and is_own else read_base(folder, root)
    notes = found.notes if begins and not named_tests(record) else ()
    if late:
        notes = ("no base: attempts were recorded before the first start, so there is no commit to roll back to",)
    seen = touched_files.since_last_attempt(board.paths, name, folder)
    return Site(folder, found.base, notes, seen.files or (), seen)


def resume(board: Board, name: str, files: Sequence[str], *, measure: bool) -> Site:
    """After a test was run: which files the attempt changed, as it reports or as git does."""
    if not measure and not files:
        return Site(board.paths.project)
    record = _record(board, name)
    folder = _folder(board.paths, record, None)
    if not measure or status_of(record) != ACTIVE:
        return Site(folder, files=_relative(files, folder, board.paths))
    seen = touched_files.since_last_attempt(board.paths, name, folder)
    named = _relative(files, folder, board.paths) if files else seen.files or ()
    return Site(folder, files=named, seen=seen)


def named(board: Board, record: Mapping[str, Any], files: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The top of the working tree, or what takes its place, and files as they are called from there."""
    folder = _folder(board.paths, record, None)
    tree = worktree.find(folder)
    top = tree.top if tree is not None else board.paths.project
    return top, _relative([escape_surrogates(file) for file in files], folder, board.paths)


def changed(board: Board, name: str, record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The working tree of a slice, and what it has changed since it began."""
    return touched_files.since_base(record, name, board.paths.project)


def look_around(board: Board, name: str) -> None:
    """What is there now is what the next attempt is compared with."""
    touched_files.since_last_attempt(board.paths, name, _folder(board.paths, _record(board, name), None)).keep()


def _record(board: Board, name: str) -> Mapping[str, Any]:
    """The slice as it is; nothing where it cannot be read: the change that follows reports why."""
    try:
        return read_usable(board.read(), SLICES, name) or {}
    except LizaError:
        return {"status": STOPPED}


def _folder(paths: Paths, record: Mapping[str, Any], workdir: str | None) -> str:
    """The working tree of a slice: that of its base, else the one around us, else the one around the blackboard."""
    if workdir is not None:
        return os.path.abspath(workdir)
    if (recorded := _recorded(paths, record)) is not None:
        return recorded
    return os.getcwd() if worktree.find(os.getcwd()) is not None else paths.project


def _recorded(paths: Paths, record: Mapping[str, Any]) -> str | None:
    about = record.get("checkpoint")
    given = about.get("work_tree") if isinstance(about, MAPPINGS) else None
    folder = os.path.normpath(os.path.join(paths.project, given)) if isinstance(given, str) else None
    return folder if folder is not None and os.path.isdir(folder) else None


def _is_own(folder: str, root: str) -> bool:
    tree = worktree.find(folder)
    return tree is not None and worktree.is_of_repository(tree, root)


def _relative(files: Sequence[str], folder: str, paths: Paths) -> tuple[str, ...]:
    """Paths as they are in the working tree; one from elsewhere stays as it was given."""
    tree = worktree.find(folder) if files else None
    top = os.path.realpath(tree.top if tree is not None else paths.project)
    found = []
    for file in files:
        path = os.path.relpath(os.path.join(os.path.realpath(os.getcwd()), file), top)
        found.append(file if path.startswith("../") else path)
    return tuple(dict.fromkeys(found))
