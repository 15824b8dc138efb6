"""What hosts tell each other about themselves, and how that looks in `status`, `sessions` and `doctor`."""

import os
from collections.abc import Mapping
from typing import Any

from liza import __version__
from liza.errors import LizaError
from liza.scopes import engine
from liza.scopes.history import section as sections
from liza.scopes.rules_file import rules_in_force
from liza.store.document import Document
from liza.store.paths import Paths
from liza.team.database import TeamTrip
from liza.team.link import Contact
from liza.team.settings import Settings
from liza.text import one_line

_MOST = 50  # sessions and stops of a host that the others see
_TEXT = 300


def facts_of(
    paths: Paths, document: Document, rules_digest: str, last_error: str | None, contact: Contact
) -> dict[str, Any]:
    """What the other hosts see of this one: who is at work, what is stopped only here, how it is."""
    trigger = sections.open_trigger(document.data.get("circuit_breaker"))
    facts: dict[str, Any] = {
        "version": __version__,
        "rules": rules_digest,
        "may_resolve": bool(contact.may_resolve),
        "health": one_line(last_error, _TEXT) if last_error else "ok",
        "trip": str(trigger.get("trip_id")) if trigger is not None else None,
    }
    try:
        rules = rules_in_force(paths.rules)[0]
        rows = engine.session_rows(paths, document.data, rules)[:_MOST]
        stopped = engine.open_trips(document.data, rules, os.environ)
    except LizaError:
        return facts
    names = ("session", "client", "name", "task", "state", "steps", "last", "last_error", "reason")
    listed = [
        {name: one_line(v, _TEXT) if isinstance(v := getattr(row, name), str) else v for name in names}
        | {"cost": row.used.cost, "tokens": row.used.tokens}
        for row in rows
    ]
    return facts | {"sessions": listed, "stopped": [one_line(text, _TEXT) for text in stopped.values()][:_MOST]}


def view_of(
    settings: Settings, contact: Contact, trip: TeamTrip | None, unsent: int, degraded: str | None
) -> dict[str, Any]:
    """What is kept in `.liza/team/view.json`."""
    return {
        "team": settings.team,
        "host": settings.host,
        "max_silence": settings.max_silence,
        "may_resolve": contact.may_resolve,
        "hears": contact.hears,
        "error": one_line(str(contact.error), _TEXT) if contact.error is not None else None,
        "degraded": one_line(degraded, _TEXT) if degraded else None,
        "trip": trip.trip_id if trip is not None else None,
        "tripped_on": trip.host if trip is not None else None,
        "unsent": unsent,
        "hosts": [_host(each._asdict()) for each in contact.hosts],
    }


def _host(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "silent": round(row["silent"], 1), "skew": round(row["skew"], 3), "facts": dict(row["facts"])}
