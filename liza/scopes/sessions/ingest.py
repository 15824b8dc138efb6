"""Import transcripts that were not followed: yesterday's, or another machine's.

They go into files of their own, `steps/SESSION.ingested.jsonl`, and are read a line at a time. A session that has no
other file ended before: no rule is evaluated for it. Of a session that hooks have reported only what they lack is
entered. What is there already is not entered again, whatever source it came from.
"""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO, NamedTuple

from liza.clients.transcript import Transcript, client_of, new_transcript, parse_line
from liza.model import Problem
from liza.scopes.sessions.tools import SHIPPED, Tools
from liza.scopes.sessions.transcript_lines import Known, Line, events_of, lines_of, start_line
from liza.store import steps
from liza.store.paths import Paths
from liza.store.spool import is_from_hook
from liza.store.tail import LONGEST, open_own

Progress = Callable[[int], None]
ENDING = ".jsonl"
_SEARCHED = 200  # lines at the beginning of a file of which one must show whose transcript it is
_BATCH = 200  # lines that are written at once


class Ingested(NamedTuple):
    """What came of one transcript."""

    file: str
    client: str | None = None  # None for a file that is not a transcript
    sessions: tuple[str, ...] = ()
    steps: int = 0  # that are new
    usage: int = 0  # entries of usage that are new
    broken: int = 0  # lines that could not be read
    problem: Problem | None = None


def transcripts_in(path: str) -> list[str]:
    """The file, or all that may be transcripts in a folder, without following links."""
    if not os.path.isdir(path):
        return [path]
    found = [
        os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names if name.endswith(ENDING)
    ]
    return sorted(found)


def ingest(
    paths: Paths, file: str, tools: Tools = SHIPPED, *, is_named: bool = True, progress: Progress | None = None
) -> Ingested:
    """Enter what is new in a transcript. `is_named`: a person has named the file itself; `progress` is given bytes."""
    try:
        with open_own(file, is_named=is_named) as raw:
            return _Ingestion(paths, file, tools).read(_lines(raw, progress))
    except OSError as error:
        why = error.strerror or str(error)
        return Ingested(file, problem=Problem(f"cannot be read: {why}", file, hint="name a readable transcript"))


def _lines(file: BinaryIO, progress: Progress | None) -> Iterator[bytes | None]:
    """The lines of a file; None for one that is too long."""
    import io

    with io.BufferedReader(file, 1 << 20) as lines:  # type: ignore[type-var]
        while line := lines.readline(LONGEST):
            size = len(line)
            is_whole = line.endswith(b"\n") or size < LONGEST
            while not is_whole and (rest := lines.readline(LONGEST)):
                size += len(rest)
                is_whole = rest.endswith(b"\n")
                line = b""
            if progress is not None:
                progress(size)
            yield line.rstrip(b"\r\n") if line else None


class _Ingestion:
    """One transcript."""

    def __init__(self, paths: Paths, file: str, tools: Tools) -> None:
        self.paths, self.file, self.tools = paths, file, tools
        self.client: str | None = None
        self.known: dict[str, _Known] = {}
        self.waiting: dict[str, list[dict[str, Any]]] = {}
        self.steps = self.usage = self.broken = 0

    def read(self, lines: Iterator[bytes | None]) -> Ingested:
        transcript: Transcript | None = None
        now = datetime.now(UTC)
        last: dict[str, str] = {}  # the time of the newest line of each session
        for number, raw in enumerate(lines):
            line = parse_line(raw) if raw else None
            if line is None or raw is None:
                self.broken += raw is None or bool(raw.strip())
                continue
            if transcript is None:
                self.client = client_of(line)
                if self.client is None and number >= _SEARCHED:
                    break
            if self.client is not None:
                transcript = transcript or new_transcript(self.client, self.file)
                events = list(events_of(self.client, transcript, raw, now))
                self._enter(self.client, transcript, events)
                last |= {each.session: each.time for each in events}
        if self.client is None:
            hint = "name a transcript, or a folder of them"
            return Ingested(
                self.file, problem=Problem("not a transcript of Claude Code or Codex", self.file, hint=hint)
            )
        for session, time in last.items():
            if self.known[session].is_changed:
                end = {"time": time, "session": session, "client": self.client, "note": "end"}
                self._append(session, [end], is_last=True)
        return Ingested(self.file, self.client, tuple(last), self.steps, self.usage, self.broken)

    def _enter(self, client: str, transcript: Transcript, events: list[Line]) -> None:
        """Enter what one line of the transcript reports."""
        new: dict[str, list[dict[str, Any]]] = {}
        for each in events:
            if each.session not in self.known:
                self.known[each.session] = _Known(self.paths, each.session)
            known = self.known[each.session]
            if each.event not in known.events:
                lines = list(lines_of(each, known.as_known(), self.tools, transcript.branch, None))
                known.ids.update(line["id"] for line in lines if "call" in line and "id" in line)
                new.setdefault(each.session, []).extend({**line, "event": each.event} for line in lines)
        for session, lines in new.items():
            known = self.known[session]
            known.events.add(events[0].event)
            if lines and known.is_empty:
                lines.insert(0, start_line(client, transcript, session, self.file, events[0].time))
            known.is_changed |= bool(lines)
            known.is_empty &= not lines
            self.steps += sum("call" in line for line in lines)
            self.usage += sum(line.get("note") == "usage" for line in lines)
            self._append(session, lines)

    def _append(self, session: str, lines: list[dict[str, Any]], *, is_last: bool = False) -> None:
        waiting = self.waiting.setdefault(session, [])
        waiting += lines
        if len(waiting) >= _BATCH or is_last:
            steps.append_lines(self.paths, session, waiting, ingested=True)
            waiting.clear()


class _Known:
    """What the files of a session have already."""

    def __init__(self, paths: Paths, session: str) -> None:
        entered = steps.read_entered(paths, session)
        self.events = {event.decode() for event in entered.events}
        self.ids = {each.decode(errors="replace") for each in entered.ids}
        self.is_hooked = any(map(is_from_hook, self.events))
        self.is_empty = not (self.events or self.ids)
        self.is_changed = False

    def as_known(self) -> Known:
        return Known(self.events, self.ids, self.is_hooked)
