"""Several hosts, one blackboard: real daemons and a real PostgreSQL."""

from pathlib import Path

import pytest

from tests.daemon.daemon import until
from tests.team.hosts import Team, watched


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


def test_pattern_across_hosts_halts_all_and_one_resolution_frees_all(team: Team) -> None:
    one, two, three = (team.add(name) for name in ("one", "two", "three"))
    with watched(one, two, three) as daemons:
        one.retry(1)
        two.retry(2)
        three.retry(3)
        trip = one.wait_for_trip()
        for board in (two, three):
            board.wait_for_trip(trip)
        for board in team.hosts:
            assert [entry["trip_id"] for entry in board.trips] == [trip]
            page = board.report.read_text()
            assert all(f"on {name}" in page for name in ("one", "two", "three")), page
        until(lambda: team.ask("select trip_id from liza.trips") == [(trip,)])
        for daemon in daemons:
            daemon.wait_for("tripped")
        two.run("resolve", "-m", "the database moved", "--by", "alice")
        for board in team.hosts:
            board.wait_until_resolved()
            (entry,) = board.trips
            assert entry["resolution"] == "the database moved"
        for daemon in daemons:
            daemon.wait_for("resolved")
        assert one.trips[0]["resolved_by"] == "alice on two"
        until(lambda: team.ask("select count(*) from liza.resolutions") == [(1,)])
