"""Time limits of evaluation: agents write the texts and lists that rules read, and custom rules may be costly.

The shipped rules are cheap for any blackboard within the limits. Custom rules share one time limit; a rule that exceeds
it is left out of this evaluation, which is then DEGRADED and names the rule. The clock is the caller's.
"""

from collections.abc import Callable

from liza.errors import Unreadable

DEFAULT_SECONDS = 1.0  # for the custom rules of a blackboard, together
_PAUSE = 0.5  # seconds without custom rules, after which the time starts over


class TooCostly(Unreadable):
    """A rule exceeds its limit; its result is unknown."""


class TimeLimit:
    """The time left for custom rules, and the rules that could not be evaluated, each with the reason."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self.overruns: dict[str, str] = {}
        self._clock = clock
        self._began = self._last = float("-inf")

    def begin(self) -> None:
        """A custom rule is about to be evaluated.

        Checks in quick succession share the time: there may be one for each of thousands of loops.
        """
        now = self._clock()
        if now - self._last > _PAUSE:
            self._began = now

    def end(self) -> None:
        """It was evaluated, however long it took without calling `spend`."""
        self._last = self._clock()

    def spend(self) -> None:
        """Called repeatedly while a custom rule is evaluated; raises `TooCostly` when the time is used up."""
        now = self._last = self._clock()
        if now - self._began > self.seconds:
            raise TooCostly(f"custom rules together took longer than {self.seconds:g} s")


def unlimited() -> None:
    """The shipped rules have no time limit."""
