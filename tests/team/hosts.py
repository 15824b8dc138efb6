"""Hosts of one team: each a blackboard in a folder of its own, with the real daemon."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from liza.store.paths import Paths
from liza.store.team_files import Host, write_host
from tests.cli.run import Result, served
from tests.daemon.daemon import Daemon, Watched, until
from tests.scopes.sprint.run import record
from tests.team.postgres import Server, new_database, shared_server

PATTERN = "no route to the database"


class TeamBoard(Watched):
    """The blackboard of one host."""

    def __init__(self, root: Path, url: str, *, role: str | None = None, rules: str = "") -> None:
        super().__init__(root, rules=rules)
        self.name = root.name
        self.url = url
        write_host(Paths(str(self.folder)), Host(root.name, f"of-{root.name}", role))
        self.env = {"LIZA_TEAM": url}

    def daemon(self, *arguments: str, **more: Any) -> Daemon:
        return Daemon(self.root, *arguments, env=self.env, **more)

    def run(self, *arguments: str, program: str = "liza", env: Mapping[str, str] | None = None) -> Result:
        """`liza` in this host's shell. Its daemon may write meanwhile, so what it changed is not compared."""
        return served(arguments, self.root, {**self.environment(self.env), **(env or {})})

    def wait_for_trip(self, trip_id: str | None = None) -> str:
        """Wait until the trip is entered here; its id."""

        def entered() -> Any:
            trigger = self.section["current_trigger"]
            found = trigger.get("trip_id") if trigger else None
            return found if found and (trip_id is None or found == trip_id) and self.checkpoint.exists() else None

        return str(until(entered, f"{self.name} has tripped"))

    def wait_until_resolved(self) -> None:
        until(lambda: self.section["status"] == "OK" and not self.checkpoint.exists(), f"{self.name} is resolved")

    def retry(self, number: int, minute: int = 0) -> None:
        """An agent of this host meets the error."""
        at = f"2025-01-18T1{number}:{minute:02}:00Z"
        self.report_anomalies(record("retry_loop", f"{self.name}-{number}", at, count=3, error_pattern=PATTERN))


class Team:
    """A database, and the hosts that share it."""

    def __init__(self, folder: Path, server: Server | None = None) -> None:
        self.server = server or shared_server()
        self.database = new_database(self.server)
        self.folder = folder
        self.hosts: list[TeamBoard] = []

    def url(self, user: str = "alice") -> str:
        return self.server.url(self.database, user)

    def add(self, name: str, *, role: str | None = None, user: str = "alice", rules: str = "") -> TeamBoard:
        board = TeamBoard(self.folder / name, self.url(user), role=role, rules=rules)
        self.hosts.append(board)
        return board

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """What the database has."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            done = connection.execute(query.encode(), values)
            return done.fetchall() if done.description is not None else []


@contextmanager
def watched(*boards: TeamBoard) -> Iterator[list[Daemon]]:
    """A daemon for each, at work until the end of the block."""
    with ExitStack() as stack:
        yield [stack.enter_context(board.daemon()) for board in boards]
