"""A host that is cut off: it halts in time, goes on by itself, and nothing is lost or counted twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.daemon import until
from tests.team.hosts import Team, TeamBoard, watched
from tests.team.proxy import Proxy

QUICK = "team: {max_silence: 1}\n"


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


@pytest.fixture
def proxy(tmp_path: Path, team: Team) -> Iterator[Proxy]:
    made = Proxy(tmp_path / "p", team.server.folder)
    yield made
    made.close()


def behind(team: Team, proxy: Proxy, name: str, rules: str = QUICK) -> TeamBoard:
    board = team.add(name, rules=rules)
    board.env = {"LIZA_TEAM": board.url.replace(str(team.server.folder), str(proxy.folder))}
    return board


def keys(team: Team) -> int:
    ((count,),) = team.ask("select count(*) from liza.records where body like '%%retry_loop%%'")
    return int(count)


def test_cut_off_host_halts_then_catches_up_once(team: Team, proxy: Proxy) -> None:
    away, other = behind(team, proxy, "away"), team.add("other", rules=QUICK)
    with watched(away, other) as (daemon, _):
        away.retry(1)
        until(lambda: keys(team) == 1, "it is sent")
        proxy.cut()
        until(lambda: away.checkpoint.exists() and "partition" in away.halt, "it halts")
        assert not other.checkpoint.exists()
        assert "1 s" in daemon.wait_for("degraded")
        status = away.run("status", "--json")
        assert (status.code, status.json["checkpoint"]["by"]) == (3, "liza")
        away.retry(2)
        other.retry(3)
        until(lambda: keys(team) == 2, "the other is not held up")
        proxy.restore()
        trip = other.wait_for_trip()
        away.wait_for_trip(trip)
        assert keys(team) == 3
        assert away.halt["trip"] == trip
        other.run("resolve", "-m", "moved", "--by", "alice")
        for board in (away, other):
            board.wait_until_resolved()


def test_host_goes_on_where_it_may_and_says_so(team: Team, proxy: Proxy) -> None:
    away = behind(team, proxy, "away", "team: {max_silence: 1, on_partition: continue}\n")
    with watched(away) as (daemon,):
        until(lambda: team.ask("select host from liza.heartbeats") == [("away",)])
        proxy.cut()
        daemon.wait_for("degraded")
        assert not away.checkpoint.exists()
        assert away.run("status").code == 4
        proxy.restore()
        daemon.wait_for("recovered")
        until(lambda: away.run("status").code == 0)


def test_broken_settings_count_as_cut_off_and_leaving_is_alarmed(team: Team) -> None:
    board = team.add("one", rules="team: {max_silence: 1, url: 'postgresql://a:s3cret@h/d'}\n")
    board.env = {}
    with watched(board) as (daemon,):
        assert "s3cret" not in daemon.wait_for("degraded")
        until(lambda: board.checkpoint.exists() and "partition" in board.halt, "it halts")
        board.rules.write_text(f"team: {{max_silence: 1, url: '{board.url}'}}\n")
        until(lambda: not board.checkpoint.exists(), "it continues")
        board.rules.write_text("")
        daemon.wait_for("degraded", "address is not known")
        for path in (board.folder / "team").iterdir():
            path.unlink()
        (board.folder / "team").rmdir()
        daemon.wait_for("alarm", "in no team any more")
