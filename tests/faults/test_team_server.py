"""What may happen to the team's server, and to a host that sleeps: it is loud, halts in time, and nothing is lost."""

import signal
import socket
import tempfile
import time
from pathlib import Path

import pytest

from tests.cli.run import liza, new_board
from tests.daemon.daemon import until
from tests.team.hosts import Team, TeamBoard, watched
from tests.team.postgres import FAST, Server, prepare

QUICK = "team: {max_silence: 1}\n"
FULL = """
create function public.full() returns trigger language plpgsql as
$$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
"""
END = (
    "select pg_terminate_backend(pid) from pg_stat_activity "
    "where datname = current_database() and pid <> pg_backend_pid()"
)


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


def records(team: Team) -> list[str]:
    return [row[0] for row in team.ask("select key from liza.records where body like '%%retry_loop%%'")]


def is_cut_off(board: TeamBoard) -> bool:
    return board.checkpoint.exists() and "partition" in board.halt


def test_full_disk_on_the_server(team: Team) -> None:
    team.ask(FULL)
    one = team.add("one", rules=QUICK)
    with watched(one) as (daemon,):
        until(lambda: len(team.ask("select 1 from liza.heartbeats")) == 1)
        team.ask("create trigger full_disk before insert on liza.records for each row execute function public.full()")
        one.retry(1)
        one.retry(2)
        until(lambda: is_cut_off(one), "it halts")
        assert "No space left" in daemon.wait_for("degraded")
        assert records(team) == []
        team.ask("drop trigger full_disk on liza.records")
        until(lambda: not one.checkpoint.exists(), "it continues")
        until(lambda: len(set(records(team))) == len(records(team)) == 2)


def test_newer_schema_cuts_an_older_host_off(team: Team) -> None:
    one = team.add("one", rules=QUICK)
    with watched(one) as (daemon,):
        until(lambda: len(team.ask("select 1 from liza.heartbeats")) == 1)
        team.ask("insert into liza.migrations (version) values (99)")
        team.ask(END)
        until(lambda: is_cut_off(one), "it halts")
        assert "schema 99" in daemon.wait_for("degraded")
        team.ask("delete from liza.migrations where version = 99")
        until(lambda: not one.checkpoint.exists(), "it continues")


def test_older_backup_is_completed_by_the_hosts(team: Team) -> None:
    """The server has lost the last records, and a trip with its decision."""
    one, two = team.add("one"), team.add("two")
    with watched(one, two):
        one.retry(1)
        until(lambda: len(records(team)) == 1)
        two.retry(2)
        until(lambda: len(records(team)) == 2)
        one.retry(3)
        trip = one.wait_for_trip()
        two.wait_for_trip(trip)
        until(lambda: team.ask("select trip_id from liza.trips") == [(trip,)])
        team.ask("truncate liza.records, liza.trips, liza.resolutions")
        team.ask(END)
        until(lambda: len(records(team)) == 3, "the records are sent again")
        until(lambda: team.ask("select trip_id from liza.trips") == [(trip,)], "and the trip")
        two.run("resolve", "-m", "moved", "--by", "alice")
        for board in (one, two):
            board.wait_until_resolved()
            assert [entry["trip_id"] for entry in board.trips] == [trip]


def test_host_that_slept_gets_one_grace_period(team: Team) -> None:
    one, two = team.add("one", rules=QUICK), team.add("two", rules=QUICK)
    with watched(one, two) as (sleeper, _):
        until(lambda: len(team.ask("select 1 from liza.heartbeats")) == 2)
        sleeper.send(signal.SIGSTOP)
        for number in (1, 2, 3):
            two.retry(number)
        trip = two.wait_for_trip()
        time.sleep(2.5)  # the sleep itself
        sleeper.send(signal.SIGCONT)
        one.wait_for_trip(trip)
        assert not any("until the team is reached" in text for text in sleeper.reported("alarm"))


def test_server_that_wants_tls_is_named_with_the_option(tmp_path: Path) -> None:
    """On TCP, where it accepts TLS only; without a certificate of its own, TLS fails as plainly."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="liza-pg-") as home:
        Path(home).chmod(0o755)
        server = Server(Path(home) / "pg", (*FAST, "listen_addresses=127.0.0.1"), port)
        server.folder.mkdir()
        server.create()
        (server.data / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 trust\n")
        server.start()
        try:
            prepare(server)
            new_board(tmp_path)
            url = f"postgresql://alice@127.0.0.1:{port}/template_team"
            for mode in ("prefer", "require"):
                ran = liza(tmp_path, "team", "join", f"{url}?sslmode={mode}")
                assert (ran.code, "sslmode" in ran.hint()) == (1, True), ran
            assert not (tmp_path / ".liza" / "team").exists()
        finally:
            server.stop()
