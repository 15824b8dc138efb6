"""Change one record of a narrower scope: under the lock, with a backup, and with a line in the log."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused, Unreadable
from liza.model import MAPPINGS, format_time
from liza.scopes.records import Event, Reconciled, Scope, change_each, find_record, named_records, put_record
from liza.store import backups, edit
from liza.store.board import Board
from liza.store.document import Document
from liza.store.files import make_folders, open_fd
from liza.store.paths import Paths
from liza.text import closest_match, text_of, value_text

Archived = tuple[Mapping[str, Any], ...]
Unusable = Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]]  # each field that cannot be used, what is expected


class Outcome(NamedTuple):
    """The new value of a record, its events, and the entries that leave the blackboard with the change."""

    record: dict[str, Any]
    events: tuple[Event, ...] = ()
    archived: Archived = ()

    def then(self, after: "Outcome") -> "Outcome":
        """Both changes as one: `after` was made from this record."""
        return Outcome(after.record, self.events + after.events, self.archived + after.archived)


def change_record(
    board: Board,
    scope: Scope,
    name: str,
    after: Callable[[Document, Mapping[str, Any] | None], Outcome],
    now: datetime,
    archive: Callable[[Paths, str, Archived], None] | None = None,
) -> Outcome:
    """Replace a record by what `after` returns; `after` is called again if another program wrote the file first."""

    def revised(document: Document) -> tuple[bytes, Outcome]:
        section = document.data.get(scope.section)
        try:
            found = locate_record(document, scope, name)
            outcome = after(document, found[1] if found is not None else None)
        except Unreadable as error:
            raise board.with_backup(error) from None
        raw = edit.replace_section(document, scope.section, put_record(section, name, outcome.record, scope.name))
        if raw != document.raw:
            backups.save_backup(board.paths, document.raw, now)
            if archive is not None and outcome.archived:
                archive(board.paths, name, outcome.archived)  # before they leave: a crash must not lose them
        return raw, outcome

    outcome = board.change(revised)
    log_events(board.paths, outcome.events, now)
    return outcome


def reconcile_each(
    sections: Mapping[str, Any],
    scope: Scope,
    unusable: Unusable,
    reconcile: Callable[[str, Mapping[str, Any]], Outcome],
) -> Reconciled:
    """Reconcile every record of a section; one with an unusable field stays as it is, which `validate` reports."""
    events: list[Event] = []
    archived: list[tuple[str, Archived]] = []

    def change(name: str, record: Mapping[str, Any]) -> Mapping[str, Any]:
        if any(unusable(record)):
            return record
        outcome = reconcile(name, record)
        events.extend(outcome.events)
        archived.extend([(name, outcome.archived)] if outcome.archived else [])
        return outcome.record

    return Reconciled(change_each(sections.get(scope.section), scope.name, change), tuple(events), tuple(archived))


# --- finding a record -----------------------------------------------------------------------------------------------


def locate_record(document: Document, scope: Scope, name: str) -> tuple[int | str, Mapping[str, Any]] | None:
    """The same as `find_record`; an error has the line and column of what is in the way."""
    section = document.data.get(scope.section)
    try:
        return find_record(section, name, scope.name)
    except Unreadable as error:
        entries = section.items() if isinstance(section, dict) else enumerate(section) if type(section) is list else ()
        odd = [key for key, each in entries if not isinstance(each, MAPPINGS)]
        path = (scope.section, *sorted(odd, key=lambda key: text_of(key) != name)[:1])
        error.file, (error.line, error.column) = document.file, document.locate(path) or (None, None)
        raise


def read_usable(
    document: Document, scope: Scope, name: str, unusable: Unusable, ignored: Sequence[str] = ()
) -> Mapping[str, Any] | None:
    """The record with that name; None if there is none. `Unreadable`, with its place, where a field cannot be used."""
    found = locate_record(document, scope, name)
    if found is None:
        return None
    where, record = found
    for field, expected in unusable(record):
        if field not in ignored:
            line, column = document.locate((scope.section, where, field)) or (None, None)
            message = f"{scope.name} {name}: {field}: expected {expected}, got {value_text(record.get(field))}"
            hint = f"correct {field} of {scope.name} {name}; until then {scope.while_unusable}"
            raise Unreadable(message, hint=hint, file=document.file, line=line, column=column)
    return record


def unknown_record(document: Document, scope: Scope, name: str) -> Refused:
    """The error for a name that is not on the blackboard."""
    names = [label for _, label, _ in named_records(document.data.get(scope.section), scope.name)]
    meant = closest_match(name, names)
    hint = f"did you mean {meant}?" if meant else f"list them with: {scope.list_command}"
    return Refused(f"there is no {scope.name} {value_text(name)}", hint=hint, file=document.file)


# --- what is kept elsewhere -----------------------------------------------------------------------------------------


def append_archive(paths: Paths, path: str, what: str, records: Sequence[Mapping[str, Any]]) -> None:
    """Append records that leave the blackboard to a file, one JSON object a line.

    A crash between this and the change may write one twice, and loses none.
    """
    import json

    try:
        make_folders(paths.runs, os.path.dirname(path))
        lines = "".join(json.dumps(each, ensure_ascii=False, default=str) + "\n" for each in records)
        with open(path, "a", encoding="utf-8", errors="backslashreplace", opener=open_fd) as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        hint = f"free disk space or fix the permissions of {path}"
        raise Refused(f"cannot archive older {what}: {error.strerror}; nothing was changed", hint=hint) from None


# Events that are alerts even without a daemon, and the daemon's word for each.
_ALERTS = {"disputed": "tripped", "resolved": "resolved"}


def log_events(paths: Paths, events: Sequence[Event], now: datetime, *, waits: bool = True) -> None:
    """Append one log line per event, and an alert for some kinds. `waits` as in `append_entry`."""
    if not events:
        return
    from liza.clients.caller import agent_sign
    from liza.store import alerts
    from liza.store.log import append_entry

    sign = agent_sign(paths)
    for event in events:
        entry = {"timestamp": format_time(now), "agent": "liza", "action": f"{event.scope}_{event.kind}"}
        if sign is not None:
            entry["inside_agent"] = sign  # an agent did it, whatever name --by gives
        if event.task is not None:
            entry["task"] = event.task
        if event.scope == "claim":
            entry["claim"] = event.name  # `claims/missing.py` finds a deleted dispute by it
        append_entry(paths, {**entry, "detail": event.text}, waits=waits)
    alerts.append_alerts(paths, [(_ALERTS[event.kind], event.text) for event in events if event.kind in _ALERTS], now)
