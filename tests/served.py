"""liza loaded once and forked for each call: as real as a program of its own, in a tenth of the time.

What only a fresh start shows (streams, signals, what is imported) is tested with the installed programs instead: see
`installed` in `tests/cli/run.py`.
"""

import atexit
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
LOADED = ("jinja2.sandbox", "liza.cli.quick", "rapidfuzz.distance", "rich.table")

_END = b"\0END"


class Server:
    """The process that forks. It has one thread and holds no lock, so a child begins like a fresh program."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.served"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self, arguments: Sequence[str], cwd: Path, env: dict[str, str], stdin: bytes = b"", **more: Any
    ) -> tuple[int, str, str]:
        """The exit code of `liza` with these arguments, and what it printed on either stream."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with TemporaryDirectory() as streams:
            Path(streams, "0").write_bytes(stdin)
            request = {"arguments": list(arguments), "cwd": str(cwd), "env": env, "streams": streams, **more}
            print(json.dumps(request), file=self._process.stdin, flush=True)
            code = int(self._process.stdout.readline())
            out, err = (Path(streams, name).read_bytes().decode() for name in "12")
            return code, out, err

    def show(self, arguments: Sequence[str], cwd: Path, env: dict[str, str]) -> tuple[int, str]:
        """The same on a terminal, where both streams are one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        ours, theirs = pty.openpty()
        try:
            request = {"arguments": list(arguments), "cwd": str(cwd), "env": env, "terminal": os.ttyname(theirs)}
            print(json.dumps(request), file=self._process.stdin, flush=True)
            told, seen, code = self._process.stdout, b"", None
            while not seen.endswith(_END):
                ready = select.select([ours] if code is not None else [ours, told.fileno()], [], [])[0]
                if told.fileno() in ready:
                    code = int(told.readline())
                    os.write(theirs, _END)  # behind all that was printed, some of which the kernel may still hold back
                if ours in ready:
                    seen += os.read(ours, 1 << 16)
            assert code is not None
            return code, seen.removesuffix(_END).decode().replace("\r\n", "\n")
        finally:
            os.close(ours)
            os.close(theirs)

    def close(self) -> None:
        self._process.__exit__(None, None, None)  # closes its input, at which it ends


@cache
def server() -> Server:
    """The one of this process, which lives as long as this does."""
    found = Server()
    atexit.register(found.close)
    return found


def serve() -> None:
    from importlib import import_module

    from liza.cli.commands import COMMANDS

    for name in (*(command.module for command in COMMANDS), *LOADED):
        import_module(name)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _answer(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _answer(request: dict[str, Any]) -> None:
    from liza.cli.main import main

    if "terminal" in request:
        os.setsid()  # the terminal that it opens next is then its own
    for fd in (0, 1, 2):
        how = os.O_WRONLY | os.O_CREAT if fd else os.O_RDONLY
        stream = os.open(request.get("terminal") or os.path.join(request["streams"], str(fd)), how, 0o600)
        os.dup2(stream, fd)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["liza", *request["arguments"]]
    if "place" in request:
        from tests.breaker.interleaved import stop_at

        stop_at(request["place"], request["others"])
    code = 99  # of a child that did not get to its end
    try:
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve()
