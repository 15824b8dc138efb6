"""How other programs detect a stuck agent, re-implemented from the descriptions that come with the data."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Calls = Sequence[Mapping[str, Any]]

_POLLING = ("BashOutput", "KillShell")


def _call(step: Mapping[str, Any]) -> tuple[str, str]:
    return step["tool"], step["input_id"]


def _exchange(step: Mapping[str, Any]) -> tuple[str, str, str]:
    return step["tool"], step["input_id"], step["result_id"]


def _in_a_row(values: Sequence[Any], times: int) -> bool:
    return any(len(set(values[i : i + times])) == 1 and values[i] is not None for i in range(len(values) - times + 1))


def three_failing(calls: Calls) -> bool:
    """Roo, Cline: three failing calls in a row."""
    return _in_a_row([step["failed"] or None for step in calls], 3)


def three_identical(calls: Calls) -> bool:
    """Cline's warning; opencode: three identical calls in a row."""
    return _in_a_row([_call(step) for step in calls], 3)


def openhands(calls: Calls) -> bool:
    """OpenHands: four equal calls with equal results, three equal failing ones, or ABABAB."""
    found = [_exchange(step) for step in calls]
    failing = [_exchange(step) if step["failed"] else None for step in calls]
    turns = any(found[i : i + 2] * 3 == found[i : i + 6] and found[i] != found[i + 1] for i in range(len(found) - 5))
    return _in_a_row(found, 4) or _in_a_row(failing, 3) or turns


def gemini(calls: Calls) -> bool:
    """Gemini CLI: a cycle of one to five calls, five times."""
    found = [_call(step) for step in calls]
    return any(
        found[i : i + period] * 5 == found[i : i + 5 * period]
        for period in range(1, 6)
        for i in range(len(found) - 5 * period + 1)
    )


def crush(calls: Calls) -> bool:
    """Crush: one call with its result more than five times among ten."""
    found = [_exchange(step) for step in calls]
    return any(Counter(found[i : i + 10]).most_common(1)[0][1] > 5 for i in range(len(found)))


def probe(calls: Calls) -> bool:
    """A probe: the same call with the same result at least twice among the last ten, polling exempt."""
    found = [None if step["tool"] in _POLLING else _exchange(step) for step in calls]
    repeated = [each is not None and each in found[max(0, i - 10) : i] for i, each in enumerate(found)]
    return any(sum(repeated[i : i + 10]) >= 2 for i in range(len(repeated)))


DETECTORS: dict[str, Callable[[Calls], bool]] = {
    "three failing calls in a row (Roo, Cline)": three_failing,
    "three identical calls in a row (Cline, opencode)": three_identical,
    "OpenHands": openhands,
    "Gemini CLI": gemini,
    "Crush": crush,
    "probe: two repetitions among ten": probe,
}
