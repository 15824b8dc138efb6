"""Sessions as clients themselves have recorded them, to compare with those that hooks have reported.

Only the beginning of a transcript is read: which session it is, where it ran, and the client's version.
"""

import glob
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from liza.clients.install import client_folder

TESTED = {"claude": "2.1.197", "codex": "0.169.0"}  # the newest version that liza was tested with
_HEAD = 1 << 16  # bytes
_MOST = 50  # files of one client, the newest first
_FILES = {
    "claude": (
        "projects/*/*.jsonl",
        re.compile(rb'"sessionId": ?"([^"\\]{1,100})"'),
        re.compile(rb'"version": ?"(\d[\w.-]{0,40})"'),
    ),
    "codex": (
        "sessions/*/*/*/rollout-*.jsonl",
        re.compile(rb'"session_id": ?"([^"\\]{1,100})"'),
        re.compile(rb'"cli_version": ?"(\d[\w.-]{0,40})"'),
    ),
}
_CWD = re.compile(rb'"cwd": ?"((?:[^"\\]|\\.){1,4000})"')


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
    pattern, session, version = _FILES[client]
    found: list[tuple[int, str]] = []
    for file in glob.iglob(os.path.join(glob.escape(client_folder(client)), pattern)):
        try:
            found.append((os.stat(file).st_mtime_ns, file))
        except OSError:
            continue
    for ns, file in sorted(found, reverse=True)[:_MOST]:
        if ns < since_ns:
            return
        try:
            with open(file, "rb") as stream:
                head = stream.read(_HEAD)
        except OSError:
            continue
        name, cwd, of = session.search(head), _CWD.search(head), version.search(head)
        if name is not None and cwd is not None:
            where = cwd[1].decode(errors="replace")
            yield Recorded(client, name[1].decode(errors="replace"), where, of and of[1].decode(), ns, file)


def is_newer(version: str, tested: str) -> bool:
    """Whether a version is newer than another, by its numbers."""
    return _numbers(version) > _numbers(tested)


def _numbers(version: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", version)[:3]]
