"""A save in place, read at every moment of it: the daemon's loop checks while a writer pauses in the middle.

Time is the test's: the pauses that reading makes cost nothing, and what the writer does meanwhile happens in them.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from liza.store import board as reading
from liza.store import replace, versions
from tests.daemon.daemon import OUTAGE, RETRIES, Watched
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.writers import save, text_of, yq


class Time:
    """Replaces the module `time` where the blackboard is read; `meanwhile` runs during each sleep."""

    def __init__(self) -> None:
        self.begin()

    def begin(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self._passed, self._meanwhile = 0.0, meanwhile

    def sleep(self, seconds: float) -> None:
        self._passed += seconds
        self._meanwhile()

    def monotonic(self) -> float:
        return self._passed

    def time(self) -> float:
        return time.time() + self._passed

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class Save(NamedTuple):
    """One text written over another."""

    old: bytes
    new: bytes
    cuts_first: bool  # the old text is gone before the new one is written, as by `>`; else its tail stays, as by yq

    def torn(self, at: int) -> bytes:
        """What is in the file once so much is written."""
        return self.new[:at] + (b"" if self.cuts_first else self.old[at:])

    @property
    def moments(self) -> int:
        return len(self.new) + 1 if self.cuts_first else max(len(self.new), len(self.old)) + 1


class Writer:
    """Saves in place up to a point, and the rest in `finish`."""

    def __init__(self, path: Path, made: Save, at: int) -> None:
        self._fd = os.open(path, os.O_WRONLY | (os.O_TRUNC if made.cuts_first else 0))
        self._made, self._at = made, at
        os.write(self._fd, made.new[:at])

    def finish(self) -> None:
        if self._fd >= 0:
            os.write(self._fd, self._made.new[self._at :])
            os.ftruncate(self._fd, len(self._made.new))
            os.close(self._fd)
            self._fd = -1


class Seen(NamedTuple):
    """What the daemon read and did."""

    decided: list[str]  # trips and resolutions that it reported
    halted: bytes | None
    trigger: Any
    considered: int  # anomalies that count for its verdict


class SaveObserver:
    """A daemon that has read the old text, and checks while the new one is written."""

    def __init__(self, board: Watched, stepped: SteppedWatcher, clock: Time, made: Save) -> None:
        self.board, self.stepped, self.clock, self.made = board, stepped, clock, made

    def at_rest(self) -> Seen:
        """With the old text in place, whole."""
        self._put(self.made.old)
        return self.look()

    def afterwards(self) -> Seen:
        """With the new one in place, whole."""
        self._put(self.made.new)
        return self.look()

    def in_the_middle(self, at: int) -> tuple[Seen, Seen]:
        """While the writer pauses there, and after it has continued."""
        writer = Writer(self.board.state, self.made, at)
        try:
            halfway = self.look()
        finally:
            writer.finish()
        return halfway, self.look()

    def passing_back(self, at: int) -> Seen:
        """The old text is saved again, by a writer that continues while the daemon waits for quiet."""
        writer = Writer(self.board.state, self.made._replace(old=self.made.new, new=self.made.old), at)
        try:
            self.clock.begin(writer.finish)
            return self._look()
        finally:
            writer.finish()

    def look(self) -> Seen:
        self.clock.begin()
        return self._look()

    def _look(self) -> Seen:
        before = len(self.stepped.events)
        self.stepped.ticks(1, seconds=0.0)
        found = self.stepped.watcher.found
        assert found is not None
        return Seen(
            [str(each) for each in self.stepped.events[before:] if each.kind in ("tripped", "resolved")],
            self.board.checkpoint.read_bytes() if self.board.checkpoint.exists() else None,
            found.trigger,
            found.verdict.considered,
        )

    def _put(self, raw: bytes) -> None:
        save(self.board.state, raw.decode())


@contextmanager
def observe_save(board: Watched, made: Save, monkeypatch: pytest.MonkeyPatch) -> Iterator[SaveObserver]:
    clock = Time()
    for module in (replace, versions):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(reading, "time", clock)
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # power cuts are not tested here
    with SteppedWatcher(board) as stepped:
        yield SaveObserver(board, stepped, clock, made)


def wrong_moments(observer: SaveObserver, moments: range) -> list[str]:
    """Every moment at which the daemon took half a file for the whole."""
    wrong: list[str] = []
    observer.at_rest()  # reports of the first check do not count
    whole = observer.afterwards()
    quiet = observer.at_rest()
    assert (whole.decided, quiet.decided) == ([], []), "neither text may decide anything"
    for at in moments:
        halfway, later = observer.in_the_middle(at)
        if halfway != quiet:
            wrong.append(f"byte {at}, paused: {halfway}")
        if later != whole:
            wrong.append(f"byte {at}, continued: {later}")
        if (back := observer.passing_back(at)) != quiet:
            wrong.append(f"byte {at}, in passing: {back}")
    return wrong


# --- texts ----------------------------------------------------------------------------------------------------------

_EXAMPLE = Path(__file__).parents[2] / ".liza.example" / "state.yaml"
_TASK = "  - id: task-0\n    status: MERGED\n    created: 2025-01-18T09:00:00Z\n"


def make_open(folder: Path) -> Watched:
    """A breaker that waits for a person."""
    board = Watched(folder, _EXAMPLE.read_text(encoding="utf-8"))
    board.edit("\nsprint:", f"\n{text_of(OUTAGE)}\nsprint:")
    assert board.analyze().code == 3
    return board


def make_near(folder: Path) -> Watched:
    """Every trip is resolved, and nearly as much has happened since: one record counted twice would trip."""
    board = make_open(folder)
    while board.analyze().code == 3:
        assert board.resolve().code == 0
    since = [{**each, "timestamp": "2025-01-18T18:10:00Z"} for each in (*RETRIES[:2], *OUTAGE[:1])]
    board.edit("\nsprint:", f"\n{text_of(since)}\nsprint:")
    assert board.analyze().code == 0
    return board


BOARDS = {"open": make_open, "near": make_near}


def saves(board: Watched) -> dict[str, Save]:
    """Ways to write the same facts, or one more task, which decides nothing."""
    old = board.text
    more = old.replace("tasks:\n", f"tasks:\n{_TASK}", 1)
    save(board.state, more)
    yq(board.state, ".")
    anew = board.text
    save(board.state, old)
    return {
        f"{name}, {way}": Save(old.encode(), new.encode(), cuts_first)
        for name, new in (("a task more", more), ("by yq", anew))
        for way, cuts_first in (("cut first", True), ("cut last", False))
    }


SAVES = ("a task more, cut first", "a task more, cut last", "by yq, cut first", "by yq, cut last")
