"""Whether a session may continue, for hooks that ask before every action. Nothing is written."""

from datetime import datetime

from liza.scopes.gate import Gate
from liza.scopes.records import find_record
from liza.scopes.sessions.fields import SESSIONS, STOPPED, status_of, stop_reason
from liza.scopes.sessions.states import label_of
from liza.store.board import Board
from liza.text import shell_quoted


def check_session(board: Board, name: str, now: datetime) -> Gate:
    """Closed while the session is stopped."""
    found = find_record(board.read().data.get(SESSIONS.name), name, SESSIONS.scope)
    if found is None or status_of(found[1]) != STOPPED:
        return Gate()
    hint = f"wait; a human decides, and runs: liza session resume {shell_quoted(name)} -m WHY"
    return Gate(f"session {label_of(name, found[1])} is {STOPPED}: {stop_reason(found[1])}", hint)
