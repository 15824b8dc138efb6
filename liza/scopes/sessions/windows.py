"""All sessions of a blackboard, read from their files; a file that has grown is read from where the last look ended."""

import time
from typing import NamedTuple

from liza.scopes.sessions.window import Window
from liza.store import steps
from liza.store.paths import Paths

ACTIVE = 86_400.0  # seconds; a session without a step for longer is not evaluated


class _Read(NamedTuple):
    """How far a file was read."""

    inode: int
    end: int
    session: str


class Windows:
    """The sessions that were active lately, by their id."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.sessions: dict[str, Window] = {}
        self._read: dict[str, _Read] = {}

    def refresh(self) -> frozenset[str]:
        """Read what is new; returns the sessions that have new steps."""
        changed: set[str] = set()
        limit = time.time_ns() - int(ACTIVE * 1e9)
        kept = {each.name: each for each in steps.list_files(self.paths) if each.ns >= limit and not each.is_older}
        for name in self._read.keys() - kept.keys():
            self.sessions.pop(self._read.pop(name).session, None)
        for name, file in kept.items():
            known = self._read.get(name)
            if known is not None and (known.inode, known.end) == (file.inode, file.size):
                continue
            if known is not None and known.inode == file.inode and known.end < file.size:
                found = steps.read_from(self.paths, name, known.end)
            else:  # not read before, or begun anew because it had become large
                found = steps.read_tail(self.paths, name)
            self._take(name, found, changed)
        return frozenset(changed)

    def _take(self, name: str, found: steps.Read, changed: set[str]) -> None:
        for line in found.lines:
            session = line.get("session")
            if not isinstance(session, str) or steps.step_file(session) != name:
                continue  # a line that an agent put there for another session
            window = self.sessions.setdefault(session, Window(session))
            window.add(line)
            changed.add(session)
        session = next((each for each in self.sessions if steps.step_file(each) == name), "")
        self._read[name] = _Read(found.inode, found.end, session)
