"""Faults for a given time, in phases: `python -m tests.faults.soak MINUTES [SEED [PHASE]]`.

Prints its figures at the end. Exits with 1 if anything was ever wrong, and prints the seed to reproduce it;
chance decides what is done, and the machine still decides when.
"""

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.faults.children import no_leaked_files
from tests.faults.idle import idle
from tests.faults.soak_parts.broken import broken_files
from tests.faults.soak_parts.figures import Figures
from tests.faults.soak_parts.locked import locked_writers
from tests.faults.soak_parts.rounds import many_loggers, many_writers, unlocked_writer
from tests.faults.soak_parts.unlocked import a_long_run, unlocked_writers
from tests.served import server

Round = Callable[[Path, random.Random, float, Figures], list[str]]


def idleness(folder: Path, chance: random.Random, seconds: float, figures: Figures) -> list[str]:
    """Half of the time for each way to notice changes."""
    found = []
    for options in ((), ("--poll",)):
        outcome = idle(folder / "-".join(("team", *options)), seconds / 2, *options)
        print(f"  {outcome}", flush=True)
        found += outcome.wrong
    return found


class Phase(NamedTuple):
    """Rounds of one kind or of several in turn, for a share of the whole time."""

    rounds: tuple[Round, ...]
    share: float
    longest: float  # seconds of one round


PHASES = {
    "idle": Phase((idleness,), 0.1, 600.0),
    "locked": Phase((locked_writers,), 0.25, 40.0),
    "unlocked": Phase((unlocked_writers,), 0.2, 30.0),
    "broken": Phase((broken_files,), 0.25, 60.0),
    "long": Phase((a_long_run,), 0.1, 180.0),
    "without": Phase((unlocked_writer, many_writers, many_loggers), 0.1, 1.0),
}


def soak(minutes: float, seed: int, names: Sequence[str] = tuple(PHASES)) -> int:
    """Each of these phases for its share of the time; the exit code."""
    server()  # it runs until the end, so its pipes are not what a round has left open
    figures, wrong, began = Figures(), list[str](), time.monotonic()
    whole = sum(PHASES[name].share for name in names)
    for name in names:
        phase = PHASES[name]
        end = time.monotonic() + minutes * 60 * phase.share / whole
        number = 0
        while number == 0 or time.monotonic() < end - 1:
            one = phase.rounds[number % len(phase.rounds)]
            found = _round(one, seed + number, min(phase.longest, end - time.monotonic()), figures)
            wrong += [f"{name}, seed {seed + number}: {each}" for each in found]
            number += 1
        print(f"{name}: {number} rounds, {len(wrong)} violations so far", flush=True)
    _print(time.monotonic() - began, figures, wrong)
    return 1 if wrong else 0


def _round(one: Round, seed: int, seconds: float, figures: Figures) -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix=f"liza-soak-{seed}-"))
    try:
        with no_leaked_files():
            found = one(folder, random.Random(seed), max(seconds, 1.0), figures)
    except AssertionError as error:
        found = [str(error)]
    if found:
        return [f"{one.__name__}, {folder}: {each}" for each in found]
    shutil.rmtree(folder)
    return []


def _print(seconds: float, figures: Figures, wrong: Sequence[str]) -> None:
    print(f"{seconds / 60:10.1f} minutes")
    for line in figures.lines():
        print(line)
    print(f"{len(wrong):10,} violations")
    for each in wrong:
        print(f"  {each}")


def main(arguments: Sequence[str]) -> int:
    try:
        minutes, seed = float(arguments[0]), int(arguments[1]) if len(arguments) > 1 else random.getrandbits(24)
        names = arguments[2:] or tuple(PHASES)
        if not set(names) <= set(PHASES):
            raise ValueError
    except (IndexError, ValueError):
        print(__doc__, f"Phases: {', '.join(PHASES)}", file=sys.stderr)
        return 2
    print(f"beginning with seed {seed}", flush=True)
    return soak(minutes, seed, names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
