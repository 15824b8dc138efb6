"""What follows from the iterations of a loop, worked out before any rule is asked and never read from the file.

An agent may write `changed: true` beside an iteration; what counts is how many files changed, how the percentage moved,
which error came out and what the evidence says.
"""

from collections.abc import Mapping
from typing import Any

from liza.model import MAPPINGS, Record
from liza.schema.rules import LIMITS
from liza.scopes.loops.settings import Settings
from liza.toolerrors.errors import Error, subject_of

COMPLETE = 100.0  # percent
OUTCOMES = ("ok", "error", "timeout", "crash")


def derived(name: str, loop: Mapping[str, Any], settings: Settings) -> list[Record]:
    """The iterations of a loop with all that rules ask about."""
    errors = _errors(loop.get("error_history"))
    before = number(loop.get("progress_before")) or 0.0
    found: list[dict[str, Any]] = []
    for count, entry in numbered(loop):
        progress = number(entry.get("progress"))
        delta = None if progress is None else progress - before
        before = before if progress is None else progress
        about = {
            "loop": name,
            "iteration": count,
            "details": None,  # nothing is looked up there: whatever an agent put into it is not what was seen
            "changed": changed(entry),
            "progress_delta": delta,
            "stagnant": None if delta is None else delta < settings.stagnation_threshold,
            "progressing": delta is not None and delta >= settings.stagnation_threshold,
            "verified": verified(entry),
            "claimed": claimed(entry),
            "completed": completed(entry),
            **errors.get(count, {"signature": None, "file": None, "subject": None}),
        }
        found.append({**entry, **about})
    last = found[-1]["subject"] if found else None
    for each in found:
        each["like_the_last"] = last is not None and each["subject"] == last
    return [Record("iterations", index, each) for index, each in enumerate(found)]


def counted(name: str, loop: Mapping[str, Any], settings: Settings) -> list[Record]:
    """The same behind those that loop_count tells of and nobody has written down, or somebody took away: of these it is
    only known that they were. As many as the limits of loops look at."""
    known = derived(name, loop, settings)
    unknown = min(count_of(loop) - len(known), LIMITS["absolute_max_loops"].most)
    if unknown <= 0:
        return known
    blanks = [Record("iterations", index, {"loop": name}) for index in range(unknown)]
    return blanks + [record._replace(key=index) for index, record in enumerate(known, unknown)]


def listed(loop: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The iterations on the blackboard, oldest first; what is no record is passed over."""
    found = loop.get("iterations")
    return [each for each in found if isinstance(each, MAPPINGS)] if isinstance(found, list | tuple) else []


def newest(loop: Mapping[str, Any]) -> Mapping[str, Any] | None:
    entries = listed(loop)
    return entries[-1] if entries else None


def numbered(loop: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """The iterations with their numbers; one that another program wrote may have none."""
    entries = listed(loop)
    found: list[tuple[int, Mapping[str, Any]]] = []
    last = max(count_of(loop) - len(entries), 0)
    for entry in entries:
        own = entry.get("iteration")
        last = own if type(own) is int and own > last else last + 1
        found.append((last, entry))
    return found


def count_of(loop: Mapping[str, Any]) -> int:
    """How many iterations there were since the last reset: what is written down, or at least what is there."""
    entries = listed(loop)
    written = loop.get("loop_count")
    numbers = [n for each in entries if type(n := each.get("iteration")) is int]
    return max(written if type(written) is int else 0, len(entries), *numbers, 0)


def number(value: Any) -> float | None:
    """A number that was written as one; anything else is unknown."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9
    return float(value) if is_number else None


def changed(entry: Mapping[str, Any]) -> bool | None:
    files = number(entry.get("files_changed"))
    return None if files is None else files > 0


def verified(entry: Mapping[str, Any]) -> bool | None:
    """Whether everything that was tried passed; None where nothing was."""
    results = evidence(entry)
    return all(results.values()) if results else None


def evidence(entry: Mapping[str, Any]) -> dict[str, bool]:
    given = entry.get("evidence")
    found = given.items() if isinstance(given, MAPPINGS) else ()
    return {str(name): result == "pass" for name, result in found if result in ("pass", "fail")}


def claimed(entry: Mapping[str, Any]) -> bool:
    """Whether the iteration says that all is done."""
    return entry.get("claims_done") is True or (number(entry.get("progress")) or 0.0) >= COMPLETE


def completed(entry: Mapping[str, Any]) -> bool:
    """Whether that is to be believed: nothing speaks against it, and a bare claim has evidence."""
    against = verified(entry) is False or entry.get("unproven") is True
    if not claimed(entry) or against or entry.get("outcome") in ("timeout", "crash", "error"):
        return False
    return verified(entry) is True or (number(entry.get("progress")) or 0.0) >= COMPLETE


def no_progress(loop: Mapping[str, Any], settings: Settings) -> int:
    """How many of the last iterations with a known percentage were stagnant."""
    count, before = 0, number(loop.get("progress_before")) or 0.0
    for entry in listed(loop):
        progress = number(entry.get("progress"))
        if progress is not None:
            count = count + 1 if progress - before < settings.stagnation_threshold else 0
            before = progress
    return count


def _errors(history: Any) -> dict[int, dict[str, Any]]:
    """The error of each iteration; of several the first, which is the primary one."""
    found: dict[int, dict[str, Any]] = {}
    for entry in history if isinstance(history, list | tuple) else ():
        number, signature, file, test = (
            (entry.get(name) for name in ("iteration", "signature", "file", "test"))
            if isinstance(entry, MAPPINGS)
            else (None,) * 4
        )
        if type(number) is int and isinstance(signature, str) and number not in found:
            error = Error(signature, file if isinstance(file, str) else None, test if isinstance(test, str) else None)
            found[number] = {"signature": signature, "file": file, "subject": subject_of(error)}
    return found
