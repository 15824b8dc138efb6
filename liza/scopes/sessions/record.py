"""Stopping and resuming a session by a person, and the list of sessions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.model import MAPPINGS, format_time
from liza.rules.acknowledged import trip_id
from liza.scopes.change import change_record
from liza.scopes.outcome import Outcome
from liza.scopes.records import find_record, named_records
from liza.scopes.sessions import states
from liza.scopes.sessions.fields import ACTIVE, SESSIONS, STOPPED, open_trip, status_of
from liza.scopes.sessions.monitor import Monitor, sync_halts
from liza.scopes.sessions.step_window import StepWindow
from liza.store.board import Board
from liza.store.document import Document
from liza.store.session_halt import STOP, SessionHalt, read_session_halt, remove_session_halt, write_session_halt
from liza.text import closest_match, file_name, value_text

RUNNING, ENDED, HELD, ASKED = "running", "ended", "stopped", "stop requested, no hook"


class SessionRow(NamedTuple):
    """One session as people see it."""

    session: str
    client: str
    name: str
    task: str
    parent: str | None
    status: str  # ACTIVE or STOPPED
    state: str  # running, ended, or what is known of its stop
    steps: int
    started: str | None
    last: str | None
    last_step: str | None
    last_error: str | None
    reason: str | None
    tokens: float | None  # None where nothing reported any
    cost: float | None  # in US dollars


def list_sessions(document: Document, monitor: Monitor) -> list[SessionRow]:
    """The sessions that were active lately or are stopped, the one with the newest step first."""
    return session_rows(document.data.get(SESSIONS.name), monitor)


def session_rows(section: Any, monitor: Monitor) -> list[SessionRow]:
    """The same from the section of the blackboard."""
    stopped = {
        name: record
        for _, name, record in named_records(section, SESSIONS.scope)
        if isinstance(record, MAPPINGS) and (status_of(record) == STOPPED or name in monitor.sessions)
    }
    names = {*monitor.sessions, *stopped}
    rows = [_row(name, monitor.sessions.get(name), stopped.get(name, {})) for name in names if name]
    return sorted(rows, key=lambda row: (row.last or "", row.session), reverse=True)


def _row(name: str, window: StepWindow | None, record: Mapping[str, Any]) -> SessionRow:
    about = {**{key: text for key, text in record.items() if isinstance(text, str)}, **(window.about if window else {})}
    status = status_of(record)
    last = window.steps[-1] if window is not None and window.steps else None
    errors = [step["error"] for step in window.steps if step.get("error")] if window is not None else []
    return SessionRow(
        session=name,
        client=about.get("client", ""),
        name=about.get("name", ""),
        task=about.get("task", ""),
        parent=about.get("parent"),
        status=status,
        state=_state(window, status),
        steps=window.count if window is not None else 0,
        started=window.started if window is not None else None,
        last=window.last if window is not None else None,
        last_step=f"{last.get('tool')} {last.get('input')}" if last is not None else None,
        last_error=str(errors[-1]) if errors else None,
        reason=str((open_trip(record) or {}).get("reason")) if status == STOPPED else None,
        tokens=window.used("tokens") if window is not None else None,
        cost=window.used("cost") if window is not None else None,
    )


def _state(window: StepWindow | None, status: str) -> str:
    """A session that no hook reports, such as one known from its transcript, cannot be held: it is only asked."""
    if window is None or window.ended:
        return ENDED
    return RUNNING if status != STOPPED else HELD if window.events else ASKED


def stop_by_hand(board: Board, monitor: Monitor, wanted: str, why: str, by: str, now: datetime) -> str:
    """Stop a session, and those that it started: its halt file first. Returns its id."""
    document = board.read()
    name = find_session(document, monitor, wanted)
    record = find_record(document.data.get(SESSIONS.name), name, SESSIONS.scope)
    earlier = len((record[1].get("history") or ()) if record else ())
    identity = trip_id(f"by hand {name} {earlier}", (), 0)
    halt = SessionHalt(name, STOP, f"{why} ({by})", states.BY_HAND, identity, format_time(now))
    write_session_halt(board.paths.stopped, file_name(name), halt)
    about = monitor.sessions[name].about if name in monitor.sessions else {}

    def change(document: Document, record: Mapping[str, Any] | None) -> Outcome:
        return states.stop_session(name, {**about, **(record or {})}, [states.BY_HAND], why, identity, now, by)

    change_record(board, SESSIONS, name, change, now)
    return name


def resume_by_hand(board: Board, monitor: Monitor, wanted: str, why: str, by: str, now: datetime) -> str:
    """Let a stopped session continue. The decision is entered first; then its halt file goes."""
    name = find_session(board.read(), monitor, wanted)
    halted = read_session_halt(board.paths.stopped, file_name(name))

    def change(document: Document, record: Mapping[str, Any] | None) -> Outcome:
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


def find_session(document: Document, monitor: Monitor, wanted: str) -> str:
    """The id of the session that is meant: by its id, the beginning of it, or its name."""
    rows = list_sessions(document, monitor)
    exact = [row.session for row in rows if wanted in (row.session, row.name)]
    found = exact or [row.session for row in rows if len(wanted) >= 4 and row.session.startswith(wanted)]
    running = [row.session for row in rows if row.session in found and row.state != ENDED]
    if len(found) == 1 or len(running) == 1:
        return (found if len(found) == 1 else running)[0]
    if found:
        hint = f"name one of them by its id: {', '.join(sorted(found))}"
        raise Refused(f"{len(found)} sessions are called {value_text(wanted)}", hint=hint)
    meant = closest_match(wanted, [label for row in rows for label in (row.session, row.name) if label])
    hint = f"did you mean {meant}?" if meant else "list them with: liza sessions"
    raise Refused(f"there is no session {value_text(wanted)}", hint=hint)
