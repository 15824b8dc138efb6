"""How many files changed from the end of one iteration to the end of the next, across two calls of a command."""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.rules.evaluate import RuleSet
from liza.scopes.loops.evaluate import file_of
from liza.scopes.loops.record import Iteration, Recorded, record
from liza.scopes.loops.settings import Settings
from liza.store import files
from liza.store.board import Board
from liza.store.files import make_folder, open_fd, write_atomically
from liza.store.paths import Paths


class Measured(NamedTuple):
    """What was measured; kept for the next time once the iteration is recorded."""

    files_changed: int | None
    path: str
    now: Any  # a snapshot as JSON, or None

    def keep(self) -> None:
        """An iteration whose end cannot be kept makes the next one unknown, and nothing worse."""
        import json

        with suppress(OSError):
            if self.now is None:
                files.remove(self.path)
                return
            folder = os.path.dirname(self.path)
            for each in (os.path.dirname(folder), folder):
                make_folder(each)
            write_atomically(self.path, json.dumps(self.now).encode())


def recorded(
    board: Board, name: str, iteration: Iteration, workdirs: Sequence[str], rules: RuleSet, settings: Settings,
    now: datetime,
) -> Recorded:  # fmt: skip
    """Record one iteration; where nobody says how many files changed, that is measured in the work trees."""
    if iteration.files_changed is not None:
        done = record(board, name, iteration, rules, settings, now)
        forget(board.paths, name)
        return done
    measured = measure(board.paths, name, workdirs)
    done = record(board, name, iteration._replace(files_changed=measured.files_changed), rules, settings, now)
    measured.keep()
    return done


def measure(paths: Paths, loop: str, workdirs: Sequence[str]) -> Measured:
    """Compare the work trees with how the last iteration of this loop left them; the first has nothing to compare."""
    import json  # these are what a caller who knows how many files changed does not pay for

    from liza.git import snapshot
    from liza.git.own_output import output_files, without

    for folder in workdirs:
        if not os.path.isdir(folder):
            raise Refused(f"--workdir names {folder}, which is no folder", hint="name a git work tree")
    path = _path(paths, loop)
    roots = [os.path.abspath(each) for each in workdirs] or [os.path.dirname(os.path.abspath(paths.folder))]
    now = snapshot.snapshot(roots, work_only=True)
    before = None
    with suppress(OSError, ValueError, AttributeError), open(path, encoding="utf-8", opener=open_fd) as file:
        kept = json.load(file)
        before = (
            snapshot.load(kept) if kept.get("roots") == roots else None
        )  # other work trees tell nothing about these
    if before is not None and not before.work_only:
        before = None  # an older version took what tools generate for work
    changed = without(snapshot.changed(before, now), output_files())
    count = None if changed is None else len(changed)
    return Measured(count, path, None if now is None else {**snapshot.dump(now), "roots": roots})


def forget(paths: Paths, loop: str) -> None:
    """Nobody has measured the end of the last iteration, so the next one has nothing to be compared with."""
    with suppress(OSError):
        files.remove(_path(paths, loop))


def _path(paths: Paths, loop: str) -> str:
    return f"{file_of(paths, loop)}.snapshot.json"
