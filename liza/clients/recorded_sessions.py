"""Sessions as clients themselves have recorded them, to compare with those that hooks have reported.

Only the beginning of a transcript is read: which session it is, where it ran, and the client's version.
"""

import glob
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from liza.clients.install import CLIENTS, client_folder

_HEAD = 1 << 16  # bytes
_MOST = 50  # files of one client, the newest first


class Recorded(NamedTuple):
    """A session that a client has recorded."""

    client: str
    session: str
    cwd: str
    version: str | None
    ns: int  # when the transcript was last written
    file: str


def recorded_sessions(client: str, since_ns: int) -> Iterator[Recorded]:
    """The sessions of which a client has written since then, the newest first."""
    kept = CLIENTS[client].transcripts
    if kept is None:
        return
    found: list[tuple[int, str]] = []
    for file in glob.iglob(os.path.join(glob.escape(client_folder(client)), kept.files)):
        try:
            found.append((os.stat(file).st_mtime_ns, file))
        except OSError:
            continue
    for ns, file in sorted(found, reverse=True)[:_MOST]:
        if ns < since_ns:
            return
        head = _head(file)
        session = _first(kept.session, head)
        folder = _head(os.path.join(os.path.dirname(file), kept.root)).decode(errors="replace").strip()
        where = folder if kept.root else _first(kept.cwd, head)
        if session is not None and where:
            yield Recorded(client, session, where, _first(kept.version, head) if kept.version else None, ns, file)


def _head(file: str) -> bytes:
    try:
        with open(file, "rb") as stream:
            return stream.read(_HEAD)
    except OSError:  # also a folder
        return b""


def _first(pattern: bytes, head: bytes) -> str | None:
    found = re.search(pattern, head)
    return found[1].decode(errors="replace") if found is not None else None


def is_newer(version: str, tested: str) -> bool:
    """Whether a version is newer than another, by its numbers."""
    return _numbers(version) > _numbers(tested)


def _numbers(version: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", version)[:3]]
