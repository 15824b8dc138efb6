"""Joining, leaving and keeping house: what a person does about a team once."""

import os
from typing import NamedTuple

import psycopg

from liza.errors import LizaError, Refused
from liza.scopes.rules_file import rules_in_force
from liza.store import checkpoint
from liza.store.board import Board
from liza.store.paths import Paths
from liza.store.team_files import forget, host_name, is_team_named, read_host, write_host
from liza.team.database import Database, as_error, connect
from liza.team.schema import migrate
from liza.team.settings import DEFAULT_TEAM, Settings, new_host, read_address, refuse_password, settings_of


class Joined(NamedTuple):
    team: str
    host: str
    role: str | None
    may_resolve: bool
    warnings: tuple[str, ...]


def init(url: str) -> tuple[int, int]:
    """Create or upgrade the schema; the version before, and the one now."""
    read_address(url)
    connection = connect(url)
    try:
        if connection.info.server_version < 150_000:
            hint = "upgrade the server to PostgreSQL 15 or newer"
            raise Refused(f"the server is PostgreSQL {connection.info.server_version // 10_000}", hint=hint)
        return migrate(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        hint = "run it as the owner of the database, who may create roles (createrole)"
        raise Refused(f"the team's database: {as_error(error).message}", hint=hint) from None
    except psycopg.Error as error:
        raise as_error(error) from None
    finally:
        connection.close()


def join(paths: Paths, url: str, name: str | None, role: str | None, team: str | None) -> Joined:
    """Check that this host can take part, then keep where and as whom. Nothing is kept where it cannot."""
    refuse_password(url)
    if team is not None:
        host_name(team)
    before = read_host(paths)
    host = new_host(paths, name)._replace(url=url, role=role, team=team)
    settings = Settings(url, team or DEFAULT_TEAM, host.host, host.instance, role, "halt", 120.0, None)
    database = Database(settings, listen=False)
    try:
        _refuse_twin(database, settings)
        if role == "human" and not database.may_resolve:
            hint = "its owner runs, in psql: grant liza_human to USER; or join with --role agent"
            raise Refused("this login may not resolve, so this host cannot join as human", hint=hint)
        (is_more,) = database.connection.execute(
            "select has_any_column_privilege('liza.resolutions', 'insert')"
        ).fetchone() or (False,)
        database.beat({})
    except psycopg.Error as error:
        raise as_error(error) from None
    finally:
        database.close()
    write_host(paths, host)
    warnings = []
    if role == "agent" and is_more:
        warnings.append("this login may resolve: give agents' hosts one that is only in liza_agent")
    if before is not None and before.host != host.host:
        warnings.append(f"this blackboard was called {before.host} before; what it sent keeps that name")
    if os.environ.get("LIZA_TEAM") and os.environ["LIZA_TEAM"] != url:
        warnings.append("LIZA_TEAM is set to another address, which is used instead: unset LIZA_TEAM")
    return Joined(settings.team, host.host, role, database.may_resolve, tuple(warnings))


def _refuse_twin(database: Database, settings: Settings) -> None:
    for each in database.hosts():
        is_other = each.host == settings.host and each.instance != settings.instance
        if is_other and each.silent < settings.max_silence:
            raise Refused(
                f"another blackboard of the team is called {settings.host}", hint="choose another: --host NAME"
            )


def leave(board: Board) -> list[str]:
    """Forget the team here; what could not be entered in the database is returned as a warning."""
    settings = settings_or_refuse(board.paths)
    warnings = []
    try:
        database = Database(settings, listen=False)
        try:
            database.leave()
        finally:
            database.close()
    except (LizaError, psycopg.Error) as error:
        warnings.append(f"the database could not be updated, so the other hosts see this one as silent: {error}")
    forget(board.paths)
    checkpoint.lift_partition(board.paths.checkpoint)
    if is_team_named(board.paths, rules_in_force(board.paths.rules)[0].blocks):
        where = "LIZA_TEAM" if os.environ.get("LIZA_TEAM") else f"team: in {board.paths.rules}"
        warnings.append(f"{where} still names a team: remove it, or the daemon joins again")
    return warnings


def settings_or_refuse(paths: Paths) -> Settings:
    """The team of this blackboard; `Refused` where it has none."""
    blocks = rules_in_force(paths.rules)[0].blocks
    settings = settings_of(paths, blocks) if is_team_named(paths, blocks) else None
    if settings is None:
        raise Refused("this blackboard belongs to no team", hint="to join one: liza team join URL")
    return settings


def prune(database: Database, days: int) -> tuple[int, int]:
    """How many records and resolved trips were deleted."""
    values = (database.settings.team, days)
    try:
        records = database.connection.execute(
            "delete from liza.records where team = %s and inserted_at < now() - make_interval(days => %s)", values
        )
        trips = database.connection.execute(
            "delete from liza.trips where team = %s and not is_open "
            "and inserted_at < now() - make_interval(days => %s)",
            values,
        )
        database.connection.execute(
            "delete from liza.heartbeats where team = %s and beat_at < now() - make_interval(days => %s)", values
        )
    except psycopg.Error as error:
        raise as_error(error) from None
    return records.rowcount, trips.rowcount
