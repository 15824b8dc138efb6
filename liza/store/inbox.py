"""Records that wait in `.liza/inbox/` because state.yaml could not be read or its lock could not be had.

One JSON file each, whole or not at all, named so that they sort in the order of arrival. The name without its ending is
the record's id. The write of state.yaml that enters a record also enters its id under `inbox_entered`; the file is
deleted afterwards. A process that is killed in between leaves both, and the next one only deletes the file. An id whose
file is gone is dropped at the next such write, so the list stays short.

Agents can write here, so nothing in a file is trusted: no links are followed, and its size has a limit.
"""

import errno
import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple

from liza.errors import LizaError, Refused, Unreadable
from liza.model import list_in
from liza.store import files
from liza.store.board import Board, T
from liza.store.document import Document, parse
from liza.store.paths import Paths
from liza.store.replace import NotDurable, sync_folder

SCHEMA = 1
ENTERED = "inbox_entered"  # the section of state.yaml with the ids that were entered last
LARGEST = 4 << 20  # bytes of one record

_NAME = r"(\d{8}T\d{6}\.\d{9}Z-[0-9a-f]{8})\.json"
_MOST_ODD = 20  # files that are named in a report: agents can put any number here
_AHEAD = 3600  # seconds; a file whose name is further in the future has no part in the order of new ones


class Waiting(NamedTuple):
    """One record that waits: which operation it asks for, and with what."""

    id: str
    kind: str
    time: str
    fields: Mapping[str, Any]
    file: str


class NotEvaluated(Unreadable):
    """The record waits in the inbox and has not been evaluated. The next check enters it; do not record it again."""

    status = "waiting"

    def __init__(self, waiting: Waiting, cause: LizaError) -> None:
        message = f"recorded in {waiting.file}, not evaluated: {cause}"
        fix = f"; to fix: {cause.hint}" if cause.hint else ""
        super().__init__(message, hint=f"the next check adds it: liza analyze{fix}")
        self.waiting = waiting
        self.cause = cause
        self.fields = {"waiting": waiting_json(waiting, cause)}


class InvalidRecord(Refused):
    """A file in the inbox is not a record that can be entered; it stays where it is."""


def waiting_json(waiting: Waiting, cause: LizaError) -> dict[str, Any]:
    """A record that waits, and why, as --json shows it."""
    return {"id": waiting.id, "file": os.path.relpath(waiting.file), "reason": str(cause)}


# --- writing --------------------------------------------------------------------------------------------------------


def add_record(paths: Paths, kind: str, fields: Mapping[str, Any], moment: str) -> Waiting:
    """Keep a record, durably. An OSError or `Refused` means that it was not kept; `NotDurable`, that it was."""
    import json  # only where something has to wait: agents' hooks call the commands many times a minute

    if not os.path.isdir(paths.inbox):
        files.make_folder(paths.inbox)
        sync_folder(paths.inbox)
    with _opened(paths) as folder:
        label = f"{_stamp(folder.fd)}-{os.urandom(4).hex()}"
        payload = {"schema": SCHEMA, "id": label, "kind": kind, "time": moment, "fields": fields}
        raw = json.dumps(payload, default=_plain).encode() + b"\n"
        if len(raw) > LARGEST:
            raise Refused(f"the record has {len(raw)} bytes, at most {LARGEST} can wait", hint="record less text")
        name = f"{label}.json"
        folder.write_atomically(name, raw)
        path = os.path.join(paths.inbox, name)
        try:
            os.fsync(folder.fd)
        except OSError as error:
            message = f"the record was queued, but the disk did not confirm it: {error.strerror}"
            raise NotDurable(message, hint="check that disk for errors", file=path) from None
    return Waiting(label, kind, moment, fields, path)


def _stamp(folder: int) -> str:
    """The time as it sorts; later than that of every record that waits, even after the clock was set back."""
    now = time.time_ns()
    known = [label.partition("-")[0] for label in _labels(folder)]
    last = max((each for each in known if each <= _written(now + _AHEAD * 10**9)), default="")
    return max(_written(now), _after(last)) if last else _written(now)


def _written(ns: int) -> str:
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(ns // 10**9))}.{ns % 10**9:09d}Z"


def _after(stamp: str) -> str:
    import calendar

    try:
        seconds = calendar.timegm(time.strptime(stamp[:15], "%Y%m%dT%H%M%S"))
    except ValueError:
        return ""  # digits that are no time: not a name of ours
    return _written(seconds * 10**9 + int(stamp[16:25]) + 1)


def _plain(value: Any) -> Any:
    """What JSON does not know: a mapping of another kind, or a time."""
    return dict(value) if isinstance(value, Mapping) else str(value)


# --- reading --------------------------------------------------------------------------------------------------------


def _opened(paths: Paths) -> files.Folder:
    """The folder itself, and no link to another: files are deleted in it."""
    return files.Folder(paths.inbox, listed=True)


def _labels(folder: int) -> list[str]:
    return sorted(match[1] for name in os.listdir(folder) if (match := re.fullmatch(_NAME, name)) is not None)


class Listing(NamedTuple):
    """What is in the inbox: ids of records in the order of arrival, and what cannot be one."""

    labels: tuple[str, ...] = ()
    odd: tuple[InvalidRecord, ...] = ()


def list_inbox(paths: Paths) -> Listing:
    """The inbox without a look into its files."""
    try:
        with _opened(paths) as folder:
            names = os.listdir(folder.fd)
    except FileNotFoundError:
        return Listing()
    except OSError as error:
        hint = f"move it away: mv {paths.inbox} {paths.inbox}.odd"
        message = f"the inbox cannot be read: {error.strerror}"
        return Listing((), (InvalidRecord(message, hint=hint, file=paths.inbox),))
    labels = sorted(match[1] for name in names if (match := re.fullmatch(_NAME, name)) is not None)
    odd = sorted(name for name in names if re.fullmatch(_NAME, name) is None and not name.startswith("."))
    named = [_broken(paths, name, "not the name of a record") for name in odd[:_MOST_ODD]]
    if more := len(odd) - len(named):
        named.append(
            InvalidRecord(f"{more:,} more files are not records", hint=f"see: ls {paths.inbox}", file=paths.inbox)
        )
    return Listing(tuple(labels), tuple(named))


def read_record(paths: Paths, label: str) -> Waiting:
    """One record. `Broken` where the file cannot be one, FileNotFoundError where another process has entered it."""
    import json

    name = f"{label}.json"
    try:
        with _opened(paths) as folder:
            raw = _read_file(folder, name)
        payload = json.loads(raw)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _broken(paths, name, _REASONS.get(error.errno or 0) or error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:
        raise _broken(paths, name, f"not valid JSON: {error}") from None
    if not isinstance(payload, dict) or payload.get("schema") != SCHEMA:
        raise _broken(paths, name, f"not a record of schema {SCHEMA}")
    kind, moment, fields = payload.get("kind"), payload.get("time"), payload.get("fields")
    if payload.get("id") == label and isinstance(kind, str) and isinstance(moment, str) and isinstance(fields, dict):
        return Waiting(label, kind, moment, fields, os.path.join(paths.inbox, name))
    raise _broken(paths, name, "expected id, kind, time and fields, with the id of its name")


_REASONS = {errno.EFBIG: f"it has more than {LARGEST} bytes"}


def _read_file(folder: files.Folder, name: str) -> bytes:
    with open(folder.open(name), "rb") as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return raw


def _broken(paths: Paths, name: str, why: str) -> InvalidRecord:
    path = os.path.join(paths.inbox, name)
    hint = f"look at it, and delete it if it is not needed: {path}"
    return InvalidRecord(f"this record cannot be added: {why}", hint=hint, file=path)


# --- entering -------------------------------------------------------------------------------------------------------


class Recording(NamedTuple, Generic[T]):
    """One record that a command makes: at once, or later from the inbox, where it waits as `kind` with these fields."""

    board: Board
    kind: str
    fields: Mapping[str, Any]
    moment: str
    make: Callable[[], T]

    def then(self, step: Callable[[], object]) -> "Recording[T]":
        """The same, with a step after it that is taken only if it was made at once."""

        def make() -> T:
            made = self.make()
            step()
            return made

        return self._replace(make=make)


class AlreadyEntered(Exception):
    """Another process was faster, or was killed between the entry and the deletion of the file."""


class EntryBoard(Board):
    """The blackboard for the one operation that a waiting record asks for: its change also enters the record's id.

    `allowed` is asked first, under the lock: an operation that commits something else and then refuses the record must
    refuse before it, or the record would be marked as entered and lost.
    """

    def __init__(self, board: Board, waiting: Waiting, *, blocking: bool) -> None:
        super().__init__(board.paths, blocking=blocking and board.blocking)
        self.rescued = board.rescued
        self.waiting = waiting
        self.allowed: Callable[[Document], None] = lambda document: None

    @property
    def is_applied(self) -> bool:
        """Whether the record is on the blackboard, whatever went wrong afterwards."""
        return self.changes > 0

    def change(self, edit: Callable[[Document], tuple[bytes, T]], *, blocking: bool = True) -> T:
        if self.is_applied:
            return super().change(edit, blocking=blocking)

        def marked(document: Document) -> tuple[bytes, T]:
            labels = list_inbox(self.paths).labels
            entered = [each for each in _entered(document) if each in labels]
            # A file that is gone was entered, and its id may have been dropped since.
            if self.waiting.id in entered or self.waiting.id not in labels:
                raise AlreadyEntered
            self.allowed(document)
            raw, computed = edit(document)
            if raw != document.raw:
                raw = _marked(raw, document.file, [*entered, self.waiting.id])
            return raw, computed

        return super().change(marked, blocking=blocking)

    def delete_file(self) -> None:
        """The record is entered. Durable before its id may be dropped, or a power cut would enter it again."""
        with _opened(self.paths) as folder:
            folder.remove(f"{self.waiting.id}.json")
            os.fsync(folder.fd)


def _entered(document: Document) -> list[str]:
    return [each for each in list_in(document.data.get(ENTERED)) if isinstance(each, str)]


def _marked(raw: bytes, file: str, labels: list[str]) -> bytes:
    from liza.store.edit import replace_section

    return replace_section(parse(raw, file), ENTERED, labels)
