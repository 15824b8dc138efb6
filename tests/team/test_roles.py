"""What each role may do in the database, asked as that role; and what a host joined as agent may decide."""

from pathlib import Path

import psycopg
import pytest

from tests.daemon.daemon import until
from tests.team.hosts import Team, watched

OFTEN = "team: {poll: 0.2}\n"
TRIP = "0123456789ab"
RECORD = "insert into liza.records (team, stream, key, body, digest, host) values ('t', 's', 'k', '{}', 'd', 'h')"
OPEN = f"insert into liza.trips (team, trip_id, trigger, evidence, host) values ('t', '{TRIP}', '{{}}', '{{}}', 'h')"
CLOSE = (
    "insert into liza.resolutions (team, trip_id, decision, evidence, host) "
    f"values ('t', '{TRIP}', '{{}}', '{{}}', 'h')"
)
BEAT = "insert into liza.heartbeats (team, host, instance, skew, facts) values ('t', 'h', 'i', 0, '{}')"
EVERYONE = (RECORD, OPEN, BEAT, "update liza.heartbeats set skew = 1", "select * from liza.records, liza.resolutions")
PEOPLE = (CLOSE, "delete from liza.records", "delete from liza.trips")
NOBODY = (
    "update liza.records set body = '{}'",
    "update liza.trips set is_open = false",
    "delete from liza.resolutions",
    "truncate liza.records",
    "insert into liza.trips (team, trip_id, trigger, evidence, host, is_open) values ('t', 'x', '', '', 'h', false)",
    "select setval('liza.changes', 1)",
    "drop table liza.records",
    "select liza.close_trip()",
    "create table liza.mine (a int)",
)


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


def allowed(team: Team, user: str) -> dict[str, bool]:
    found = {}
    for query in (*EVERYONE, *PEOPLE, *NOBODY):
        with psycopg.connect(team.url("postgres"), autocommit=True) as owner:
            owner.execute("truncate liza.records, liza.trips, liza.resolutions, liza.heartbeats")
            if query in PEOPLE:
                owner.execute(OPEN)
        with psycopg.connect(team.url(user), autocommit=True) as connection:
            try:
                connection.execute(query.encode())
                found[query] = True
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported):
                found[query] = False
    return found


def test_agents_insert_and_only_people_resolve(team: Team) -> None:
    assert [query for query, may in allowed(team, "agents").items() if may] == [*EVERYONE]
    assert [query for query, may in allowed(team, "alice").items() if may] == [*EVERYONE, *PEOPLE]


def test_resolution_closes_a_trip_and_one_is_open_at_most(team: Team) -> None:
    team.ask(OPEN)
    with pytest.raises(psycopg.errors.UniqueViolation):
        team.ask(OPEN.replace(TRIP, "f" * 12))
    with psycopg.connect(team.url("alice"), autocommit=True) as alice:
        alice.execute(CLOSE.encode())
    team.ask(OPEN.replace(TRIP, "f" * 12))
    assert team.ask("select is_open from liza.trips order by version") == [(False,), (True,)]


def test_resolution_on_agents_host_is_refused_and_undone(team: Team) -> None:
    agent, person = team.add("agent-1", user="agents", rules=OFTEN), team.add("desk", rules=OFTEN)
    with watched(agent, person) as (daemon, _):
        for number in (1, 2, 3):
            agent.retry(number)
        trip = agent.wait_for_trip()
        person.wait_for_trip(trip)
        until(lambda: "desk" in agent.run("resolve", "-m", "no", "--by", "x").hint(), "it names the host")
        assert agent.run("resolve", "-m", "no", "--by", "x").code == 1
        agent.save(agent.text.replace("status: TRIGGERED", "status: OK"))
        assert "desk" in daemon.wait_for("alarm", "cannot resolve")
        agent.wait_for_trip(trip)
        assert len(agent.trips) == 1
        assert team.ask("select count(*) from liza.resolutions") == [(0,)]
        person.run("resolve", "-m", "moved", "--by", "alice")
        for board in team.hosts:
            board.wait_until_resolved()
        assert [entry["resolution"] for entry in agent.trips] == ["moved"]
