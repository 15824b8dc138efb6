"""What evaluating may cost: agents write the texts and lists that rules look at, and people write rules in a hurry.

The shipped rules cost little for any blackboard within the limits. Own rules share a time; a rule that goes on beyond
it is left out of this evaluation, which is DEGRADED and names the rule. The clock is the caller's.
"""

from collections.abc import Callable

from liza.errors import Unreadable

DEFAULT_SECONDS = 3.0  # for the own rules of a blackboard, together
_PAUSE = 0.5  # seconds without own rules: after that the time begins anew


class TooCostly(Unreadable):
    """A rule takes more than it may; what it would have found is not known."""


class Budget:
    """The time of own rules, and which rules could not be evaluated, each with why."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self.overruns: dict[str, str] = {}
        self._clock = clock
        self._began = self._last = float("-inf")

    def spend(self) -> None:
        """Called again and again while an own rule is evaluated. Checks that follow one another share the time: there
        may be one for each of thousands of loops."""
        now = self._clock()
        if now - self._last > _PAUSE:
            self._began = now
        self._last = now
        if now - self._began > self.seconds:
            raise TooCostly(f"own rules took longer than {self.seconds:g} s, together")


def unlimited() -> None:
    """What the shipped rules spend."""
