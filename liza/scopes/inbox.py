"""Recording what cannot be entered now, and entering it later: the one way for every command that makes a record.

A command calls `or_wait`. Where the blackboard cannot be read, or cannot be written, its record waits as a file in
`.liza/inbox/`. `enter`, which every check and every recording command calls first, performs the same operations in the
order of arrival, each exactly once; one that is refused stays in the inbox, is reported, and holds up no other.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from liza.errors import LizaError, LockTimeout, Refused, Unreadable, Unwritable
from liza.scopes.sprint.record import Added, add_anomaly, check_anomaly
from liza.store import inbox
from liza.store.board import Board
from liza.store.inbox import EntryBoard, NotEvaluated
from liza.store.replace import NotDurable

if TYPE_CHECKING:
    from datetime import datetime

    from liza.model import Problem

T = TypeVar("T")


def record_or_queue(
    board: Board, kind: str, fields: Callable[[], Mapping[str, Any]], moment: str, act: Callable[[], T]
) -> T:
    """What `act` returns after it has recorded; `NotEvaluated` where the record waits instead.

    The record is validated before. An error behind the change of state.yaml (the log could not be written) is raised as
    it is: the record is there, and must not be there twice.
    """
    if isinstance(board, EntryBoard):
        return act()
    before = board.changes
    try:
        enter_waiting(board)
        return act()
    except (LockTimeout, Unreadable, Unwritable) as error:
        if board.changes != before:
            raise
        raise NotEvaluated(_kept(board, kind, fields(), moment, error), error) from None


def _kept(board: Board, kind: str, fields: Mapping[str, Any], moment: str, cause: LizaError) -> inbox.Waiting:
    try:
        return inbox.add_record(board.paths, kind, fields, moment)
    except (OSError, Refused) as error:
        why = error.message if isinstance(error, LizaError) else error.strerror or str(error)
        if isinstance(error, NotDurable):
            raise
        cause.message = f"{cause.message}; not recorded, because the inbox could not be written either: {why}"
        cause.args = (cause.message,)
        raise cause from None


def record_anomaly(board: Board, record: Mapping[str, Any]) -> Added:
    """Append one anomaly; where that cannot be done now, it waits, and the answer says where."""
    warnings = check_anomaly(record)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        return record_or_queue(board, "anomaly", lambda: record, moment, lambda: add_anomaly(board, record))
    except NotEvaluated as error:
        return Added(record, error.waiting.file, None, warnings, tuple(board.rescued), error)


# --- entering -------------------------------------------------------------------------------------------------------


class Entered(NamedTuple):
    """What came of the inbox."""

    records: int = 0  # that are on the blackboard now
    problems: "tuple[Problem, ...]" = ()  # the others, and why they still wait


def enter_waiting(board: Board, *, waits: bool = True) -> Entered:
    """Enter the records that wait. `LockTimeout` or `Unreadable` where none can be entered now."""
    found = inbox.list_inbox(board.paths)
    problems = [_problem(each, board.paths.inbox) for each in found.odd]
    count = 0
    if found.labels:
        board.read()  # a blackboard that cannot be read says so once
    for label in found.labels:
        try:
            entering = EntryBoard(board, inbox.read_record(board.paths, label), waits=waits)
        except FileNotFoundError:
            continue  # another process was faster
        except inbox.InvalidRecord as error:
            problems.append(_problem(error, board.paths.inbox))
            continue
        problem = _enter(entering)
        if problem is None:
            count += 1
            entering.delete_file()
        else:
            problems.append(problem)
    return Entered(count, tuple(problems))


def _enter(board: EntryBoard) -> "Problem | None":
    """Perform what one record asks for; the reason where it cannot be done."""
    from liza.model import Problem, parse_time

    waiting = board.waiting
    try:
        moment = parse_time(waiting.time)
        if waiting.kind not in _KINDS or moment is None:
            raise Refused(f"unknown kind {waiting.kind!r} or time {waiting.time!r}")
        _KINDS[waiting.kind](board, waiting.fields, moment)
    except inbox.AlreadyEntered:
        return None
    except LockTimeout:
        if not board.is_entered:
            raise
    except Exception as error:  # noqa: BLE001 - whatever an agent put there, it must not hold up the other records
        if not board.is_entered:
            why = error.message if isinstance(error, LizaError) else f"{type(error).__name__}: {error}"
            hint = getattr(error, "hint", None) or f"look at it, and delete it if it is not needed: {waiting.file}"
            return Problem(f"this record cannot be entered: {why}", waiting.file, hint=hint)
    return None


def read_waiting(board: Board) -> Entered:
    """What waits, for those who only look: how many records, and which of them can never be entered."""
    found = inbox.list_inbox(board.paths)
    problems = [_problem(each, board.paths.inbox) for each in found.odd]
    count = 0
    for label in found.labels:
        try:
            count += inbox.read_record(board.paths, label).kind in _KINDS
        except FileNotFoundError:
            continue
        except inbox.InvalidRecord as error:
            problems.append(_problem(error, board.paths.inbox))
    return Entered(count, tuple(problems))


def waiting_text(records: int) -> str:
    """How many records wait, in words."""
    said = "1 record waits" if records == 1 else f"{records} records wait"
    return f"{said} in .liza/inbox/ to be entered: liza analyze"


def waiting_counts(waiting: Entered) -> dict[str, int]:
    """The same as --json shows it."""
    return {"waiting": waiting.records, "broken": len(waiting.problems)}


def add_waiting(error: Unreadable, board: Board) -> Unreadable:
    """A blackboard that cannot be read, with what waits until it can be."""
    from liza.model import Problem

    waiting = read_waiting(board)
    own = Problem(error.message, error.file or board.paths.state, error.line, error.column, error.hint)
    said = [Problem(waiting_text(waiting.records), board.paths.inbox, level="warning")] if waiting.records else []
    error.problems = (*(error.problems or (own,)), *said, *waiting.problems)
    error.fields = {**error.fields, "inbox": waiting_counts(waiting)}
    return error


def _problem(error: LizaError, file: str) -> "Problem":
    from liza.model import Problem

    return Problem(error.message, error.file or file, hint=error.hint)


# --- what a record may ask for --------------------------------------------------------------------------------------
# Each calls the function that the command calls, with the time at which the record was made. What is loaded here is
# loaded only where such a record waits.


def _anomaly(board: EntryBoard, fields: Mapping[str, Any], now: "datetime") -> None:
    add_anomaly(board, fields)


def _iteration(board: EntryBoard, fields: Mapping[str, Any], now: "datetime") -> None:
    from liza.scopes.loops import evaluate
    from liza.scopes.loops.record import Iteration, record_iteration
    from liza.scopes.payload import load_fields

    given = load_fields(fields, loop=str, iteration=Iteration, project=str | None)
    rules, settings = evaluate.load_rules(board.paths, {"project": given["project"]})
    record_iteration(board, given["loop"], given["iteration"], rules, settings, now)


def _claim(board: EntryBoard, fields: Mapping[str, Any], now: "datetime") -> None:
    from liza.scopes.claims import states
    from liza.scopes.claims.record import add_claim
    from liza.scopes.payload import load_fields

    given = load_fields(fields, claim=str, fields=states.Fields)
    add_claim(_context(board, now), given["claim"], given["fields"])


def _round(board: EntryBoard, fields: Mapping[str, Any], now: "datetime") -> None:
    from liza.scopes.claims import change, states
    from liza.scopes.claims.record import record_round
    from liza.scopes.payload import load_fields

    given = load_fields(fields, claim=str, round=states.Round)
    context = _context(board, now)
    board.allowed = lambda document: change.require_not_frozen(context, document, given["claim"])
    record_round(context, given["claim"], given["round"])


def _context(board: EntryBoard, now: "datetime") -> Any:
    from liza.scopes.claims.change import Context
    from liza.scopes.rules_file import read_rules

    return Context(board, read_rules(board.paths.rules, protocol="disputes"), now)


def _attempts(board: EntryBoard, fields: Mapping[str, Any], now: "datetime") -> None:
    from liza.scopes.payload import load_fields
    from liza.scopes.slices.record import record_attempts
    from liza.scopes.slices.states import Attempt

    how = {"reports": tuple[str, ...], "once": bool, "without_start": bool}
    given = load_fields(fields, slice=str, attempts=tuple[Attempt, ...], **how)
    name, attempts, options = given["slice"], given["attempts"], {each: given[each] for each in how}
    record_attempts(board, name, attempts, _slice_rules(board), now, **options)


def _start(board: EntryBoard, fields: Mapping[str, Any], now: "datetime") -> None:
    from liza.scopes.payload import load_fields
    from liza.scopes.slices.record import start_test
    from liza.scopes.slices.rollback_bases import Base

    given = load_fields(fields, slice=str, test=str, strategy=str, base=Base | None, files=tuple[str, ...])
    at = given["slice"], given["test"], given["strategy"], given["base"]
    start_test(board, *at, _slice_rules(board), now, given["files"])


def _arch_stop(board: EntryBoard, fields: Mapping[str, Any], now: "datetime") -> None:
    from liza.scopes.payload import load_fields
    from liza.scopes.slices.record import arch_stop

    given = load_fields(fields, slice=str, why=str, by=str | None)
    arch_stop(board, given["slice"], given["why"], given["by"], _slice_rules(board), now)


def _justification(board: EntryBoard, fields: Mapping[str, Any], now: "datetime") -> None:
    from liza.scopes.payload import load_fields
    from liza.scopes.slices.record import justify_file

    given = load_fields(fields, slice=str, file=str, test=str, reason=str, relationship=str)
    at = given["slice"], given["file"], given["test"], given["reason"], given["relationship"]
    justify_file(board, *at, now)


def _slice_rules(board: EntryBoard) -> Any:
    """What stops a slice is fixed, so a rules file that cannot be used keeps no failure from counting."""
    from liza.scopes.rules_file import read_rules

    try:
        return read_rules(board.paths.rules, protocol="attempts")
    except Unreadable:
        return read_rules(None, protocol="attempts")


_KINDS: dict[str, Callable[[EntryBoard, Mapping[str, Any], "datetime"], None]] = {
    "anomaly": _anomaly,
    "iteration": _iteration,
    "claim": _claim,
    "round": _round,
    "attempts": _attempts,
    "start": _start,
    "arch_stop": _arch_stop,
    "justification": _justification,
}
