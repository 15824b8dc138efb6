"""An observer that polls CHECKPOINT, as agents do: which halts there were, and when."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.faults.children import Child, Counter

_TRIP = re.compile(r"^trip: (\w+)$", re.MULTILINE)
_PAUSE = 0.002


class Halt(NamedTuple):
    """CHECKPOINT was there, with the same content, from then to then."""

    trip: str
    began: float  # monotonic
    ended: float | None  # None: still there


class HaltObserver:
    """A process that sees halts come and go."""

    def __init__(self) -> None:
        self._stop = Counter()
        self._child: Child | None = None

    @contextmanager
    def observing(self, checkpoint: Path) -> Iterator[None]:
        with Child(lambda: self._look(str(checkpoint))) as self._child:
            yield

    def ended(self) -> list[Halt]:
        assert self._child is not None
        self._stop.value = 1
        halts = self._child.result()
        assert isinstance(halts, list)
        return halts

    def _look(self, checkpoint: str) -> list[Halt]:
        halts: list[Halt] = []
        while not self._stop.value:
            there, now = _trip(checkpoint), time.monotonic()
            last = halts[-1] if halts and halts[-1].ended is None else None
            if last is not None and there != last.trip:
                halts[-1] = last._replace(ended=now)
            if there is not None and (last is None or there != last.trip):
                halts.append(Halt(there, now, None))
            time.sleep(_PAUSE)
        return halts


def _trip(checkpoint: str) -> str | None:
    """The trip that halts the agents now; None without a halt."""
    if not os.path.lexists(checkpoint):
        return None
    try:
        with open(checkpoint, encoding="utf-8") as file:
            found = _TRIP.search(file.read())
    except FileNotFoundError:
        return None  # gone since
    return found[1] if found else "no trip"
