"""Measuring several things in turn, so that other load on the machine affects all of them alike."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


def nothing() -> None:
    pass


@dataclass(frozen=True)
class Contestant:
    """A function to time. `before` and `after` each run are not timed."""

    name: str
    run: Callable[[], object]
    before: Callable[[], object] = nothing
    after: Callable[[], object] = nothing
    at_most: int | None = None  # rounds, for a slow one, of which a few are enough


@dataclass(frozen=True)
class Measured:
    """The best time of one contestant."""

    name: str
    seconds: float
    rounds: int


def race(contestants: Sequence[Contestant], rounds: int, *, warm_up: bool = True) -> list[Measured]:
    """The minimum of many rounds for each: noise only ever adds, so the minimum is nearest to the truth.

    The collector is left on, as it is in the programs that are compared, but runs before each round.
    """
    if warm_up:
        for each in contestants:
            if each.at_most is None:
                _once(each)
    times: list[list[float]] = [[] for _ in contestants]
    for turn in range(rounds):
        for each, taken in zip(contestants, times, strict=True):
            if each.at_most is None or turn < each.at_most:
                taken.append(_once(each))
    return [Measured(each.name, min(taken), len(taken)) for each, taken in zip(contestants, times, strict=True)]


def _once(contestant: Contestant) -> float:
    contestant.before()
    gc.collect()
    start = time.perf_counter()
    kept = contestant.run()
    taken = time.perf_counter() - start
    del kept  # freeing a large value is not part of making it
    contestant.after()
    return taken
