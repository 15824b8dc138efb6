"""Whether the agents are halted: is there a CHECKPOINT?

Agents' hooks ask this before every action, so it imports next to nothing: what finds the blackboard, and little of
Python.
"""

import os

from liza.store import locate


def halt_reason(root: str | None = None) -> tuple[str, str] | None:
    """Why nobody may go on, and what to do about it; None if work may go on.

    The blackboard is that of `root`, else of LIZA_ROOT, else the nearest one upward. Where nobody named one and there
    is none, nobody is halted. One that was named and is not there stops everybody, for nobody can tell what it says;
    so does one that must not be used unasked.
    """
    root = root or os.environ.get("LIZA_ROOT")
    try:
        folder = locate.find(root)
    except locate.Unusable as error:
        return error.why, error.hint
    if folder is None:
        return (
            (f"there is no .liza/ in {root}, the root", f"make one with: mkdir -p {root} && liza init --root {root}")
            if root
            else None
        )
    path = os.path.join(folder, "CHECKPOINT")
    try:
        status = os.lstat(path)  # whatever it is, file, folder or dangling link: it is there
    except (FileNotFoundError, NotADirectoryError):
        return None
    lines = _lines(path)
    reason = printable(", ".join(line for line in lines[:3] if line.strip()))
    hint = "wait; a human made it, and removes it when work may go on"
    if marker_trip_id(status) is not None or any(line.startswith("trip: ") for line in lines):
        hint = "wait; a human reads .liza/circuit_breaker_report.md and runs: liza resolve -m 'what was decided'"
    elif any(line.startswith("degraded: ") for line in lines[1:2]):
        hint = "wait; the halt ends by itself once the blackboard can be judged; to see what is wrong: liza status"
    return f"halted by {path}{f' ({reason})' if reason else ''}", hint


def marker_trip_id(status: os.stat_result) -> str | None:
    """The trip of an empty CHECKPOINT, which is all that can be made on a full disk; None for any other file.

    Whose it is stands in its time then, in January 1970: the nanoseconds are the trip id. A whole second is none: that
    is what tools set which want the same times everywhere.
    """
    moment = status.st_mtime_ns
    return f"{moment:012x}" if status.st_size == 0 and 0 < moment < 1 << 48 and moment % 1_000_000_000 else None


def trip_id_of(path: str) -> str | None:
    """The trip id that a CHECKPOINT carries; None where there is none, or a human made it."""
    from liza.model import is_trip_id  # the gate, which is halted whatever the file says, does not ask

    try:
        status = os.lstat(path)
    except OSError:
        return None
    if (marked := marker_trip_id(status)) is not None:
        return marked
    ids = [line.removeprefix("trip: ").strip() for line in _lines(path) if line.startswith("trip: ")]
    return ids[0] if ids and is_trip_id(ids[0]) else None


def _lines(path: str) -> list[str]:
    """What the file says of itself, if it is one that can be read."""
    from liza.store import files  # only for who is halted, and it imports nothing else

    try:
        fd = files.open_fd(path, single_link=False)  # it has two names for a moment when it is made
        try:
            return os.read(fd, 4096).decode(errors="replace").splitlines()
        finally:
            os.close(fd)
    except OSError:
        return []


def printable(text: str) -> str:
    """For a terminal: liza.text has a better one, and imports for it what a gate has no time for."""
    return "".join(c if c.isprintable() else "?" for c in text)
