"""The team's database: its tables and roles, in numbered migrations that may be applied any number of times.

Agents' hosts may insert and read. Only people's role may resolve: a trigger of the owner closes the trip, so no host
can close one by itself. A record is never changed. Each insert takes one advisory lock for its transaction, so that the
order of `seq` is the order in which rows become visible, and a reader that has seen one has seen all before it.
"""

from typing import TYPE_CHECKING, Any

from liza.errors import Refused

if TYPE_CHECKING:
    from psycopg import Connection

AGENT, HUMAN = "liza_agent", "liza_human"
LARGEST = 1 << 18  # bytes of one record
CHANNEL = "liza"  # of NOTIFY
_LOCK, _ORDER = 0x6C697A61, 0x6C697A62  # advisory locks: one migration at a time, and one insert at a time

_FIRST = f"""
create sequence liza.changes;
create table liza.records (
  team text not null check (octet_length(team) <= 100),
  stream text not null check (octet_length(stream) <= 100),
  key text not null check (octet_length(key) <= 200),
  seq bigint not null default nextval('liza.changes'),
  body text not null check (octet_length(body) <= {LARGEST}),
  digest text not null check (octet_length(digest) <= 64),
  host text not null check (octet_length(host) <= 100),
  inserted_at timestamptz not null default now(),
  primary key (team, stream, key)
);
create unique index records_by_seq on liza.records (team, seq);
create table liza.trips (
  team text not null check (octet_length(team) <= 100),
  trip_id text not null check (octet_length(trip_id) <= 64),
  version bigint not null default nextval('liza.changes'),
  is_open boolean not null default true,
  trigger text not null check (octet_length(trigger) <= {LARGEST}),
  evidence text not null,
  host text not null check (octet_length(host) <= 100),
  inserted_at timestamptz not null default now(),
  primary key (team, trip_id)
);
create unique index one_open_trip on liza.trips (team) where is_open;
create index trips_by_version on liza.trips (team, version);
create table liza.resolutions (
  team text not null,
  trip_id text not null,
  decision text not null check (octet_length(decision) <= {LARGEST}),
  evidence text not null,
  host text not null check (octet_length(host) <= 100),
  inserted_at timestamptz not null default now(),
  primary key (team, trip_id),
  foreign key (team, trip_id) references liza.trips on delete cascade
);
create table liza.heartbeats (
  team text not null check (octet_length(team) <= 100),
  host text not null check (octet_length(host) <= 100),
  instance text not null check (octet_length(instance) <= 64),
  beat_at timestamptz not null default now(),
  skew double precision not null,
  facts text not null check (octet_length(facts) <= {LARGEST}),
  primary key (team, host)
) with (fillfactor = 50);
create function liza.close_trip() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp as $$
begin
  update liza.trips set is_open = false, version = nextval('liza.changes')
    where team = new.team and trip_id = new.trip_id;
  return new;
end $$;
revoke all on function liza.close_trip() from public;
create trigger close_trip after insert on liza.resolutions for each row execute function liza.close_trip();
create function liza.in_order() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin perform pg_advisory_xact_lock({_ORDER}); return null; end $$;
create function liza.wake() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin perform pg_notify('{CHANNEL}', ''); return null; end $$;
""" + "".join(
    f"""
create trigger in_order before insert on liza.{table} for each statement execute function liza.in_order();
create trigger wake after insert on liza.{table} for each statement execute function liza.wake();
"""
    for table in ("records", "trips", "resolutions")
)

_GRANTS = f"""
grant usage on schema liza to {AGENT}, {HUMAN};
grant usage on sequence liza.changes to {AGENT}, {HUMAN};
grant select on all tables in schema liza to {AGENT}, {HUMAN};
grant insert (team, stream, key, body, digest, host) on liza.records to {AGENT}, {HUMAN};
grant insert (team, trip_id, trigger, evidence, host) on liza.trips to {AGENT}, {HUMAN};
grant insert, update, delete on liza.heartbeats to {AGENT}, {HUMAN};
grant insert (team, trip_id, decision, evidence, host) on liza.resolutions to {HUMAN};
grant delete on liza.records, liza.trips to {HUMAN};
"""

MIGRATIONS = (_FIRST + _GRANTS,)
VERSION = len(MIGRATIONS)


def migrate(connection: "Connection[Any]") -> tuple[int, int]:
    """Bring the schema to this version; the version before, and the one now. Each migration is one transaction."""
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute("create schema if not exists liza")
        connection.execute(
            "create table if not exists liza.migrations "
            "(version integer primary key, applied_at timestamptz not null default now())"
        )
        for role in (AGENT, HUMAN):
            if connection.execute("select 1 from pg_roles where rolname = %s", (role,)).fetchone() is None:
                connection.execute(f"create role {role} nologin".encode())
    before = version_of(connection)
    require_not_newer(before)
    for number, text in enumerate(MIGRATIONS[before:], before + 1):
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
            if version_of(connection) < number:  # another `init` was faster
                connection.execute(text.encode())
                connection.execute("insert into liza.migrations (version) values (%s)", (number,))
    return before, VERSION


def version_of(connection: "Connection[Any]") -> int:
    """The version of the schema that is there; 0 for none."""
    (there,) = connection.execute("select to_regclass('liza.migrations')").fetchone() or (None,)
    if there is None:
        return 0
    (version,) = connection.execute("select coalesce(max(version), 0) from liza.migrations").fetchone() or (0,)
    return int(version)


def require_current(connection: "Connection[Any]") -> None:
    """`Refused` where the schema is another one than this program knows."""
    version = version_of(connection)
    require_not_newer(version)
    if version < VERSION:
        text = "has no liza schema" if version == 0 else f"has liza schema {version}, this liza needs {VERSION}"
        raise Refused(f"the team's database {text}", hint="its owner runs: liza team init URL")


def require_not_newer(version: int) -> None:
    if version > VERSION:
        hint = "upgrade liza on this host: pip install --upgrade 'liza[team]'"
        raise Refused(f"the team's database has liza schema {version}; this liza supports up to {VERSION}", hint=hint)
