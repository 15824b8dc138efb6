"""A blackboard under attack: how each command ended, and for `make attack` its cost."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.cli.run import BIN, environment, new_board
from tests.served import server
from tests.tools import needs

# Three records of one error: the shipped rules must halt on them whatever else an agent puts beside them.
TRIPPING = "".join(
    f"- {{timestamp: 2025-01-18T1{n}:00:00Z, task: t{n}, reporter: r, type: retry_loop, "
    "details: {count: 3, error_pattern: connection refused by db}}\n"
    for n in range(3)
)

# The kernel counts what a process was before it became the command, so a command started by a large test process seems
# as large as that. A small process in between starts it and writes its exit code and its peak, in KiB.
MEASURE = """
import os, sys
pipe = int(sys.argv[1])
os.set_inheritable(pipe, False)
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
os.write(pipe, f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}".encode())
"""


class Ran(NamedTuple):
    """The exit, output and cost of one command."""

    code: int  # negative: the signal that ended it
    out: str
    err: str
    seconds: float
    megabytes: float  # 0 where it was not measured


class Attack:
    """A project whose blackboard an agent writes, and a folder outside that must not change."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.outside = folder / "outside"
        self.outside.mkdir()
        new_board(self.project)
        self.is_measured = bool(os.environ.get("LIZA_ATTACK_TABLE"))  # else liza is forked, which is far cheaper
        self.effect = ""  # the verified effect, for the table of `make attack`
        self.seconds = 0.0  # the longest command
        self.megabytes = 0.0  # the largest
        self.processor = 0.0  # seconds of processor time of the last command until its `until` held

    @property
    def board(self) -> Path:
        return self.project / ".liza"

    @property
    def halted(self) -> bool:
        return os.path.lexists(self.board / "CHECKPOINT")

    def write(self, text: str) -> None:
        """state.yaml as the agent wants it, old enough to be read at once."""
        file = self.board / "state.yaml"
        file.write_text(text)
        os.utime(file, (1_000_000_000, 1_000_000_000))

    def liza(
        self,
        *words: str,
        limit: float = 30,
        program: str = "liza",
        user: int | None = None,
        until: Callable[[], bool] | None = None,
        **env: str,
    ) -> Ran:
        """Run liza to its end; one that takes longer than `limit` seconds is killed, code -9.

        So is one for which `until` holds. It is the installed program in a new process where that matters: to measure
        it, for another user, and to kill it.
        """
        began = time.monotonic()
        if not self.is_measured and program == "liza" and user is None and until is None:
            code, out, err = server().run(words, self.project, environment(self.project, **env), limit=limit)
            ran = Ran(code, out, err, time.monotonic() - began, 0)
        else:
            ran = self._fresh(words, limit, program, user, until, env)
        self.seconds, self.megabytes = max(self.seconds, ran.seconds), max(self.megabytes, ran.megabytes)
        return ran

    def _fresh(
        self,
        words: tuple[str, ...],
        limit: float,
        program: str,
        user: int | None,
        until: Callable[[], bool] | None,
        env: dict[str, str],
    ) -> Ran:
        began = time.monotonic()
        reads, writes = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", MEASURE, str(writes), *as_user(user), str(BIN / program), *words],
            cwd=self.project,
            env=environment(self.project, **env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[writes],
            start_new_session=True,
        )
        os.close(writes)
        with process, open(reads) as measured:
            kill = partial(os.killpg, process.pid, signal.SIGKILL)
            printed: dict[str, bytes] = {}
            readers = [_reader(printed, name, getattr(process, name).read) for name in ("stdout", "stderr")]
            watchdog = threading.Timer(limit, kill)
            watchdog.start()
            while until is not None and watchdog.is_alive() and process.poll() is None:
                self.processor = _computed(process.pid) or self.processor
                if until():
                    kill()
                    break
                time.sleep(0.005)
            code = process.wait()
            watchdog.cancel()
            for reader in readers:
                reader.join()
            # Nothing from a measuring process that was killed with its command.
            code, peak = (int(word) for word in measured.read().split() or (code, 0))
        out, err = (printed[name].decode(errors="replace") for name in ("stdout", "stderr"))
        return Ran(code, out, err, time.monotonic() - began, peak / 1024)


def as_user(uid: int | None) -> list[str]:
    """The words that start a command as another user; only root can.

    Python may be installed where only root can read. So that user may read everything here, and write only its own.
    """
    if uid is not None:
        needs("setpriv")
    powers = ["--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return [] if uid is None else ["setpriv", f"--reuid={uid}", f"--regid={uid}", *powers]


def _computed(parent: int) -> float:
    """Seconds of processor time that the child of a process has used; other programs do not add to it by waiting."""
    try:
        child = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        used = Path(f"/proc/{child[0]}/stat").read_text().rpartition(")")[2].split()[11:13] if child else ["0"]
    except OSError:
        return 0.0
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


def reference() -> float:
    """Seconds of processor time for three million additions, just now on this machine: the unit for other times."""
    loop = "import time; s = 0\nfor i in range(3_000_000): s += i\nprint(time.process_time())"
    return float(subprocess.check_output([sys.executable, "-S", "-E", "-c", loop]))


def _reader(printed: dict[str, bytes], name: str, read: Callable[[], bytes]) -> threading.Thread:
    thread = threading.Thread(target=lambda: printed.update({name: read()}))
    thread.start()
    return thread
