"""Whether the agents are halted: is there a CHECKPOINT?

Agents' hooks call this before every action, so it imports only what finds the blackboard.
"""

import os

from liza.store import locate


def halt_reason(root: str | None = None) -> tuple[str, str] | None:
    """Why the agents are halted, and what to do about it; None if work may continue.

    The blackboard is that of `root`, else of LIZA_ROOT, else the nearest one upward. Without any, nothing is halted.
    One that was named and is missing halts, because its state is unknown; so does one whose owner is not trusted.
    """
    origin = "" if root else ", which LIZA_ROOT names"
    root = root or os.environ.get("LIZA_ROOT")
    try:
        folder = locate.find(root)
    except locate.Unusable as error:
        return error.why, error.hint
    if folder is None:
        return (
            (f"no .liza/ in {root}{origin}", f"create one: mkdir -p {root} && liza init --root {root}")
            if root
            else None
        )
    halt = _halt_in(folder)
    if halt is None and (other := locate.passed_over(folder, root)) is not None:
        halt = _halt_in(other)
    if halt is None:
        return None
    path, status = halt
    lines = _lines(path)
    reason = printable(", ".join(line for line in lines[:3] if line.strip()))
    hint = "a person created it; wait until they remove it"
    if marker_trip_id(status) is not None or any(line.startswith("trip: ") for line in lines):
        hint = (
            "wait until a person has read .liza/circuit_breaker_report.md and run: liza resolve -m 'what was decided'"
        )
    elif any(line.startswith("degraded: ") for line in lines[1:2]):
        hint = "wait: the halt ends by itself once the blackboard can be evaluated; to see what is wrong: liza status"
    elif any(line.startswith("partition: ") for line in lines[1:2]):
        hint = "wait: the halt ends by itself once this host reaches its team again; to see why: liza team status"
    return f"halted by {path}{f' ({reason})' if reason else ''}", hint


def _halt_in(folder: str) -> tuple[str, os.stat_result] | None:
    """The CHECKPOINT in a blackboard: a file, a folder or a dangling link, each halts."""
    path = os.path.join(folder, "CHECKPOINT")
    try:
        return path, os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def marker_trip_id(status: os.stat_result) -> str | None:
    """The trip of an empty CHECKPOINT, which is all that can be made on a full disk; None for any other file.

    Its mtime, in January 1970, then holds the trip id as nanoseconds. A whole second is not an id: tools that normalise
    times set those.
    """
    moment = status.st_mtime_ns
    return f"{moment:012x}" if status.st_size == 0 and 0 < moment < 1 << 48 and moment % 1_000_000_000 else None


def trip_id_of(path: str) -> str | None:
    """The trip id that a CHECKPOINT carries; None where there is none, or a person made it."""
    from liza.model import is_trip_id  # not needed by the gate, for which any CHECKPOINT is a halt

    try:
        status = os.lstat(path)
    except OSError:
        return None
    if (marked := marker_trip_id(status)) is not None:
        return marked
    ids = [line.removeprefix("trip: ").strip() for line in _lines(path) if line.startswith("trip: ")]
    return ids[0] if ids and is_trip_id(ids[0]) else None


def _lines(path: str) -> list[str]:
    """The lines of the file; none where it cannot be read."""
    from liza.store import files  # only needed once halted

    try:
        fd = files.open_fd(path, single_link=False)  # it has two names for a moment while it is made
        try:
            return os.read(fd, 4096).decode(errors="replace").splitlines()
        finally:
            os.close(fd)
    except OSError:
        return []


def printable(text: str) -> str:
    """The text for a terminal. liza.text has a better one, whose imports are too slow for a gate."""
    return "".join(c if c.isprintable() else "?" for c in text)
