"""Change one named record: under the lock, with a backup, and with a line in the log for each event."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.errors import LizaError, Refused, Unreadable
from liza.model import MAPPINGS, format_time
from liza.scopes.records import (
    Archived,
    Section,
    find_record,
    named_records,
    put_record,
    replace_records,
    usable_records,
)
from liza.scopes.transition import Event, Reconciled, Transition
from liza.store.board import Board
from liza.store.document import Document
from liza.store.files import make_folders, open_fd
from liza.store.paths import Paths
from liza.text import did_you_mean, text_of, value_text

Change = Callable[[Document, Mapping[str, Any] | None], Transition]


def change_record(
    board: Board, section: Section, name: str, change: Change, now: datetime, *, ignored: Sequence[str] | None = ()
) -> Transition:
    """Replace a record by what `change` returns; `change` is called again if another program wrote the file first.

    `Unreadable` where a field of the record cannot be used, unless it is `ignored`; None ignores every field.
    """

    from liza.store.edit import replace_section  # a gate only finds records

    def revised(document: Document) -> tuple[bytes, Transition]:
        try:
            before = read_usable(document, section, name, ignored)
            transition = change(document, before)._replace(before=before)
        except Unreadable as error:
            raise board.with_backup(error) from None
        changed = put_record(document.data.get(section.name), name, transition.record, section.scope)
        raw = replace_section(document, section.name, changed)
        if raw != document.raw:
            save_before(board, section, document, [(name, transition.archived)], now)
        return raw, transition

    transition = board.change(revised)
    log_events(board.paths, transition.events, now)
    if transition.refused is not None:
        raise transition.refused
    return transition


def change_known(
    board: Board, section: Section, name: str, change: Callable[[Mapping[str, Any]], Transition], now: datetime, *,
    ignored: Sequence[str] | None = (),
) -> Transition:  # fmt: skip
    """The same for a record that must be there: `Refused` with the nearest name if it is not."""

    def known(document: Document, record: Mapping[str, Any] | None) -> Transition:
        if record is None:
            raise unknown_record(document, section, name)
        return change(record)

    return change_record(board, section, name, known, now, ignored=ignored)


def reconcile_each(
    records: Any, section: Section, reconcile: Callable[[str, Mapping[str, Any]], Transition]
) -> Reconciled:
    """Reconcile every record of a section; one with an unusable field stays as it is, which `validate` reports."""
    done = {
        where: (name, reconcile(name, record))
        for where, name, record in usable_records(records, section.scope)
        if not any(section.unusable_fields(record))
    }
    return Reconciled(
        replace_records(records, {where: each.record for where, (_, each) in done.items()}),
        tuple(event for _, each in done.values() for event in each.events),
        tuple((name, each.archived) for name, each in done.values() if each.archived),
    )


def apply_reconciled(board: Board, document: Document, section: Section, done: Reconciled, now: datetime) -> bytes:
    """The blackboard with a reconciled section in it; a backup of it as it was, and what leaves it, are kept first."""
    from liza.store.edit import replace_section

    raw = replace_section(document, section.name, done.section) if done.events else document.raw
    if raw != document.raw:
        save_before(board, section, document, done.archived, now)
    return raw


# --- finding a record -----------------------------------------------------------------------------------------------


def locate_record(document: Document, section: Section, name: str) -> tuple[int | str, Mapping[str, Any]] | None:
    """The same as `find_record`; an error has the line and column of what is in the way."""
    records = document.data.get(section.name)
    try:
        return find_record(records, name, section.scope)
    except Unreadable as error:
        entries = records.items() if isinstance(records, dict) else enumerate(records) if type(records) is list else ()
        odd = [key for key, each in entries if not isinstance(each, MAPPINGS)]
        path = (section.name, *sorted(odd, key=lambda key: text_of(key) != name)[:1])
        error.file, (error.line, error.column) = document.file, document.locate(path) or (None, None)
        raise


def read_usable(
    document: Document, section: Section, name: str, ignored: Sequence[str] | None = ()
) -> Mapping[str, Any] | None:
    """The record with that name; None if there is none. `Unreadable`, with its place, where a field cannot be used."""
    found = locate_record(document, section, name)
    if found is None or ignored is None:
        return None if found is None else found[1]
    _require_unique(document, section, name)
    where, record = found
    for field, expected in section.unusable_fields(record):
        if field not in ignored:
            line, column = document.locate((section.name, where, field)) or (None, None)
            message = f"{section.scope} {name}: {field}: expected {expected}, got {value_text(record.get(field))}"
            hint = f"correct {field} of {section.scope} {name}; until then {section.while_unusable}"
            raise Unreadable(message, hint=hint, file=document.file, line=line, column=column)
    return record


def read_each(document: Document, section: Section) -> Iterator[tuple[str, Mapping[str, Any] | LizaError]]:
    """Every record of a section with its name, or why it cannot be used."""
    for _, name, record in named_records(document.data.get(section.name), section.scope):
        try:
            read_usable(document, section, name)
            yield name, record if isinstance(record, MAPPINGS) else {}
        except LizaError as error:
            yield name, error


def _require_unique(document: Document, section: Section, name: str) -> None:
    """`Unreadable` where a change of one record would not reach another of the same name."""
    records = document.data.get(section.name)
    same = [where for where, label, _ in named_records(records, section.scope) if label == name]
    if section.is_unique and len(same) > 1:
        line, column = document.locate((section.name, same[1])) or (None, None)
        hint = f"give one of them another id; until then {section.while_unusable}"
        message = f"there are {len(same)} {section.name} with the id {name}"
        raise Unreadable(message, hint=hint, file=document.file, line=line, column=column)


def unknown_record(document: Document, section: Section, name: str) -> Refused:
    """The error for a name that is not on the blackboard."""
    names = [label for _, label, _ in named_records(document.data.get(section.name), section.scope)]
    hint = did_you_mean(name, names, f"list them with: {section.list_command}")
    return Refused(f"unknown {section.scope} {value_text(name)}", hint=hint, file=document.file)


# --- what is kept elsewhere -----------------------------------------------------------------------------------------


def path_prefix(paths: Paths, section: Section, name: str) -> str:
    """The path of the files about a record, without their endings."""
    return os.path.join(paths.runs, section.name, section.file_of(name))


def save_before(
    board: Board, section: Section, document: Document, archived: Iterable[tuple[str, Archived]], now: datetime
) -> None:
    """Keep the blackboard as it was, and the entries that leave it: a crash must not lose them."""
    from liza.store.backups import save_backup

    save_backup(board.paths, document.raw, now)
    for name, entries in archived:
        if entries:
            _append(board.paths, section, name, entries)


def _append(paths: Paths, section: Section, name: str, records: Archived) -> None:
    """One JSON object a line. A crash between this and the change may write one twice, and loses none."""
    import json

    path = f"{path_prefix(paths, section, name)}.jsonl"
    try:
        make_folders(paths.runs, os.path.dirname(path))
        lines = "".join(json.dumps(each, ensure_ascii=False, default=str) + "\n" for each in records)
        with open(path, "a", encoding="utf-8", errors="backslashreplace", opener=open_fd) as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if not section.may_be_lost:
            hint = f"free disk space or fix the permissions of {path}"
            text = f"cannot archive older {section.leaves}: {error.strerror}; nothing was changed"
            raise Refused(text, hint=hint) from None


def log_events(paths: Paths, events: Sequence[Event], now: datetime, *, blocking: bool = True) -> None:
    """Append one log line per event, and its alert if it has one. `blocking` as in `append_entry`."""
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
        append_entry(paths, {**entry, **event.logged, "detail": event.text}, blocking=blocking)
    alerts.append_alerts(paths, [(event.alert, event.text) for event in events if event.alert is not None], now)
