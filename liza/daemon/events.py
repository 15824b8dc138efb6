"""What a check has found that the check before had not. Only decisions: nothing is reported or written here."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from liza.check import Check
from liza.daemon.notifier import EventKind, Notice
from liza.model import Progress, Reason
from liza.scopes.history.section import history_of, how_resolved, named
from liza.text import of_text

_TODO = (
    "The agents are halted. Read .liza/circuit_breaker_report.md, decide, then run: liza resolve -m 'what was decided'"
)
_TODO_ONE = "All others continue. To see what it waits for, and the command that decides: liza status"


def of_check(before: Check | None, found: Check, *, observe: bool) -> Iterator[Notice]:
    """What is new about the sprint's breaker."""
    was = before.trigger if before is not None else None
    trigger = found.trigger
    is_new = trigger is not None and (was is None or was.get("trip_id") != trigger.get("trip_id"))
    if trigger is not None and is_new:
        verb = "" if found.tripped else ", already open"
        yield Notice(EventKind.TRIPPED, f"{named(trigger)}{verb}", _id(trigger), _TODO)
    elif found.tripped and was is not None and before is not None and not before.failed and not found.notes:
        text = "missing from state.yaml (an older copy may have been saved over it); the trip was recorded again"
        yield Notice(EventKind.ALARM, f"{trigger.get('pattern') if trigger else '?'}: {text}")
    elif was is not None and trigger is None and was.get("trip_id") and entry_of(found, was.get("trip_id")) is None:
        text = "missing from state.yaml (an older copy may have been saved over it), and no decision is recorded"
        yield Notice(EventKind.ALARM, f"{was.get('pattern')}: {text}")
    elif was is not None and trigger is None:
        yield Notice(EventKind.RESOLVED, _resolution(found, was), _id(was))
    elif observe and (names := [name for name in _matching(found) if before is None or name not in _matching(before)]):
        yield Notice(EventKind.TRIPPED, f"{', '.join(names)} would trip (only observing)")
    elif before is None or _counts(before) != _counts(found):
        yield Notice(EventKind.CHECKED, _nearest(found))
    for note in found.notes:
        if before is not None and is_new and note in found.lost:
            continue  # not lost: the command that trips has halted the agents, and is about to enter it
        if note not in found.restored:  # those are alarms for as long as the trip is open
            yield Notice(EventKind.CHECKED if note in found.joined else EventKind.ALARM, note)


def of_missed_decisions(found: Check, was_reported: Callable[[EventKind, str], bool]) -> Iterator[Notice]:
    """Trips that were reported, and were resolved while no daemon ran.

    Not the one that is open: a person who decides by hand enters the decision first, and then sets the status.
    """
    still_open = _id(found.trigger) if found.trigger is not None else None
    for entry in history_of(found.snapshot.sections.get("circuit_breaker")):
        if isinstance(entry, Mapping) and entry.get("trip_id"):  # with resolved_at, or closed by the status alone
            trip_id = str(entry["trip_id"])
            if (
                trip_id != still_open
                and was_reported(EventKind.TRIPPED, trip_id)
                and not was_reported(EventKind.RESOLVED, trip_id)
            ):
                yield Notice(EventKind.RESOLVED, _resolution(found, entry), trip_id)


def of_scopes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Notice]:
    """What is new about the narrower scopes: the open trips of each by their ids, in words."""
    new = {trip_id: text for trip_id, text in after.items() if trip_id not in before}
    yield from (Notice(EventKind.TRIPPED, text, trip_id, _TODO_ONE) for trip_id, text in new.items())
    yield from (
        Notice(EventKind.RESOLVED, f"no longer: {text}", trip_id)
        for trip_id, text in before.items()
        if trip_id not in after
    )


def _id(trigger: Mapping[str, Any]) -> str:
    return str(trigger.get("trip_id") or trigger.get("timestamp"))


def _resolution(found: Check, trigger: Mapping[str, Any]) -> str:
    entry = entry_of(found, trigger.get("trip_id")) or {}
    text = f": {entry['resolution']}" if entry.get("resolution") else ""
    return f"{trigger.get('pattern') or 'no pattern named'} {how_resolved(entry)}{text}"


def entry_of(found: Check, trip_id: str | None) -> Mapping[str, Any] | None:
    for entry in reversed(history_of(found.snapshot.sections.get("circuit_breaker"))):
        if isinstance(entry, Mapping) and entry.get("trip_id") == trip_id:
            return entry
    return None


def _matching(found: Check) -> list[str]:
    return list(dict.fromkeys(match.rule.name for match in found.verdict.matches))


def _counts(found: Check) -> list[tuple[str, float, str | None]]:
    return [(each.rule.name, each.value, each.key) for each in found.verdict.progress]


def _nearest(found: Check) -> str:
    """The patterns that have some evidence, in a line."""
    return ", ".join(_near(each) for each in found.verdict.progress if each.value > 0) or "no pattern has evidence"


def _near(each: Progress) -> str:
    words = {Reason.OBSERVED: " (only observed)", Reason.SILENCED: " (silenced)"}
    return f"{each.rule.name} {of_text(each.value, each.threshold)}{words.get(each.reason, '')}"
