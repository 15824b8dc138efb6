"""Which team this blackboard belongs to: LIZA_TEAM beats what `liza team join` kept, which beats rules.yaml.

A password is never in a file that git may see: such an address is refused, and libpq finds the password in its own
places (~/.pgpass, a service file, PGPASSWORD). In LIZA_TEAM it may be.
"""

import os
import secrets
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.schema.teams import TEAM
from liza.store.paths import Paths
from liza.store.team_files import Host, host_name, read_host, write_host

DEFAULT_TEAM = "default"
_NO_PASSWORD = (
    "put the password into ~/.pgpass (host:port:database:user:password, mode 0600), a libpq service file or PGPASSWORD,"
    " and leave it out of the address"
)


class Settings(NamedTuple):
    """All that the daemon needs to take part."""

    url: str
    team: str
    host: str
    instance: str
    role: str | None
    on_partition: str
    max_silence: float
    poll: float | None  # seconds between two looks; None: as NOTIFY allows


def settings_of(paths: Paths, blocks: Mapping[str, Mapping[str, Any]]) -> Settings | None:
    """None where no team is named. `Refused` where what is named cannot be used."""
    block: Mapping[str, Any] = blocks.get("team") or {}
    kept = read_host(paths)
    url = os.environ.get("LIZA_TEAM")
    if not url:
        url = (kept.url if kept is not None else None) or block.get("url")
        if not url:
            return None
        refuse_password(url)
    host = kept or _new_host(paths)
    return Settings(
        url,
        host.team or block.get("name") or DEFAULT_TEAM,
        host.host,
        host.instance,
        host.role,
        block.get("on_partition") or "halt",
        float(block.get("max_silence") or TEAM["max_silence"].default),
        block.get("poll"),
    )


def read_address(url: str) -> Mapping[str, Any]:
    """The parts of the team's address; `Refused` for what is none."""
    from psycopg import Error
    from psycopg.conninfo import conninfo_to_dict

    try:
        return conninfo_to_dict(url)
    except Error:
        hint = "like postgresql://liza@db.example.org/liza?sslmode=verify-full, or service=liza"
        raise Refused("the team's address is not one that libpq understands", hint=hint) from None


def refuse_password(url: str) -> None:
    """`Refused` for an address with a password in it."""
    parts = read_address(url)
    if parts.get("password") or parts.get("sslpassword"):
        raise Refused("the team's address has a password in it, and git may see that file", hint=_NO_PASSWORD)


def new_host(paths: Paths, name: str | None) -> Host:
    """This machine under its own name, or the one given; the instance of this blackboard stays the same."""
    kept = read_host(paths)
    given = name or (kept.host if kept is not None else None) or socket.gethostname().partition(".")[0]
    return Host(host_name(given), kept.instance if kept is not None else secrets.token_hex(8))


def _new_host(paths: Paths) -> Host:
    host = new_host(paths, None)
    write_host(paths, host)
    return host
