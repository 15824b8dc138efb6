"""The halt files of single sessions: `.liza/stopped/SESSION`.

The folder exists only while a session is stopped or due a warning, so that a hook, which cannot read who is calling,
has one question to ask. A file says in plain lines what a person wants to know; a session is stopped by its name, or by
that of the session that started it. The hot path imports this: standard library only.
"""

import os
from typing import NamedTuple

from liza.errors import Unwritable
from liza.store import files

STOP, WARN = "stop", "warn"
_LONGEST = 4096
_FIELDS = ("session", "action", "trip", "pattern", "reason")


class SessionHalt(NamedTuple):
    session: str
    action: str  # stop or warn; a file that does not say is a stop
    reason: str
    pattern: str = ""
    trip: str = ""
    time: str = ""


def write_session_halt(folder: str, name: str, halt: SessionHalt) -> None:
    """Stop or warn a session. `name` is its name as a file; a stop is never replaced by a warning.

    What is no file of ours is put aside; `Unwritable` if the session is not halted.
    """
    if halt.action == WARN and (there := read_session_halt(folder, name)) is not None and there.action == STOP:
        return
    lines = [halt.time, *(f"{field}: {' '.join(str(getattr(halt, field)).split())}" for field in _FIELDS)]
    raw = "\n".join(line for line in lines if not line.endswith(": ")).encode("utf-8", "replace")[:_LONGEST] + b"\n"
    for last in (False, True):
        try:
            files.make_folder(folder)
            files.write_atomically(os.path.join(folder, name), raw, durable=halt.action == STOP)
            return
        except OSError as error:
            # Without the folder: it was removed in between, because it had become empty.
            if last or not (isinstance(error, FileNotFoundError) or _put_aside(folder, name)):
                message, hint = f"the session cannot be halted: {error.strerror}", f"look at {folder}"
                raise Unwritable(message, hint=hint, file=os.path.join(folder, name)) from None


def _put_aside(folder: str, name: str) -> bool:
    """Whether something that an agent put there was in the way, and is no longer."""
    from liza.store.paths import Paths
    from liza.store.spool import put_aside

    board, own = os.path.split(folder)
    is_ours = os.path.isdir(folder) and not os.path.islink(folder)
    above, odd = (folder, name) if is_ours else (board, own)
    if is_ours and not os.path.isdir(os.path.join(folder, name)):
        return False
    try:
        put_aside(Paths(board), above, odd)
    except OSError:
        return False
    return True


def read_session_halt(folder: str, name: str) -> SessionHalt | None:
    """The halt file of a session; None if there is none. One that cannot be read is a stop."""
    try:
        lines = files.read(os.path.join(folder, name), _LONGEST).decode(errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return SessionHalt(name, STOP, f"its halt file cannot be read: {error.strerror}")
    said = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    return SessionHalt(
        session=said.get("session", name),
        action=WARN if said.get("action") == WARN else STOP,
        reason=said.get("reason", ""),
        pattern=said.get("pattern", ""),
        trip=said.get("trip", ""),
        time=lines[0] if lines else "",
    )


def list_session_halts(folder: str) -> list[SessionHalt]:
    """All that are there; none where no session is stopped or warned."""
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return []
    return [halt for name in names if (halt := read_session_halt(folder, name)) is not None]


def remove_session_halt(folder: str, name: str) -> None:
    """End a stop, or a warning that was given; the last one takes the folder with it."""
    try:
        if os.path.isdir(os.path.join(folder, name)):
            _put_aside(folder, name)
        files.remove(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:  # not there, or others are stopped
        pass
