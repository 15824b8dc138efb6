"""Which transcripts of a client were written since the last look.

People keep thousands of them. A look costs one call of the system for each folder and for each file that was written in
the last day; the others take turns. A file that is there at the first look counts as written if it was of late.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from liza.clients.install import CLIENTS, client_folder
from liza.clients.transcript import FOLLOWED
from liza.errors import Refused

RECENT = 3600.0  # seconds; what was written before is not read until it is written again
HOT = 86_400.0  # seconds; what was written since is looked at each time
MOST_HOT = 300
COLD_LOOKS = 200  # files of the others at each look
FIRST = 50  # files that the first look reports, the newest ones
_RACE = 2_000_000_000  # nanoseconds in which a folder may change twice and show one time
_SUBAGENTS = "subagents"  # beside a transcript of Claude Code, in a folder named like it
_ENDING = ".jsonl"


class Found(NamedTuple):
    """A transcript that was written."""

    client: str
    path: str


class _Seen(NamedTuple):
    """A file as it was at the last look."""

    client: str
    ns: int
    size: int
    inode: int


class TranscriptFiles:
    """The transcripts of this user."""

    def __init__(self) -> None:
        self._folders: dict[str, tuple[str, int]] = {}  # the client, and how many levels are below
        self._listed: dict[str, int] = {}  # the times that folders had when they were listed
        self._hot: dict[str, _Seen] = {}
        self._cold: dict[str, _Seen] = {}
        self._turns: deque[str] = deque()  # of files and folders that take turns
        self._foreign: dict[str, int] = {}  # files of other projects, by their inode
        self._is_first = True
        self._dated: set[str] = set()  # clients with a folder for each day or session
        for name in FOLLOWED:
            with suppress(Refused):  # a user without a home folder has no transcripts
                kept = CLIENTS[name].transcripts
                if kept is None:
                    continue
                top, *inner = kept.files.split("/")
                self._folders[os.path.join(client_folder(name), top)] = (name, len(inner) - 1 + kept.below)
                if kept.is_dated:
                    self._dated.add(name)

    def look(self) -> list[Found]:
        """The files that were written since the last look, those that were written first at the front."""
        now = time.time_ns()
        changed: dict[str, _Seen] = {}
        for path in self._due_folders(now):
            self._list(path, now, changed)
        for path in (*self._hot, *self._next_cold()):
            self._look_at(path, changed)
        found = sorted(changed.items(), key=lambda item: item[1].ns)
        if self._is_first:
            self._is_first = False
            found = [each for each in found if each[1].ns >= now - int(RECENT * 1e9)][-FIRST:]
        self._sort_out(now)
        return [Found(seen.client, path) for path, seen in found]

    def leave(self, path: str) -> None:
        """Look no more at a file: it is of another project."""
        seen = self._hot.pop(path, None) or self._cold.pop(path, None)
        if seen is not None:
            self._foreign[path] = seen.inode
            self._leave_subagents(path)

    # --- folders ------------------------------------------------------------------------------------------------------

    def _due_folders(self, now: int) -> list[str]:
        """All but those of single days or sessions in the past, where no new file comes."""
        return [path for path, (client, _) in self._folders.items() if not self._is_past_day(path, client, now)]

    def _is_past_day(self, path: str, client: str, now: int) -> bool:
        is_day = self._folders[path][1] == 0 and client in self._dated
        return is_day and 0 < self._listed.get(path, 0) < now - 2 * int(HOT * 1e9)

    def _list(self, path: str, now: int, changed: dict[str, _Seen]) -> None:
        client, levels = self._folders[path]
        try:
            ns = os.stat(path).st_mtime_ns
            if self._listed.get(path) == ns:
                return
            with os.scandir(path) as entries:
                inner = list(entries)
        except OSError:
            self._listed.pop(path, None)
            return
        self._listed[path] = 0 if abs(now - ns) < _RACE else ns
        for entry in inner:
            if levels and entry.is_dir(follow_symlinks=False):
                if entry.path not in self._folders:
                    self._folders[entry.path] = (client, levels - 1)
                    self._list(entry.path, now, changed)
            elif entry.name.endswith(_ENDING) and not self._is_known(entry.path):
                self._look_at(entry.path, changed, client)

    def _is_known(self, path: str) -> bool:
        return path in self._hot or path in self._cold

    # --- files --------------------------------------------------------------------------------------------------------

    def _look_at(self, path: str, changed: dict[str, _Seen], client: str = "") -> None:
        before = self._hot.get(path) or self._cold.get(path)
        try:
            status = os.stat(path, follow_symlinks=False)
        except OSError:
            self._hot.pop(path, None)
            self._cold.pop(path, None)
            return
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return
        seen = _Seen(before.client if before else client, status.st_mtime_ns, status.st_size, status.st_ino)
        if seen != before and self._foreign.get(path) != seen.inode:
            self._foreign.pop(path, None)
            self._cold.pop(path, None)
            self._hot[path] = changed[path] = seen
        if path in self._hot and seen.client == "claude" and time.time_ns() - seen.ns < HOT * 1e9:
            folder = _subagents_of(path)
            if folder not in self._folders and os.path.isdir(folder):
                self._folders[folder] = (seen.client, 0)

    def _next_cold(self) -> Iterator[str]:
        if not self._turns:
            self._turns.extend(self._cold)
        for _ in range(min(COLD_LOOKS, len(self._turns))):
            path = self._turns.popleft()
            if path in self._cold:
                yield path

    def _sort_out(self, now: int) -> None:
        """Files that were not written for long take turns from now on, and the folders of their subagents go."""
        limit = now - int(HOT * 1e9)
        old = [path for path, seen in self._hot.items() if seen.ns < limit]
        if len(self._hot) - len(old) > MOST_HOT:
            old = sorted(self._hot, key=lambda path: self._hot[path].ns)[:-MOST_HOT]
        for path in old:
            self._cold[path] = self._hot.pop(path)
            self._leave_subagents(path)

    def _leave_subagents(self, path: str) -> None:
        folder = _subagents_of(path)
        if self._folders.pop(folder, None) is not None:
            self._listed.pop(folder, None)


def _subagents_of(path: str) -> str:
    return os.path.join(path.removesuffix(_ENDING), _SUBAGENTS)
