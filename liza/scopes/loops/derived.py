"""The iterations of a loop with the fields that rules use, computed here and never read from the file.

An agent may write `changed: true` into an iteration. What counts is how many files changed, how the percentage moved,
which error occurred and what the evidence shows.

A new signal is a rule in `rules/packs/loops.yaml`, a name in `SIGNALS` of `schema/rules_yaml.py`, and the field here
that the rule counts.
"""

from collections.abc import Mapping
from typing import Any

from liza.model import Record, mappings_in
from liza.schema.rules_yaml import LIMITS
from liza.scopes.loops.fields import (
    claims_done,
    has_changes,
    is_complete,
    is_verified,
    iteration_count,
    iterations_of,
    number_or_none,
    numbered_iterations,
)
from liza.scopes.loops.settings import Settings
from liza.toolerrors.errors import Error, subject_of


def derive_iterations(name: str, loop: Mapping[str, Any], settings: Settings) -> list[Record]:
    """The iterations of a loop with every field that rules use."""
    errors = _errors(loop.get("error_history"))
    before = number_or_none(loop.get("progress_before")) or 0.0
    found: list[dict[str, Any]] = []
    for count, entry in numbered_iterations(loop):
        progress = number_or_none(entry.get("progress"))
        delta = None if progress is None else progress - before
        before = before if progress is None else progress
        computed = {
            "loop": name,
            "iteration": count,
            "details": None,  # rules look a field up there too, and an agent may have written anything into it
            "changed": has_changes(entry),
            "progress_delta": delta,
            "stagnant": None if delta is None else delta < settings.stagnation_threshold,
            "progressing": delta is not None and delta >= settings.stagnation_threshold,
            "verified": is_verified(entry),
            "claimed": claims_done(entry),
            "completed": is_complete(entry),
            **errors.get(count, {"signature": None, "file": None, "subject": None}),
        }
        found.append({**entry, **computed})
    last = found[-1]["subject"] if found else None
    for each in found:
        each["like_the_last"] = last is not None and each["subject"] == last
    return [Record("iterations", index, each) for index, each in enumerate(found)]


def derive_with_blanks(name: str, loop: Mapping[str, Any], settings: Settings) -> list[Record]:
    """The same, after a blank record for each iteration that `loop_count` counts and the list does not have.

    At most as many as the limits of loops look at.
    """
    known = derive_iterations(name, loop, settings)
    unknown = min(iteration_count(loop) - len(known), LIMITS["absolute_max_loops"].most)
    if unknown <= 0:
        return known
    blanks = [Record("iterations", index, {"loop": name}) for index in range(unknown)]
    return blanks + [record._replace(key=index) for index, record in enumerate(known, unknown)]


def stagnant_streak(loop: Mapping[str, Any], settings: Settings) -> int:
    """How many of the last iterations with a known percentage were stagnant."""
    count, before = 0, number_or_none(loop.get("progress_before")) or 0.0
    for entry in iterations_of(loop):
        progress = number_or_none(entry.get("progress"))
        if progress is not None:
            count = count + 1 if progress - before < settings.stagnation_threshold else 0
            before = progress
    return count


def _errors(history: Any) -> dict[int, dict[str, Any]]:
    """The error of each iteration; of several the first, which is the primary one."""
    found: dict[int, dict[str, Any]] = {}
    for entry in mappings_in(history):
        number, signature, file, test = (entry.get(name) for name in ("iteration", "signature", "file", "test"))
        if type(number) is int and isinstance(signature, str) and number not in found:
            error = Error(signature, file if isinstance(file, str) else None, test if isinstance(test, str) else None)
            found[number] = {"signature": signature, "file": file, "subject": subject_of(error)}
    return found
