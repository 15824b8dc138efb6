"""liza loaded once for many calls: behaves like a separate program, in a tenth of the time.

What only a fresh start shows (streams, signals, imports) is tested with the installed programs instead: see
`installed` in `tests/cli/run.py`.
"""

import atexit
import ctypes
import gc
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

# Imported by commands only when needed.
LOADED = (
    "jinja2.sandbox",
    "liza.cli.without_click",
    "rapidfuzz.distance",
    "rich.table",
    "tests.scopes.sprint.interleaved",
)
_END = b"\0END"
# Commands that take signals, start threads, or stop at a given place get a process of their own.
_ALONE = ("run", "watch", "exec")
_CALLS = 100  # between two garbage collections of the process that stays


class Server:
    """Two processes that have loaded liza: one answers calls itself, the other forks for each.

    The one that forks has one thread and holds no lock, so its children begin like fresh programs.
    """

    def __init__(self) -> None:
        self._stays, self._forks = _started("stay"), _started("fork")

    def run(
        self, arguments: Sequence[str], cwd: Path, env: dict[str, str], stdin: bytes = b"", **more: Any
    ) -> tuple[int, str, str]:
        """The exit code of `liza` with these arguments, and what it printed on either stream.

        `limit` is the number of seconds after which it is killed, code -9; `place` and `others` are those of `stop_at`.
        """
        process = self._forks if more or any(word in _ALONE for word in arguments[:2]) else self._stays
        with TemporaryDirectory() as streams:
            names = [os.path.join(streams, name) for name in "012"]
            Path(names[0]).write_bytes(stdin)
            request = {"arguments": list(arguments), "cwd": str(cwd), "env": env, "streams": names, **more}
            _ask(process, request)
            code = _read_answer(process)
            out, err = (Path(name).read_bytes().decode() for name in names[1:])
            return code, out, err

    def start(self, arguments: Sequence[str], cwd: Path, env: dict[str, str], out: Path, err: Path) -> "Started":
        """`liza` with these arguments, left running; it reads nothing and prints into these files."""
        return self._left(arguments, cwd, env, streams=[os.devnull, str(out), str(err)])

    def start_on_terminal(self, arguments: Sequence[str], cwd: Path, env: dict[str, str]) -> tuple["Started", int]:
        """The same on a terminal of its own, and the descriptor of the person's side."""
        ours, theirs = pty.openpty()
        try:
            return self._left(arguments, cwd, env, terminal=os.ttyname(theirs)), ours
        finally:
            os.close(theirs)

    def _left(self, arguments: Sequence[str], cwd: Path, env: dict[str, str], **more: Any) -> "Started":
        adopt_orphans(True)
        try:
            _ask(self._forks, {"arguments": list(arguments), "cwd": str(cwd), "env": env, "is_left": True, **more})
            return Started(_read_answer(self._forks))
        finally:
            adopt_orphans(False)

    def start_piped(self, arguments: Sequence[str], cwd: Path, env: dict[str, str]) -> "Started":
        """The same, with pipes that deliver its output while it runs."""
        pipes = [os.pipe() for _ in range(2)]
        out, err = (Path(f"/proc/{os.getpid()}/fd/{writes}") for _, writes in pipes)
        try:
            started = self.start(arguments, cwd, env, out, err)
        finally:
            for _, writes in pipes:
                os.close(writes)
        started.stdout, started.stderr = (os.fdopen(reads, "rb") for reads, _ in pipes)
        return started

    def show(self, arguments: Sequence[str], cwd: Path, env: dict[str, str]) -> tuple[int, str]:
        """The same on a terminal, where both streams are one."""
        assert self._forks.stdout is not None
        ours, theirs = pty.openpty()
        try:
            request = {"arguments": list(arguments), "cwd": str(cwd), "env": env, "terminal": os.ttyname(theirs)}
            _ask(self._forks, request)
            end, seen, code = self._forks.stdout.fileno(), b"", None
            while not seen.endswith(_END):
                ready = select.select([ours] if code is not None else [ours, end], [], [])[0]
                if end in ready:
                    code = _read_answer(self._forks)
                    os.write(theirs, _END)  # behind all that was printed, some of which the kernel may still hold back
                if ours in ready:
                    seen += os.read(ours, 1 << 16)
            assert code is not None
            return code, seen.removesuffix(_END).decode().replace("\r\n", "\n")
        finally:
            os.close(ours)
            os.close(theirs)

    def close(self) -> None:
        for process in (self._stays, self._forks):
            process.__exit__(None, None, None)  # closes its input, at which it ends


class Started:
    """A running command, a child of this process, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, timeout: float = 60) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("liza", timeout)
            time.sleep(0.002)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def adopt_orphans(yes: bool) -> None:
    """Choose whether orphaned descendants become children of this process instead of init's."""
    set_subreaper = 36
    assert ctypes.CDLL(None).prctl(set_subreaper, int(yes), 0, 0, 0) == 0


def _started(how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.served", how]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(process: subprocess.Popen[str], request: dict[str, Any]) -> None:
    assert process.stdin is not None
    print(json.dumps(request), file=process.stdin, flush=True)


def _read_answer(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


@cache
def server() -> Server:
    """The server of this process, which lives as long as this process does."""
    found = Server()
    atexit.register(found.close)
    return found


# --- in the process that serves -------------------------------------------------------------------------------------


def serve(how: str) -> None:
    from importlib import import_module

    from liza.cli.commands import COMMANDS

    for name in (*(command.module for command in COMMANDS), *LOADED):
        import_module(name)
    compile_templates()
    asked, answers = (os.fdopen(os.dup(stream.fileno()), stream.mode) for stream in (sys.stdin, sys.stdout))
    for number, line in enumerate(asked):
        request = json.loads(line)
        answer = _left(request) if "is_left" in request else _forked(request) if how == "fork" else _answer(request)
        print(answer, file=answers, flush=True)
        if number % _CALLS == 0:
            gc.collect()


def compile_templates() -> None:
    """Compile what a fresh process compiles once when it writes a report; forked processes need not."""
    from liza import templates
    from liza.scopes.sprint import report

    templates.compile_template(templates.read_template(report.TEMPLATE), report.FILTERS)


def _left(request: dict[str, Any]) -> int:
    """Answer a request in an orphaned process, which the asking process adopts; returns its pid."""
    reads, writes = os.pipe()
    if parent := os.fork():
        os.waitpid(parent, 0)
        os.close(writes)
        with open(reads) as pipe:
            return int(pipe.read())
    code = 99
    try:
        if os.fork() == 0:
            os.close(reads)
            _open_streams(request)
            os.write(writes, str(os.getpid()).encode())
            os.close(writes)
            code = _answer(request)
    finally:
        os._exit(code)


def _forked(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return -signal.SIGKILL if code == -signal.SIGALRM else code
    code = 99  # of a child that did not finish
    try:
        if "limit" in request:
            signal.setitimer(signal.ITIMER_REAL, request["limit"])  # liza handles no SIGALRM, which ends it
        if "place" in request:
            from tests.scopes.sprint.interleaved import stop_at

            stop_at(request["place"], request["others"])
        code = _answer(request)
    finally:
        os._exit(code)


def _answer(request: dict[str, Any]) -> int:
    from liza.cli.main import run

    if "is_left" not in request:
        _open_streams(request)
    # As Python opens them when it starts; they are closed with the process.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [os.path.join(os.path.dirname(sys.executable), "liza"), *request["arguments"]]
    code = run(request["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir("/")  # the folder may be deleted
    return code


def _open_streams(request: dict[str, Any]) -> None:
    if "terminal" in request:
        os.setsid()  # the terminal that it opens next is then its own
    for fd in (0, 1, 2):
        how = os.O_WRONLY | os.O_CREAT if fd else os.O_RDONLY
        stream = os.open(request.get("terminal") or request["streams"][fd], how, 0o600)
        os.dup2(stream, fd)
        os.close(stream)


if __name__ == "__main__":
    serve(sys.argv[1])
