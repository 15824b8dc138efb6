"""The review cycle: named by who records a round, else counted.

Counted, a cycle is over once a claim that it reviewed gets its next objection.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liza.model import MAPPINGS
from liza.scopes.claims.fields import history_of, past_rounds, round_count, rounds_of
from liza.scopes.claims.objections import objections_of
from liza.scopes.claims.states import Round


class Cycle(NamedTuple):
    number: int
    is_counted: bool  # by liza: it was given no name


def latest_cycle(claims: Sequence[Mapping[str, Any]]) -> int | None:
    """The last cycle that any claim has seen; None where none was named or counted."""
    return max((cycle for claim in claims for _, cycle in _cycles(claim)), default=None)


def present_cycle(claims: Sequence[Mapping[str, Any]]) -> int | None:
    """The last cycle. Where other programs wrote rounds without one, each round of a claim counts as one."""
    return latest_cycle(claims) or max(map(round_count, claims), default=0) or None


def next_cycle(claims: Sequence[Mapping[str, Any]], claim: Mapping[str, Any], given: Round) -> Cycle:
    """The cycle of a new round of a claim."""
    if given.cycle is not None:
        return Cycle(given.cycle, is_counted=False)
    latest = latest_cycle(claims)
    if latest is None:
        return Cycle(round_count(claim) + 1, is_counted=True)
    found = [entry for each in claims for entry, cycle in _cycles(each) if cycle == latest]
    if not all(entry.get("cycle_counted") is True for entry in found if "event" not in entry):
        return Cycle(latest, is_counted=False)  # who named it names the next one
    mine = [entry for entry, cycle in _cycles(claim) if cycle == latest and objections_of(entry)]
    return Cycle(latest + bool(mine and given.objections), is_counted=True)


def _cycles(claim: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], int]]:
    """What of a claim has a cycle: its rounds, and what was decided about it."""
    for entry in (*past_rounds(claim), *rounds_of(claim), *history_of(claim)):
        if isinstance(entry, MAPPINGS) and type(cycle := entry.get("cycle")) is int:
            yield entry, cycle
