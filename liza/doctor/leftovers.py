"""Files left behind by interrupted writes. The next write would remove them; so does --fix."""

import os
import re
from collections.abc import Iterator
from datetime import datetime

from liza.doctor.finding import Finding, Level
from liza.store import files, replace
from liza.store.board import Board
from liza.store.lock import Lock, is_locked
from liza.store.paths import Paths
from liza.text import shell_quoted, some_of

_DRAFT = re.compile(r"\.(?:.+\.(\d+)-\d+\.new|CHECKPOINT\.(\d+)-\d+\.aside)")
_SWAP = re.compile(r"\.(?:state|log)\.yaml\.[0-9a-f]+-[0-9a-f]+(?:-[0-9a-f]+)?\.swap")
_PATIENCE = 2.0


def leftovers(paths: Paths, now: datetime) -> Iterator[Finding]:
    """Drafts of processes that have ended, and versions of other programs rescued from an interrupted write."""
    left = _left(paths)
    if left:
        text = (
            f"left behind by interrupted writes: {some_of([os.path.relpath(each, paths.folder) for each in left], 3)}"
        )
        yield Finding("leftovers", Level.WARNING, text, "liza doctor --fix", fix=lambda: _sweep(paths))
    saved = [name for name in _names(paths.backups) if ".rescued-" in name]
    if saved:
        newest = os.path.join(paths.backups, saved[-1])
        own = os.path.join(paths.folder, saved[-1].partition(".rescued-")[0])
        text = f"another program's {os.path.basename(own)}, rescued from an interrupted write ({len(saved)} in all)"
        hint = f"see what is missing: diff {shell_quoted(newest)} {shell_quoted(own)}   (then move it away)"
        yield Finding("leftovers", Level.WARNING, text, hint, newest)
    if not left and not saved:
        yield Finding("leftovers", Level.OK, "none")


def _left(paths: Paths) -> list[str]:
    folders = dict.fromkeys((paths.folder, os.path.dirname(os.path.realpath(paths.state)), paths.reports, paths.inbox))
    found = [os.path.join(folder, name) for folder in folders for name in _names(folder) if _is_left(name)]
    swaps = [path for path in found if path.endswith(".swap")]
    if swaps and is_locked(paths.lock):  # no process is in their names: they may be of a write in progress
        found = [path for path in found if path not in swaps]
    return [path for path in found if os.path.lexists(path)]


def _is_left(name: str) -> bool:
    draft = _DRAFT.fullmatch(name)
    return _SWAP.fullmatch(name) is not None if draft is None else not files.is_alive(int(draft[1] or draft[2]))


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _sweep(paths: Paths) -> str:
    """Clean up as the next write would: delete drafts, restore a halt moved aside, rescue others' versions."""
    before = _left(paths)
    with Lock(paths.lock, _PATIENCE):
        rescued = replace.sweep(paths.state, paths.backups) + replace.sweep(paths.log, paths.backups)
    Board(paths).sweep()
    gone = len(before) - len(_left(paths))
    saved = "".join(f"; rescued what another program had written: {path}" for path in rescued)
    return f"removed {gone} of {len(before)} leftover files of interrupted writes{saved}"
