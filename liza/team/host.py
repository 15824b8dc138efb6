"""This host in its team, in the daemon's thread: what the others sent is put into effect, and its own is offered.

What is done follows from three things that are all there after a restart: the files of this blackboard, the team's
records beside them, and the team's trips as the server has them.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from liza import __version__
from liza.errors import LizaError, LockTimeout
from liza.model import format_time
from liza.rules.evaluate import RuleSet
from liza.scopes.history import section as sections
from liza.scopes.history.evidence_files import with_kept
from liza.scopes.history.origin import with_origins
from liza.scopes.shared import shared_of
from liza.scopes.sprint import team_trip
from liza.scopes.sprint.evaluate import FollowUpFailed, StaleVerdict
from liza.store import checkpoint, files
from liza.store.board import Board
from liza.store.document import Document
from liza.store.team_files import Shared, make_folder, write_view
from liza.team import outgoing as own
from liza.team.database import Outgoing, TeamTrip
from liza.team.link import Contact, Link
from liza.team.settings import Settings
from liza.team.view import facts_of, view_of

FACTS_EVERY = 5.0  # seconds


class TeamHost:
    """Holds the link, and what was read and is not in effect yet."""

    def __init__(self, board: Board, settings: Settings, wake: Callable[[], None]) -> None:
        self._board = board
        self.settings = settings
        make_folder(board.paths)
        self._shared = shared_of(board)
        self._shared.mirror.refresh()
        last = max(self._shared.mirror.records, key=lambda each: each.seq, default=None)
        self._link = Link(settings, (last.seq, last.key) if last is not None else (0, ""), wake)
        self._trips: dict[str, TeamTrip] = {}
        self._waiting: list[Shared] = []  # records that come after what is decided about them
        self._is_unsettled = False  # a step could not be done yet
        self.degraded: str | None = None  # why it counts as cut off
        self._read = False  # the trips of the team are known
        self._notes: list[str] = []
        self._too_large: tuple[str, ...] = ()
        self._unsent = 0
        self._facts: dict[str, Any] = {}
        self._facts_at = float("-inf")
        self._viewed: Any = None
        self._offered: tuple[Any, ...] = ()
        self._outgoing = Outgoing()
        self._link.start()

    @property
    def contact(self) -> Contact:
        return self._link.contact

    @property
    def is_up_to_date(self) -> bool:
        return self._read and not self._waiting and not self._is_unsettled

    def stop(self) -> None:
        self._link.stop()

    def take_notes(self) -> list[str]:
        notes, self._notes = self._notes, []
        return notes

    def problems(self) -> Iterator[tuple[str, str]]:
        """What people should know while it lasts."""
        for key in self._too_large:
            yield key, f"a record is too large for the team's database ({key}): it counts on this host alone"
        for each in self.contact.hosts:
            if each.host == self.settings.host and each.instance != self.settings.instance:
                text = f"another blackboard calls itself {each.host}, too: liza team join --host OTHER-NAME"
                yield "twin", text

    # --- taking in ----------------------------------------------------------------------------------------------------

    def apply(self, rules: RuleSet, document: Document | None, now: datetime) -> bool:
        """Put into effect what was read; whether there is anything new for a check."""
        self._link.end_what_hangs()
        batch = self._link.take()
        if batch.is_anew:
            self._shared.mirror.clear()
            self._trips, self._waiting = {}, []
        self._waiting += batch.records
        self._trips |= {trip.trip_id: trip for trip in batch.trips}
        self._read = self._read or self.contact.looks > 0
        is_new = bool(batch.records or batch.trips or batch.is_anew)
        if not is_new and not self._is_unsettled and not self._is_closed_here(document):
            return False
        self._is_unsettled = True
        try:
            self._settle(rules, now)
            self._is_unsettled = False
        except (LockTimeout, StaleVerdict):
            pass  # the next tick tries again
        except FollowUpFailed as error:
            if not error.is_for_the_lock:
                raise
        return True

    def _is_closed_here(self, document: Document | None) -> bool:
        """Whether the trip that is open in the team was closed by hand on a host that may not."""
        trip = self._open_trip()
        if trip is None or document is None or self.contact.may_resolve is not False:
            return False
        return sections.open_trigger(document.data.get("circuit_breaker")) is None

    def _open_trip(self) -> TeamTrip | None:
        return next((trip for trip in self._trips.values() if trip.is_open), None)

    def _section(self) -> Any:
        return self._board.read().data.get("circuit_breaker")

    def _settle(self, rules: RuleSet, now: datetime) -> None:
        trip = self._open_trip()
        trigger = None
        if trip is not None:
            trigger = team_trip.trigger_of(trip.trip_id, trip.trigger, trip.host, now)
            if self._is_to_be_halted(trip):
                team_trip.halt(self._board, trigger)
        self._close_decided(now)
        if self._waiting:
            self._shared.mirror.append(self._waiting)
            self._waiting = []
        if trip is not None and trigger is not None:
            self._enter(trip, trigger, rules, now)

    def _is_to_be_halted(self, trip: TeamTrip) -> bool:
        """Also where the blackboard cannot be read. One that is known has its halt, or a decision: making it anew here
        could undo a decision that is being made at this moment."""
        try:
            return not sections.knows(self._section(), trip.trip_id)
        except LizaError:
            return True

    def _close_decided(self, now: datetime) -> None:
        section = self._section()
        known = {
            str(e.get("trip_id"))
            for e in sections.history_of(section)
            if isinstance(e, Mapping) and e.get("resolved_at")
        }
        for trip in sorted(self._trips.values(), key=lambda each: each.version):
            if trip.decision is not None and trip.trip_id not in known:
                trigger = team_trip.trigger_of(trip.trip_id, trip.trigger, trip.host, now)
                decision = team_trip.decision_of(trip.decision, trip.decided_on)
                team_trip.close(self._board, trigger, decision, trip.evidence, now)

    def _enter(self, trip: TeamTrip, trigger: Mapping[str, Any], rules: RuleSet, now: datetime) -> None:
        section = self._section()
        current = sections.open_trigger(section)
        if current is not None and current.get("trip_id") == trip.trip_id and sections.is_recorded(section, current):
            return
        is_resolved = current is None and sections.knows(section, trip.trip_id)
        if not is_resolved:
            team_trip.adopt(self._board, rules, trigger, trip.evidence, now)
        elif self.contact.may_resolve:
            checkpoint.remove(self._board.paths.checkpoint, trip.trip_id)  # made while the blackboard was unreadable
        elif self.contact.may_resolve is False:
            team_trip.reopen(self._board, rules, trigger, trip.evidence, now)
            where = (
                ", ".join(each.host for each in self.contact.hosts if each.facts.get("may_resolve"))
                or "a person's host"
            )
            self._notes.append(
                f"this host joined its team as agent and cannot resolve trip {trip.trip_id}: it is open again; "
                f"resolve it on {where}"
            )

    # --- offering -----------------------------------------------------------------------------------------------------

    def offer(self, document: Document, now: datetime, last_error: str | None) -> None:
        """What the team does not have yet; cheap while nothing has changed."""
        state = (document, len(self._shared.mirror.records), self._shared.mirror.generation, *self._trips.values())
        if not self._read:  # it is not known yet what the team has
            self._save_view(now)
            return
        if [id(each) for each in state] != [id(each) for each in self._offered] or self._offered != state:
            self._outgoing = self._new(document, now)
            self._offered = state
        if time.monotonic() - self._facts_at >= min(FACTS_EVERY, self.settings.max_silence / 4):
            self._facts_at = time.monotonic()
            self._facts = facts_of(self._board.paths, document, self._rules_digest(), last_error, self.contact)
        self._link.offer(self._outgoing, self._facts)
        self._save_view(now)

    def _new(self, document: Document, now: datetime) -> Outgoing:
        breaker = document.data.get("circuit_breaker")
        section = (
            with_origins(self._board, with_kept(self._board, breaker)) if sections.history_of(breaker) else breaker
        )
        unsent = own.unsent_records(self._board, document.data.get("anomalies"), section, now)
        self._too_large, self._unsent = unsent.too_large, len(unsent.records)
        known, current = self._open_trip(), own.open_entry(breaker)
        if known is not None:
            entry = sections.decision_on(breaker, {"trip_id": known.trip_id})
            is_decided = entry is not None and current is None and self.contact.may_resolve
            rows = (own.resolution_row(self._board, entry),) if entry is not None and is_decided else ()
            return Outgoing(unsent.records, None, rows)
        if current is not None:
            is_new = str(current[0]["trip_id"]) not in self._trips
            return Outgoing(unsent.records, own.trip_row(self._board, *current) if is_new else None)
        unknown = own.unknown_decisions(self._board, breaker, self._trips)
        decided = tuple(own.trip_row(self._board, entry, entry) for entry in unknown)
        if not self.contact.may_resolve:  # then it is open until a person decides
            return Outgoing(unsent.records, decided[0] if decided else None)
        return Outgoing(unsent.records, None, tuple(own.resolution_row(self._board, each) for each in unknown), decided)

    def _rules_digest(self) -> str:
        """Which rules this host has, to see whether all have the same."""
        try:
            return hashlib.sha256(files.read(self._board.paths.rules)).hexdigest()[:12]
        except OSError:
            return f"shipped {__version__}"

    def _save_view(self, now: datetime) -> None:
        """For `status` and `sessions`: what is known of the other hosts."""
        state = (self.contact._replace(last=0.0, looks=0), self._open_trip(), self._unsent, self.degraded)
        if state != self._viewed:
            view = view_of(self.settings, self.contact, self._open_trip(), self._unsent, self.degraded)
            write_view(self._board.paths, {"at": format_time(now), **view})
            self._viewed = state
