"""What is written about a trip and about the decision on it: the page for people, and the lines of the log.

Each step can be done again without harm under the same trip id; the next check completes what a crash left undone.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar

from liza.errors import LizaError, Refused
from liza.model import Match, Origin, Silenced, Snapshot, format_time
from liza.rules.acknowledged import origin_of
from liza.scopes.history import section as sections
from liza.scopes.history.archives import archive_name, is_archive
from liza.scopes.history.origin import LIZA, RESOLVE, evidence_digest, is_about, is_ours
from liza.scopes.sprint import report
from liza.scopes.sprint.report_notes import carry_over, holds
from liza.store import checkpoint, files
from liza.store.board import Board
from liza.store.log import append_entry, append_locked, entries_about
from liza.text import one_line

T = TypeVar("T")
_DETAIL = 300  # characters
_ID = 12  # digits of a trip id


class Trip(NamedTuple):
    """A match about to be put into effect, with all that its paperwork needs."""

    trigger: Mapping[str, Any]
    matches: tuple[Match, ...]
    snapshot: Snapshot
    evidence: Mapping[str, str]
    rule_changes: tuple[str, ...] = ()
    silenced: tuple[Silenced, ...] = ()
    alarms: tuple[str, ...] = ()  # what keeps, or could have kept, records from counting
    renews: bool = True  # a report on it that is there already is written anew; else that one has more in it


def attempt(failed: list[LizaError], step: Callable[[], T]) -> T | None:
    """Do a step of several; why it failed is kept for later."""
    try:
        return step()
    except LizaError as error:
        failed.append(error)
        return None


def caught(step: Callable[[], object]) -> LizaError | None:
    """Do a step; why it failed, or None."""
    failed: list[LizaError] = []
    attempt(failed, step)
    return failed[0] if failed else None


# --- the trip -------------------------------------------------------------------------------------------------------


def write_report(board: Board, trip: Trip, instead_of: Trip | None = None) -> None:
    """The page for people. What they wrote into an earlier version of it is in this one too.

    `instead_of` is what this process took the trip for before it knew better: its page was not edited.
    """
    name = str(trip.trigger.get("trip_id"))
    if not trip.renews and not report.is_about(board.paths.report, name):
        restore_report(board, trip.trigger)
    there = _read(board.paths.report)
    if instead_of is not None and there == _rendered(instead_of):
        there = None
    if there is not None and _is_final(board, trip, there):
        return
    text = _rendered(trip)
    if there is not None and report.is_report_on(there, name):
        before = _read(_archived(board, trip.trigger))
        if _is_edited(there, before):
            text = carry_over(text if before is None else before, there, text)
        if text == there:
            return
    try:
        if there is not None:
            _keep_edited(board, there)
        files.write_atomically(board.paths.report, _encoded(text))
    except OSError as error:
        raise _no_report(error, board.paths.report) from None


def archive(board: Board, trip: Trip) -> None:
    """The same page under a name of its own, once the trip is entered and its time is certain.

    Until the trip is resolved it is as liza wrote it, to compare with what people wrote into the report.
    """
    path = _archived(board, trip.trigger)
    name = str(trip.trigger.get("trip_id"))
    try:
        files.make_folder(board.paths.reports)
    except OSError as error:
        raise _no_report(error, board.paths.reports) from None
    known, text = _read(path), _rendered(trip)
    if known is not None and _is_final(board, trip, known):
        return
    there = _read(board.paths.report)
    if known != text or there is None or not report.is_report_on(there, name):
        write_report(board, trip)  # before what it is compared with is another one
    if known == text:
        return
    try:
        files.write_atomically(path, _encoded(text))
    except OSError as error:
        raise _no_report(error, path) from None


def _is_final(board: Board, trip: Trip, page: str) -> bool:
    """Whether a page is not to be written anew: a human has decided meanwhile, and that is in it; or this trip has no
    evidence any more. Agents can write a page too: whether the trip is resolved is decided by the blackboard."""
    name = str(trip.trigger.get("trip_id"))
    if not trip.renews:
        return report.is_report_on(page, name)
    if not report.is_report_on(page, name, decided=True):
        return False
    try:
        section = board.read().data.get("circuit_breaker")
    except LizaError:
        return False
    trigger = sections.open_trigger(section)
    return sections.is_resolved(section, name) and (trigger is None or trigger.get("trip_id") != name)


def is_replaced(board: Board, trigger: Mapping[str, Any]) -> bool:
    """Whether the page of an open trip is another one, or lacks something that liza wrote."""
    there, before = _read(board.paths.report), _read(_archived(board, trigger))
    if there is None or before is None:
        return False  # who writes it next reports that
    trip = str(trigger.get("trip_id"))
    return report.is_report_on(before, trip) and not (report.is_report_on(there, trip) and holds(there, before))


def restore_report(board: Board, trigger: Mapping[str, Any]) -> None:
    archived = _archived(board, trigger)
    text = _read(_edited(archived)) or _read(archived)
    if text is not None:  # else the process that tripped is about to write it
        with suppress(OSError):
            files.write_atomically(board.paths.report, _encoded(text))


def _keep_edited(board: Board, there: str) -> None:
    """Put a report that was edited beside the archived one, before another takes its place."""
    path = _archive_of(board, there)
    if path is not None:
        if _is_edited(there, _read(path)) and _read(_edited(path)) != there:
            files.write_atomically(_edited(path), _encoded(there))
        return
    if report.has_ticks(there):  # only a person does that, wherever the archived one is
        files.make_folder(board.paths.reports)
        import hashlib  # takes longer to load than the rest of this module

        name = f"{hashlib.sha256(_encoded(there)).hexdigest()[:_ID]}.edited.md"
        files.write_atomically(os.path.join(board.paths.reports, name), _encoded(there))


def _archives(board: Board) -> list[str]:
    """The archived reports, the newest first."""
    try:
        names = sorted(os.listdir(board.paths.reports), reverse=True)
    except OSError:
        return []
    return [os.path.join(board.paths.reports, name) for name in names if is_archive(name)]


def _archive_of(board: Board, page: str) -> str | None:
    """The archived report that a page is a version of. It may name earlier trips, too, so the newest is meant."""
    return next((path for path in _archives(board) if report.is_report_on(page, _trip_in(path))), None)


def _trip_in(path: str) -> str:
    return path.removesuffix(".md")[-_ID:]


def _is_edited(there: str, before: str | None) -> bool:
    """Whether a report was edited; where it was never archived only ticks count, which are a person's."""
    return there != before if before is not None else report.has_ticks(there)


def _archived(board: Board, trigger: Mapping[str, Any]) -> str:
    return os.path.join(board.paths.reports, archive_name(trigger))


def _edited(archived: str) -> str:
    return archived.removesuffix(".md") + ".edited.md"


def _rendered(trip: Trip) -> str:
    return report.render(trip.trigger, trip.matches, trip.snapshot, trip.rule_changes, trip.silenced, trip.alarms)


def _read(path: str) -> str | None:
    try:
        return files.read(path).decode(errors="surrogateescape")
    except OSError:
        return None


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _no_report(error: OSError, path: str) -> Refused:
    hint = "free disk space or fix its permissions, then run: liza analyze"
    return Refused(f"the report could not be written: {error.strerror}", hint=hint, file=path)


def is_logged(board: Board, action: str, trigger: Mapping[str, Any]) -> bool:
    """Whether the log has that entry already."""
    trip = _name_of(trigger)
    return any(is_ours(entry, action) and is_about(entry, trip) for entry in entries_about(board.paths.log, trip))


def log_trip(board: Board, trigger: Mapping[str, Any], now: datetime, *, blocking: bool = True) -> None:
    """Log that it tripped: by the first process that finds it so, as the one that tripped may have been killed."""
    log_once(board, trigger, "tripped", sections.named(trigger), now, blocking=blocking)


def log_once(
    board: Board,
    trigger: Mapping[str, Any],
    action: str,
    detail: str,
    now: datetime,
    *,
    blocking: bool = True,
    **more: Any,
) -> None:
    """One line a decision: a trip that is taken up again after a crash is not logged twice."""
    trip = _name_of(trigger)
    mark = f"trip {trip}" if trigger.get("trip_id") else f"trip of {trip}"
    text = f"circuit breaker {action}: {one_line(detail, _DETAIL)}, {mark}"
    entry = {"timestamp": format_time(now), "agent": LIZA, "action": action, "trip_id": trip, **more, "detail": text}
    append_entry(board.paths, entry, lambda: is_logged(board, action, trigger), blocking=blocking and board.blocking)


def _name_of(trigger: Mapping[str, Any]) -> str:
    """By what the log knows a trip; one that another tool entered has no id, and is known by its time."""
    return str(trigger.get("trip_id") or trigger.get("timestamp"))


# --- the decision ---------------------------------------------------------------------------------------------------


def keep_decision(board: Board, entry: Mapping[str, Any], now: datetime, *, blocking: bool = True) -> list[LizaError]:
    """Record the decision on a trip in its report and the log; the steps that failed are returned."""
    failed: list[LizaError] = []
    if entry.get("trip_id") and entry.get("resolution"):  # one without a text is only logged, until the text comes
        report_decision(board, entry, failed)
    log_decision(board, entry, now, failed, blocking=blocking)  # last: its line marks all of it as done
    return failed


def report_decision(board: Board, entry: Mapping[str, Any], failed: list[LizaError]) -> None:
    """Add the decision on this trip, as the history has it, to both copies of the report.

    The page of a later trip, which may name this one, stays as it is.
    """
    trip = str(entry["trip_id"])
    added = report.decision(entry)
    pages = [_archived(board, entry)]
    newest = _archive_of(board, _read(board.paths.report) or "")
    if newest is None or _trip_in(newest) == trip:
        _archive_as_edited(board, trip, pages[0])
        pages.append(board.paths.report)
    for path in pages:
        attempt(failed, partial(_add_decision, path, trip, added))


def log_decision(
    board: Board, entry: Mapping[str, Any], now: datetime, failed: list[LizaError], *, blocking: bool = True
) -> None:
    """Into the log, once."""
    if entry.get("trip_id"):
        attempt(failed, lambda: log_trip(board, entry, now, blocking=blocking))  # no check comes after a decision
    resolved = f"{entry.get('pattern') or 'no pattern named'} {sections.how_resolved(entry)}"
    more: dict[str, Any] = {} if origin_of(entry) is Origin.COMMAND else {"edited": True}
    more |= {"evidence": kept} if (kept := evidence_digest(entry)) is not None else {}
    attempt(failed, lambda: log_once(board, entry, "resolved", resolved, now, blocking=blocking, **more))


def log_command(board: Board, entry: Mapping[str, Any], now: datetime) -> None:
    """That a person decides by `liza resolve`; under the lock, and before it is entered: else it is only a claim."""
    trip, at = _name_of(entry), str(entry.get("resolved_at"))
    line = {"timestamp": format_time(now), "agent": str(entry.get("resolved_by")), "action": RESOLVE, "trip_id": trip}
    line |= {"resolved_at": at}
    line |= {"evidence": kept} if (kept := evidence_digest(entry)) is not None else {}
    line["detail"] = f"{one_line(entry.get('pattern'), 100)}: {one_line(entry.get('resolution'), _DETAIL)}, trip {trip}"
    with suppress(LizaError):  # a decision is still entered; the error of a later step reports the log
        append_locked(board.paths, line)


def _archive_as_edited(board: Board, trip: str, archived: str) -> None:
    """The report under its own name with what people wrote into it, unless the decision is in there already."""
    there, known = _read(board.paths.report), _read(archived)
    if there is None or there == known or not report.is_report_on(there, trip):
        return
    if known is not None and report.is_report_on(known, trip, decided=True):
        return
    with suppress(OSError):  # the page is there nevertheless
        files.make_folder(board.paths.reports)
        files.write_atomically(archived, _encoded(there))


def _add_decision(path: str, trip: str, added: str) -> None:
    text = _read(path)
    if text is None:
        return  # the report was taken away; the decision is on the blackboard
    if report.is_report_on(text, trip) and not report.is_report_on(text, trip, decided=True):
        try:
            files.write_atomically(path, _encoded(text.rstrip("\n") + "\n" + added))
        except OSError as error:
            text = f"the decision could not be added to the report: {error.strerror}"
            raise checkpoint.Unfinished(text, hint="free disk space or fix its permissions", file=path) from None
