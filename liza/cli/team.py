"""`liza team`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from liza.cli import envelope, show
from liza.cli.group import Call, Family, common, untimed
from liza.cli.terminal import aligned
from liza.errors import Refused
from liza.model import format_time
from liza.text import plural, printable

if TYPE_CHECKING:
    from liza.team.database import Database
    from liza.team.status import TeamStatus

EXTRA = "pip install 'liza[team]'"


@click.group("team", cls=Family)
@common
def command() -> None:
    """Share one blackboard between several machines, through PostgreSQL.

    Each host's daemon sends its records and reads the others'; a trip on one host halts all. See docs/team.md.

    \b
    Examples:
      liza team init postgresql://admin@db.example.org/liza
      liza team join postgresql://liza@db.example.org/liza --host build-1
      liza team status
    """


def _extra() -> None:
    """`Refused` where what a team needs is not installed."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise Refused(f"liza team needs psycopg, which cannot be loaded: {error}", hint=EXTRA) from None


@command.command("init")
@click.argument("url", metavar="URL")
@untimed
def init_command(call: Call, url: str) -> int:
    """Create or upgrade the tables and roles.

    Run by the owner of the database at URL, once, and again after an upgrade of liza.
    URL is any address that libpq takes.

    \b
    Examples:
      liza team init postgresql://admin@db.example.org/liza?sslmode=verify-full
    """
    _extra()
    from liza.team.setup import init

    before, after = init(url)
    status = "created" if before == 0 else "upgraded" if before < after else "already"
    if call.as_json:
        envelope.write("team init", status, schema_before=before, schema_version=after)
        return 0
    words = {"created": "created", "upgraded": f"upgraded from {before}", "already": "already up to date"}
    click.echo(f"schema liza, version {after}: {words[status]}")
    click.echo("Next, in psql, one login for agents' hosts and one for each person:")
    click.echo("  create role build_agents login password '...' in role liza_agent;")
    click.echo("  create role alice login password '...' in role liza_human;")
    click.echo("Then on each host: liza team join URL")
    return 0


@command.command("join")
@click.argument("url", metavar="URL")
@click.option("--host", metavar="NAME", help="What this host is called; default: its own name.")
@click.option(
    "--role",
    type=click.Choice(["agent", "human"]),
    metavar="ROLE",
    help="agent: cannot resolve; human: can. Default: whatever the database login allows.",
)
@click.option("--team", "team", metavar="NAME", help='Which team of that database; default: the team named "default".')
@untimed
def join_command(call: Call, url: str, host: str | None, role: str | None, team: str | None) -> int:
    """Make this blackboard a host of the team at URL.

    URL must not have a password: put it into ~/.pgpass, a libpq service file or PGPASSWORD.

    \b
    Examples:
      liza team join "service=liza" --host build-1 --role agent
    """
    _extra()
    from liza.team.setup import join

    joined = join(call.board.paths, url, host, role, team)
    fields = {"team": joined.team, "host": joined.host, "role": joined.role, "may_resolve": joined.may_resolve}
    if call.as_json:
        envelope.write("team join", "joined", joined.warnings, **fields)
        return 0
    rights = "may resolve" if joined.may_resolve else "cannot resolve: people resolve on their own hosts"
    click.echo(f"joined team {printable(joined.team)} as {joined.host} ({rights})")
    show.warnings(joined.warnings)
    click.echo("Next: liza watch --background   (the daemon of this host sends and reads)")
    return 0


@command.command("leave")
@untimed
def leave_command(call: Call) -> int:
    """Take this blackboard out of its team.

    What it has sent stays there; the records of the other hosts no longer count here. An open trip stays open here.

    \b
    Examples:
      liza team leave
    """
    _extra()
    from liza.team.setup import leave

    warnings = leave(call.board)
    if call.as_json:
        envelope.write("team leave", "left", warnings)
        return 0
    click.echo("left the team; this blackboard is evaluated on its own from now on")
    show.warnings(warnings)
    return 0


@command.command("status")
@untimed
def status_command(call: Call) -> int:
    """Show the hosts of the team and its open trip.

    It asks the database, and says what this host has not sent yet.

    Exit code 3 if a trip is open, 1 if the database cannot be reached.

    \b
    Examples:
      liza team status --json | jq '.hosts[] | {host, silent_seconds}'
    """
    _extra()
    from liza.team.setup import settings_or_refuse
    from liza.team.status import read_team

    found = read_team(call.board, settings_or_refuse(call.board.paths))
    trip = found.trip
    if call.as_json:
        envelope.write(
            "team status", "triggered" if trip else "ok", found.warnings, at=format_time(call.at), **found.as_json()
        )
    else:
        _print_team(found)
    return 3 if trip else 0


def _print_team(found: "TeamStatus") -> None:
    mine = found.settings
    click.echo(f"team {printable(mine.team)}: {plural(len(found.hosts), 'host')}, {plural(found.records, 'record')}")
    if found.trip is not None:
        pattern = show.short(str(found.trip.trigger.get("pattern")), 60)
        label = click.style("TRIGGERED", fg="red", bold=True)
        click.echo(f"{label}: {pattern}, trip {found.trip.trip_id}, by {printable(found.trip.host)}")
    rows = [
        (
            f"{printable(each.host)}{' (this host)' if each.host == mine.host else ''}",
            f"{each.silent:.0f} s ago",
            f"clock {each.skew:+.1f} s",
            "may resolve" if each.facts.get("may_resolve") else "",
            show.short(str(each.facts.get("health") or ""), 60),
        )
        for each in found.hosts
    ]
    for line in aligned(rows) if rows else ():
        click.echo(f"  {line}")
    for each in found.hosts:
        for text in each.facts.get("stopped") or ():
            click.echo(f"  stopped on {printable(each.host)} only: {show.short(str(text), 200)}")
    click.echo(f"rules: {found.rules}")
    if found.unsent:
        click.echo(f"{plural(found.unsent, 'record')} of this host not sent yet")
    if found.hears is False:
        click.echo("no notification was heard (a transaction pooler?): this host polls")
    show.warnings(found.warnings)


@command.command("prune")
@click.option("--days", type=click.IntRange(1), required=True, help="Delete what is older than this many days.")
@untimed
def prune_command(call: Call, days: int) -> int:
    """Delete old records and resolved trips.

    Needs a login of the role liza_human, or the owner's. An open trip and its evidence of the last days stay.

    \b
    Examples:
      liza team prune --days 90
    """
    _extra()
    from liza.team.setup import prune, settings_or_refuse

    records, trips = _with_database(lambda database: prune(database, days), settings_or_refuse(call.board.paths))
    if call.as_json:
        envelope.write("team prune", "ok", records=records, trips=trips)
        return 0
    click.echo(f"deleted {plural(records, 'record')} and {plural(trips, 'resolved trip')} older than {days} days")
    return 0


def _with_database(step: "Callable[[Database], Any]", settings: Any) -> Any:
    from liza.team.database import Database

    database = Database(settings, listen=False)
    try:
        return step(database)
    finally:
        database.close()
