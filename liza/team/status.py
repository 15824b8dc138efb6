"""`liza team status`: the team as the database has it now."""

from typing import Any, NamedTuple

import psycopg

from liza.store.board import Board
from liza.store.team_files import read_view
from liza.team.database import Database, HostRow, TeamTrip, as_error
from liza.team.settings import Settings

SKEW = 5.0  # seconds that a clock may be off before people should know


class TeamStatus(NamedTuple):
    settings: Settings
    hosts: tuple[HostRow, ...]
    records: int  # of the team
    trip: TeamTrip | None
    unsent: int | None  # None: no daemon has looked yet
    may_resolve: bool
    hears: bool | None  # whether notifications reach this host

    @property
    def rules(self) -> str:
        """Whether all hosts have the same rules."""
        return "the same on all hosts" if len(self._rules) < 2 else "each host's own"

    @property
    def _rules(self) -> set[str]:
        return {str(each.facts.get("rules")) for each in self.hosts if each.facts.get("rules")}

    @property
    def warnings(self) -> list[str]:
        found = []
        for each in self.hosts:
            if each.silent > self.settings.max_silence:
                found.append(f"{each.host} has not reported for {each.silent:.0f} s")
            if abs(each.skew) > SKEW:
                found.append(f"the clock of {each.host} is {each.skew:+.1f} s off the server's")
        if len(self._rules) > 1:
            found.append("the hosts have different rules: one may trip on what another lets pass")
        return found

    def as_json(self) -> dict[str, Any]:
        return {
            "team": self.settings.team,
            "host": self.settings.host,
            "may_resolve": self.may_resolve,
            "notify": self.hears,
            "records": self.records,
            "unsent": self.unsent,
            "rules": self.rules,
            "trip": None if self.trip is None else {"trip_id": self.trip.trip_id, "host": self.trip.host},
            "hosts": [
                {
                    "host": each.host,
                    "silent_seconds": round(each.silent, 1),
                    "skew_seconds": round(each.skew, 3),
                    **{name: each.facts.get(name) for name in ("version", "rules", "health", "trip", "may_resolve")},
                    "stopped": list(each.facts.get("stopped") or ()),
                }
                for each in self.hosts
            ],
        }


def read_team(board: Board, settings: Settings) -> TeamStatus:
    """`Unreachable` where the database cannot be asked."""
    database = Database(settings, listen=False)
    try:
        (records,) = database.connection.execute(
            "select count(*) from liza.records where team = %s", (settings.team,)
        ).fetchone() or (0,)
        trips = database.open_trips()
        hosts = tuple(database.hosts())
    except psycopg.Error as error:
        raise as_error(error) from None
    finally:
        database.close()
    view = read_view(board.paths)
    unsent, hears = view.get("unsent"), view.get("hears")
    return TeamStatus(
        settings,
        hosts,
        records,
        trips[0] if trips else None,
        unsent if isinstance(unsent, int) else None,
        database.may_resolve,
        hears if isinstance(hears, bool) else None,
    )
