"""The `circuit_breaker` section as a value: its fields, and the new ones after a check, a trip or a resolution.

Only decisions; nothing here reads or writes a file. Whatever people put into the section beside our fields stays in it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import Origin, format_time, is_trip_id, list_in
from liza.rules.acknowledged import is_trip, open_trigger, origin_of, same_trip

__all__ = [
    "also_matched", "checked", "completed", "decision_on", "entry_of", "follow_numbers", "history_of", "how_resolved",
    "is_recorded", "is_trip", "looked_at", "open_trigger", "reconcile", "resolved", "trigger_fields", "tripped",
    "whose",
]  # fmt: skip

Section = dict[str, Any]
WITHOUT_TERMINAL = "without_terminal"  # a decision that perhaps no person made
DECISION = ("resolution", "resolved_at", "resolved_by", "cause", WITHOUT_TERMINAL)
OF_TRIGGER = ("timestamp", "pattern", "severity", "message", "tripped_by", "host")  # that its entry has, too
BY_HAND = "by hand"  # as resolved_by where the name is unknown
MANUAL = "manual"  # the pattern of a trip for which a person named none


def history_of(section: Any) -> list[Any]:
    entries = section.get("history") if isinstance(section, Mapping) else None
    return list(list_in(entries))


def knows(section: Any, trip_id: str | None) -> bool:
    """Whether the history has this trip, open or resolved."""
    return trip_id is not None and any(
        isinstance(entry, Mapping) and entry.get("trip_id") == trip_id for entry in history_of(section)
    )


def unused_id(section: Any, ids: Iterable[str]) -> str:
    """The first of these ids that no trip in the history has but the open one: the log knows a trip by its id, so a
    second one of the same id would have no lines there."""
    own = (open_trigger(section) or {}).get("trip_id")
    return next(each for each in ids if each == own or not knows(section, each))


def is_resolved(section: Any, trip_id: str | None) -> bool:
    return trip_id is not None and any(
        isinstance(entry, Mapping) and entry.get("trip_id") == trip_id and entry.get("resolved_at") is not None
        for entry in history_of(section)
    )


def entry_of(section: Any, trigger: Mapping[str, Any]) -> int | None:
    """The place of an open trip in the history."""
    for index, entry in enumerate(history_of(section)):
        if isinstance(entry, Mapping) and _is_open(entry) and same_trip(entry, trigger):
            return index
    return None


def is_recorded(section: Any, trigger: Mapping[str, Any]) -> bool:
    """Whether liza has recorded this open trip. A trigger may have an id of any origin, so the entry must have it."""
    trip = trigger.get("trip_id")
    return is_trip_id(trip) and any(
        isinstance(entry, Mapping) and _is_open(entry) and entry.get("trip_id") == trip for entry in history_of(section)
    )


def _is_open(entry: Mapping[str, Any]) -> bool:
    return entry.get("result") == "TRIGGERED" and entry.get("resolved_at") is None


def checked(section: Any, now: datetime) -> Section:
    """After a check that found nothing: consecutive ones are one entry."""
    history = history_of(section)
    last = history[-1] if history else None
    if isinstance(last, Mapping) and last.get("result") == "OK" and last.get("pattern") is None:
        checks = (last["checks"] if isinstance(last.get("checks"), int) else 1) + 1
        history[-1] = {**last, "checks": checks, "last_at": format_time(now)}
    else:
        history.append({"timestamp": format_time(now), "pattern": None, "result": "OK"})
    return {
        **_plain(section),
        "last_check": format_time(now),
        "status": "OK",
        "current_trigger": None,
        "history": history,
    }


def looked_at(section: Any, now: datetime) -> Section:
    """After a check that found the breaker open and nothing new."""
    return {**_plain(section), "last_check": format_time(now)}


def tripped(section: Any, trigger: Mapping[str, Any], evidence: Mapping[str, Any], now: datetime) -> Section:
    """After a trip: it is in the history once, however often this is done."""
    history = history_of(section)
    entry = {name: trigger[name] for name in OF_TRIGGER if name in trigger}
    entry |= {
        "result": "TRIGGERED",
        "trip_id": trigger["trip_id"],
        "also_matched": also_matched(trigger),
    }
    entry["evidence"] = dict(evidence)
    if not entry["also_matched"]:
        del entry["also_matched"]
    at = entry_of(section, trigger)
    if at is None:
        history.append(entry)
    else:
        history[at] = {**history[at], **entry, "timestamp": history[at].get("timestamp", entry["timestamp"])}
    return {
        **_plain(section),
        "last_check": format_time(now),
        "status": "TRIGGERED",
        "current_trigger": dict(trigger),
        "history": history,
    }


def named(trigger: Mapping[str, Any]) -> str:
    """A trip in words: its pattern and its severity, whatever of them a person wrote."""
    return f"{trigger.get('pattern') or 'no pattern named'} ({trigger.get('severity') or 'no severity named'})"


def trigger_fields(trigger: Mapping[str, Any]) -> dict[str, Any]:
    """The open trip for other programs, always with the same fields."""
    names = ("timestamp", "pattern", "severity", "report_file", "trip_id")
    return {name: trigger.get(name) for name in names} | {"also_matched": also_matched(trigger)}


def also_matched(trigger: Mapping[str, Any]) -> list[str]:
    """The other patterns of a trip; another program may have written something else there."""
    return [str(name) for name in list_in(trigger.get("also_matched"))]


def resolved(
    section: Any, text: str, by: str, now: datetime, *, cause: str | None = None, terminal: bool = True
) -> Section:
    """After a human's decision: it completes the entry that the trip made."""
    trigger = open_trigger(section) or {}
    decision: dict[str, Any] = {"resolution": text, "resolved_at": format_time(now), "resolved_by": by}
    decision |= {"cause": cause} if cause is not None else {}
    decision |= {} if terminal else {WITHOUT_TERMINAL: True}
    history = history_of(section)
    at = entry_of(section, trigger)
    if at is None:
        at = _last(history, lambda entry: entry.get("result") == "TRIGGERED" and same_trip(entry, trigger))
    if at is not None and history[at].get("resolution") not in (None, "", text):
        decision["resolution"] = f"{history[at]['resolution']}; {text}"  # what was entered by hand before
    if at is None:
        kept = {n: trigger[n] for n in ("timestamp", "pattern", "severity", "trip_id") if trigger.get(n) is not None}
        kept = {"timestamp": format_time(now), "pattern": "unknown", **kept}
        history.append({**kept, "result": "TRIGGERED", **decision})
    else:
        history[at] = {**history[at], **decision}
    return {**_plain(section), "status": "OK", "current_trigger": None, "history": history}


def without_terminal_text(entry: Mapping[str, Any]) -> str:
    """The text of the alarm about a decision that was made without a terminal."""
    who = f"{entry.get('pattern')} was resolved without a terminal, in the name of {entry.get('resolved_by')}"
    return f"{who}: {entry.get('resolution')}"


def completed(section: Any, text: str, by: str, cause: str | None = None) -> tuple[Section, Mapping[str, Any]] | None:
    """The text for the last trip that was closed without one; None if there is no such trip."""
    history = history_of(section)
    at = _last(history, lambda entry: entry.get("result") == "TRIGGERED" and bool(entry.get("trip_id")))
    if at is None or history[at].get("resolution"):
        return None
    named = {"cause": cause} if cause is not None else {}
    history[at] = {**history[at], "resolution": text, "resolved_by": by, **named}
    return {**_plain(section), "history": history}, history[at]


def follow_numbers(section: Any, recovered: Iterable[str], values: Mapping[str, str]) -> Section:
    """What is known by now of numbers that were acknowledged: which are back within what their rule allows, so that
    they count from there when they get worse; and the values that an earlier release did not write down."""
    history = [_with_numbers(entry, set(recovered), values) for entry in history_of(section)]
    return {**_plain(section), "history": history} if history != history_of(section) else _plain(section)


def _with_numbers(entry: Any, recovered: set[str], values: Mapping[str, str]) -> Any:
    kept = entry.get("evidence") if isinstance(entry, Mapping) else None
    if not isinstance(kept, Mapping) or entry.get("resolved_at") is None:
        return entry
    known = list_in(entry.get("recovered"))
    back = [rule for rule in kept if rule in recovered and rule not in known]
    found = {rule: values[rule] for rule, text in kept.items() if text == "" and rule in values}
    return {**entry, "evidence": {**kept, **found}} | ({"recovered": [*known, *back]} if back else {})


def whose(entry: Mapping[str, Any]) -> str:
    """Who resolved an entry of the history, in words: a name that was edited in proves nothing."""
    by = entry.get("resolved_by")
    name = by if by and by != BY_HAND else None
    if origin_of(entry) is Origin.COMMAND:
        return str(name or BY_HAND)
    return f"edited by hand, signed {name}" if name else "edited by hand, unsigned"


def how_resolved(entry: Mapping[str, Any]) -> str:
    """`whose`, to follow the word "resolved"."""
    is_name = origin_of(entry) is Origin.COMMAND and entry.get("resolved_by") not in (None, "", BY_HAND)
    return f"by {whose(entry)}" if is_name else whose(entry)


def decision_on(section: Any, trip: Mapping[str, Any]) -> Mapping[str, Any] | None:
    history = history_of(section)
    at = _last(history, lambda entry: entry.get("resolved_at") is not None and same_trip(entry, trip))
    return history[at] if at is not None else None


def _last(history: Sequence[Any], wanted: Callable[[Mapping[str, Any]], bool]) -> int | None:
    return next(
        (i for i in reversed(range(len(history))) if isinstance(history[i], Mapping) and wanted(history[i])), None
    )


class Reconciled(NamedTuple):
    """The section with what people did by hand in liza's form, and what to report about it."""

    section: Section
    notes: list[str]
    joined: list[str]  # those notes that need no action


def reconcile(section: Any, now: datetime) -> Reconciled:
    """Bring what people did by hand into liza's own form.

    Moving the trigger into the history with `yq` leaves a second entry for the same trip: both become one. A trip whose
    entry is still open although the status is OK was resolved by a person who only changed the status.
    """
    history, joined = _join_twins(history_of(section))
    notes = list(joined)
    trigger = open_trigger(section)
    for index, entry in enumerate(history):
        if not isinstance(entry, Mapping) or not _is_open(entry) or not entry.get("trip_id"):
            continue  # without a trip id it is another tool's, and what it leaves open is not ours to close
        if trigger is not None and same_trip(entry, trigger):
            continue
        by = entry.get("resolved_by") or BY_HAND
        history[index] = {**entry, "resolved_at": format_time(now), "resolved_by": by}
        if not entry.get("resolution"):
            notes.append(f"{entry.get('pattern')} was resolved by hand, without a text")
    result = {**_plain(section), "history": history} if history != history_of(section) else _plain(section)
    if result.get("status") == "OK" and result.get("current_trigger") is not None:
        result["current_trigger"] = None  # a person set the status, and that was all
    return Reconciled(result, notes, joined)


def _join_twins(entries: Iterable[Any]) -> tuple[list[Any], list[str]]:
    """The history with every decision that was entered by hand in the entry of its trip, and a note for each."""
    history: list[Any] = []
    notes: list[str] = []
    for entry in entries:
        twin = _twin(history, entry)
        if twin is None:
            history.append(entry)
        else:
            decision = {name: entry[name] for name in DECISION if entry.get(name) is not None}
            history[twin] = {**history[twin], **decision}
            notes.append(f"the resolution of {entry.get('pattern')} that was added by hand was merged with its trip")
    return history, notes


def _twin(history: Sequence[Any], entry: Any) -> int | None:
    """The entry that our trip made for what a person entered again with their resolution."""
    if not isinstance(entry, Mapping) or "evidence" in entry or not entry.get("pattern"):
        return None
    for index, other in enumerate(history):
        if isinstance(other, Mapping) and other.get("result") == "TRIGGERED" and same_trip(other, entry):
            return index
    return None


def _plain(section: Any) -> Section:
    return dict(section) if isinstance(section, Mapping) else {}
