"""The states of a session: ACTIVE, and STOPPED after a trip or by a person.

Pure decisions: each function takes a session as it is on the blackboard and returns what to write there next. Fields
that other programs add are kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.clients.event import call_text
from liza.model import Match, format_time
from liza.rules import acknowledged
from liza.schema.actions import Action
from liza.scopes.evaluator import reason_text
from liza.scopes.records import list_of
from liza.scopes.sessions.fields import ACTIVE, STOPPED, open_trip, status_of
from liza.scopes.sessions.step_window import STEPS
from liza.scopes.transition import Event, Transition
from liza.text import cut_line

TRIPS = 20  # that the history of a session keeps
BY_HAND = "by hand"


def stop_session(
    name: str, record: Mapping[str, Any], rules: Sequence[str], reason: str, trip_id: str, now: datetime,
    by: str | None = None,
) -> Transition:  # fmt: skip
    """Stop a session; one that is stopped stays as it is."""
    if status_of(record) == STOPPED and open_trip(record) is not None:
        return Transition(dict(record))
    trip = {"stopped": format_time(now), "trip_id": trip_id, "rules": list(rules), "reason": reason}
    trip |= {"by": by} if by else {}
    whose = f" by {by}" if by and by != BY_HAND else ""
    event = Event("session", name, "stopped", f"session {label_of(name, record)} is STOPPED{whose}: {reason}")
    return Transition({**record, "status": STOPPED, "current_trip": trip}, (event,))


def resume_session(name: str, record: Mapping[str, Any], why: str | None, by: str, now: datetime) -> Transition:
    """Let a session continue; the trip moves to its history, and its steps so far no longer count."""
    end = {"resumed": format_time(now), "by": by, **({"why": why} if why else {})}
    trips = [*list_of(record, "history"), {**(open_trip(record) or {}), **end}]
    kept = {key: value for key, value in record.items() if key != "current_trip"}
    text = f"session {label_of(name, record)} is ACTIVE again ({by}){f': {cut_line(why, 300)}' if why else ''}"
    resumed = {**kept, "status": ACTIVE, "resumed": end["resumed"], "history": trips[-TRIPS:]}
    return Transition(resumed, (Event("session", name, "resumed", text),))


def reconcile_record(name: str, record: Mapping[str, Any], now: datetime) -> Transition:
    """Apply edits by hand: a status that a person changed, and nothing else. Idempotent."""
    if status_of(record) == ACTIVE and open_trip(record) is not None:
        return resume_session(name, record, None, BY_HAND, now)
    if status_of(record) == STOPPED and open_trip(record) is None:
        reason = str(record.get("reason") or f"its status is {record.get('status')!r}")
        return stop_session(
            name, record, [BY_HAND], reason, acknowledged.trip_id(f"{BY_HAND} {name}", (), 0), now, BY_HAND
        )
    return Transition(dict(record))


def trip_id_of(name: str, match: Match, record: Mapping[str, Any] | None) -> str:
    """The id of the trip that a match calls for. How often the session was stopped before makes it another one."""
    earlier = len(list_of(record or {}, "history"))
    return acknowledged.trip_id(f"{match.rule.name} {name} {earlier}", match.new, match.threshold)


def warnings_in(matches: Iterable[Match]) -> list[Match]:
    """The warnings among matches, in the order of the pack, each about another cause.

    The same call that fails again is also a call of one tool that fails as before: what an earlier warning says of all
    these steps need not be said twice.
    """
    found: list[Match] = []
    for match in matches:
        steps = _steps_of(match)
        if match.rule.action == Action.WARN and not (steps and any(steps <= _steps_of(each) for each in found)):
            found.append(match)
    return found


def _steps_of(match: Match) -> set[int | str]:
    return {record.key for record in match.evidence if record.stream == STEPS}


def trip_reason(match: Match) -> str:
    """Why a session is stopped or warned: what was repeated, and what did not change."""
    if not match.evidence:
        return reason_text(match, "")
    last = match.evidence[-1].fields
    if last.get("cycle") and "rounds" in match.rule.condition:
        return reason_text(match, f"{last['cycle']} ({last['rounds']} times)")
    return reason_text(match, exchange_text(last))


def exchange_text(step: Mapping[str, Any]) -> str:
    """A call and what came of it, in a few words."""
    result = step.get("error") or cut_line(str(step.get("result") or ""), 200)
    return f"{call_text(step.get('tool'), step.get('input'))}{f' -> {result}' if result else ''}"


def label_of(name: str, record: Mapping[str, Any]) -> str:
    """A session as people know it."""
    label = record.get("name")
    return f"{label} ({name[:8]})" if isinstance(label, str) and label else name
