"""The fields of a loop and of its iterations, as they are on the blackboard. An unusable value counts as unknown."""

from collections.abc import Mapping
from typing import Any

from liza.model import MAPPINGS
from liza.schema.loop_statuses import CLOSED, OPEN, OUTCOMES, STATUSES
from liza.scopes.records import Section, mappings_of
from liza.text import file_name

COMPLETE = 100.0  # percent

Loop = dict[str, Any]


def status_of(loop: Mapping[str, Any]) -> str:
    """The status of a loop. An unknown word counts as OPEN: it is not clear what was meant, so the loop is stopped."""
    status = loop.get("status", CLOSED)
    return status if status in STATUSES else OPEN


def _wanted_status(loop: Mapping[str, Any]) -> str | None:
    return None if loop.get("status", CLOSED) in STATUSES else f"one of {', '.join(STATUSES)}"


LOOPS = Section(
    scope="loop",
    name="loops",
    list_command="liza loop list",
    while_unusable="the loop counts as OPEN",
    example="coder-1",
    longest=200,
    lists=("iterations", "error_history", "history"),
    wanted_status=_wanted_status,
    leaves="iterations",
    file_of=lambda name: file_name(name, safe=" _.-~", longest=200, kept=187),
)

# --- iterations -----------------------------------------------------------------------------------------------------


def iterations_of(loop: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The iterations on the blackboard, oldest first."""
    return mappings_of(loop, "iterations")


def newest_iteration(loop: Mapping[str, Any]) -> Mapping[str, Any] | None:
    entries = iterations_of(loop)
    return entries[-1] if entries else None


def numbered_iterations(loop: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """The iterations with their numbers; one that another program wrote may have none of its own."""
    entries = iterations_of(loop)
    found: list[tuple[int, Mapping[str, Any]]] = []
    last = max(iteration_count(loop) - len(entries), 0)
    for entry in entries:
        own = entry.get("iteration")
        last = own if type(own) is int and own > last else last + 1
        found.append((last, entry))
    return found


def iteration_count(loop: Mapping[str, Any]) -> int:
    """How many iterations there were since the last reset: `loop_count`, or more if more are listed."""
    entries = iterations_of(loop)
    written = loop.get("loop_count")
    numbers = [n for each in entries if type(n := each.get("iteration")) is int]
    return max(written if type(written) is int else 0, len(entries), *numbers, 0)


def number_or_none(value: Any) -> float | None:
    """A number that was written as one; anything else is unknown."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9
    return float(value) if is_number else None


# --- one iteration --------------------------------------------------------------------------------------------------


def has_changes(entry: Mapping[str, Any]) -> bool | None:
    files = number_or_none(entry.get("files_changed"))
    return None if files is None else files > 0


def evidence_of(entry: Mapping[str, Any]) -> dict[str, bool]:
    """Each check of an iteration, and whether it passed."""
    given = entry.get("evidence")
    found = given.items() if isinstance(given, MAPPINGS) else ()
    return {str(name): result == "pass" for name, result in found if result in ("pass", "fail")}


def is_verified(entry: Mapping[str, Any]) -> bool | None:
    """Whether every check passed; None where there was none."""
    results = evidence_of(entry)
    return all(results.values()) if results else None


def claims_done(entry: Mapping[str, Any]) -> bool:
    return entry.get("claims_done") is True or (number_or_none(entry.get("progress")) or 0.0) >= COMPLETE


def is_complete(entry: Mapping[str, Any]) -> bool:
    """Whether that claim is accepted: nothing contradicts it, and a bare claim has evidence."""
    contradicted = is_verified(entry) is False or entry.get("unproven") is True
    if not claims_done(entry) or contradicted or entry.get("outcome") in OUTCOMES[1:]:
        return False
    return is_verified(entry) is True or (number_or_none(entry.get("progress")) or 0.0) >= COMPLETE
