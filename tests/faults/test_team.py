"""Five hosts of one team, each with its daemon: trip after trip, while daemons and the server are killed at random.

Each trip is seen by every host, has one winner and one entry in each history; no record is lost or counts twice. How
long it takes until the last host is halted is printed.
"""

import os
import random
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.daemon.daemon import Daemon, until
from tests.scopes.sprint.run import record
from tests.team.hosts import Team, TeamBoard
from tests.team.postgres import Server, prepare
from tests.team.proxy import Proxy

TRIPS = int(os.environ.get("LIZA_TEAM_TRIPS", "200"))
_WORDS = ["disk", "socket", "cache", "parser", "index", "token", "buffer", "widget", "ledger", "vector"]


@pytest.fixture
def server() -> Iterator[Server]:
    """One of its own, which writes to the disk as a real one does."""
    with tempfile.TemporaryDirectory(prefix="liza-pg-") as folder:
        Path(folder).chmod(0o755)
        made = Server(Path(folder) / "pg", settings=())
        made.folder.mkdir()
        made.create()
        made.start()
        prepare(made)
        yield made
        made.stop()


class Crowd:
    """The hosts, and what was reported on them."""

    def __init__(self, team: Team, seed: int, rules: str = "") -> None:
        self.team = team
        self.random = random.Random(seed)
        self.boards = [team.add(f"host-{n}", rules=rules) for n in range(5)]
        self.daemons: dict[str, Daemon] = {}
        self.reported = 0
        self.seconds: list[float] = []  # from the last record to the last host's halt

    def start(self) -> None:
        for board in self.boards:
            self.restart(board)

    def restart(self, board: TeamBoard) -> None:
        if board.name in self.daemons:
            self.daemons.pop(board.name).__exit__(None, None, None)
        self.daemons[board.name] = board.daemon(wait="started").__enter__()

    def stop(self) -> None:
        for daemon in self.daemons.values():
            daemon.__exit__(None, None, None)

    def report(self, board: TeamBoard, number: int) -> None:
        """A record of the error of this trip."""
        self.reported += 1
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_737_194_400 + self.reported))
        text = " ".join(random.Random(number).sample(_WORDS, 5)) + f" failed with code {1000 + number}"
        self.board_add(board, record("retry_loop", f"task-{self.reported}", at, count=3, error_pattern=text))

    def board_add(self, board: TeamBoard, *records: object) -> None:
        """Under the lock: the daemon may write at the same moment, and nothing of either may be lost."""
        import fcntl

        with open(board.folder / "state.yaml.lock", "a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            board.report_anomalies(*records)

    def trip(self, number: int, disturb: Sequence[str] = ()) -> str:
        """Three hosts meet the same error; the id of the trip once all five are halted and it is entered."""
        chosen = self.random.sample(self.boards, 3)
        self.report(chosen[0], number)
        self.report(chosen[1], number)
        began = time.monotonic()
        self.report(chosen[2], number)
        for each in disturb:
            self._disturb(each)
        until(lambda: all(board.checkpoint.exists() for board in self.boards), f"trip {number} halts all", 60)
        self.seconds.append(time.monotonic() - began)
        trips = {board.wait_for_trip() for board in self.boards}
        until(lambda: len({board.wait_for_trip() for board in self.boards}) == 1, "one id everywhere")
        trips = {board.wait_for_trip() for board in self.boards}
        assert len(trips) == 1
        return trips.pop()

    def _disturb(self, what: str) -> None:
        if what == "server":
            self.team.server.stop(signal.SIGKILL)
            time.sleep(self.random.random() * 0.3)
            self.team.server.start()
        else:
            board = self.random.choice(self.boards)
            self.daemons[board.name].kill()
            self.restart(board)

    def resolve(self, number: int) -> None:
        board = self.random.choice(self.boards)
        ran = board.run("resolve", "-m", f"decision {number}", "--by", "alice")
        assert ran.code == 0, ran
        for each in self.boards:
            each.wait_until_resolved()
        for daemon in self.daemons.values():
            daemon.reported("tripped")  # reads what it printed: a full pipe would stop it

    def check(self, trips: Sequence[str]) -> None:
        """Nothing is missing, nothing is there twice."""
        assert len(set(trips)) == len(trips)
        for board in self.boards:
            assert [entry["trip_id"] for entry in board.trips] == list(trips), board.name
        assert [row[0] for row in self.team.ask("select trip_id from liza.trips order by version")] == list(trips)
        assert self.team.ask("select count(*) from liza.resolutions") == [(len(trips),)]
        counted = "select count(*), count(distinct key) from liza.records where body like '%%retry_loop%%'"
        until(lambda: self.team.ask(counted) == [(self.reported, self.reported)], "each record is there once")


def shown(name: str, seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    p50, p99 = statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return (
        f"{name}: {len(ordered)} trips, last of five hosts halted after p50 {p50 * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms"
    )


def test_trips_with_notify(tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    crowd = Crowd(Team(tmp_path, server), 1)
    _run(crowd, TRIPS)
    with capsys.disabled():
        print(f"\n{shown('NOTIFY', crowd.seconds)}")


def test_trips_with_polling_alone(tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    team = Team(tmp_path, server)
    for table in ("records", "trips", "resolutions"):
        team.ask(f"alter table liza.{table} disable trigger wake")
    crowd = Crowd(team, 2, "team: {poll: 1}\n")
    _run(crowd, max(TRIPS // 5, 5))
    with capsys.disabled():
        print(f"\n{shown('polling once a second', crowd.seconds)}")


def test_trips_while_daemons_and_the_server_are_killed(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    crowd = Crowd(Team(tmp_path, server), 3)
    _run(crowd, max(TRIPS // 5, 5), ("server", "daemon", "daemon"))
    with capsys.disabled():
        print(f"\n{shown('kill -9', crowd.seconds)}")


def _run(crowd: Crowd, number: int, faults: Sequence[str] = ()) -> None:
    trips = []
    try:
        crowd.start()
        for at in range(number):
            disturb = [each for each in faults if crowd.random.random() < 0.5]
            trips.append(crowd.trip(at, disturb))
            crowd.resolve(at)
        crowd.check(trips)
    finally:
        crowd.stop()


def test_cut_off_host_sends_all_it_has_exactly_once(tmp_path: Path, server: Server) -> None:
    """Cut off again and again while it reports, and killed once in between."""
    team = Team(tmp_path, server)
    proxy = Proxy(tmp_path / "p", server.folder)
    crowd = Crowd(team, 4, "team: {max_silence: 1}\n")
    away = crowd.boards[0]
    away.env = {"LIZA_TEAM": away.url.replace(str(server.folder), str(proxy.folder))}
    try:
        crowd.start()
        for number in range(0, 20, 2):
            proxy.cut()
            began = time.monotonic()
            crowd.report(away, number)
            until(lambda: away.checkpoint.exists() and "partition" in away.halt, "it halts")
            assert time.monotonic() - began < 4
            if number == 10:
                crowd.restart(away)
            crowd.report(away, number + 1)
            proxy.restore()
            until(lambda: not away.checkpoint.exists(), "it continues")
        crowd.check([])
    finally:
        crowd.stop()
        proxy.close()
