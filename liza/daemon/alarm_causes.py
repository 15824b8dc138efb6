"""What is worth an alarm: the matches of the `alarms` pack, and what the files beside the blackboard show."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from liza.daemon.alarm_reminders import Cause
from liza.model import Match, Problem, Record, Snapshot, Verdict, file_time, format_time, parse_time
from liza.rules.evaluate import RuleSet
from liza.rules.fields import values
from liza.rules.silences import read_silences
from liza.schema.actions import Action
from liza.scopes.history.section import WITHOUT_TERMINAL, history_of, without_terminal_text
from liza.store.checkpoint import Checkpoint
from liza.store.paths import Paths
from liza.text import one_line

# When a person should look; from the second time on it is also written where they will find it.
REMIND_AFTER = (timedelta(minutes=30), timedelta(hours=2), timedelta(hours=8))
DONE = ("MERGED", "ABANDONED", "SUPERSEDED")
_PATIENCE = 2.0  # seconds between two steps of one decision: `liza resolve` writes, and then lets the agents continue
_BY_HAND = 60.0  # the same, for a person who types them
_RECENT = timedelta(days=1)
_LONG = 120  # characters of a record's text that an alarm repeats
# What an alarm shows of the record behind it: the first of these fields that it has, unless the rule has its own.
_SHOWN: tuple[str, ...] = ("blocked_reason", "detail", "question", "description", "what", "assigned_to")
_SHOWN_BY_RULE = {
    "coder_lease_expired": ("current_task", "lease_expires"),
    "review_lease_expired": ("reviewing_by", "review_lease_expires"),
    "rejected_without_coder": ("assigned_to",),
    "review_cycles_near_limit": ("review_cycles_used",),
    "review_cycles_used_up": ("review_cycles_used",),
    "iterations_near_limit": ("iterations_used",),
    "iterations_used_up": ("iterations_used",),
    "two_coders_failed": ("failed_by",),
    "task_reassigned": ("claimed_by",),
    "draft_stale": ("created",),
    "silent_session": ("name", "timestamp", "tool", "input"),
    "provider_limit": ("name", "limited_until", "error"),
}
_ALONE = ("detail", "question", "description", "what")  # texts that need no name before them


def of_rules(verdict: Verdict) -> Iterator[Cause]:
    """One for each group that a rule with the action ALERT has matched."""
    for match in verdict.observed:
        if match.rule.action == Action.ALERT:
            yield Cause(match.rule.name, _key(match.key or ""), _text(match))


def _key(key: str) -> str:
    """What distinguishes two causes, however long an id is."""
    return key if len(key) <= _LONG else f"{key[:_LONG]} {hashlib.sha256(key.encode(errors='replace')).hexdigest()[:8]}"


def _text(match: Match) -> str:
    fields = _SHOWN_BY_RULE.get(match.rule.name)
    texts = [text for record in match.evidence[-1:] for text in _texts_of(record, fields or _SHOWN)]
    shown = ", ".join(texts if fields else texts[:1])
    parts = (match.rule.summary or match.rule.description or match.rule.name, match.key or "", shown)
    return ": ".join(one_line(part, 2 * _LONG) for part in parts if part)


def _texts_of(record: Record, fields: tuple[str, ...]) -> Iterator[str]:
    for name in fields:
        texts = [one_line(value, _LONG) for value in values(record.get(name)) if not isinstance(value, Mapping)]
        shown = ", ".join(text for text in texts[:5] if text)
        if shown:
            yield shown if name in _ALONE else f"{name.replace('_', ' ')} {shown}"


def of_changes(rules: RuleSet) -> Iterator[Cause]:
    """Agents can write rules.yaml, too: what it loosens is reported."""
    for change in rules.changes:
        yield Cause("rules_changed", _key(change), f"rules.yaml: {change}")


def of_silences(section: Any, now: datetime) -> Iterator[Cause]:
    """Agents can write the blackboard: a pattern that is kept from halting them is reported."""
    for entry in read_silences(section):
        if (found := entry.silence) is not None and found.in_force(now):
            who, why = one_line(found.by or "an unnamed person", _LONG), one_line(found.reason, 2 * _LONG)
            rule, until = one_line(found.rule, _LONG), format_time(found.until)
            yield Cause("silenced", _key(entry.name), f"{rule} is silenced until {until} by {who}: {why}")


def of_verdict(verdict: Verdict) -> Iterator[Cause]:
    """What keeps records from counting, or seems to, and did not come by a command of liza."""
    decided = {claim.text for claim in verdict.claims}
    for claim in verdict.claims:
        text = one_line(claim.text, 3 * _LONG)
        yield Cause("claim", _key(f"{claim.rule} {claim.place} {claim.origin} {claim.in_future}"), text)
    for text in verdict.alarms:
        if text not in decided:
            yield Cause("window", _key(text), one_line(text, 3 * _LONG))


def of_decisions(section: Any, now: datetime) -> Iterator[Cause]:
    """Decisions of the last day that were made without a terminal: an agent may have cleared its environment."""
    for entry in history_of(section):
        if isinstance(entry, Mapping) and entry.get(WITHOUT_TERMINAL) is True:
            at = parse_time(entry.get("resolved_at"))
            if at is None or now - at < _RECENT:
                text = one_line(without_terminal_text(entry), 3 * _LONG)
                yield Cause(WITHOUT_TERMINAL, _key(str(entry.get("trip_id") or entry.get("resolved_at"))), text)


def of_problems(snapshot: Snapshot) -> Iterator[Cause]:
    errors = [problem for problem in snapshot.problems if problem.level == "error"]
    if errors:
        where = f"{errors[0].line}:{errors[0].column}: " if errors[0].line else ""
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        yield Cause("invalid_blackboard", "", f"the blackboard is not valid: {where}{errors[0].message}{more}")


def of_leftovers(texts: Iterable[str]) -> Iterator[Cause]:
    """What interrupted writes left, or an agent planted by such a name, and cannot be removed."""
    for text in texts:
        yield Cause("leftover", _key(text), text)


def of_inbox(problems: Iterable[Problem]) -> Iterator[Cause]:
    """Records that wait and cannot be entered."""
    for each in problems:
        yield Cause("inbox", _key(each.file), f"{each.file}: {each.message}")


class Ages:
    """How long files have been as they are. One whose time lies ahead, by a wrong clock, ages from our first look."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[float, datetime]] = {}

    def since(self, path: str, now: datetime) -> datetime | None:
        """Since when; None if there is nothing by that name."""
        try:
            time = os.lstat(path).st_mtime
        except OSError:
            return None
        if file_time(time) <= now:
            return file_time(time)
        if self._first.get(path, (None, now))[0] != time:
            self._first[path] = (time, now)
        return min(self._first[path][1], now)


def of_files(paths: Paths, snapshot: Snapshot, ages: Ages, now: datetime) -> Iterator[Cause]:
    """Halts that wait for a person, and a log without new entries."""
    halted, paused, logged = (ages.since(path, now) for path in (paths.checkpoint, paths.pause, paths.log))
    if halted is not None:
        yield from _waiting("CHECKPOINT", now - halted, REMIND_AFTER)
    if paused is not None:
        yield from _waiting("PAUSE", now - paused, REMIND_AFTER[:2])
    stopped = halted is not None or paused is not None or os.path.lexists(paths.abort)
    if logged is not None and now - logged >= REMIND_AFTER[0] and not stopped and _is_under_way(snapshot):
        yield Cause("log_stalled", "", "no entry in log.yaml for 30 minutes")


def _is_under_way(snapshot: Snapshot) -> bool:
    """Whether agents should be at work: not where every task is done, or the sprint has ended."""
    sprint = snapshot.sections.get("sprint")
    timeline = sprint.get("timeline") if isinstance(sprint, Mapping) else None
    ended = isinstance(timeline, Mapping) and timeline.get("ended") is not None
    return not ended and any(task.get("status") not in DONE for task in snapshot.records("tasks"))


def length_of(age: timedelta, limits: tuple[timedelta, ...]) -> str:
    """The longest of these times that has passed, in words; empty before the first."""
    passed = [int(limit.total_seconds()) // 60 for limit in limits if age >= limit]
    if not passed:
        return ""
    return f"{passed[-1]} minutes" if passed[-1] < 60 else f"{passed[-1] // 60} hours"


def _waiting(name: str, age: timedelta, limits: tuple[timedelta, ...]) -> Iterator[Cause]:
    length = length_of(age, limits)
    if length:
        yield Cause(f"{name.lower()}_waiting", "", f"{name} has been waiting for a person for {length}", length)


def of_restored(times: Mapping[str, int]) -> Iterator[Cause]:
    """What was missing beside the open trip and was made again, by how often.

    Reported again when it has doubled, so that a program which keeps removing it does not flood people.
    """
    for text, number in times.items():
        often = f" ({number} times)" if number > 1 else ""
        yield Cause("restored", text, text + often, str(number.bit_length()) if number else "")


def about_the_halt(halt: Checkpoint | None, trigger: Mapping[str, Any] | None) -> Iterator[Cause]:
    """Where the halt and the breaker disagree, and a halt without a trip."""
    if halt is None and trigger is not None:
        text = "CHECKPOINT is missing although the breaker is open: the agents are not halted"
        yield Cause("halt", "missing", text, patience=_PATIENCE)
    elif halt is not None and halt.is_degraded:
        text = "the agents are halted until the blackboard can be evaluated (on_degraded: halt)"
        yield Cause("halt", "degraded", text, patience=_PATIENCE)
    elif halt is not None and halt.trip_id is None and not halt.is_partition:  # that one is reported as it is made
        yield Cause("halt", "person", "the agents are halted by a CHECKPOINT that a person created", patience=_PATIENCE)
    elif halt is not None and halt.trip_id is not None and trigger is None:
        trip = f"the CHECKPOINT of trip {halt.trip_id}, which is not open"
        text = f"the agents are halted by {trip}: see liza resolve"
        yield Cause("halt", f"trip {halt.trip_id}", text, patience=_BY_HAND)
