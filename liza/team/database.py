"""One connection to the team's database: sending, reading, and what can go wrong in words.

Every statement is independent (no session state but LISTEN), so that a transaction pooler may be in between. Each can
be repeated, so that a connection that breaks in the middle loses nothing and counts nothing twice.
"""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg import sql

from liza.errors import LizaError, Refused, Unwritable
from liza.model import is_trip_id
from liza.store.team_files import Shared
from liza.team.schema import CHANNEL, require_current
from liza.team.settings import Settings
from liza.text import one_line

CONNECT = {
    "connect_timeout": 5,
    "application_name": "liza",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
MOST = 5_000  # records that are read at once


class Unreachable(Unwritable):
    """The team's database cannot be reached, or does not take what this host sends."""


class Outgoing(NamedTuple):
    """What this host has that the team does not have yet. Sending it twice is the same as once."""

    records: tuple[tuple[str, str, str, str], ...] = ()  # stream, key, body, digest
    trip: tuple[str, str, str] | None = None  # id, trigger, evidence
    resolutions: tuple[tuple[str, str, str], ...] = ()  # id of the trip, decision, evidence
    decided: tuple[tuple[str, str, str], ...] = ()  # trips that were decided before the team knew them, like `trip`


class TeamTrip(NamedTuple):
    """A trip of the team, and the decision on it."""

    trip_id: str
    version: int
    host: str  # that won
    trigger: Mapping[str, Any]
    evidence: Mapping[str, str]
    decision: Mapping[str, Any] | None = None
    decided_on: str | None = None  # the host

    @property
    def is_open(self) -> bool:
        return self.decision is None


class HostRow(NamedTuple):
    """A host as it last reported itself."""

    host: str
    instance: str
    silent: float  # seconds since its last heartbeat, by the server's clock
    skew: float  # seconds that its clock is ahead of the server's
    facts: Mapping[str, Any]


class Database:
    """A connection that is ready for use: the schema is there, and this host may read it."""

    def __init__(self, settings: Settings, *, listen: bool = True) -> None:
        self.settings = settings
        self.connection = connect(settings.url)
        self._heard = False
        self.connection.add_notify_handler(self._note)  # for those that come with the answer to a statement
        try:
            require_current(self.connection)
            (self.may_resolve,) = self._row("select has_any_column_privilege('liza.resolutions', 'insert')")
            if settings.role == "agent":
                self.may_resolve = False
            self.server = self.connection.info.server_version
            if listen:
                self.connection.execute(sql.SQL("listen {}").format(sql.Identifier(CHANNEL)))
                self.connection.execute("select pg_notify(%s, '')", (CHANNEL,))  # is heard, unless a pooler is between
        except psycopg.Error as error:
            self.close()
            raise as_error(error) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.connection.close()

    def _row(self, query: LiteralString, values: Sequence[Any] = ()) -> tuple[Any, ...]:
        found = self.connection.execute(query, values).fetchone()
        assert found is not None
        return tuple(found)

    # --- sending ------------------------------------------------------------------------------------------------------

    def send(self, outgoing: Outgoing) -> None:
        """Records and the trip in one statement: any reader of the records sees the trip."""
        team, host = self.settings.team, self.settings.host
        if outgoing.records or outgoing.trip is not None:
            trip = [list(column) for column in zip(*([outgoing.trip] if outgoing.trip else []), strict=True)]
            columns = [list(column) for column in zip(*outgoing.records, strict=True)]
            values = {"team": team, "host": host, "r": columns or [[]] * 4, "t": trip or [[]] * 3}
            listed = {f"r{n}": column for n, column in enumerate(values["r"])}
            listed |= {f"t{n}": column for n, column in enumerate(values["t"])}
            self.connection.execute(_SEND, {"team": team, "host": host, **listed})
        with self.connection.transaction():  # a trip that is already decided halts no one
            for trip_id, trigger, evidence in outgoing.decided:
                self.connection.execute(
                    "insert into liza.trips (team, trip_id, trigger, evidence, host) values (%s, %s, %s, %s, %s) "
                    "on conflict do nothing",
                    (team, trip_id, trigger, evidence, host),
                )
            self._resolve(outgoing)

    def _resolve(self, outgoing: Outgoing) -> None:
        team, host = self.settings.team, self.settings.host
        for trip_id, decision, evidence in outgoing.resolutions:
            self.connection.execute(
                "insert into liza.resolutions (team, trip_id, decision, evidence, host) "
                "select team, trip_id, %(decision)s, %(evidence)s, %(host)s from liza.trips "
                "where team = %(team)s and trip_id = %(trip)s on conflict do nothing",
                {"team": team, "host": host, "trip": trip_id, "decision": decision, "evidence": evidence},
            )

    def beat(self, facts: Mapping[str, Any]) -> None:
        """Report that this host is alive."""
        team, host, instance = self.settings.team, self.settings.host, self.settings.instance
        before = time.time()
        (clock,) = self._row("select extract(epoch from clock_timestamp())::float8")
        skew = (before + time.time()) / 2 - clock
        self.connection.execute(
            "insert into liza.heartbeats as h (team, host, instance, skew, facts) values (%s, %s, %s, %s, %s) "
            "on conflict (team, host) do update set instance = excluded.instance, beat_at = now(), "
            "skew = excluded.skew, facts = excluded.facts",
            (team, host, instance, skew, json.dumps(facts)),
        )

    def hosts(self) -> list[HostRow]:
        rows = self.connection.execute(
            "select host, instance, extract(epoch from now() - beat_at)::float8, skew, facts from liza.heartbeats "
            "where team = %s order by host",
            (self.settings.team,),
        )
        return [HostRow(row[0], row[1], row[2], row[3], _mapping(row[4])) for row in rows]

    def leave(self) -> None:
        self.connection.execute(
            "delete from liza.heartbeats where team = %s and host = %s", (self.settings.team, self.settings.host)
        )

    # --- reading ------------------------------------------------------------------------------------------------------

    def knows(self, seq: int, key: str) -> bool:
        """Whether the server still has the record that was read last; it has not after an older backup was restored."""
        found = self.connection.execute(
            "select 1 from liza.records where team = %s and seq = %s and key = %s", (self.settings.team, seq, key)
        )
        return found.fetchone() is not None

    def after(self, seq: int, version: int) -> tuple[list[Shared], list[TeamTrip]]:
        """What is new, as of one moment: the evidence of each trip is among the records. If there are MOST records,
        there may be more, and the trips are not all."""
        rows = self.connection.execute(
            _READ, {"team": self.settings.team, "seq": seq, "version": version, "most": MOST}
        ).fetchall()
        records = [Shared(row[1], row[2], row[3], row[4], _mapping(row[5])) for row in rows if row[0] == "record"]
        trips = [_trip(*row[1:]) for row in rows if row[0] == "trip" and is_trip_id(row[2])]
        return records, trips

    def open_trips(self) -> list[TeamTrip]:
        rows = self.connection.execute(
            "select version, trip_id, host, trigger, evidence, null, null, null from liza.trips "
            "where team = %s and is_open",
            (self.settings.team,),
        )
        return [_trip(*row) for row in rows if is_trip_id(row[1])]

    def heard(self) -> bool:
        """Whether a notification has come since the last call. Does not wait."""
        self.connection.pgconn.consume_input()
        while self.connection.pgconn.notifies() is not None:
            self._heard = True
        is_heard, self._heard = self._heard, False
        return is_heard

    def _note(self, notify: psycopg.Notify) -> None:
        self._heard = True


_SEND: LiteralString = """
with sent as (
  insert into liza.records (team, stream, key, body, digest, host)
  select %(team)s, s, k, b, d, %(host)s
  from unnest(%(r0)s::text[], %(r1)s::text[], %(r2)s::text[], %(r3)s::text[]) with ordinality as n(s, k, b, d, at)
  order by at on conflict do nothing returning 1
), tripped as (
  insert into liza.trips (team, trip_id, trigger, evidence, host)
  select %(team)s, i, t, e, %(host)s from unnest(%(t0)s::text[], %(t1)s::text[], %(t2)s::text[]) as n(i, t, e)
  on conflict do nothing returning 1
) select (select count(*) from sent), (select count(*) from tripped)
"""
_READ: LiteralString = """
(select 'record', seq, stream, key, host, body, null, null, null from liza.records
 where team = %(team)s and seq > %(seq)s order by seq limit %(most)s)
union all
(select 'trip', t.version, t.trip_id, t.host, t.trigger, t.evidence, r.decision, r.evidence, r.host
 from liza.trips t left join liza.resolutions r using (team, trip_id)
 where t.team = %(team)s and t.version > %(version)s)
order by 2
"""


def connect(url: str) -> "psycopg.Connection[Any]":
    """`Unreachable` with the command that fixes it."""
    try:
        # Without prepared statements: a pooler may give each statement another session of the server.
        return psycopg.connect(url, autocommit=True, prepare_threshold=None, **CONNECT)  # type: ignore[arg-type]
    except (psycopg.Error, OSError) as error:
        raise as_error(error) from None


# What libpq and the server say, and what to do about it: only for the hint.
_HINTS = (
    ("password authentication failed", "correct the password in ~/.pgpass, the service file or PGPASSWORD"),
    ("no password supplied", "put the password into ~/.pgpass (host:port:database:user:password), mode 0600"),
    ("no encryption", "the server wants TLS: add ?sslmode=verify-full to the address (or sslmode=require)"),
    ("SSL off", "the server wants TLS: add ?sslmode=verify-full to the address (or sslmode=require)"),
    (
        "does not support SSL",
        "the server has no TLS: have its owner turn it on, or use sslmode=prefer in a private net",
    ),
    ("certificate", "give the server's root certificate: sslrootcert=FILE, or sslrootcert=system"),
    ("permission denied", "its owner runs, in psql: grant liza_agent to USER  (or liza_human for people)"),
    ("does not exist", "create it, or correct the address; its owner runs: liza team init URL"),
    ("No space left", "free disk space on the database server; nothing is lost: what this host has is sent later"),
)


def as_error(error: Exception) -> LizaError:
    """An error of the database as one of liza's."""
    text = one_line(str(error), 300)
    hint = next((hint for sign, hint in _HINTS if sign in text), "check the server: psql URL -c 'select 1'")
    if isinstance(error, psycopg.ProgrammingError):
        return Refused(f"the team's database: {text}", hint=hint)
    return Unreachable(f"the team's database cannot be used: {text}", hint=hint)


def _mapping(text: str) -> dict[str, Any]:
    """What a host has sent; something else holds nothing."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _trip(
    version: int,
    trip: str,
    host: str,
    trigger: str,
    evidence: str,
    decision: str | None,
    last: str | None,
    on: str | None,
) -> TeamTrip:
    texts = _mapping(last) if last is not None else _mapping(evidence)
    kept = {rule: text for rule, text in texts.items() if isinstance(text, str)}
    return TeamTrip(
        trip, version, host, _mapping(trigger), kept, _mapping(decision) if decision is not None else None, on
    )
