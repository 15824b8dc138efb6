"""liza loaded once for many calls: as real as a program of its own, in a tenth of the time.

What only a fresh start shows (streams, signals, what is imported) is tested with the installed programs instead: see
`installed` in `tests/cli/run.py`.
"""

import atexit
import gc
import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# What commands import only when they come to need it.
LOADED = (
    "jinja2.sandbox",
    "liza.cli.without_click",
    "rapidfuzz.distance",
    "rich.table",
    "tests.scopes.sprint.interleaved",
)
_END = b"\0END"
# Commands that take signals, start threads, or are told to stop at a place have a process to themselves.
_ALONE = ("run", "watch", "exec")
_CALLS = 100  # after which a process that stays is to look for garbage


class Server:
    """Two processes that have loaded liza: one works off calls by itself, the other forks for each.

    The one that forks has one thread and holds no lock, so its children begin like fresh programs.
    """

    def __init__(self) -> None:
        self._stays, self._forks = _started("stay"), _started("fork")

    def run(
        self, arguments: Sequence[str], cwd: Path, env: dict[str, str], stdin: bytes = b"", **more: Any
    ) -> tuple[int, str, str]:
        """The exit code of `liza` with these arguments, and what it printed on either stream."""
        process = self._forks if more or any(word in _ALONE for word in arguments[:2]) else self._stays
        with TemporaryDirectory() as streams:
            Path(streams, "0").write_bytes(stdin)
            request = {"arguments": list(arguments), "cwd": str(cwd), "env": env, "streams": streams, **more}
            _ask(process, request)
            code = _told(process)
            out, err = (Path(streams, name).read_bytes().decode() for name in "12")
            return code, out, err

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
                    code = _told(self._forks)
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


def _started(how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.served", how]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(process: subprocess.Popen[str], request: dict[str, Any]) -> None:
    assert process.stdin is not None
    print(json.dumps(request), file=process.stdin, flush=True)


def _told(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


@cache
def server() -> Server:
    """The one of this process, which lives as long as this does."""
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
        code = _forked(request) if how == "fork" else _answer(request)
        print(code, file=answers, flush=True)
        if number % _CALLS == 0:
            gc.collect()


def compile_templates() -> None:
    """What a fresh process does once when a report is written; whoever is forked from this one need not."""
    from liza import templates
    from liza.scopes.sprint import report

    templates.compile_template(templates.read_template(report.TEMPLATE), {"cell": report.cell})


def _forked(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 99  # of a child that did not get to its end
    try:
        if "terminal" in request:
            os.setsid()  # the terminal that it opens next is then its own
        if "place" in request:
            from tests.scopes.sprint.interleaved import stop_at

            stop_at(request["place"], request["others"])
        code = _answer(request)
    finally:
        os._exit(code)


def _answer(request: dict[str, Any]) -> int:
    from liza.cli.main import run

    for fd in (0, 1, 2):
        how = os.O_WRONLY | os.O_CREAT if fd else os.O_RDONLY
        stream = os.open(request.get("terminal") or os.path.join(request["streams"], str(fd)), how, 0o600)
        os.dup2(stream, fd)
        os.close(stream)
    # As Python opens them when it starts; they are closed with the process.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["liza", *request["arguments"]]
    code = run(request["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir("/")  # the folder may be deleted
    return code


if __name__ == "__main__":
    serve(sys.argv[1])
