"""The counts and measurements of a soak, and their output."""

from collections import Counter
from collections.abc import Sequence


class Figures:
    """The sums over all rounds."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.times: dict[str, list[float]] = {}  # seconds
        self.most: dict[str, float] = {}

    def add(self, **counts: int) -> None:
        """Count things; underscores in their names are printed as spaces."""
        for name, count in counts.items():
            self.counts[name.replace("_", " ")] += count

    def took(self, name: str, seconds: float) -> None:
        self.times.setdefault(name, []).append(seconds)

    def at_most(self, name: str, value: float) -> None:
        self.most[name] = max(value, self.most.get(name, value))

    def lines(self) -> list[str]:
        counted = [f"{count:10,} {name}" for name, count in sorted(self.counts.items())]
        timed = [
            f"{len(times):10,} {name}: p50 {_at(times, 0.5)} ms, p99 {_at(times, 0.99)} ms, at most {_at(times, 1)} ms"
            for name, times in sorted(self.times.items())
        ]
        return counted + timed + [f"{value:10,.1f} {name}" for name, value in sorted(self.most.items())]


def _at(times: Sequence[float], share: float) -> str:
    ordered = sorted(times)
    return f"{ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000:,.0f}"
