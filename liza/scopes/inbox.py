"""Queue records that cannot be written now, and apply them later: the one way for every command that makes a record.

A command calls `record_or_queue`. Where the blackboard cannot be read, or cannot be written, its record waits as a file
in `.liza/inbox/`. `apply_waiting`, which every check and every recording command calls first, makes the same changes in
the order of arrival, each exactly once; one that is refused stays in the inbox, is reported, and holds up no other.
"""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from liza.errors import LizaError, LockTimeout, Refused, Unreadable, Unwritable
from liza.scopes.table import KINDS
from liza.store import inbox
from liza.store.board import Board
from liza.store.inbox import EntryBoard, NotEvaluated, Recording
from liza.store.replace import NotDurable

if TYPE_CHECKING:
    from liza.model import Problem
    from liza.scopes.anomalies import Added

T = TypeVar("T")


def record_or_queue(recording: Recording[T]) -> T:
    """Make a recording; `NotEvaluated` where it waits in the inbox instead.

    The record is validated before. An error behind the change of state.yaml (the log could not be written) is raised as
    it is: the record is there, and must not be there twice.
    """
    board = recording.board
    if isinstance(board, EntryBoard):
        return recording.make()
    before = board.changes
    try:
        apply_waiting(board)
        return recording.make()
    except (LockTimeout, Unreadable, Unwritable) as error:
        if board.changes != before:
            raise
        raise NotEvaluated(_queue(recording, error), error) from None


def _queue(recording: Recording[T], cause: LizaError) -> inbox.Waiting:
    try:
        return inbox.add_record(recording.board.paths, recording.kind, recording.fields, recording.moment)
    except (OSError, Refused) as error:
        why = error.message if isinstance(error, LizaError) else error.strerror or str(error)
        if isinstance(error, NotDurable):
            raise
        cause.message = f"{cause.message}; not recorded, because the inbox could not be written either: {why}"
        cause.args = (cause.message,)
        raise cause from None


def record_anomaly(board: Board, record: Mapping[str, Any]) -> "Added":
    """Append one anomaly; where that cannot be done now, it waits, and the answer has the file."""
    from liza.scopes.anomalies import Added, add_anomaly, check_anomaly  # a loop or an attempt is recorded without

    warnings = check_anomaly(record)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    recording = Recording(board, "anomaly", record, moment, lambda: add_anomaly(board, record))
    try:
        return record_or_queue(recording)
    except NotEvaluated as error:
        return Added(record, error.waiting.file, None, warnings, tuple(board.rescued), error)


# --- entering -------------------------------------------------------------------------------------------------------


class Applied(NamedTuple):
    records: int = 0  # that are on the blackboard now
    problems: "tuple[Problem, ...]" = ()  # the others, and why they still wait
    has_more: bool = False  # time was up: there may be more


# For a check: agents can put thousands of records here, and a halt must not wait until all of them are applied.
SECONDS = 0.5


def apply_waiting(board: Board, *, blocking: bool = True, seconds: float | None = None) -> Applied:
    """Apply the records that wait. `LockTimeout` or `Unreadable` if none can be applied now.

    With `seconds`, at least one is applied, and none is begun after that time.
    """
    began = time.monotonic()
    found = inbox.list_inbox(board.paths)
    problems = [each.as_problem(board.paths.inbox) for each in found.odd]
    count = 0
    if found.labels:
        board.read()  # a blackboard that cannot be read is one error, not one per record
    for label in found.labels:
        if count and seconds is not None and time.monotonic() - began > seconds:
            return Applied(count, tuple(problems), has_more=True)
        try:
            entering = EntryBoard(board, inbox.read_record(board.paths, label), blocking=blocking)
        except FileNotFoundError:
            continue  # another process was faster
        except inbox.InvalidRecord as error:
            problems.append(error.as_problem(board.paths.inbox))
            continue
        problem = _enter(entering)
        if problem is None:
            count += 1
            entering.delete_file()
        else:
            problems.append(problem)
    return Applied(count, tuple(problems))


def _enter(board: EntryBoard) -> "Problem | None":
    """Make the change that one record asks for; the reason where it cannot be made."""
    from liza.model import Problem, parse_time  # not needed where nothing waits

    waiting = board.waiting
    try:
        moment = parse_time(waiting.time)
        if waiting.kind not in KINDS or moment is None:
            raise Refused(f"unknown kind {waiting.kind!r} or time {waiting.time!r}")
        KINDS[waiting.kind]()(board, waiting.fields, moment)
    except inbox.AlreadyEntered:
        return None
    except LockTimeout:
        if not board.is_applied:
            raise
    except Exception as error:  # noqa: BLE001 - whatever an agent put there, it must not hold up the other records
        if not board.is_applied:
            why = error.message if isinstance(error, LizaError) else f"{type(error).__name__}: {error}"
            hint = getattr(error, "hint", None) or f"look at it, and delete it if it is not needed: {waiting.file}"
            return Problem(f"this record cannot be added: {why}", waiting.file, hint=hint)
    return None


def read_waiting(board: Board) -> Applied:
    """The inbox without applying it: how many records wait, and which of them can never be applied."""
    found = inbox.list_inbox(board.paths)
    problems = [each.as_problem(board.paths.inbox) for each in found.odd]
    count = 0
    for label in found.labels:
        try:
            count += inbox.read_record(board.paths, label).kind in KINDS
        except FileNotFoundError:
            continue
        except inbox.InvalidRecord as error:
            problems.append(error.as_problem(board.paths.inbox))
    return Applied(count, tuple(problems))


def waiting_text(records: int) -> str:
    text = "1 record waits" if records == 1 else f"{records} records wait"
    return f"{text} in .liza/inbox/; to add {'it' if records == 1 else 'them'}: liza analyze"


def waiting_counts(waiting: Applied) -> dict[str, int]:
    """The same as --json shows it."""
    return {"waiting": waiting.records, "broken": len(waiting.problems)}


def add_waiting(error: Unreadable, board: Board) -> Unreadable:
    """A blackboard that cannot be read, with what waits until it can be."""
    from liza.model import Problem

    waiting = read_waiting(board)
    count = [Problem(waiting_text(waiting.records), board.paths.inbox, level="warning")] if waiting.records else []
    error.problems = (*error.listed(board.paths.state), *count, *waiting.problems)
    error.fields = {**error.fields, "inbox": waiting_counts(waiting)}
    return error
