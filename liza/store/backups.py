"""Copies of `state.yaml` from before a change of state, for the day on which it cannot be read.

They are never put back by liza: a copy is older than what others have written since. An error names the last one, and
the command that restores it.
"""

import os
from contextlib import suppress
from datetime import datetime

from liza.errors import Refused
from liza.store import files
from liza.store.paths import Paths

MAX_BACKUPS = 10


def save_backup(paths: Paths, raw: bytes, now: datetime) -> None:
    """Keep the bytes of a blackboard that is about to change; the oldest copies go."""
    try:
        files.make_folder(paths.backups)
        with files.Folder(paths.backups, listed=True) as folder:
            # Not forced to the disk: after a crash of the machine an older one will do.
            folder.write_atomically(f"state-{now:%Y%m%dT%H%M%SZ}.yaml", raw, durable=False)
            for name in _copies(folder.fd)[:-MAX_BACKUPS]:
                with suppress(IsADirectoryError):  # not a copy of ours, whatever its name is
                    folder.remove(name)
    except (FileNotFoundError, NotADirectoryError, files.UnsafeFile):
        pass  # what has the name is no folder: a change does not wait for that to be fixed; the board's `stuck` says it
    except OSError as error:
        hint = f"make room or permission for {paths.backups}"
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
    """Whether it is the name of a copy, and not of a draft or of something that a person put there."""
    day, letter, hour = name.removeprefix("state-").removesuffix("Z.yaml").partition("T")
    whole = name == f"state-{day}T{hour}Z.yaml" and letter == "T"
    return whole and (len(day), len(hour)) == (8, 6) and (day + hour).isdecimal()
