"""Mark a task as blocked that a run gives up, so that a person looks at it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from liza.model import MAPPINGS, format_time, list_in
from liza.store import edit, log
from liza.store.board import Board
from liza.store.document import Document
from liza.text import text_of

_OVER = ("MERGED", "SUPERSEDED", "ABANDONED")


def block(board: Board, task: str, reason: str, now: datetime) -> str | None:
    """Mark the task as BLOCKED; the reason if that was not possible, or None."""

    def edited(document: Document) -> tuple[bytes, str | None]:
        found = _find(document.data.get("tasks"), task)
        if found is None:
            return document.raw, f"task {task} is not on the blackboard, so nothing was marked as blocked"
        where, record = found
        if record.get("status") in _OVER:
            return document.raw, f"task {task} is {record['status']}, so it was not marked as blocked"
        return edit.set_fields(document, "tasks", where, {"status": "BLOCKED", "blocked_reason": reason}), None

    if (why_not := board.change(edited)) is not None:
        return why_not
    entry = {"timestamp": format_time(now), "agent": "liza", "action": "task_blocked", "task": task, "detail": reason}
    log.append_entry(board.paths, entry)
    return None


def title_of(tasks: Any, task: str) -> str | None:
    found = _find(tasks, task)
    titles = [found[1].get(name) for name in ("title", "description", "name")] if found is not None else []
    return next((title for title in titles if isinstance(title, str) and title.strip()), None)


def _find(tasks: Any, task: str) -> tuple[int | str, Mapping[str, Any]] | None:
    """The place of a task in its section, a list or a mapping, and the task."""
    entries = tasks.items() if isinstance(tasks, MAPPINGS) else enumerate(list_in(tasks))
    for where, record in entries:
        if isinstance(record, MAPPINGS) and text_of(record.get("id", where)) == task:
            return where, record
    return None
