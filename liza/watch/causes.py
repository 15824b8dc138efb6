"""What is worth an alarm: the matches of the `alarms` pack, and what the files beside the blackboard say."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from liza.blackboard.paths import Paths
from liza.breaker import checkpoint
from liza.model import Match, Record, Snapshot, Verdict
from liza.rules.evaluate import RuleSet
from liza.watch.alarms import Cause

# After so long somebody should look; from the second on it is written where a person will find it.
WAITING = (timedelta(minutes=30), timedelta(hours=2), timedelta(hours=8))
_SAID = ("blocked_reason", "detail", "question", "description", "assigned_to", "reviewing_by", "current_task")


def of_rules(verdict: Verdict) -> Iterator[Cause]:
    """One for each group that a rule of the pack has found."""
    for match in verdict.observed:
        if match.rule.action == "ALERT":
            yield Cause(match.rule.name, match.key or "", _words(match))


def _words(match: Match) -> str:
    said = next((text for record in match.evidence[-1:] for text in _told_by(record)), "")
    return ": ".join(part for part in (match.rule.summary or match.rule.description, match.key or "", said) if part)


def _told_by(record: Record) -> Iterator[str]:
    for name in _SAID:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            yield f"{name.replace('_', ' ')} {value}" if name not in ("detail", "question", "description") else value


def of_changes(rules: RuleSet) -> Iterator[Cause]:
    """Agents can write rules.yaml, too: what it loosens is told."""
    for change in rules.changes:
        yield Cause("rules_changed", change, f"rules.yaml: {change}")


def of_problems(snapshot: Snapshot) -> Iterator[Cause]:
    errors = [problem for problem in snapshot.problems if problem.level == "error"]
    if errors:
        where = f"{errors[0].line}:{errors[0].column}: " if errors[0].line else ""
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        yield Cause("invalid_blackboard", "", f"the blackboard is not valid: {where}{errors[0].message}{more}")


def of_files(paths: Paths, now: datetime) -> Iterator[Cause]:
    """Halts that wait for a person, and a log that nobody writes."""
    halt = checkpoint.look(paths.checkpoint)
    if halt is not None:
        yield from _waiting("CHECKPOINT", now - datetime.fromtimestamp(halt.mtime, UTC), WAITING)
    paused, logged = _age(paths.pause, now), _age(paths.log, now)
    if paused is not None:
        yield from _waiting("PAUSE", paused, WAITING[:2])
    if logged is not None and logged >= WAITING[0] and halt is None and paused is None:
        yield Cause("log_stalled", "", "no entry in log.yaml for 30 minutes")


def _age(path: str, now: datetime) -> timedelta | None:
    try:
        return now - datetime.fromtimestamp(os.lstat(path).st_mtime, UTC)
    except OSError:
        return None


def _waiting(name: str, age: timedelta, limits: tuple[timedelta, ...]) -> Iterator[Cause]:
    passed = [limit for limit in limits if age >= limit]
    if passed:
        minutes = int(passed[-1].total_seconds()) // 60
        length = f"{minutes} minutes" if minutes < 60 else f"{minutes // 60} hours"
        yield Cause(f"{name.lower()}_waiting", "", f"{name} has been waiting for a person for {length}", length)


def escalation(paths: Paths, snapshot: Snapshot, now: datetime) -> str | None:
    """What a person should read once a CHECKPOINT has waited for hours; None while that is not so."""
    halt = checkpoint.look(paths.checkpoint)
    since = datetime.fromtimestamp(halt.mtime, UTC) if halt is not None else now
    if now - since < WAITING[1]:
        return None
    sprint: Any = snapshot.sections.get("sprint")
    name = sprint.get("id") if isinstance(sprint, dict) else None
    waiting = [r for r in snapshot.records("tasks") if r.get("status") in ("CLAIMED", "READY_FOR_REVIEW", "BLOCKED")]
    lines = [
        f"The agents of sprint {name or '?'} have been halted since {since:%F %T} UTC.",
        "",
        f"Why: {paths.report}",
        "What to do: read that page, decide, then run: liza resolve -m 'what was decided'",
        "",
        "Tasks that wait:" if waiting else "No task waits.",
        *(f"- {str(task.get('id'))[:80]} ({task.get('status')})" for task in waiting[:50]),
    ]
    return "\n".join(lines) + "\n"
