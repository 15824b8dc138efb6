"""`.liza/ESCALATION`: the page for a person who comes by while the agents have been halted for hours."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from liza.daemon.alarm_causes import DONE, REMIND_AFTER, length_of
from liza.model import Record, Snapshot, format_time
from liza.store import checkpoint, files
from liza.store.checkpoint import Checkpoint
from liza.store.files import write_atomically
from liza.store.paths import Paths
from liza.text import one_line

_MARK = "liza escalation page"  # the first line: what else people write into this file stays
_LISTED = 50


def update_page(
    paths: Paths, since: datetime | None, trigger: Mapping[str, Any] | None, facts: Snapshot, now: datetime
) -> str | None:
    """Write or remove the page; why not, if it cannot be done. Only a change is written."""
    text = _page(checkpoint.read(paths.checkpoint), since, trigger, facts, now)
    there = _head(paths.escalation)
    try:
        if text is not None and there != text.encode():
            write_atomically(paths.escalation, text.encode())
        elif text is None and there is not None and there.startswith(f"{_MARK}\n".encode()):
            with suppress(FileNotFoundError):
                os.unlink(paths.escalation)
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def _head(path: str) -> bytes | None:
    try:
        return files.read(path, 100_000)
    except OSError:
        return None


def _page(
    halt: Checkpoint | None, since: datetime | None, trigger: Mapping[str, Any] | None, facts: Snapshot, now: datetime
) -> str | None:
    """The text of the page; None unless agents have waited for hours."""
    length = length_of(now - since, REMIND_AFTER[1:]) if since is not None else ""
    if halt is None or since is None or not length:
        return None
    sprint: Any = facts.sections.get("sprint")
    name = one_line(sprint.get("id") or "?", 80) if isinstance(sprint, Mapping) else "?"
    waiting = [task for task in facts.records("tasks") if task.get("status") not in DONE]
    more = [f"- and {len(waiting) - _LISTED} more"] if len(waiting) > _LISTED else []
    lines = [
        _MARK,
        f"The agents have been halted for more than {length}, since {format_time(since)}.",
        f"Sprint: {name}",
        "",
        *_why(halt, trigger),
        "",
        "Tasks that wait:" if waiting else "No task waits.",
        *(_task(task) for task in waiting[:_LISTED]),
        *more,
    ]
    return "\n".join(lines) + "\n"


def _why(halt: Checkpoint, trigger: Mapping[str, Any] | None) -> Iterator[str]:
    if trigger is not None:
        yield f"Why: {one_line(trigger.get('pattern') or '?')} ({one_line(trigger.get('severity') or '?')})"
        yield f"Read: {one_line(trigger.get('report_file') or '.liza/circuit_breaker_report.md', 200)}"
        yield "Decide, then run: liza resolve -m 'what was decided'"
        if halt.trip_id is None:
            yield "Then remove .liza/CHECKPOINT, which a person created."
    elif halt.is_degraded:
        yield "Why: the blackboard cannot be evaluated (on_degraded: halt)."
        yield "Fix what liza status reports; the halt ends by itself."
    elif halt.is_partition:
        yield "Why: this host cannot reach its team (on_partition: halt)."
        yield "Fix what liza team status reports; the halt ends by itself."
    elif halt.trip_id is None:
        yield "Why: a person created .liza/CHECKPOINT."
        yield "Decide, then run: rm .liza/CHECKPOINT"
    else:
        yield f"Why: .liza/CHECKPOINT is of trip {halt.trip_id}, which is not open any more."
        yield "To continue: liza resolve -m 'what was decided'"


def _task(task: Record) -> str:
    who = task.get("assigned_to")
    about = one_line(task.get("status") or "?", 40) + (f", {one_line(who, 40)}" if who is not None else "")
    return f"- {one_line(task.get('id') or '?', 80)} ({about})"
