"""What people and agents get wrong: a clear error with the command that fixes it, and nothing lost."""

import json
import re
from pathlib import Path

import pytest

from liza.team.schema import VERSION
from tests.cli.run import Result, installed, liza, new_board
from tests.daemon.daemon import until
from tests.scopes.sprint.run import record
from tests.team.hosts import PATTERN, Team, watched
from tests.team.postgres import new_database


@pytest.fixture
def team(tmp_path: Path) -> Team:
    new_board(tmp_path)
    return Team(tmp_path)


def refused(ran: Result, *signs: str) -> None:
    """One error with a hint, in which these words are; no password, no traceback."""
    assert ran.code == 1, ran
    assert ran.hint(), ran.err
    assert all(re.search(sign, ran.err) for sign in signs), ran.err
    assert "s3cret" not in ran.err


def test_bad_addresses_and_logins_are_refused_with_the_fix(team: Team) -> None:
    root, url = team.folder, team.url()
    refused(liza(root, "team", "join", team.url("locked")), "pgpass")
    refused(liza(root, "team", "join", team.url("locked"), PGPASSWORD="wrong s3cret"), "password", "PGPASSWORD")
    refused(liza(root, "team", "join", url.replace("alice@", "alice:s3cret@")), "pgpass")
    refused(liza(root, "team", "join", "host=x password=s3cret"), "pgpass")
    refused(liza(root, "team", "join", "no = such = thing"), "service=liza")
    refused(liza(root, "team", "init", "foo"), "service=liza")
    refused(liza(root, "team", "join", f"postgresql:///x?host={root}"), "psql")
    refused(liza(root, "team", "join", f"{url}&sslmode=require&hostaddr=127.0.0.1&port=1"), "psql")
    refused(liza(root, "team", "join", url, "--host", "a\x1b[2Jb"), "--host")
    refused(liza(root, "team", "join", team.url("agents"), "--role", "human"), "liza_human")
    refused(liza(root, "team", "init", team.url("agents").replace(team.database, "template1")), "owner")
    refused(liza(root, "team", "status"), "team join")
    (root / ".liza" / "rules.yaml").write_text("team: {url: 'postgresql://a:s3cret@h/d'}\n")
    refused(liza(root, "team", "status"), "pgpass")
    assert not (root / ".liza" / "team").exists()
    assert liza(root, "team", "join", team.url("locked"), PGPASSWORD="right").code == 0


def test_other_schemas_are_refused_and_migrations_repeat(team: Team) -> None:
    empty = Team(team.folder, team.server)
    empty.database = new_database(team.server, "template1")
    refused(liza(team.folder, "team", "join", empty.url()), "team init")
    for before in (0, VERSION):
        assert liza(team.folder, "team", "init", empty.url("postgres"), "--json").json["schema_before"] == before
    empty.ask("insert into liza.migrations (version) values (99)")
    refused(liza(team.folder, "team", "join", empty.url()), "schema 99", "pip install")
    refused(liza(team.folder, "team", "init", empty.url("postgres")), "schema 99", "pip install")


def test_two_boards_cannot_have_one_name(team: Team) -> None:
    other = team.folder / "other"
    new_board(other)
    assert liza(team.folder, "team", "join", team.url(), "--host", "one").code == 0
    refused(liza(other, "team", "join", team.url(), "--host", "one"), "--host")
    assert liza(team.folder, "team", "join", team.url(), "--host", "one").code == 0
    assert liza(team.folder, "team", "leave").code == 0
    assert liza(other, "team", "join", team.url(), "--host", "one").code == 0


def test_without_the_extra_the_one_command_is_named(team: Team) -> None:
    (team.folder / "psycopg.py").write_text("raise ImportError('no psycopg here')\n")
    ran = installed(team.folder, "team", "status", PYTHONPATH=str(team.folder))
    refused(ran, r"pip install 'liza\[team\]'")


HOSTILE = "\x00\x1b[2J \u202e '; drop table liza.records; -- \\u0000 \U0001f4a5 | # \ud800"


def test_hostile_records_arrive_and_a_huge_one_stays(team: Team) -> None:
    one, two = team.add("one"), team.add("two")
    large = record("retry_loop", "big", "2025-01-18T15:00:00Z", count=1, error_pattern="x" * 300_000)
    odd = record("retry_loop", HOSTILE.replace("\ud800", ""), "2025-01-18T16:00:00Z", count=1, error_pattern=PATTERN)
    secret = record("retry_loop", "t", "2025-01-18T17:00:00Z", count=1, error_pattern="AKIA" + "A" * 16)
    with watched(one, two) as (daemon, _):
        one.report_anomalies(large, json.loads(json.dumps(odd)), secret)
        daemon.wait_for("alarm", "too large")
        one.retry(1)
        one.retry(2)
        trip = one.wait_for_trip()
        two.wait_for_trip(trip)
        assert "\x1b" not in two.report.read_text()
        until(lambda: len(team.ask("select 1 from liza.records")) == 5)
        assert team.ask("select 1 from liza.records where body like '%%AKIA%%'") == []
