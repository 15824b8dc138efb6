"""The states of a loop: CLOSED while it makes progress, OPEN once it does not, HALF_OPEN for one trial iteration.

Pure decisions: each function takes a loop as it is on the blackboard and returns what to write there next. Fields that
other programs add are kept.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Match, Record, format_time, parse_time
from liza.schema.loop_statuses import CLOSED, HALF_OPEN, OPEN
from liza.scopes.evaluator import Evaluator, reason_text
from liza.scopes.loops import derived
from liza.scopes.loops.fields import (
    Loop,
    is_complete,
    iteration_count,
    iterations_of,
    newest_iteration,
    number_or_none,
    numbered_iterations,
    status_of,
)
from liza.scopes.loops.settings import Settings
from liza.scopes.records import list_of, mappings_of
from liza.scopes.transition import Event, Transition

RESET_ONLY = "absolute_max"  # the rule whose trips no probe closes
STAGNATION = "progress_stagnation"  # the rule about the percentage alone
KEPT = 100  # iterations that stay on the blackboard
TRIPS = 50  # of a loop that its history keeps


def effective_status(loop: Mapping[str, Any], settings: Settings, now: datetime) -> str:
    """The status now: with `auto_probe`, a stagnant loop that has cooled down is HALF_OPEN without a command.

    Not if the time at which it was opened is unknown or in the future: a clock that was set back must not end a trip.
    """
    status = status_of(loop)
    is_automatic = settings.auto_probe and settings.cooldown_seconds and not needs_reset(loop)
    if status != OPEN or loop.get("status") != OPEN or not is_automatic:
        return status
    return HALF_OPEN if _parse_moment(loop.get("last_trigger_time")) and now >= probe_from(loop, settings) else OPEN


def needs_reset(loop: Mapping[str, Any]) -> bool:
    """Whether the open trip of a loop is one that only a reset closes."""
    return RESET_ONLY in list_of(_open_trip(loop) or {}, "rules")


def probe_from(loop: Mapping[str, Any], settings: Settings) -> datetime:
    """When a person may let an open loop try one iteration: at once where the time of its trip is unknown."""
    opened = _parse_moment(loop.get("last_trigger_time"))
    if opened is None or not settings.cooldown_seconds:
        return datetime.min.replace(tzinfo=UTC)
    return opened + timedelta(seconds=settings.cooldown_seconds)


def _parse_moment(value: Any) -> datetime | None:
    """A time; other programs write it as seconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e11:
        return datetime.fromtimestamp(value, UTC)
    return parse_time(value)


# --- recording ------------------------------------------------------------------------------------------------------


def new_loop() -> Loop:
    return {
        "status": CLOSED,
        "trigger_reason": "",
        "trigger_count": 0,
        "loop_count": 0,
        "consecutive_no_progress_loops": 0,
        "last_trigger_time": None,
        "error_history": [],
        "iterations": [],
    }


def add_iteration(
    name: str, loop: Mapping[str, Any], entry: Mapping[str, Any], error: Mapping[str, Any] | None,
    evaluator: Evaluator[Settings],
) -> Transition:  # fmt: skip
    before = _ready_for_iteration(name, loop, evaluator)
    count = iteration_count(before.record) + 1
    grown = {
        **before.record,
        "loop_count": count,
        "iterations": [*list_of(before.record, "iterations"), {"iteration": count, **entry}],
    }
    if error is not None:
        grown["error_history"] = [*list_of(grown, "error_history"), {"iteration": count, **error}]
    elif "error_history" not in grown:
        grown["error_history"] = []
    after = reconcile_record(name, grown, evaluator)
    streak = derived.stagnant_streak(after.record, evaluator.settings)
    trimmed, older = _trim_iterations({**after.record, "consecutive_no_progress_loops": streak})
    return before.then(after).then(Transition(trimmed, (), older))


def _ready_for_iteration(name: str, loop: Mapping[str, Any], evaluator: Evaluator[Settings]) -> Transition:
    """The loop as the next iteration finds it: a completed one starts over, one that has cooled down is probed."""
    is_probed = status_of(loop) == HALF_OPEN  # an iteration that another program wrote is evaluated first
    before = reconcile_record(name, loop, evaluator, by_hand_only=not is_probed)  # a reset by hand not yet noticed
    loop = before.record
    if status_of(loop) == CLOSED and loop.get("completed_at"):
        fresh, archived = _empty({key: value for key, value in loop.items() if key != "completed_at"}, 0)
        return before.then(Transition(fresh, (), archived))
    if status_of(loop) == OPEN and effective_status(loop, evaluator.settings, evaluator.now) == HALF_OPEN:
        return before.then(start_probe(name, loop, "cooldown", evaluator.now))
    return before


def _trim_iterations(loop: Loop) -> tuple[Loop, tuple[Mapping[str, Any], ...]]:
    """Only the newest iterations stay on the blackboard."""
    if len(iterations_of(loop)) <= KEPT:
        return loop, ()
    entries = numbered_iterations(loop)
    older, kept = entries[:-KEPT], entries[-KEPT:]
    first = kept[0][0]
    history = [e for e in list_of(loop, "error_history") if not (isinstance(e, MAPPINGS) and _is_before(e, first))]
    known = [p for _, entry in older if (p := number_or_none(entry.get("progress"))) is not None]
    before = known[-1] if known else loop.get("progress_before")
    trimmed = {**loop, "iterations": [dict(entry) for _, entry in kept], "error_history": history}
    return _with_baseline(trimmed, before), _archived_iterations(loop, [n for n, _ in older])


def _is_before(entry: Mapping[str, Any], first: int) -> bool:
    return type(entry.get("iteration")) is int and entry["iteration"] < first


def _with_baseline(loop: Loop, progress: Any) -> Loop:
    """With the percentage before the first iteration that is on the blackboard."""
    if number_or_none(progress):
        return {**loop, "progress_before": progress}
    return {key: value for key, value in loop.items() if key != "progress_before"}


def _archived_iterations(loop: Mapping[str, Any], numbers: Sequence[int]) -> tuple[Mapping[str, Any], ...]:
    """Iterations as the archive has them: each with its error."""
    errors: dict[Any, Any] = {}
    for error in mappings_of(loop, "error_history"):
        errors.setdefault(error.get("iteration"), {k: v for k, v in error.items() if k != "iteration"})
    wanted = set(numbers)
    return tuple(
        {**entry, "iteration": number, **({"error": errors[number]} if number in errors else {})}
        for number, entry in numbered_iterations(loop)
        if number in wanted
    )


# --- evaluating -----------------------------------------------------------------------------------------------------


def reconcile_record(
    name: str, loop: Mapping[str, Any], evaluator: Evaluator[Settings], *, by_hand_only: bool = False
) -> Transition:
    """Apply edits by hand and the rules to a loop. Idempotent, so every caller may do it.

    `by_hand_only` applies the edits and asks no rule.
    """
    status, now = status_of(loop), evaluator.now
    if status == CLOSED and (_open_trip(loop) is not None or loop.get("trigger_reason")):
        return close_loop(name, loop, "by hand", None, now)  # a person changed the status, and nothing else
    if status == HALF_OPEN:
        return _evaluate_probe(name, loop, evaluator, by_hand_only=by_hand_only)
    last = newest_iteration(loop) or {}
    if status == OPEN or loop.get("completed_at") or not iteration_count(loop):
        return Transition(dict(loop))
    if is_complete(last):  # before any limit: completed work is completed
        return _complete(name, loop, last, now)
    matches = [] if by_hand_only else _trips(name, loop, evaluator)
    if not matches:
        return Transition(dict(loop))
    # The first in pack order is the reason.
    return open_loop(name, loop, trip_reason(matches[0]), [match.rule.name for match in matches], evaluator)


def _trips(name: str, loop: Mapping[str, Any], evaluator: Evaluator[Settings]) -> list[Match]:
    if evaluator.settings.disabled:
        return []
    return evaluator.trips(derived.derive_with_blanks(name, loop, evaluator.settings))


def _complete(name: str, loop: Mapping[str, Any], last: Mapping[str, Any], now: datetime) -> Transition:
    completed = {**loop, "completed_at": last.get("timestamp") or format_time(now)}
    return Transition(completed, (Event("loop", name, "completed", f"loop {name} is completed", _task(last)),))


def open_loop(
    name: str, loop: Mapping[str, Any], reason: str, rules: Sequence[str], evaluator: Evaluator[Settings]
) -> Transition:
    count, now = iteration_count(loop), format_time(evaluator.now)
    trip = {"opened": now, "reason": reason, "rules": list(rules), "loop_count": count}
    times = loop.get("trigger_count")
    result = {
        **loop,
        "status": OPEN,
        "trigger_reason": reason,
        "trigger_count": (times if type(times) is int and times >= 0 else 0) + 1,
        "loop_count": count,
        "consecutive_no_progress_loops": derived.stagnant_streak(loop, evaluator.settings),
        "last_trigger_time": now,
        "history": [*list_of(loop, "history"), trip][-TRIPS:],
    }
    text = f"loop {name} is OPEN: {reason}"
    return Transition(result, (Event("loop", name, "opened", text, _task(newest_iteration(loop) or {})),))


def trip_reason(match: Match) -> str:
    text = (match.key or "").partition(" / ")[2]
    return reason_text(match, " ".join(text.split())[:200])


def _evaluate_probe(
    name: str, loop: Mapping[str, Any], evaluator: Evaluator[Settings], *, by_hand_only: bool
) -> Transition:
    """Evaluate the one trial iteration by itself: progress closes the loop, anything else opens it again.

    After absolute_max iterations only a reset closes it, not progress.
    """
    settings, now = evaluator.settings, evaluator.now
    if needs_reset(loop):
        text = f"loop {name} stays OPEN: only a reset closes a trip of {RESET_ONLY}"
        return Transition({**loop, "status": OPEN}, (Event("loop", name, "probe_refused", text),))
    trip = _open_trip(loop) or {}
    probe = trip.get("probe")
    if type(probe) is not int:  # a person changed the status: iterations from before that are not the trial
        return start_probe(name, loop, "by hand", now)
    tried = [r for r in derived.derive_iterations(name, loop, settings) if r.fields["iteration"] >= probe]
    if not tried:
        return Transition(dict(loop))
    record = tried[0]
    if record.fields["completed"]:
        closed = close_loop(name, loop, "probe", None, now)
        return closed.then(_complete(name, closed.record, record.fields, now))
    matches = [] if by_hand_only else _trips(name, loop, evaluator)
    if limit := next((match for match in matches if match.rule.name == RESET_ONLY), None):
        return open_loop(name, _end_trip(loop, "probe failed", None, now), trip_reason(limit), [RESET_ONLY], evaluator)
    if _made_progress(record):
        return close_loop(name, loop, "probe", None, now)
    if settings.disabled:
        return Transition(dict(loop))
    reason = str(trip.get("reason") or "No progress")
    again = open_loop(name, _end_trip(loop, "probe failed", None, now), reason, ["probe"], evaluator)
    text = f"loop {name} is OPEN again, the trial iteration made no progress: {reason}"
    return again._replace(events=(again.events[0]._replace(text=text),))


def _made_progress(record: Record) -> bool:
    """Something changed, and nothing failed."""
    fields = record.fields
    failed = fields["signature"] is not None or fields["verified"] is False or fields["claimed"]
    is_fine = fields.get("outcome") in (None, "ok") and not failed
    return is_fine and (fields["changed"] is True or fields["progressing"])


# --- decisions ------------------------------------------------------------------------------------------------------


def close_loop(
    name: str, loop: Mapping[str, Any], how: str, why: str | None, now: datetime, by: str | None = None
) -> Transition:
    """Reset a loop: every counter is 0 except the number of trips, and its iterations leave the blackboard."""
    progress = [p for _, entry in numbered_iterations(loop) if (p := number_or_none(entry.get("progress"))) is not None]
    ended = _end_trip(loop, how, why, now, by)
    ended.pop("completed_at", None)
    fresh, archived = _empty(ended, progress[-1] if progress else loop.get("progress_before"))
    result = {**fresh, "status": CLOSED, "trigger_reason": ""}
    text = f"loop {name} is CLOSED ({how}{f' by {by}' if by else ''}){f': {why}' if why else ''}"
    return Transition(result, (Event("loop", name, "closed", text),), archived)


def _empty(loop: Mapping[str, Any], progress: Any) -> tuple[Loop, tuple[Mapping[str, Any], ...]]:
    archived = _archived_iterations(loop, [number for number, _ in numbered_iterations(loop)])
    zero = {"loop_count": 0, "consecutive_no_progress_loops": 0, "error_history": [], "iterations": []}
    return _with_baseline({**loop, **zero}, progress), archived


def start_probe(name: str, loop: Mapping[str, Any], why: str, now: datetime, by: str | None = None) -> Transition:
    """Let the next iteration, and only that one, try whether the loop makes progress again."""
    trips = list_of(loop, "history")
    count = iteration_count(loop)
    trip = {**(_open_trip(loop) or {"opened": format_time(now), "reason": loop.get("trigger_reason") or "unknown"})}
    trip |= {"probe": count + 1, "probe_by": by} if by else {"probe": count + 1}
    kept = trips[:-1] if _open_trip(loop) is not None else trips
    result = {**loop, "status": HALF_OPEN, "loop_count": count, "history": [*kept, trip]}
    text = f"loop {name} is HALF_OPEN ({why}{f' by {by}' if by else ''}): one more iteration is allowed"
    return Transition(result, (Event("loop", name, "probing", text),))


class Decision(NamedTuple):
    """What lets a loop continue, and who decided it; None where that is not known."""

    how: str  # reset, automatic, probe, cooldown, by hand; gone where the record is no longer there
    by: str | None
    why: str | None


def last_decision(loop: Mapping[str, Any]) -> Decision:
    """Why a loop that was open is not open any more."""
    trip = _open_trip(loop)
    if trip is not None:
        how = ("probe" if trip.get("probe_by") else "by hand") if status_of(loop) == HALF_OPEN else "cooldown"
        return Decision(how, _text_or_none(trip.get("probe_by")), None)
    trips = mappings_of(loop, "history")
    if not trips:
        return Decision("gone", None, None)
    last = trips[-1]
    return Decision(str(last.get("how") or "by hand"), _text_or_none(last.get("by")), _text_or_none(last.get("why")))


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def _open_trip(loop: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The last trip, while it is not closed."""
    trips = list_of(loop, "history")
    last = trips[-1] if trips else None
    return last if isinstance(last, MAPPINGS) and last.get("opened") and not last.get("closed") else None


def _end_trip(loop: Mapping[str, Any], how: str, why: str | None, now: datetime, by: str | None = None) -> Loop:
    trip = _open_trip(loop)
    if trip is None:
        return dict(loop)
    end = {"closed": format_time(now), "how": how, "by": by, "why": why}
    ended = {**trip, **{key: value for key, value in end.items() if value is not None}}
    return {**loop, "history": [*list_of(loop, "history")[:-1], ended]}


def _task(entry: Mapping[str, Any]) -> str | None:
    return _text_or_none(entry.get("task"))
