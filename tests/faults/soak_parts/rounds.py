"""Rounds without a daemon: appends beside a writer without the lock, and many writers at once."""

import os
import random
from pathlib import Path

from tests.faults import boards, crowd, race
from tests.faults.soak_parts.figures import Figures


def unlocked_writer(folder: Path, chance: random.Random, _: float, figures: Figures) -> list[str]:
    paths = boards.make(folder)
    outcome = race.run(paths, chance.randrange(500, 4_000), chance.getrandbits(32), race.as_it_is)
    figures.add(
        rounds_without_a_daemon=1,
        versions_saved_as_fast_as_possible=outcome.versions,
        appends_beside_them=len(outcome.written),
        attempts_that_met_one_of_them=outcome.attempts - len(outcome.written),
    )
    losses = [f"{detector}: {each}" for detector, found in outcome.losses().items() for each in found]
    return losses + _strays(paths.folder)


def many_writers(folder: Path, chance: random.Random, _: float, figures: Figures) -> list[str]:
    paths = boards.make(folder)
    writing = _random_crowd(chance)
    deaths = chance.randrange(20)
    figures.add(
        rounds_without_a_daemon=1, anomalies_appended_by_many=sum(writing.expected.values()), writers_killed=deaths
    )
    return crowd.write_state(paths, writing, deaths) + _strays(paths.folder)


def many_loggers(folder: Path, chance: random.Random, _: float, figures: Figures) -> list[str]:
    paths = boards.make(folder)
    writing = _random_crowd(chance)
    figures.add(rounds_without_a_daemon=1, log_entries_appended_by_many=sum(writing.expected.values()))
    return crowd.write_log(paths, writing) + _strays(paths.folder)


def _random_crowd(chance: random.Random) -> crowd.Crowd:
    return crowd.Crowd(chance.randint(1, 8), chance.randint(1, 100), chance.randint(0, 4), chance.randint(1, 50))


def _strays(folder: str) -> list[str]:
    # A version that an undone exchange had displaced is kept in backups.
    expected = {"state.yaml", "state.yaml.lock", "log.yaml", "backups"}
    return [f"left behind: {name}" for name in sorted(set(os.listdir(folder)) - expected)]
