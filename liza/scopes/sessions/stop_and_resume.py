"""Stop and resume a session by hand."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from liza.errors import Refused
from liza.model import format_time
from liza.rules.acknowledged import trip_id
from liza.scopes.change import change_record
from liza.scopes.records import find_record
from liza.scopes.sessions import states
from liza.scopes.sessions.fields import ACTIVE, SESSIONS, STOPPED, open_trip, status_of, stop_reason
from liza.scopes.sessions.monitor import Monitor, sync_halts
from liza.scopes.sessions.rows import SHORTEST, find_session
from liza.scopes.transition import Transition
from liza.store.board import Board
from liza.store.document import Document
from liza.store.session_halt import STOP, SessionHalt, read_session_halt, remove_session_halt, write_session_halt
from liza.text import file_name, value_text


def stop_by_hand(
    board: Board, monitor: Monitor, wanted: str, why: str, by: str, now: datetime
) -> tuple[str, str | None]:
    """Stop a session, and those that it started: its halt file first. Its id, and why it was stopped before."""
    document = board.read()
    name = _find(document, monitor, wanted)
    record = find_record(document.data.get(SESSIONS.name), name, SESSIONS.scope)
    if record is not None and status_of(record[1]) == STOPPED and open_trip(record[1]) is not None:
        sync_halts(board.paths, document.data.get(SESSIONS.name))
        return name, stop_reason(record[1])
    earlier = len((record[1].get("history") or ()) if record else ())
    identity = trip_id(f"by hand {name} {earlier}", (), 0)
    halt = SessionHalt(name, STOP, f"{why} ({by})", states.BY_HAND, identity, format_time(now))
    write_session_halt(board.paths.stopped, file_name(name), halt)
    about = monitor.sessions[name].about if name in monitor.sessions else {}

    def change(document: Document, record: Mapping[str, Any] | None) -> Transition:
        return states.stop_session(name, {**about, **(record or {})}, [states.BY_HAND], why, identity, now, by)

    done = change_record(board, SESSIONS, name, change, now)
    return name, None if done.events else stop_reason(done.record)


def resume_by_hand(board: Board, monitor: Monitor, wanted: str, why: str, by: str, now: datetime) -> str:
    """Let a stopped session continue. The decision is entered first; then its halt file goes."""
    name = _find(board.read(), monitor, wanted)
    halted = read_session_halt(board.paths.stopped, file_name(name))

    def change(document: Document, record: Mapping[str, Any] | None) -> Transition:
        known = record or {}
        if status_of(known) == ACTIVE and open_trip(known) is None:
            if halted is None or halted.action != STOP:
                raise Refused(f"session {value_text(name)} is not stopped", hint="list them with: liza sessions")
            known = states.stop_session(name, known, [halted.pattern], halted.reason, halted.trip, now).record
        return states.resume_session(name, known, why, by, now)

    change_record(board, SESSIONS, name, change, now)
    sync_halts(board.paths, board.read().data.get(SESSIONS.name))
    remove_session_halt(board.paths.stopped, file_name(name))
    return name


def _find(document: Document, monitor: Monitor, wanted: str) -> str:
    try:
        return find_session(document, monitor.sessions, wanted)
    except Refused:
        if len(wanted) < SHORTEST or not any(monitor.windows.ingested(wanted)):
            raise
    raise Refused(f"session {value_text(wanted)} has ended", hint="list those that ended with: liza sessions --all")
