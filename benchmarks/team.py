"""A team: that a check reads only what is new, what an idle daemon costs, and many hosts at once.

The server is a real PostgreSQL on the same machine, writing to its disk.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from benchmarks.command import _ENVIRONMENT
from benchmarks.tables import Figure, Figures, Target
from liza.check import check
from liza.scopes.rules_file import read_rules
from liza.store.board import Board
from liza.store.paths import Paths
from liza.store.team_files import Host, Mirror, write_host
from liza.team.database import Database, Outgoing
from liza.team.link import Link
from liza.team.settings import Settings
from tests.team.postgres import Server, new_database, prepare

_HOSTS, _EACH = 10, 10_000
_CLIENTS = 200
_IDLE = 20.0  # seconds
_BOARD = "version: 1\nsprint: {id: s, timeline: {started: 2025-01-01T00:00:00Z}}\nanomalies: []\n"


def run(folder: str, quick: bool) -> list[Figures]:
    with _server() as server:
        read = _reading(server, folder, _EACH // 10 if quick else _EACH)
        return [
            read,
            _idle(server, folder, _IDLE / 4 if quick else _IDLE),
            _crowd(server, _CLIENTS // (4 if quick else 1)),
        ]


@contextmanager
def _server() -> Iterator[Server]:
    home = Path(tempfile.mkdtemp(prefix="liza-pg-"))
    home.chmod(0o755)
    server = Server(home / "pg", settings=("autovacuum=off",))  # which would read rows, too
    server.folder.mkdir()
    server.create()
    server.start()
    try:
        prepare(server)
        yield server
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def _settings(url: str, host: str) -> Settings:
    return Settings(url, "default", host, host, None, "halt", 120.0, None)


def _record(host: str, number: int) -> tuple[str, str, str, str]:
    text = f"{number % 997:x} failed near {host} after {number}"
    body = json.dumps(
        {"timestamp": "2025-01-18T10:00:00Z", "task": f"task-{number}", "reporter": "coder", "type": "note",
         "details": {"what": text}}
    )  # fmt: skip
    return "anomalies", f"{host}-{number}:1", body, hashlib.sha256(body.encode()).hexdigest()


# --- reading only what is new -----------------------------------------------------------------------------------------


def _reading(server: Server, folder: str, each: int) -> Figures:
    url = server.url(new_database(server), "alice")
    for host in range(_HOSTS):
        database = Database(_settings(url, f"h{host}"), listen=False)
        for start in range(0, each, 1000):
            database.send(Outgoing(tuple(_record(f"h{host}", n) for n in range(start, start + 1000))))
        database.close()
    reader, writer = (Database(_settings(url, name), listen=False) for name in ("h0", "h1"))
    began = time.perf_counter()
    found, seq = [], 0
    while batch := reader.after(seq, 0)[0]:
        found += batch
        seq = batch[-1].seq
    first = time.perf_counter() - began
    paths = Paths(folder)
    Path(paths.state).write_text(_BOARD)
    write_host(paths, Host("h0", "h0"))
    mirror, board, rules = Mirror(paths), Board(paths), read_rules(None)
    mirror.append(found)
    check(board, rules, datetime.now(UTC), dry_run=True, find_problems=False)
    writer.send(Outgoing((_record("h1", each),)))
    before, size = _fetched(reader), os.path.getsize(mirror.path)
    began = time.perf_counter()
    new, _ = reader.after(seq, 0)
    mirror.append(new)
    look = time.perf_counter() - began
    rows = _fetched(reader) - before
    began = time.perf_counter()
    check(board, rules, datetime.now(UTC), dry_run=True, find_problems=False)
    again = time.perf_counter() - began
    for database in (reader, writer):
        database.close()
    count = f"{_HOSTS} hosts, {len(found):,} records"
    return Figures(
        f"a team of {count}: one more record",
        [
            Figure("rows read from the server", rows, target=Target(1), digits=0),
            Figure("bytes read from the mirror", os.path.getsize(mirror.path) - size, target=Target(400), digits=0),
            Figure("the look at the server, ms", look * 1e3, digits=2),
            Figure("a check without a memo, ms", again * 1e3, digits=0),
            Figure("a new host reads everything, s", first, digits=2),
        ],
        "the first two show that only what is new is read; a daemon's checks have a memo besides",
    )


def _fetched(database: Database) -> int:
    """How many rows of records were read, by the server's own count."""
    database.connection.execute("select pg_stat_force_next_flush()")
    (count,) = database.connection.execute(
        "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = 'records'"
    ).fetchone() or (0,)
    return int(count)


# --- an idle daemon ---------------------------------------------------------------------------------------------------


def _idle(server: Server, folder: str, seconds: float) -> Figures:
    rows: list[Figure] = []
    for name, is_in_team in (("alone", False), ("in a team", True)):
        url = server.url(new_database(server), "alice")
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("alter role alice set log_statement = 'all'")
        root = tempfile.mkdtemp(prefix="liza-bench-")
        os.mkdir(os.path.join(root, ".liza"))
        Path(root, ".liza", "state.yaml").write_text(_BOARD)
        environment = {**_ENVIRONMENT, **({"LIZA_TEAM": url} if is_in_team else {})}
        liza = os.path.join(os.path.dirname(sys.executable), "liza")
        process = subprocess.Popen([liza, "watch", "--root", root], env=environment, stdout=subprocess.DEVNULL)
        try:
            time.sleep(5)
            began, cpu, count = time.monotonic(), _cpu(process.pid), _statements(server)
            time.sleep(seconds)
            took = time.monotonic() - began
            rows.append(
                Figure(f"CPU of a daemon {name}, % of a core", (_cpu(process.pid) - cpu) / took * 100, digits=2)
            )
            if is_in_team:
                rate = (_statements(server) - count) / took
                rows.append(Figure("statements a second", rate, target=Target(1), digits=2))
        finally:
            process.terminate()
            process.wait()
            shutil.rmtree(root, ignore_errors=True)
    return Figures(f"an idle daemon, {seconds:g} s", rows, "with NOTIFY, and a board on which nothing happens")


def _cpu(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _statements(server: Server) -> int:
    """How many statements liza has made, by the server's log."""
    log = (server.folder / "server.log").read_text(errors="replace")
    return log.count("LOG:  statement:") + log.count("LOG:  execute <unnamed>:")


# --- many hosts -------------------------------------------------------------------------------------------------------


def _crowd(server: Server, clients: int) -> Figures:
    """That many links in one process, each with a record of its own: until each has read all of them."""
    url = server.url(new_database(server), "alice")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("alter role alice reset log_statement")
    links = [Link(_settings(url, f"h{n}"), (0, ""), lambda: None) for n in range(clients)]
    counts: Sequence[set[str]] = [set() for _ in links]
    began = time.perf_counter()
    for link in links:
        link.start()
    _until(lambda: all(link.contact.looks for link in links))
    connected = time.perf_counter() - began
    began = time.perf_counter()
    for number, link in enumerate(links):
        link.offer(Outgoing((_record(f"h{number}", number),)), {"health": "ok"})

    def is_done() -> bool:
        for link, seen in zip(links, counts, strict=True):
            seen.update(each.key for each in link.take().records)
        return all(len(seen) == clients for seen in counts)

    _until(is_done)
    spread = time.perf_counter() - began
    began = time.perf_counter()
    links[0].offer(Outgoing((_record("h0", clients),)), {"health": "ok"})
    for seen in counts:
        seen.clear()
    waiting = set(range(clients))

    def is_heard() -> bool:
        waiting.difference_update([n for n in waiting if links[n].take().records])
        return not waiting

    _until(is_heard)
    heard = time.perf_counter() - began
    for link in links:
        link.stop()
    return Figures(
        f"{clients} hosts in one process",
        [
            Figure("all are connected after, s", connected, digits=2),
            Figure(f"each reads {clients} new records of all after, s", spread, target=Target(30), digits=2),
            Figure("one more record is with all after, s", heard, target=Target(5), digits=2),
        ],
        "one machine does the work of all of them and of the server",
    )


def _until(holds: Callable[[], bool], patience: float = 120.0) -> None:
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("the team did not get there in time")
        time.sleep(0.01)
