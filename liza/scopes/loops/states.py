"""The states of a loop: CLOSED while it gets on, OPEN once it does not, HALF_OPEN for one iteration that tries again.

Only decisions: a loop is what stands on the blackboard under its name, and each function says what is to stand there
next. Whatever people put beside our fields stays.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Match, Record, format_time, parse_time
from liza.scopes.change import Outcome
from liza.scopes.loops import derived as its
from liza.scopes.loops.settings import Settings
from liza.scopes.records import Event

CLOSED, OPEN, HALF_OPEN = "CLOSED", "OPEN", "HALF_OPEN"
STATES = (CLOSED, OPEN, HALF_OPEN)
RESET_ONLY = "absolute_max"  # the rule whose trips no probe closes
KEPT = 100  # iterations that stay on the blackboard
TRIPS = 50  # of a loop that its history keeps

Loop = dict[str, Any]
Judge = Callable[[Sequence[Record]], Sequence[Match]]


def status_of(loop: Mapping[str, Any]) -> str:
    """What a loop's status says. A word that is none of ours stops it: nobody knows what was meant."""
    status = loop.get("status", CLOSED)
    return status if status in STATES else OPEN


def effective(loop: Mapping[str, Any], settings: Settings, now: datetime) -> str:
    """The status now: where `auto_probe` is set, a stagnant loop that has cooled down tries one iteration by itself.

    Not if the time at which it was opened is unknown, and not if that is in the future: a clock that was set back is
    no reason to continue.
    """
    status = status_of(loop)
    is_automatic = settings.auto_probe and settings.cooldown_seconds and not needs_reset(loop)
    if status != OPEN or loop.get("status") != OPEN or not is_automatic:
        return status
    return HALF_OPEN if _moment(loop.get("last_trigger_time")) and now >= probe_from(loop, settings) else OPEN


def needs_reset(loop: Mapping[str, Any]) -> bool:
    """Whether the open trip of a loop is one that only a reset closes."""
    rules = (_open_trip(loop) or {}).get("rules")
    return isinstance(rules, list | tuple) and RESET_ONLY in rules


def probe_from(loop: Mapping[str, Any], settings: Settings) -> datetime:
    """When a person may let an open loop try one iteration. Where its time is unknown, a person decides at once."""
    opened = _moment(loop.get("last_trigger_time"))
    if opened is None or not settings.cooldown_seconds:
        return datetime.min.replace(tzinfo=UTC)
    return opened + timedelta(seconds=settings.cooldown_seconds)


def _moment(value: Any) -> datetime | None:
    """A time; other programs write it as seconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e11:
        return datetime.fromtimestamp(value, UTC)
    return parse_time(value)


# --- recording ------------------------------------------------------------------------------------------------------


def new() -> Loop:
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


def recorded(
    name: str, loop: Mapping[str, Any], entry: Mapping[str, Any], error: Mapping[str, Any] | None,
    settings: Settings, judge: Judge, now: datetime,
) -> Outcome:  # fmt: skip
    """After one more iteration."""
    before = _begun(name, loop, settings, judge, now)
    count = its.count_of(before.record) + 1
    grown = {
        **before.record,
        "loop_count": count,
        "iterations": [*_list(before.record, "iterations"), {"iteration": count, **entry}],
    }
    if error is not None:
        grown["error_history"] = [*_list(grown, "error_history"), {"iteration": count, **error}]
    elif "error_history" not in grown:
        grown["error_history"] = []
    after = settled(name, grown, settings, judge, now)
    counted = its.no_progress(after.record, settings)
    trimmed, older = _trimmed({**after.record, "consecutive_no_progress_loops": counted})
    return Outcome(trimmed, before.events + after.events, before.archived + after.archived + older)


def _begun(name: str, loop: Mapping[str, Any], settings: Settings, judge: Judge, now: datetime) -> Outcome:
    """The loop as an iteration finds it: one that was finished begins anew, one that has cooled down may be tried."""
    is_tried = status_of(loop) == HALF_OPEN  # by an iteration that another program wrote
    done = settled(name, loop, settings, judge if is_tried else None, now)  # else a reset by hand, not yet noticed
    loop = done.record
    if status_of(loop) == CLOSED and loop.get("completed_at"):
        fresh, archived = _emptied({key: value for key, value in loop.items() if key != "completed_at"}, 0)
        return Outcome(fresh, done.events, done.archived + archived)
    if status_of(loop) == OPEN and effective(loop, settings, now) == HALF_OPEN:
        probing = probed(name, loop, "cooldown", now)
        return Outcome(probing.record, done.events + probing.events, done.archived)
    return done


def _trimmed(loop: Loop) -> tuple[Loop, tuple[Mapping[str, Any], ...]]:
    """Only the newest iterations stay on the blackboard."""
    if len(its.listed(loop)) <= KEPT:
        return loop, ()
    entries = its.numbered(loop)
    older, kept = entries[:-KEPT], entries[-KEPT:]
    first = kept[0][0]
    history = [e for e in _list(loop, "error_history") if not (isinstance(e, MAPPINGS) and _before(e, first))]
    known = [p for _, entry in older if (p := its.number(entry.get("progress"))) is not None]
    before = known[-1] if known else loop.get("progress_before")
    trimmed = {**loop, "iterations": [dict(entry) for _, entry in kept], "error_history": history}
    return _with_baseline(trimmed, before), _to_archive(loop, [n for n, _ in older])


def _before(entry: Mapping[str, Any], first: int) -> bool:
    return type(entry.get("iteration")) is int and entry["iteration"] < first


def _with_baseline(loop: Loop, progress: Any) -> Loop:
    """Where the percentage stood before the first iteration that is on the blackboard."""
    if its.number(progress):
        return {**loop, "progress_before": progress}
    return {key: value for key, value in loop.items() if key != "progress_before"}


def _to_archive(loop: Mapping[str, Any], numbers: Sequence[int]) -> tuple[Mapping[str, Any], ...]:
    """Iterations as they are kept elsewhere: each with the error that came out of it."""
    errors: dict[Any, Any] = {}
    for error in _list(loop, "error_history"):
        if isinstance(error, MAPPINGS):
            errors.setdefault(error.get("iteration"), {k: v for k, v in error.items() if k != "iteration"})
    wanted = set(numbers)
    return tuple(
        {**entry, "iteration": number, **({"error": errors[number]} if number in errors else {})}
        for number, entry in its.numbered(loop)
        if number in wanted
    )


# --- judging --------------------------------------------------------------------------------------------------------


def settled(name: str, loop: Mapping[str, Any], settings: Settings, judge: Judge | None, now: datetime) -> Outcome:
    """What the loop is to be, as it stands: the same for whoever looks, and nothing more when it is asked again.

    Without a judge only what was done to it by hand.
    """
    status = status_of(loop)
    if status == CLOSED and (_open_trip(loop) is not None or loop.get("trigger_reason")):
        return closed(name, loop, "by hand", None, now)  # somebody changed the status, and that was all
    if status == HALF_OPEN:
        return _after_probe(name, loop, settings, judge, now)
    last = its.newest(loop) or {}
    if status == OPEN or loop.get("completed_at") or not its.count_of(loop):
        return Outcome(dict(loop))
    if its.completed(last):  # before any limit: work that is done is done
        return _completed(name, loop, last, now)
    if judge is None or settings.disabled:
        return Outcome(dict(loop))
    matches = judge(its.counted(name, loop, settings))
    if not matches:
        return Outcome(dict(loop))
    # The first in pack order is the reason.
    return opened(name, loop, words(matches[0]), [match.rule.name for match in matches], settings, now)


def _completed(name: str, loop: Mapping[str, Any], last: Mapping[str, Any], now: datetime) -> Outcome:
    done = {**loop, "completed_at": last.get("timestamp") or format_time(now)}
    return Outcome(done, (Event("loop", name, "completed", f"loop {name} is completed", _task(last)),))


def opened(
    name: str, loop: Mapping[str, Any], reason: str, rules: Sequence[str], settings: Settings, now: datetime
) -> Outcome:
    """After a trip by these rules."""
    count = its.count_of(loop)
    trip = {"opened": format_time(now), "reason": reason, "rules": list(rules), "loop_count": count}
    times = loop.get("trigger_count")
    result = {
        **loop,
        "status": OPEN,
        "trigger_reason": reason,
        "trigger_count": (times if type(times) is int and times >= 0 else 0) + 1,
        "loop_count": count,
        "consecutive_no_progress_loops": its.no_progress(loop, settings),
        "last_trigger_time": format_time(now),
        "history": [*_list(loop, "history"), trip][-TRIPS:],
    }
    said = f"loop {name} is OPEN: {reason}"
    return Outcome(result, (Event("loop", name, "opened", said, _task(its.newest(loop) or {})),))


def words(match: Match) -> str:
    """The reason in the words of the rule."""
    template = match.rule.summary or match.rule.description or match.rule.name
    text = (match.key or "").partition(" / ")[2]
    return template.replace("{count}", f"{match.value:g}").replace("{text}", " ".join(text.split())[:200])


def _after_probe(name: str, loop: Mapping[str, Any], settings: Settings, judge: Judge | None, now: datetime) -> Outcome:
    """One iteration, judged on its own: progress closes the loop, anything else opens it again.

    Progress does not close it once there were so many iterations that only a reset does.
    """
    if needs_reset(loop):
        said = f"loop {name} stays OPEN: a trip of {RESET_ONLY} is closed by a reset, not by a probe"
        return Outcome({**loop, "status": OPEN}, (Event("loop", name, "probe_refused", said),))
    trip = _open_trip(loop) or {}
    probe = trip.get("probe")
    if type(probe) is not int:  # somebody changed the status: what was recorded before that has tried nothing
        return probed(name, loop, "by hand", now)
    tried = [r for r in its.derived(name, loop, settings) if r.fields["iteration"] >= probe]
    if not tried:
        return Outcome(dict(loop))
    record = tried[0]
    if record.fields["completed"]:
        after = closed(name, loop, "probe", None, now)
        done = _completed(name, after.record, record.fields, now)
        return Outcome(done.record, after.events + done.events, after.archived)
    matches = judge(its.counted(name, loop, settings)) if judge is not None and not settings.disabled else ()
    if limit := next((match for match in matches if match.rule.name == RESET_ONLY), None):
        return opened(name, _ended(loop, "probe failed", None, now), words(limit), [RESET_ONLY], settings, now)
    if _gets_on(record):
        return closed(name, loop, "probe", None, now)
    if settings.disabled:
        return Outcome(dict(loop))
    reason = str(trip.get("reason") or "No progress")
    again = opened(name, _ended(loop, "probe failed", None, now), reason, ["probe"], settings, now)
    said = f"loop {name} is OPEN again, the iteration that tried made no progress: {reason}"
    return again._replace(events=(again.events[0]._replace(text=said),))


def _gets_on(record: Record) -> bool:
    """Something moved, and nothing failed."""
    fields = record.fields
    failed = fields["signature"] is not None or fields["verified"] is False or fields["claimed"]
    fine = fields.get("outcome") in (None, "ok") and not failed
    return fine and (fields["changed"] is True or fields["progressing"])


# --- what people decide ---------------------------------------------------------------------------------------------


def closed(
    name: str, loop: Mapping[str, Any], how: str, why: str | None, now: datetime, by: str | None = None
) -> Outcome:
    """After a reset: every counter is 0, and how often it tripped is kept. Its iterations leave the blackboard."""
    progress = [p for _, entry in its.numbered(loop) if (p := its.number(entry.get("progress"))) is not None]
    ended = _ended(loop, how, why, now, by)
    ended.pop("completed_at", None)
    fresh, archived = _emptied(ended, progress[-1] if progress else loop.get("progress_before"))
    result = {**fresh, "status": CLOSED, "trigger_reason": ""}
    said = f"loop {name} is CLOSED ({how}{f' by {by}' if by else ''}){f': {why}' if why else ''}"
    return Outcome(result, (Event("loop", name, "closed", said),), archived)


def _emptied(loop: Mapping[str, Any], progress: Any) -> tuple[Loop, tuple[Mapping[str, Any], ...]]:
    archived = _to_archive(loop, [number for number, _ in its.numbered(loop)])
    zero = {"loop_count": 0, "consecutive_no_progress_loops": 0, "error_history": [], "iterations": []}
    return _with_baseline({**loop, **zero}, progress), archived


def probed(name: str, loop: Mapping[str, Any], why: str, now: datetime, by: str | None = None) -> Outcome:
    """The next iteration, and no other, tries whether the loop gets on again."""
    trips = _list(loop, "history")
    count = its.count_of(loop)
    trip = {**(_open_trip(loop) or {"opened": format_time(now), "reason": loop.get("trigger_reason") or "unknown"})}
    trip |= {"probe": count + 1, "probe_by": by} if by else {"probe": count + 1}
    kept = trips[:-1] if _open_trip(loop) is not None else trips
    result = {**loop, "status": HALF_OPEN, "loop_count": count, "history": [*kept, trip]}
    said = f"loop {name} is HALF_OPEN ({why}{f' by {by}' if by else ''}): one iteration tries again"
    return Outcome(result, (Event("loop", name, "probing", said),))


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
        return Decision(how, _text(trip.get("probe_by")), None)
    last = next((each for each in reversed(_list(loop, "history")) if isinstance(each, MAPPINGS)), None)
    if last is None:
        return Decision("gone", None, None)
    return Decision(str(last.get("how") or "by hand"), _text(last.get("by")), _text(last.get("why")))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _open_trip(loop: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The last trip, if nobody has closed it."""
    trips = _list(loop, "history")
    last = trips[-1] if trips else None
    return last if isinstance(last, MAPPINGS) and last.get("opened") and not last.get("closed") else None


def _ended(loop: Mapping[str, Any], how: str, why: str | None, now: datetime, by: str | None = None) -> Loop:
    trip = _open_trip(loop)
    if trip is None:
        return dict(loop)
    end = {"closed": format_time(now), "how": how, "by": by, "why": why}
    done = {**trip, **{key: value for key, value in end.items() if value is not None}}
    return {**loop, "history": [*_list(loop, "history")[:-1], done]}


def _list(loop: Mapping[str, Any], field: str) -> list[Any]:
    value = loop.get(field)
    return list(value) if isinstance(value, list | tuple) else []


def _task(entry: Mapping[str, Any]) -> str | None:
    task = entry.get("task")
    return str(task) if task is not None else None
