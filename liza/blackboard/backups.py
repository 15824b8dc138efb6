"""Copies of `state.yaml` from before a change of state, for the day on which it cannot be read.

They are never put back by liza: a copy is older than what others have written since. An error names the last one, and
the command that restores it.
"""

import os
from datetime import datetime

from liza.blackboard.paths import Paths
from liza.blackboard.storage import make_folder
from liza.errors import Refused

KEPT = 10


def keep(paths: Paths, raw: bytes, now: datetime) -> None:
    """Keep the bytes of a blackboard that is about to change; the oldest copies go."""
    try:
        make_folder(paths.backups)
        path = os.path.join(paths.backups, f"state-{now:%Y%m%dT%H%M%SZ}.yaml")
        draft = f"{path}.{os.getpid()}.new"
        with open(draft, "wb") as file:  # not forced to the disk: after a crash of the machine an older one will do
            file.write(raw)
        os.replace(draft, path)
        for name in _all(paths)[:-KEPT]:
            os.unlink(os.path.join(paths.backups, name))
    except FileNotFoundError:
        pass  # somebody else was rotating at the same moment
    except OSError as error:
        hint = f"make room or permission for {paths.backups}"
        raise Refused(f"no backup could be made: {error.strerror}; nothing was changed", hint=hint) from None


def last(paths: Paths) -> str | None:
    """The newest copy, or None."""
    names = _all(paths)
    return os.path.join(paths.backups, names[-1]) if names else None


def _all(paths: Paths) -> list[str]:
    """By name, which is by time."""
    try:
        return sorted(name for name in os.listdir(paths.backups) if _is_copy(name))
    except OSError:
        return []


def _is_copy(name: str) -> bool:
    """Whether it is the name of a copy, and not of a draft or of something that a person put there."""
    day, letter, hour = name.removeprefix("state-").removesuffix("Z.yaml").partition("T")
    whole = name == f"state-{day}T{hour}Z.yaml" and letter == "T"
    return whole and (len(day), len(hour)) == (8, 6) and (day + hour).isdecimal()
