"""One record of a narrower scope changed in one step: under the lock, with a backup, and with a line in the log."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused, Unreadable
from liza.model import MAPPINGS, format_time
from liza.scopes import records as scopes
from liza.store import backups, edit
from liza.store.board import Board
from liza.store.document import Document
from liza.store.files import make_folders, open_fd
from liza.store.paths import Paths
from liza.text import text_of

Archived = tuple[Mapping[str, Any], ...]


class Outcome(NamedTuple):
    """What a record is to be, what happened to it, and what leaves the blackboard with it."""

    record: dict[str, Any]
    events: tuple[scopes.Event, ...] = ()
    archived: Archived = ()


def change(
    board: Board,
    scope: scopes.Scope,
    name: str,
    after: Callable[[Document, Mapping[str, Any] | None], Outcome],
    now: datetime,
    archive: Callable[[Paths, str, Archived], None] | None = None,
) -> Outcome:
    """Put what `after` makes of a record in its place; `after` is asked again whenever somebody else was faster."""

    def revised(document: Document) -> tuple[bytes, Outcome]:
        section = document.data.get(scope.section)
        try:
            found = found_in(document, scope, name)
            outcome = after(document, found[1] if found is not None else None)
        except Unreadable as error:
            raise board.with_backup(error) from None
        raw = edit.replace_section(document, scope.section, scopes.put(section, name, outcome.record, scope.name))
        if raw != document.raw:
            backups.save_backup(board.paths, document.raw, now)
            if archive is not None and outcome.archived:
                archive(board.paths, name, outcome.archived)  # before they leave: a crash must not lose them
        return raw, outcome

    outcome = board.change(revised)
    log(board.paths, outcome.events, now)
    return outcome


def found_in(document: Document, scope: scopes.Scope, name: str) -> tuple[int | str, Mapping[str, Any]] | None:
    """The record by that name, as `scopes.find` finds it; an error says where in the file it is."""
    section = document.data.get(scope.section)
    try:
        return scopes.find(section, name, scope.name)
    except Unreadable as error:
        entries = section.items() if isinstance(section, dict) else enumerate(section) if type(section) is list else ()
        odd = [key for key, each in entries if not isinstance(each, MAPPINGS)]
        path = (scope.section, *sorted(odd, key=lambda key: text_of(key) != name)[:1])
        error.file, (error.line, error.column) = document.file, document.locate(path) or (None, None)
        raise


def keep(paths: Paths, path: str, what: str, records: Sequence[Mapping[str, Any]]) -> None:
    """Keep records that leave the blackboard, one JSON object a line; a crash may keep one twice, and loses none."""
    import json
    import os

    try:
        make_folders(paths.runs, os.path.dirname(path))
        lines = "".join(json.dumps(each, ensure_ascii=False, default=str) + "\n" for each in records)
        with open(path, "a", encoding="utf-8", errors="backslashreplace", opener=open_fd) as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        hint = f"make room or permission for {path}"
        raise Refused(f"older {what} could not be kept: {error.strerror}; nothing was changed", hint=hint) from None


def unknown(document: Document, scope: scopes.Scope, name: str) -> Refused:
    """There is no such record."""
    from liza.text import closest_match, value_text

    names = [label for _, label, _ in scopes.named(document.data.get(scope.section), scope.name)]
    meant = closest_match(name, names)
    hint = f"did you mean {meant}?" if meant else f"see which there are with: liza {scope.name} list"
    return Refused(f"there is no {scope.name} {value_text(name)}", hint=hint, file=document.file)


# What people should hear of even where no daemon tells them, and the daemon's word for it.
_LOUD = {"disputed": "tripped", "resolved": "resolved"}


def log(paths: Paths, events: Sequence[scopes.Event], now: datetime, *, waits: bool = True) -> None:
    """One line a decision; what is loud is an alert as well. `waits` as in `append_entry`."""
    if not events:
        return
    from liza.clients.caller import agent_sign
    from liza.store import alerts
    from liza.store.log import append_entry

    sign = agent_sign(paths)
    for event in events:
        entry = {"timestamp": format_time(now), "agent": "liza", "action": f"{event.scope}_{event.kind}"}
        if sign is not None:
            entry["inside_agent"] = sign  # whoever is named by --by, it was an agent that did it
        if event.task is not None:
            entry["task"] = event.task
        if event.scope == "claim":
            entry["claim"] = event.name  # by which a dispute is missed that somebody takes off the blackboard
        append_entry(paths, {**entry, "detail": event.text}, waits=waits)
    alerts.append_alerts(paths, [(_LOUD[event.kind], event.text) for event in events if event.kind in _LOUD], now)
