"""Copies of `state.yaml` from before a change of state, in case it becomes unreadable.

liza never restores one itself: others have written since. An error names the newest copy and the command that restores
it.
"""

import os
from contextlib import suppress
from datetime import datetime

from liza.errors import Refused
from liza.store import files
from liza.store.paths import Paths

MAX_BACKUPS = 10


def save_backup(paths: Paths, raw: bytes, now: datetime) -> None:
    """Save the bytes of a blackboard that is about to change, and delete the oldest copies."""
    try:
        files.make_folder(paths.backups)
        with files.Folder(paths.backups, listed=True) as folder:
            # Not synced: after a crash of the machine an older copy will do.
            folder.write_atomically(f"state-{now:%Y%m%dT%H%M%SZ}.yaml", raw, durable=False)
            for name in _copies(folder.fd)[:-MAX_BACKUPS]:
                with suppress(IsADirectoryError):  # a folder with the name of a copy
                    folder.remove(name)
    except (FileNotFoundError, NotADirectoryError, files.UnsafeFile):
        pass  # not a folder: reported in the board's `stuck`, and no reason to refuse a change
    except OSError as error:
        hint = f"free disk space or fix the permissions of {paths.backups}"
        raise Refused(f"no backup could be made: {error.strerror}; nothing was changed", hint=hint) from None


def newest_backup(paths: Paths) -> str | None:
    """The newest copy, or None."""
    names = _all(paths)
    return os.path.join(paths.backups, names[-1]) if names else None


def _all(paths: Paths) -> list[str]:
    try:
        with files.Folder(paths.backups, listed=True) as folder:
            return _copies(folder.fd)
    except OSError:
        return []


def _copies(folder: int) -> list[str]:
    """By name, which is by time."""
    return sorted(name for name in os.listdir(folder) if _is_copy(name))


def _is_copy(name: str) -> bool:
    """Whether it is the name of a copy, not of a draft or of a person's file."""
    day, letter, hour = name.removeprefix("state-").removesuffix("Z.yaml").partition("T")
    whole = name == f"state-{day}T{hour}Z.yaml" and letter == "T"
    return whole and (len(day), len(hour)) == (8, 6) and (day + hour).isdecimal()
