"""The records of sessions in `state.yaml`: only of those that were ever stopped."""

from collections.abc import Mapping, Sequence
from typing import Any

from liza.scopes.records import Section, current_trip, usable_records

ACTIVE, STOPPED = STATUSES = ("ACTIVE", "STOPPED")
open_trip = current_trip


SESSIONS = Section(
    scope="session",
    name="sessions",
    list_command="liza sessions",
    while_unusable="the session counts as STOPPED",
    example="7c1f2a90",
    lists=("history",),
)


def ids_of(section: Any, wanted: str) -> Sequence[str]:
    """The sessions that a person means: by id, by name, or by the first characters of the id."""
    known = [(key, record.get("name")) for _, key, record in usable_records(section, SESSIONS.scope)]
    exact = [key for key, name in known if wanted in (key, name)]
    return exact or [key for key, _ in known if len(wanted) >= 4 and key.startswith(wanted)] or [wanted]


def status_of(record: Mapping[str, Any]) -> str:
    """ACTIVE or STOPPED; a status that is not known counts as STOPPED, which is safe."""
    status = record.get("status")
    return ACTIVE if status is None or str(status).strip().upper() == ACTIVE else STOPPED


def stop_reason(record: Mapping[str, Any]) -> str:
    """Why a session is stopped."""
    reason = (open_trip(record) or {}).get("reason")
    return str(reason or f"its status is {record.get('status')!r}")
