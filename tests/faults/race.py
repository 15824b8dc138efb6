"""A program that replaces state.yaml without the lock, as fast as it can, beside liza's appends; and three detectors.

What is a loss, and what only seems to be one? To find out whether it displaced something new, liza has to exchange
first. If it did, it puts back what came out, and for that moment the file is an older version with a record on top
that is then taken back. So an old version *seen* proves nothing; an old version that liza *calls written* does:

1. The rival exchanges, too, and looks at what it took out. Found there may be its own previous version, one that liza
   wrote on that, or a draft that liza took back later; never one that liza calls written on an older version.
2. liza's process notes, just before each step that gives the file its new content, the newest version that was then in
   place. What it calls written must be made from that version or a newer one.
3. liza's process looks at each file that it is about to delete. The rival's newest version may only be deleted after
   something was written on it.

A version is identified by its `marker`, a draft of liza's by the numbers of the attempts in it.
"""

import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from liza.store import filesystem, replace
from liza.store.board import Board
from liza.store.document import Document
from liza.store.edit import append_record
from liza.store.paths import Paths
from tests.faults import boards, steps
from tests.faults.children import Child, Counter, no_leaked_files
from tests.faults.rival import exchange, write_file

_MARKER = re.compile(r"^marker: (\d+)$", re.MULTILINE)
_ATTEMPT = re.compile(r"^ +number: (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Version:
    """One version of the file: the rival's marker, and the liza attempts on top of it."""

    marker: int
    attempts: tuple[int, ...]


@dataclass(frozen=True)
class Written:
    """One append that liza reported as done."""

    attempt: int
    base: int  # the marker of the version it was made from
    in_place: int  # the newest marker that was in place just before


@dataclass(frozen=True)
class Outcome:
    """The observations of both sides."""

    versions: int
    written: list[Written]
    attempts: int
    seen_by_rival: list[tuple[int, Version]]  # its newest version before, and the one it displaced
    thrown_away: list[str]
    final: Version

    @property
    def undone(self) -> int:
        """How often the rival took out an older version than its newest: a draft of liza's, or one being put back."""
        return sum(found.marker < newest for newest, found in self.seen_by_rival)

    def losses(self) -> dict[str, list[str]]:
        """The findings of each detector; all empty if nothing was lost."""
        done = {each.attempt for each in self.written}
        return {
            "taken out by the rival": [
                f"attempt {found.attempts[-1]}, called written, was on version {found.marker} after {newest}"
                for newest, found in self.seen_by_rival
                if found.marker < newest and found.attempts and found.attempts[-1] in done
            ],
            "written by liza": [
                f"attempt {each.attempt} was written on version {each.base} while {each.in_place} was in place"
                for each in self.written
                if each.base < each.in_place
            ],
            "deleted by liza": self.thrown_away,
            "at the end": [] if self.final.marker == self.versions else [f"version {self.final.marker} is in place"],
        }


def version_of(path: str) -> Version:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    marker = _MARKER.search(text)
    assert marker is not None, f"neither the rival nor liza wrote this: {text[:200]!r}"
    return Version(int(marker[1]), tuple(map(int, _ATTEMPT.findall(text))))


class _Shared:
    """The shared state of the two processes."""

    def __init__(self) -> None:
        self.announced = Counter()  # the version that the rival is about to put in place
        self.in_place = Counter()  # the version that it has put in place
        self.attempts = Counter()  # the attempt that liza has begun


def run(paths: Paths, versions: int, seed: int, variant: "Variant") -> Outcome:
    """Race `versions` saves of the rival against appends until it has finished."""
    shared = _Shared()
    with ExitStack() as stack:
        liza = stack.enter_context(Child(lambda: _append(paths, versions, shared, variant)))
        rival = stack.enter_context(Child(lambda: _replace(paths, versions, shared, random.Random(seed))))
        seen = rival.result()
        attempts, written, thrown_away = liza.result()
    return Outcome(versions, written, attempts, seen, thrown_away, version_of(paths.state))


def _replace(paths: Paths, versions: int, shared: _Shared, chance: random.Random) -> list[tuple[int, Version]]:
    """The rival: blind to the lock and to liza's records."""
    draft = os.path.join(paths.folder, "rival.draft")
    seen = []
    for number in range(1, versions + 1):
        write_file(draft, boards.version(number))
        os.utime(draft, (1e9 + number, 1e9 + number))
        shared.announced.value = number
        exchange(draft, paths.state)
        shared.in_place.value = number
        seen.append((number - 1, version_of(draft)))
        os.unlink(draft)
        aim(shared.attempts, chance)
    return seen


def aim(attempts: Counter, chance: random.Random) -> None:
    """Do nothing, so that several saves come in a row; or spin to a random moment of liza's next attempt.

    A rival that only ever saved without pause would be noticed by every attempt at its start, and never hit its end.
    """
    if chance.random() < 0.4:
        return
    begun, start = attempts.value, time.perf_counter()
    while attempts.value == begun and time.perf_counter() < start + 0.005:
        pass
    end = time.perf_counter() + chance.random() * 0.002
    while time.perf_counter() < end:
        pass


def _append(paths: Paths, versions: int, shared: _Shared, variant: "Variant") -> tuple[int, list[Written], list[str]]:
    """liza: one append after the other, each attempt with its own number."""
    board = Board(paths)
    attempts = 0
    base = 0
    newest = 0
    written: list[Written] = []
    thrown_away: list[str] = []

    def attempt(document: Document) -> bytes:
        nonlocal attempts, base
        attempts += 1
        shared.attempts.value = attempts
        base = document.data["marker"]
        return append_record(document, "anomalies", boards.anomaly("liza", attempts))

    def around(step: steps.Step, call: Callable[[], Any]) -> Any:
        nonlocal newest
        if step.name in ("rename", "exchange"):
            newest = shared.in_place.value
        if step.name in ("unlink", "remove") and os.path.exists(step.arguments[0]):
            going = version_of(step.arguments[0])
            kept = going.marker == base or attempts in going.attempts  # made into ours, or ours
            if going.marker >= shared.announced.value and not kept:
                thrown_away.append(f"version {going.marker} was deleted, and nothing newer was there")
        return call()

    with no_leaked_files(), variant(), steps.around_each(around):
        finished = False
        while not finished:
            finished = shared.in_place.value == versions  # the last append begins when the rival has ended
            board.rewrite(attempt)
            written.append(Written(attempts, base, newest))
    return attempts, written, thrown_away


# --- how liza replaces ----------------------------------------------------------------------------------------------

Variant = Callable[[], Any]


@contextmanager
def as_it_is() -> Iterator[None]:
    yield


@contextmanager
def check_then_rename() -> Iterator[None]:
    """As if the kernel could not exchange: the file is checked, then replaced."""
    real = filesystem.exchange
    filesystem.exchange = lambda *_: False
    try:
        yield
    finally:
        filesystem.exchange = real


@contextmanager
def exchange_without_inspection() -> Iterator[None]:
    """As if the displaced file were always the version that was read."""
    real = replace._inspect
    replace._inspect = lambda *_: None
    try:
        yield
    finally:
        replace._inspect = real
