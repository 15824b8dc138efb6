"""Whether a shell command has changed files: agents also edit with `sed -i`, `git apply`, or a script of their own.

The command does not say so reliably, so the times of files do: those that git tracks, and for a here-document those
that the command names. Any other file that a command writes is its output, not an edit.
"""

import os
import re
import stat
from collections.abc import Iterator

from liza.git.index import tracked_files
from liza.store.locate import FOLDER, work_tree

SLACK = 2.0  # seconds between the end of a command and its event, at most
UNKNOWN = 10.0  # seconds that a command counts as having taken if its client does not say
_WORD = re.compile(r"[\w./~+@%-]{1,400}")
_WORDS = 200
_TEXT = "<<"


def changed_files(command: str, folder: str, end_ns: int, seconds: float | None) -> bool:
    """Whether a file was changed while a command ran in a folder, whose event was written at `end_ns`."""
    if not os.path.isabs(folder):
        return False
    start_ns = end_ns - int(((UNKNOWN if seconds is None else seconds) + SLACK) * 1e9)
    return any(start_ns <= _mtime(path) <= end_ns for path in _candidates(command, folder))


def _candidates(command: str, folder: str) -> Iterator[str]:
    for word in dict.fromkeys(_WORD.findall(command)[:_WORDS] if _TEXT in command else ()):
        if FOLDER not in word.split("/"):
            yield os.path.join(folder, word)
    found = work_tree(folder)
    if found is not None:
        top, git = found
        yield from (f"{top}/{name}" for name in tracked_files(git) if not name.startswith(f"{FOLDER}/"))


def _mtime(path: str) -> int:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return 0
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) else 0
