"""The report on a trip on the disk: the page for people, the archived copy, and what people wrote into it.

Each step can be done again without harm under the same trip id; the next check completes what a crash left undone.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused
from liza.model import Match, Silenced, Snapshot
from liza.scopes.history import section as sections
from liza.scopes.history.archives import archive_name, is_archive
from liza.scopes.sprint import report
from liza.scopes.sprint.failed_steps import attempt
from liza.scopes.sprint.report_notes import carry_over, holds
from liza.store import checkpoint, files
from liza.store.board import Board

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
    renews: bool = True  # a report on it that is there already is rewritten; else that one has more in it


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
    """Whether a page must not be rewritten: a human has decided meanwhile, and that is in it; or this trip has no
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


# --- the decision ---------------------------------------------------------------------------------------------------


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
