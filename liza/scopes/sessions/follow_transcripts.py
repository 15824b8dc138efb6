"""Following the transcripts of clients while their sessions run, so that trouble is seen without a hook.

Nothing is kept from one daemon to the next: a new one reads the ends of the transcripts that were written lately, and
what it finds in the sessions' files already is not entered again.
"""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from liza.clients.transcript import Transcript, new_transcript, parse_line
from liza.clients.transcript_files import Found, TranscriptFiles
from liza.errors import LizaError
from liza.scopes.sessions.progress import remember
from liza.scopes.sessions.step_window import StepWindow
from liza.scopes.sessions.tools import Tools
from liza.scopes.sessions.transcript_lines import Known, Line, events_of, lines_of, start_line
from liza.store import steps
from liza.store.locate import board_of
from liza.store.paths import Paths
from liza.store.tail import GrowingFile, read_head

EVERY = 0.25  # seconds between two looks at the least
LONGEST = 0.25  # seconds that one look may take, so that no halt waits for it; the rest comes at the next
_MOST = 300  # transcripts of which a reader is kept; another is read from its end when it is written again


class Taken(NamedTuple):
    """What came of one look."""

    lines: int = 0
    has_more: bool = False
    error: LizaError | None = None  # why lines could not be entered; they are read again


class _Followed:
    """One transcript of this blackboard."""

    def __init__(self, found: Found) -> None:
        self.client = found.client
        self.file = GrowingFile(found.path)
        self.transcript: Transcript = new_transcript(found.client, found.path)


class Follower:
    """The transcripts of the sessions of one blackboard."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self._board = os.path.realpath(paths.folder)
        self._files: TranscriptFiles | None = None
        self._followed: dict[str, _Followed] = {}
        self._waiting: dict[str, Found] = {}  # not read to their end
        self._folders: dict[str, bool] = {}  # whether sessions in a folder are of this blackboard
        self._looked = float("-inf")
        self._has_more = False

    def take(self, windows: Mapping[str, StepWindow], tools: Tools) -> Taken:
        """Enter what transcripts have got since the last look. `windows` are the sessions as their files have them."""
        if time.monotonic() - self._looked < EVERY and not self._has_more:
            return Taken()
        self._looked = time.monotonic()
        if self._files is None:
            self._files = TranscriptFiles()
        for found in self._files.look():
            self._waiting[found.path] = found
        end, lines = time.monotonic() + LONGEST, 0
        failed: dict[str, Found] = {}
        error: LizaError | None = None
        for path, found in list(self._waiting.items()):
            if time.monotonic() > end:
                break
            del self._waiting[path]
            try:
                lines += self._take(found, windows, tools)
            except OSError:
                continue  # it is gone, or something else by now
            except LizaError as why:  # a new reader finds what was entered of it
                error, failed[path] = error or why, found
                self._followed.pop(path, None)
        self._has_more = bool(self._waiting)
        self._waiting |= failed
        return Taken(lines, self._has_more, error)

    def _take(self, found: Found, windows: Mapping[str, StepWindow], tools: Tools) -> int:
        known = self._followed.pop(found.path, None)
        followed = known or self._begin(found)
        if followed is None:
            return 0
        raw = followed.file.read()
        if known is not None and known.file.is_new:  # another one has taken its place
            fresh = self._begin(found)
            if fresh is None:
                return 0
            known.transcript = fresh.transcript
        if followed.file.is_new and followed.file.start == 0:
            followed.transcript = new_transcript(found.client, found.path)  # which has not seen its first lines yet
        remember(self._followed, found.path, followed, _MOST)
        if followed.file.has_more:
            self._waiting[found.path] = found
        now = datetime.now(UTC)
        events = [each for line in raw for each in events_of(found.client, followed.transcript, line, now)]
        return self._enter(followed, events, windows, tools, now)

    def _begin(self, found: Found) -> _Followed | None:
        """The transcript, if its session is one of this blackboard; its first lines say whose it is."""
        followed = _Followed(found)
        for raw in read_head(found.path):
            line = parse_line(raw)
            if line is not None:
                for _ in followed.transcript.read(line):
                    pass
            if followed.transcript.cwd is not None:
                break
        folder = followed.transcript.cwd
        if folder is None:
            return None  # it has only just begun
        if not self._is_ours(folder):
            if self._files is not None:
                self._files.leave(found.path)
            return None
        return followed

    def _is_ours(self, folder: str) -> bool:
        if folder not in self._folders:
            self._folders[folder] = os.path.isabs(folder) and board_of(folder) == self._board
        return self._folders[folder]

    def _enter(
        self, followed: _Followed, events: list[Line], windows: Mapping[str, StepWindow], tools: Tools, now: datetime
    ) -> int:
        lines: dict[str, list[dict[str, Any]]] = {}
        calls: dict[str, set[str]] = {}
        entered = [window.events for window in windows.values()]
        for each in events:
            window = windows.get(each.session)
            if any(each.event in events for events in entered):
                continue  # known, or copied from the session that this one continues
            new = lines.setdefault(each.session, [])
            if window is None and not new:
                path = followed.file.path
                new.append(start_line(followed.client, followed.transcript, each.session, path, each.time))
            known = _known(window, calls.setdefault(each.session, set()))
            for line in lines_of(each, known, tools, followed.transcript.branch, now):
                new.append({**line, "event": each.event})
                if "call" in line and "id" in line:
                    calls[each.session].add(line["id"])
        for session, new in lines.items():
            if new:
                steps.append_lines(self.paths, session, new)
        return sum(map(len, lines.values()))


class _Either:
    """Ids in one of two places."""

    def __init__(self, *places: Any) -> None:
        self._places = places

    def __contains__(self, call: object) -> bool:
        return any(call in place for place in self._places)


def _known(window: StepWindow | None, calls: set[str]) -> Known:
    if window is None:
        return Known(calls=calls)
    return Known(window.events, _Either(window.calls, calls), window.is_hooked, window.reports_usage)
