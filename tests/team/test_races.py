"""Hosts that were not there at the time: two that tripped while they were cut off, one that slept, a clone by git."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.daemon.daemon import until
from tests.team.hosts import Team, TeamBoard, watched
from tests.team.proxy import Proxy


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


@pytest.fixture
def proxy(tmp_path: Path, team: Team) -> Iterator[Proxy]:
    made = Proxy(tmp_path / "p", team.server.folder)
    yield made
    made.close()


def test_loser_of_a_race_takes_over_the_winners_trip(team: Team, proxy: Proxy) -> None:
    """Both trip by themselves, each with records of its own, before they see each other."""
    one, two = team.add("one"), team.add("two")
    for board in (one, two):
        board.env = {"LIZA_TEAM": board.url.replace(str(team.server.folder), str(proxy.folder))}
    proxy.cut()
    with watched(one, two):
        for number in (1, 2, 3):
            one.retry(number)
            two.retry(number)
        before = [board.wait_for_trip() for board in (one, two)]
        assert len(set(before)) == 2
        proxy.restore()
        ((trip,),) = until(lambda: team.ask("select trip_id from liza.trips"))
        assert trip in before
        for board in (one, two):
            board.wait_for_trip(trip)
            until(partial(has_taken_over, board, trip))
            assert [entry["trip_id"] for entry in board.trips] == [trip]
        # What a person has not seen trips again; so the decision waits for the records of both.
        until(lambda: len(one.trips[0]["evidence"]["retry_cluster"].split()) == 6)
        one.run("resolve", "-m", "moved", "--by", "alice")
        for board in (one, two):
            board.wait_until_resolved()


def has_taken_over(board: TeamBoard, trip: str) -> bool:
    """Nothing of a trip of its own is left."""
    own = [path.name for path in board.archived if trip not in path.name]
    return board.halt["trip"] == trip and trip in board.report.read_text() and own == []


def test_host_that_was_away_enters_what_was_decided_and_does_not_trip(team: Team) -> None:
    here, away = team.add("here"), team.add("away")
    with watched(here):
        for number in (1, 2, 3):
            here.retry(number)
        trip = here.wait_for_trip()
        until(lambda: team.ask("select trip_id from liza.trips") == [(trip,)])
        here.run("resolve", "-m", "moved", "--by", "alice", "--cause", "SPEC_FLAW")
        here.wait_until_resolved()
        until(lambda: team.ask("select count(*) from liza.resolutions") == [(1,)])
        with watched(away):
            until(lambda: away.trips and away.trips[0].get("resolution") == "moved")
            (entry,) = away.trips
            assert (entry["trip_id"], entry["resolved_by"], entry["cause"]) == (trip, "alice on here", "SPEC_FLAW")
            away.retry(4)
            until(lambda: len(team.ask("select 1 from liza.records")) == 5)
            away.beats()
            assert not away.checkpoint.exists()
            found = away.run("status", "--json").json
            assert (found["claims"], found["trigger"]) == ([], None)


def test_trip_decided_while_cut_off_halts_nobody_else(team: Team, proxy: Proxy) -> None:
    """The team has two of its records: with a third it would trip on what is decided already."""
    away, other = team.add("away"), team.add("other")
    away.env = {"LIZA_TEAM": away.url.replace(str(team.server.folder), str(proxy.folder))}
    with watched(away, other) as (_, daemon):
        away.retry(1)
        away.retry(2)
        until(lambda: len(team.ask("select 1 from liza.records")) == 3)
        proxy.cut()
        away.retry(3)
        trip = away.wait_for_trip()
        away.run("resolve", "-m", "moved", "--by", "alice")
        away.wait_until_resolved()
        away.beats(2)  # its daemon offers the decision from here on, no longer the trip
        proxy.restore()
        until(lambda: other.trips and other.trips[0].get("resolution") == "moved")
        assert [entry["trip_id"] for entry in other.trips] == [trip]
        other.retry(4)
        until(lambda: len(team.ask("select 1 from liza.records where host = 'other'")) == 1)
        other.beats()
        assert daemon.reported("tripped") == []


def test_board_in_git_on_two_hosts_counts_once(team: Team) -> None:
    one, two = team.add("one"), team.add("two")
    one.retry(1)
    one.retry(2)
    two.save(one.text)
    with watched(one, two):
        until(lambda: len(team.ask("select 1 from liza.records")) == 3)
        for board in (one, two):
            until(partial(has_records, board, 3))
            board.beats()
            assert not board.checkpoint.exists()
        two.retry(3)
        trip = one.wait_for_trip()
        two.wait_for_trip(trip)


def has_records(board: TeamBoard, number: int) -> bool:
    return (board.folder / "team" / "records.jsonl").read_text().count("\n") == number


def test_status_sessions_and_doctor_show_the_other_hosts(team: Team) -> None:
    one, two = team.add("one", rules="team: {poll: 0.2}\n"), team.add("two", rules="team: {poll: 0.2}\n")
    with watched(one, two):
        until(lambda: "two" in one.run("status").out)
        facts = json.loads((one.folder / "team" / "view.json").read_text())
        assert {host["host"] for host in facts["hosts"]} == {"one", "two"}
        assert one.run("sessions", "--json").json["team"]["team"] == "default"
    view = one.folder / "team" / "view.json"
    found = json.loads(view.read_text())
    found["hosts"][1]["skew"] = -9.0
    view.write_text(json.dumps(found))
    said = [each for each in one.run("doctor", "--json").json["findings"] if each["about"] == "team"]
    assert any("two" in each["message"] and "9.0 s behind" in each["message"] for each in said), said
