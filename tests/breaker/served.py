"""liza loaded once and forked for each call: as real as a program of its own, in a tenth of the time.

The tests of `tests/cli` start the installed programs instead, so that what only a fresh start shows is seen there.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

LOADED = (
    "iteration",
    "loop",
    "analyze",
    "gated",
    "init",
    "log",
    "quick",
    "record",
    "resolve",
    "show",
    "silence",
    "status",
    "trip",
    "validate",
    "attempt",
)


class Server:
    """The process that forks. It has one thread and holds no lock, so a child begins like a fresh program."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.breaker.served"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, arguments: Sequence[str], cwd: Path, env: dict[str, str], outcome: Path, **more: Any) -> int:
        """The exit code of `liza` with these arguments; what it prints goes to `outcome`.out and `outcome`.err."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"arguments": list(arguments), "cwd": str(cwd), "env": env, "outcome": str(outcome), **more}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.__exit__(kind, error, at)  # closes its input, at which it ends


def serve() -> None:
    from importlib import import_module

    import jinja2.sandbox
    import rapidfuzz.distance

    for name in LOADED:
        import_module(f"liza.cli.{name}")
    assert jinja2.sandbox
    assert rapidfuzz.distance
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _answer(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _answer(request: dict[str, Any]) -> None:
    from liza.cli.main import main

    for fd, ending in ((1, ".out"), (2, ".err")):
        os.dup2(os.open(request["outcome"] + ending, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), fd)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
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
