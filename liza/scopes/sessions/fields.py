"""The records of sessions in `state.yaml`: only of those that were ever stopped."""

from collections.abc import Mapping
from typing import Any

from liza.model import MAPPINGS
from liza.scopes.records import Section

ACTIVE, STOPPED = STATUSES = ("ACTIVE", "STOPPED")


SESSIONS = Section(
    scope="session",
    name="sessions",
    list_command="liza sessions",
    while_unusable="the session counts as STOPPED",
    example="7c1f2a90",
    lists=("history",),
)


def status_of(record: Mapping[str, Any]) -> str:
    """ACTIVE or STOPPED; a status that is not known counts as STOPPED, which is safe."""
    status = record.get("status")
    return ACTIVE if status is None or str(status).strip().upper() == ACTIVE else STOPPED


def open_trip(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The trip that stopped a session, unless it is over."""
    trip = record.get("current_trip")
    return trip if isinstance(trip, MAPPINGS) else None


def stop_reason(record: Mapping[str, Any]) -> str:
    """Why a session is stopped."""
    reason = (open_trip(record) or {}).get("reason")
    return str(reason or f"its status is {record.get('status')!r}")
