"""All sessions of a blackboard, read from their files; a file that has grown is read from where the last read ended."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from liza.errors import Unreadable
from liza.scopes.sessions.step_window import StepWindow
from liza.store import steps
from liza.store.paths import Paths
from liza.store.steps import Kept

ACTIVE = 86_400.0  # seconds; a session without a step for longer is not evaluated
_NOTE = b'"note": "'


class _Read(NamedTuple):
    """How far the files of a session were read: the file that lines were last appended to, and where it ended."""

    inode: int
    end: int
    session: str


class StepWindows:
    """The sessions that were active lately, by their id."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.sessions: dict[str, StepWindow] = {}
        self.unreadable: list[Unreadable] = []  # files that cannot be read; they hold up no other
        self.vanished: dict[str, Unreadable] = {}  # files that another program removed, cut or replaced
        self._read: dict[str, _Read] = {}
        self._idle: dict[str, tuple[Sequence[Kept], StepWindow]] = {}  # all others, without their steps

    def refresh(self) -> frozenset[str]:
        """Read what is new; returns the sessions that have new lines."""
        changed: set[str] = set()
        self.unreadable = []
        try:
            kept = self._kept(is_active=True)
        except Unreadable as error:
            self.unreadable.append(error)
            return frozenset()
        for name in self._read.keys() - kept.keys():
            if not os.path.lexists(os.path.join(self.paths.steps, name)):
                self._note_vanished(name)
            self.forget([name])
        for name, files in kept.items():
            known = self._read.get(name)
            if known is None or (known.inode, known.end) != (files[-1].inode, files[-1].size):
                try:
                    self._take(name, files, known, changed)
                except Unreadable as error:
                    self.unreadable.append(error)
        return frozenset(changed)

    def forget(self, names: Iterable[str]) -> None:
        """Read these files again, if they are there: they are old, or were deleted on purpose."""
        for name in names:
            if (known := self._read.pop(name, None)) is not None:
                self.sessions.pop(known.session, None)

    def _note_vanished(self, name: str) -> None:
        message = "steps that were read have been removed by another program; those of the session count from there"
        file = os.path.join(self.paths.steps, name)
        hint = "find out who did it; to stop the session: liza session stop"
        self.vanished[name] = Unreadable(message, hint=hint, file=file)

    def idle_sessions(self) -> dict[str, StepWindow]:
        """The sessions that were not active lately, for what they used."""
        try:
            kept = self._kept(is_active=False)
        except Unreadable:  # reported by the refresh
            return {}
        self._idle = {name: found for name, found in self._idle.items() if kept.get(name) == found[0]}
        for name, files in kept.items():
            if name not in self._idle:
                with suppress(Unreadable):
                    lines = _own(name, steps.read_past(self.paths, [each.name for each in files], _NOTE, 0).lines)
                    self._idle[name] = (files, _window_of(lines))
        return {window.session: window for _, window in self._idle.values() if window.session}

    def ingested(self, start: str = "") -> Iterator[StepWindow]:
        """The sessions that are known from ingested transcripts alone, one at a time; with `start` those whose file is
        called so."""
        names: dict[str, list[str]] = {}
        for each in steps.list_files(self.paths):
            names.setdefault(steps.current_name(each.name), []).append(each.name)
        for name, (first, *others) in names.items():
            if steps.is_ingested((first, *others)) and name.startswith(start):
                lines = _own(name, steps.read_from(self.paths, first, 0).lines)
                if lines:
                    yield _window_of(lines)

    def _kept(self, *, is_active: bool) -> dict[str, list[Kept]]:
        """The files of each session, the oldest first, by the name of its last one."""
        limit = time.time_ns() - int(ACTIVE * 1e9)
        found: dict[str, dict[str, Kept]] = {}
        for each in steps.list_files(self.paths):
            found.setdefault(steps.current_name(each.name), {})[each.name] = each
        return {
            name: [files[each] for each in steps.in_order(list(files))]
            for name, files in found.items()
            if not steps.is_ingested(files) and (max(each.ns for each in files.values()) >= limit) == is_active
        }

    def _take(self, name: str, files: Sequence[Kept], known: _Read | None, changed: set[str]) -> None:
        """Read what was appended since; the file that was read last may have been put aside meanwhile."""
        place = next((i for i, each in enumerate(files) if known is not None and each.inode == known.inode), None)
        session = known.session if known is not None else ""
        if known is None or place is None or files[place].size < known.end:  # not read before, or by other means
            if known is not None:
                self._note_vanished(name)
                self.forget([name])
            past = steps.read_past(self.paths, [each.name for each in files], _NOTE)
            session = self._add(name, past.lines, changed)
            inode, end = past.inode, past.end
            if session:
                self.sessions[session].remember_events(past.events)
        else:
            inode, end = known.inode, known.end
            for index in range(place, len(files)):
                found = steps.read_from(self.paths, files[index].name, end if index == place else 0)
                session = self._add(name, found.lines, changed) or session
                inode, end = found.inode, found.end
        self._read[name] = _Read(inode, end, session)

    def _add(self, name: str, lines: Sequence[Mapping[str, Any]], changed: set[str]) -> str:
        """Take in the lines of a file; the session that it is of, and "" without one."""
        session = ""
        for line in _own(name, lines):
            session = str(line["session"])
            if session not in self.sessions:
                self.sessions[session] = StepWindow(session)
            self.sessions[session].add(line)
            changed.add(session)
        return session


def _window_of(lines: Sequence[Mapping[str, Any]]) -> StepWindow:
    """The session of these lines; without any one that has no name."""
    window = StepWindow(str(lines[0]["session"]) if lines else "")
    for line in lines:
        window.add(line)
    return window


def _own(name: str, lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Without lines that an agent put there for another session."""
    return [line for line in lines if isinstance(s := line.get("session"), str) and steps.step_file(s) == name]


def ancestors_of(paths: Paths, session: str) -> list[str]:
    """The session that started one as its subagent, by what its newest lines say, and so on."""
    found = [session]
    while True:
        lines = _own(steps.step_file(found[-1]), steps.read_tail(paths, found[-1]))
        parent = next((each for line in reversed(lines) if isinstance(each := line.get("parent"), str)), None)
        if parent is None or parent in found:
            return found[1:]
        found.append(parent)
