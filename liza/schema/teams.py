"""The block `team` of rules.yaml."""

from typing import NamedTuple

from liza.schema import kinds
from liza.schema.kinds import OneOf
from liza.schema.walker import Table

ON_PARTITION = (
    "halt",
    "continue",
)  # what happens to a host that cannot reach the team's database; the first by default


class Seconds(NamedTuple):
    """A kind: a number of seconds in a range."""

    default: float
    least: float
    most: float

    def __call__(self, value: object) -> str | None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = is_number and self.least <= value <= self.most  # type: ignore[operator]
        return None if fits else f"a number of seconds from {self.least:g} to {self.most:g}"


MAX_SILENCE = Seconds(120, 1, 86_400)
TEAM = {"max_silence": MAX_SILENCE, "poll": Seconds(15, 0.05, 3600)}
BLOCK = Table({"url": kinds.label, "name": kinds.label, "on_partition": OneOf(ON_PARTITION), **TEAM}, closed=True)
