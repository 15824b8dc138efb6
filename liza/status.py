"""The state of a blackboard for those who only look: a dry run of the one pipeline, and what lies beside the board."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from liza.check import Check, check
from liza.clients.hook_health import Hooks, read_hooks, script_problem
from liza.daemon.status import DaemonStatus, read_daemon
from liza.errors import LizaError, Unreadable
from liza.model import Silence, file_time, parse_time
from liza.rules.evaluate import RuleSet
from liza.rules.silences import read_silences
from liza.scope_names import ON_BOARD
from liza.scopes import engine
from liza.scopes.history import section as sections
from liza.scopes.inbox import Applied, add_waiting, read_waiting
from liza.scopes.rules_file import overrun, rules_in_force
from liza.scopes.scope import RUNNING, OpenTrip, SessionRow
from liza.scopes.transition import Event
from liza.store import checkpoint
from liza.store.board import Board
from liza.store.paths import Paths
from liza.store.spool import list_spool
from liza.text import plural

_ACTIVE = 600.0  # seconds since its last step in which a session counts as one that works


class State(StrEnum):
    OK = "ok"
    DEGRADED = "degraded"  # it cannot be evaluated fully, or cannot be written
    HALTED = "halted"  # there is a CHECKPOINT, but no open trip
    TRIGGERED = "triggered"


class Status(NamedTuple):
    """What is known of a blackboard now."""

    paths: Paths
    at: datetime
    rules: RuleSet
    found: Check  # its `error` is why not all rules could be evaluated
    halt: checkpoint.Checkpoint | None
    waiting: Applied  # records in the inbox
    daemon: DaemonStatus
    stopped: tuple[str, ...] = ()  # sessions, claims, slices and loops
    stopped_others: tuple[str, ...] = ()  # those of them that are not sessions
    alarms: tuple[str, ...] = ()  # about those that are not stopped
    due: tuple[Event, ...] = ()  # what the next check would do to them
    sessions: tuple[SessionRow, ...] = ()  # the one with the newest step first
    events_waiting: int = 0  # of hooks, until a daemon reads them
    hooks: tuple[Hooks, ...] = ()
    open_records: tuple[tuple[str, str, OpenTrip], ...] = ()  # what is stopped: its kind, its name and why
    paused: datetime | None = None  # since when PAUSE is there, which `liza run` obeys, and no gate
    team: Mapping[str, Any] | None = None  # how the daemon last saw the team; None without one

    @property
    def unwatched(self) -> str | None:
        """Why agents are not evaluated although there are some, with the fix."""
        if self.daemon.is_alive or not (self.events_waiting or any(self._is_active(row) for row in self.sessions)):
            return None
        waiting = f" ({plural(self.events_waiting, 'event')} wait)" if self.events_waiting else ""
        return f"no daemon evaluates the agents{waiting}; to fix: liza watch --background"

    def _is_active(self, row: SessionRow) -> bool:
        last = parse_time(row.last) if row.last is not None else None
        return row.state == RUNNING and last is not None and (self.at - last).total_seconds() < _ACTIVE

    @property
    def section(self) -> Any:
        return self.found.snapshot.sections.get("circuit_breaker")

    @property
    def state(self) -> State:
        if self.found.trigger is not None:  # which may be empty, if a person wrote it
            return State.TRIGGERED
        if self.halt is not None:
            return State.HALTED
        return State.DEGRADED if self.is_degraded else State.OK

    @property
    def is_degraded(self) -> bool:
        if self.team is not None and self.team.get("degraded"):
            return True
        return self.found.error is not None or not self.found.snapshot.spans  # no spans: it cannot be written

    @property
    def is_recorded(self) -> bool:
        """Whether the open trip is in state.yaml; otherwise only its CHECKPOINT is there."""
        return sections.open_trigger(self.section) is not None

    @property
    def is_halt_known(self) -> bool:
        """Whether the CHECKPOINT is of a trip that the blackboard knows, so that `liza resolve` removes it."""
        return self.halt is not None and sections.knows(self.section, self.halt.trip_id)

    @property
    def open_for(self) -> float | None:
        """Seconds since the open trip began, if its time can be read."""
        begun = parse_time(self.found.trigger.get("timestamp")) if self.found.trigger is not None else None
        return None if begun is None else max((self.at - begun).total_seconds(), 0.0)

    @property
    def history(self) -> list[Mapping[str, Any]]:
        """The entries, with what was entered by hand where the next check will have it."""
        history = sections.history_of(sections.reconcile(self.section, self.at).section)
        return [dict(entry) for entry in history if isinstance(entry, Mapping)]

    @property
    def silences(self) -> list[tuple[Mapping[str, Any], Silence]]:
        """Each that is in force: as it is written, and as it is understood."""
        found = read_silences(self.found.snapshot.sections.get("silences"))
        return [(each.fields, each.silence) for each in found if each.silence is not None and each.in_force(self.at)]

    @property
    def last_check(self) -> datetime | None:
        """The last on the blackboard, or of the daemon, which enters only some of its checks there."""
        entered = self.section.get("last_check") if isinstance(self.section, Mapping) else None
        times = [parse_time(time) for time in (entered, self.daemon.facts.get("last_check"))]
        return max((time for time in times if time is not None), default=None)


def read_status(board: Board, at: datetime) -> Status:
    """Writes nothing. `Unreadable` where the blackboard cannot be evaluated at all, with what waits in the inbox."""
    rules, broken = rules_in_force(board.paths.rules)
    try:
        found = check(board, rules, at, dry_run=True)
    except Unreadable as error:
        raise add_waiting(error, board) from None
    return describe(board, at, rules, found._replace(error=broken or overrun(rules, board.paths.rules)))


def describe(board: Board, at: datetime, rules: RuleSet, found: Check) -> Status:
    """What lies beside the board, for a check that was made already; writes nothing."""
    halt, waiting = checkpoint.read(board.paths.checkpoint), read_waiting(board)
    status = Status(board.paths, at, rules, found, halt, waiting, read_daemon(board.paths))
    with suppress(OSError):
        status = status._replace(paused=file_time(os.lstat(board.paths.pause).st_mtime))
    if os.path.isdir(board.paths.team):
        from liza.store.team_files import read_view  # few blackboards belong to a team

        status = status._replace(team=read_view(board.paths))
    return _with_sessions(_with_scopes(status, board))


def _with_sessions(status: Status) -> Status:
    rows = engine.session_rows(status.paths, status.found.snapshot.sections, status.rules)
    return status._replace(
        sessions=tuple(rows), events_waiting=list_spool(status.paths).total, hooks=_hooks(status.paths)
    )


def _hooks(paths: Paths) -> tuple[Hooks, ...]:
    """The hooks of clients; where they cannot be looked for, as without a home folder, doctor gives the reason."""
    try:
        hooks = read_hooks(paths.project)
        broken = script_problem(hooks[0].client) if hooks else None
    except LizaError:
        return ()
    return tuple(each if broken is None else each._replace(problems=(broken, *each.problems)) for each in hooks)


def _with_scopes(status: Status, board: Board) -> Status:
    rules, at, contents = status.rules, status.at, status.found.snapshot.sections
    status = status._replace(alarms=tuple(text for _, _, text in engine.alarms(contents, rules, os.environ, at)))
    try:
        missing = engine.missing(board, contents)
        status = status._replace(open_records=tuple(engine.stopped_records(contents, rules, os.environ)))
        stopped = engine.open_trips(contents, rules, os.environ) | missing
        others = {row.section: contents.get(row.section) for row in ON_BOARD}
        status = status._replace(
            stopped=tuple(stopped.values()),
            stopped_others=tuple((engine.open_trips(others, rules, os.environ) | missing).values()),
        )
        return status._replace(due=engine.preview(contents, rules, os.environ, at))
    except LizaError:
        return status  # what cannot be evaluated is among the alarms
