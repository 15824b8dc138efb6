"""The races of the tests, over and over with other seeds: `python -m tests.faults.soak MINUTES [SEED]`.

Prints its figures at the end. Exits with 1 if anything was ever wrong, and says with which seed it can be seen again.
"""

import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults import boards, crowd, race
from tests.faults.children import no_leaked_files

Round = Callable[[Path, random.Random, Counter[str]], list[str]]


def unlocked_writer(folder: Path, chance: random.Random, figures: Counter[str]) -> list[str]:
    paths = boards.make(folder)
    outcome = race.run(paths, chance.randrange(500, 4_000), chance.getrandbits(32), race.as_it_is)
    figures["versions saved without the lock"] += outcome.versions
    figures["appends beside them"] += len(outcome.written)
    figures["attempts that met one of them"] += outcome.attempts - len(outcome.written)
    figures["of those, seen by the other side while undone"] += outcome.undone
    losses = [f"{detector}: {each}" for detector, found in outcome.losses().items() for each in found]
    return losses + _strays(paths.folder)


def many_writers(folder: Path, chance: random.Random, figures: Counter[str]) -> list[str]:
    paths = boards.make(folder)
    writing = _random_crowd(chance)
    deaths = chance.randrange(20)
    figures["anomalies appended by many"] += sum(writing.expected.values())
    figures["writers killed"] += deaths
    return crowd.write_state(paths, writing, deaths) + _strays(paths.folder)


def many_loggers(folder: Path, chance: random.Random, figures: Counter[str]) -> list[str]:
    paths = boards.make(folder)
    writing = _random_crowd(chance)
    figures["log entries appended by many"] += sum(writing.expected.values())
    return crowd.write_log(paths, writing) + _strays(paths.folder)


def _random_crowd(chance: random.Random) -> crowd.Crowd:
    return crowd.Crowd(chance.randint(1, 8), chance.randint(1, 100), chance.randint(0, 4), chance.randint(1, 50))


def _strays(folder: str) -> list[str]:
    expected = {"state.yaml", "state.yaml.lock", "log.yaml"}
    return [f"left behind: {name}" for name in sorted(set(os.listdir(folder)) - expected)]


def soak(minutes: float, seed: int) -> int:
    rounds: tuple[Round, ...] = (unlocked_writer, many_writers, many_loggers)
    figures: Counter[str] = Counter()
    wrong: list[str] = []
    started = time.monotonic()
    while time.monotonic() < started + minutes * 60:
        one = rounds[seed % len(rounds)]
        folder = Path(tempfile.mkdtemp(prefix=f"liza-soak-{seed}-"))
        try:
            with no_leaked_files():
                found = one(folder, random.Random(seed), figures)
        except AssertionError as error:
            found = [str(error)]
        figures[f"rounds of {one.__name__}"] += 1
        if found:
            wrong += [f"seed {seed}, {one.__name__}, {folder}: {each}" for each in found]
        else:
            shutil.rmtree(folder)
        seed += 1
    _print(time.monotonic() - started, figures, wrong)
    return 1 if wrong else 0


def _print(seconds: float, figures: Counter[str], wrong: list[str]) -> None:
    print(f"{seconds / 60:10.1f} minutes")
    for name, count in sorted(figures.items()):
        print(f"{count:10,} {name}")
    print(f"{len(wrong):10,} violations")
    for each in wrong:
        print(f"  {each}")


def main(arguments: list[str]) -> int:
    try:
        minutes, seed = float(arguments[0]), int(arguments[1]) if len(arguments) > 1 else random.getrandbits(24)
    except (IndexError, ValueError):
        print(__doc__, file=sys.stderr)
        return 2
    print(f"beginning with seed {seed}", flush=True)
    return soak(minutes, seed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
