"""Grouping of equal errors: quality on real logs, beside Drain3, and speed, beside comparing all with all."""

import csv
import logging
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from random import Random
from statistics import fmean

from benchmarks.command import _ENVIRONMENT
from benchmarks.tables import Figure, Figures, Row, Table, Target
from benchmarks.timing import Contestant, Measured, race
from liza.rules.similar import Grouper, similar_groups

_SIMILARITY = 0.7  # one for all systems: users do not tune liza either
_TEXTS = 10_000
_MORE = 100
_ROUNDS = 5
_REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(folder: str, quick: bool) -> list[Table | Figures]:
    """Nothing is done on a board; `quick` leaves out the comparison of all texts with all, which takes a while."""
    return [*_quality(), *_speed(quick), _memory()]


# --- quality ----------------------------------------------------------------------------------------------------------


def _quality() -> list[Figures]:
    """The folder has one CSV a system, with the columns `label`, the true group, and `message`."""
    folder = os.environ.get("LIZA_LOGHUB") or os.path.join(_REPOSITORY, "..", "shared", "data", "loghub")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".csv")) if os.path.isdir(folder) else []
    accuracies, scores = [], []
    for name in names:
        with open(os.path.join(folder, name), newline="", encoding="utf-8") as file:
            lines = [(line["label"], line["message"]) for line in csv.DictReader(file)]
        truth = [label for label, _ in lines]
        messages = [message for _, message in lines]
        ours, theirs = _by_liza(messages), _by_drain(messages)
        system = name.removesuffix(".csv")
        accuracies.append(_figure(system, accuracy, truth, ours, theirs))
        scores.append(_figure(system, pair_f1, truth, ours, theirs))
    note = "Drain3 as it comes" if names else "skipped: LIZA_LOGHUB names no folder with logs whose groups are known"
    if names and all(figure.beside is None for figure in scores):
        note = "Drain3 is not installed"
    return [
        Figures(title, [*figures, _mean(figures, Target(bound, at_least=True))], f"{about}; {note}", "Drain3")
        for title, about, figures, bound in (
            ("groups of real logs", "GA: share of messages whose group is exactly the true one", accuracies, 0.9),
            ("pairs of real logs", "F1 of the pairs of messages that are put together", scores, 0.985),
        )
    ]


def _by_liza(messages: Sequence[str]) -> Sequence[object]:
    groups = similar_groups(messages, _SIMILARITY)
    return [groups[message] for message in messages]


def _by_drain(messages: Sequence[str]) -> Sequence[object] | None:
    logging.getLogger("drain3").setLevel(logging.ERROR)  # it warns about its missing configuration
    try:
        miner = import_module("drain3").TemplateMiner()
    except ImportError:
        return None
    return [miner.add_log_message(message)["cluster_id"] for message in messages]


def accuracy(truth: Sequence[object], found: Sequence[object]) -> float:
    """A found group is right if it meets one true group only and holds all of it."""
    true_sizes, found_sizes, common = Counter(truth), Counter(found), Counter(zip(truth, found, strict=True))
    right = sum(size for (one, other), size in common.items() if size == true_sizes[one] == found_sizes[other])
    return right / len(truth)


def pair_f1(truth: Sequence[object], found: Sequence[object]) -> float:
    right = _pairs(zip(truth, found, strict=True))
    return 2 * right / (_pairs(truth) + _pairs(found))


def _pairs(groups: Iterable[object]) -> int:
    return sum(size * (size - 1) // 2 for size in Counter(groups).values())


_Score = Callable[[Sequence[object], Sequence[object]], float]


def _figure(
    name: str, score: _Score, truth: Sequence[object], ours: Sequence[object], theirs: Sequence[object] | None
) -> Figure:
    return Figure(name, score(truth, ours), None if theirs is None else score(truth, theirs))


def _mean(figures: Sequence[Figure], target: Target) -> Figure:
    ours = [figure.value for figure in figures if figure.value is not None]
    theirs = [figure.beside for figure in figures if figure.beside is not None]
    return Figure("mean", fmean(ours) if ours else None, fmean(theirs) if theirs else None, target)


# --- speed ------------------------------------------------------------------------------------------------------------

_SYLLABLES = ("ba", "con", "dar", "fen", "gli", "hor", "jun", "kel", "lim", "mor", "nex", "pro", "qui", "ras", "ser",
              "tor", "ul", "vin", "wex", "zan")  # fmt: skip
_COMMON = ("cannot", "failed", "error", "invalid", "missing", "unexpected", "while", "reading", "writing", "module",
           "server", "request", "value", "table", "field", "type", "expected", "found", "connection")  # fmt: skip


def made_up(count: int, seed: int = 7) -> list[str]:
    """Different errors of about 60 characters without numbers: families that vary at a place or two, and strays."""
    random = Random(seed)
    rare = sorted({"".join(random.choices(_SYLLABLES, k=random.randint(2, 4))) for _ in range(6_000)})

    def word() -> str:
        return random.choice(_COMMON) if random.random() < 0.4 else random.choice(rare)

    families = [[word() for _ in range(random.randint(5, 7))] for _ in range(400)]
    texts: dict[str, None] = {}
    while len(texts) < count:
        if random.random() < 0.25:
            words = [word() for _ in range(random.randint(5, 7))]
        else:
            words = list(random.choice(families))
            for _ in range(random.randint(1, 2)):
                words[random.randrange(len(words))] = random.choice(rare)
        texts[" ".join(words)] = None
    return list(texts)


def _speed(quick: bool) -> list[Table]:
    """A blackboard grows by one text at a time: adding it must not cost as much as all the others."""
    texts = made_up(_TEXTS + _MORE)
    known, more = texts[:_TEXTS], texts[_TEXTS:]
    held: list[Grouper] = []

    def take_in() -> None:
        held[:] = [Grouper(_SIMILARITY)]
        for text in known:
            held[0].add(text)

    def add() -> None:
        for text in more:
            held[0].add(text)

    contestants = [
        Contestant("liza, all", lambda: similar_groups(known, _SIMILARITY)),
        Contestant(f"liza, {_MORE} more", add, before=take_in),
    ]
    compare = None if quick else _all_with_all(known)
    if compare is not None:
        contestants.append(Contestant("rapidfuzz, all with all", compare, at_most=2))
    ours, added, *compared = race(contestants, _ROUNDS)
    one = Measured("liza, one more", added.seconds / _MORE, added.rounds)
    ratio = ours.seconds / compared[0].seconds if compared else None
    return [
        Table(
            f"grouping {_TEXTS:,} different texts of {fmean(map(len, known)):.0f} characters",
            "liza / rapidfuzz's matrix of similarities, one core",
            [Row(ours, ratio, Target(0.333)), *map(Row, compared)],
        ),
        Table(
            f"one more text than {_TEXTS:,}",
            "grouping all / adding one",
            [Row(one, ours.seconds / one.seconds, Target(50, at_least=True))],
        ),
    ]


def _all_with_all(texts: Sequence[str]) -> Callable[[], object] | None:
    """Finding similar texts by comparing all with all. It needs numpy."""
    try:
        numpy, process = import_module("numpy"), import_module("rapidfuzz.process")
        compare = import_module("rapidfuzz.distance").Levenshtein.normalized_similarity
    except ImportError:
        return None

    def run() -> object:
        return process.cdist(texts, texts, scorer=compare, score_cutoff=_SIMILARITY, dtype=numpy.float32, workers=1)

    return run


_PEAK = f"""
from benchmarks.group import made_up
from liza.rules.similar import similar_groups
similar_groups(made_up({_TEXTS}), {_SIMILARITY})
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def _memory() -> Figures:
    """The peak of a separate process, measured by itself: as seen by its parent it includes the parent's peak."""
    peak = None
    if os.path.exists("/proc/self/status"):
        command = [sys.executable, "-c", _PEAK]
        found = subprocess.run(command, cwd=_REPOSITORY, env=_ENVIRONMENT, stdout=subprocess.PIPE, check=True)
        peak = int(found.stdout) / 1024
    figure = Figure(f"grouping {_TEXTS:,} texts", peak, None, Target(200), digits=0)
    return Figures("memory", [figure], "MB, the peak of a process that does nothing else")
