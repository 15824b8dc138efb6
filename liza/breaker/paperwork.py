"""What is written about a trip and about the decision on it: the page for people, and the lines of the log.

Each step can be done again without harm under the same trip id; whoever comes next does what a crash left undone.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from liza.blackboard import storage, versions
from liza.blackboard.board import Board
from liza.blackboard.logfile import append_entry, has_line
from liza.breaker import checkpoint, report
from liza.breaker import section as sections
from liza.errors import LizaError, Refused
from liza.model import Match, Silenced, Snapshot, format_time

AGENT = "liza"


class Trip(NamedTuple):
    """A match about to be put into effect, with all that its paperwork needs."""

    trigger: Mapping[str, Any]
    matches: tuple[Match, ...]
    snapshot: Snapshot
    evidence: Mapping[str, str]
    rule_changes: tuple[str, ...] = ()
    silenced: tuple[Silenced, ...] = ()


def attempt(failed: list[LizaError], step: Callable[[], object]) -> None:
    """Do a step of several; why it failed is for later."""
    try:
        step()
    except LizaError as error:
        failed.append(error)


# --- the trip -------------------------------------------------------------------------------------------------------


def write_report(board: Board, trip: Trip) -> None:
    """The page for people."""
    _put_report(board.paths.report, trip)


def archive(board: Board, trip: Trip) -> None:
    """The same page under a name of its own, once the trip is entered and its time is settled."""
    try:
        storage.make_folder(board.paths.reports)
    except OSError as error:
        raise _no_report(error, board.paths.reports) from None
    _put_report(os.path.join(board.paths.reports, report.archive_name(trip.trigger)), trip)
    if not report.is_about(board.paths.report, str(trip.trigger.get("trip_id"))):
        _put_report(board.paths.report, trip)  # a check that found another trip has overwritten it meanwhile


def restore_report(board: Board, trigger: Mapping[str, Any]) -> None:
    try:
        archived = os.path.join(board.paths.reports, report.archive_name(trigger))
        with open(archived, "rb", opener=versions.regular) as file:
            storage.put(board.paths.report, file.read())
    except OSError:
        pass  # whoever tripped it is about to write it


def _put_report(path: str, trip: Trip) -> None:
    if report.is_about(path, str(trip.trigger.get("trip_id")), decided=True):
        return  # a human has decided meanwhile, and that stands in it
    try:
        text = report.render(trip.trigger, trip.matches, trip.snapshot, trip.rule_changes, trip.silenced)
        storage.put(path, text.encode())
    except OSError as error:
        raise _no_report(error, path) from None


def _no_report(error: OSError, path: str) -> Refused:
    hint = "make room or permission for it, then run: liza analyze"
    return Refused(f"the report could not be written: {error.strerror}", hint=hint, file=path)


def is_logged(board: Board, action: str, trigger: Mapping[str, Any]) -> bool:
    """Whether the log has that line already."""
    return has_line(board.paths.log, _marks(action, trigger))


def log_trip(board: Board, trigger: Mapping[str, Any], now: datetime, *, waits: bool = True) -> None:
    """That it tripped: by whoever finds it so first, since the one who tripped it may have been killed."""
    log_once(board, trigger, "tripped", f"{trigger.get('pattern')} ({trigger.get('severity')})", now, waits=waits)


def log_once(
    board: Board, trigger: Mapping[str, Any], action: str, detail: str, now: datetime, *, waits: bool = True
) -> None:
    """One line a decision: a trip that is taken up again after a crash is not logged twice."""
    said, mark = _marks(action, trigger)
    entry = {"timestamp": format_time(now), "agent": AGENT, "action": action, "detail": f"{said}: {detail}, {mark}"}
    append_entry(board.paths, entry, unless=(said, mark), waits=waits)


def _marks(action: str, trigger: Mapping[str, Any]) -> tuple[str, str]:
    """What a line of the log has if it tells of this."""
    mark = f"trip {trigger['trip_id']}" if trigger.get("trip_id") else f"trip of {trigger.get('timestamp')}"
    return f"circuit breaker {action}", mark


# --- the decision ---------------------------------------------------------------------------------------------------


def keep_decision(board: Board, entry: Mapping[str, Any], now: datetime, *, waits: bool = True) -> list[LizaError]:
    """Write down what the history says of the decision on a trip, and what of it could not be."""
    failed: list[LizaError] = []
    if entry.get("trip_id") and entry.get("resolution"):  # one without words is waited for, and told by the log alone
        report_decision(board, entry, failed)
    log_decision(board, entry, now, failed, waits=waits)  # last: its line says that all of it is done
    return failed


def report_decision(board: Board, entry: Mapping[str, Any], failed: list[LizaError]) -> None:
    """Into both copies of the report: what the history says of the decision on this trip."""
    trip = str(entry["trip_id"])
    added = report.decision(entry)
    archived = os.path.join(board.paths.reports, report.archive_name(entry))
    _archive_if_missing(board, trip, archived)
    for path in (archived, board.paths.report):
        attempt(failed, partial(_add_decision, path, trip, added))


def log_decision(
    board: Board, entry: Mapping[str, Any], now: datetime, failed: list[LizaError], *, waits: bool = True
) -> None:
    """Into the log, once."""
    if entry.get("trip_id"):
        attempt(failed, lambda: log_trip(board, entry, now, waits=waits))  # no check comes after a decision
    resolved = f"{entry.get('pattern')} {sections.whose(entry)}"
    attempt(failed, lambda: log_once(board, entry, "resolved", resolved, now, waits=waits))


def _archive_if_missing(board: Board, trip: str, archived: str) -> None:
    """The report under its own name, where whoever tripped it was killed before that."""
    if os.path.exists(archived) or not report.is_about(board.paths.report, trip):
        return
    with suppress(OSError):  # the page is there all the same
        storage.make_folder(board.paths.reports)
        with open(board.paths.report, "rb", opener=versions.regular) as file:
            storage.put(archived, file.read())


def _add_decision(path: str, trip: str, added: str) -> None:
    try:
        with open(path, "rb", opener=versions.regular) as file:
            raw = file.read()
    except OSError:
        return  # the report was taken away; the decision is on the blackboard
    if trip.encode() in raw and b"\n## Decision\n" not in raw:
        try:
            storage.put(path, raw.rstrip(b"\n") + b"\n" + added.encode())
        except OSError as error:
            said = f"the decision could not be added to the report: {error.strerror}"
            raise checkpoint.Unfinished(said, hint="make room or permission for it", file=path) from None
