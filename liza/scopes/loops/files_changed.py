"""How many files changed between the ends of two iterations, measured across two runs of a command."""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from liza.errors import Refused
from liza.rules.evaluate import RuleSet
from liza.scopes.change import path_prefix
from liza.scopes.loops.fields import LOOPS
from liza.scopes.loops.record import Iteration, LoopResult, record_iteration
from liza.scopes.loops.settings import Settings
from liza.store import files as stored
from liza.store.board import Board
from liza.store.inbox import Recording
from liza.store.paths import Paths

if TYPE_CHECKING:
    from liza.git.kept_snapshot import Measured


def record_measured(
    board: Board, name: str, iteration: Iteration, workdirs: Sequence[str], rules: RuleSet, settings: Settings,
    now: datetime,
) -> Recording[LoopResult]:  # fmt: skip
    """Record one iteration; without a number of changed files, measure it in the worktrees."""
    if iteration.files_changed is not None:
        recording = record_iteration(board, name, iteration, rules, settings, now)
        return recording.then(lambda: delete_snapshot(board.paths, name))
    measured = measure_files_changed(board.paths, name, workdirs)
    counted = iteration._replace(files_changed=None if measured.files is None else len(measured.files))
    return record_iteration(board, name, counted, rules, settings, now).then(measured.keep)


def measure_files_changed(paths: Paths, loop: str, workdirs: Sequence[str]) -> "Measured":
    """Compare the worktrees with how the last iteration left them; the first has nothing to compare with."""
    from liza.git import snapshot  # a caller that gives the number does not pay for these
    from liza.git.kept_snapshot import Measured, read_snapshot
    from liza.git.own_output import exclude_files, output_files

    for folder in workdirs:
        if not os.path.isdir(folder):
            raise Refused(f"--workdir {folder}: not a folder", hint="name a git worktree")
    path = _snapshot_path(paths, loop)
    roots = [os.path.abspath(each) for each in workdirs] or [paths.project]
    now = snapshot.snapshot(roots, work_only=True)
    kept = read_snapshot(path)
    # A snapshot of other worktrees cannot be compared with these, nor can one of an older version, which counted the
    # output of tools as work.
    is_comparable = isinstance(kept, dict) and kept.get("roots") == roots
    before = snapshot.load(kept) if is_comparable else None
    if before is not None and not before.work_only:
        before = None
    changed = exclude_files(snapshot.changed(before, now), output_files())
    files = None if changed is None else tuple(changed)
    return Measured(files, path, None if now is None else {**snapshot.dump(now), "roots": roots})


def delete_snapshot(paths: Paths, loop: str) -> None:
    """The end of the last iteration was not measured, so the next one has nothing to compare with."""
    with suppress(OSError):
        stored.remove(_snapshot_path(paths, loop))


def _snapshot_path(paths: Paths, loop: str) -> str:
    return f"{path_prefix(paths, LOOPS, loop)}.snapshot.json"
