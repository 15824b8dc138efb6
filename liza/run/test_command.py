"""Running tests: the command as it is given, what it prints passed on, and the report that it writes."""

import glob
import os
import select
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

from liza.errors import Refused

PLACE = "{report}"  # in a word of the command: the path of the report
VARIABLE = "LIZA_JUNIT"  # the same for a script
TAIL = 20_000  # bytes of what was printed last that are kept
LINGER = 2.0  # seconds for the output of what a command leaves running
_TICK = 0.1
_OPTIONS = {
    "pytest": ("--junitxml={report}",),
    "py.test": ("--junitxml={report}",),
    "gotestsum": ("--junitfile={report}",),
    "vitest": ("--reporter=default", "--reporter=junit", "--outputFile.junit={report}"),
}


class Ran(NamedTuple):
    """What came of a run."""

    code: int
    tail: str  # of what was printed
    reports: tuple[str, ...]  # that were written by it
    folder: TemporaryDirectory[str]  # which has one of them; gone when this is


def run(command: Sequence[str], written_to: Sequence[str], out: BinaryIO) -> Ran:
    """Run a command and pass on what it prints; `Refused` where it cannot be started at all.

    `written_to` are the files that it writes reports to by itself, or patterns of them; only those written by this run
    count. Without any, it gets a path to write one to.
    """
    folder = TemporaryDirectory(prefix="liza-report-")
    report = os.path.join(folder.name, "report.xml")
    words = command if written_to else with_report_option(command)
    words = [word.replace(PLACE, report) for word in words]
    before = {file: _version(file) for file in _matching(written_to)}
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, VARIABLE: report},
        )
    except (OSError, ValueError) as error:
        folder.cleanup()
        why = getattr(error, "strerror", None) or str(error)
        hint = "give the command that runs the tests behind --, as you would type it"
        raise Refused(f"{words[0]} could not be started: {why}", hint=hint) from None
    tail = _passed_on(process, out)
    code = process.wait()
    named = _matching(written_to) if written_to else [report]
    written = [file for file in named if _version(file) not in (None, before.get(file))]
    return Ran(code, tail.decode("utf-8", "backslashreplace"), tuple(written), folder)


def with_report_option(command: Sequence[str]) -> list[str]:
    """The command with the option that makes its runner write a report, where we know the runner."""
    words = list(command)
    if any(PLACE in word for word in words):
        return words
    names = [os.path.basename(word) for word in words]
    for name, options in _OPTIONS.items():
        if name not in names[:4]:  # also behind python -m, npx or uv run
            continue
        if any(word.split("=")[0] == options[-1].split("=")[0] for word in words):
            hint = "name the report that it writes with --report FILE"
            raise Refused(f"the command says itself where {name} writes its report", hint=hint)
        at = words.index("--") if "--" in words and name == "gotestsum" else len(words)
        return [*words[:at], *options, *words[at:]]
    return words


def _passed_on(process: "subprocess.Popen[bytes]", out: BinaryIO) -> bytes:
    """What a process prints goes to `out` at once; its end is kept. Interrupted, it is waited for: it was, too.

    A server that the tests started and left may keep the output open for ever; that is not waited for.
    """
    tail = b""
    ended = None
    assert process.stdout is not None
    with process.stdout as stream:
        while True:
            try:
                ready = select.select([stream], [], [], _TICK)[0]
                if ended is None and process.poll() is not None:
                    ended = time.monotonic()
                if ended is not None and (not ready or time.monotonic() - ended > LINGER):
                    return tail
                if not ready:
                    continue
                piece = os.read(stream.fileno(), 1 << 16)
            except KeyboardInterrupt:
                with suppress(KeyboardInterrupt):
                    process.wait(10)
                process.kill()
                process.wait()
                raise
            if not piece:
                return tail
            tail = (tail + piece)[-TAIL:]
            with suppress(OSError):  # its reader has gone, and the tests are still worth running
                out.write(piece)
                out.flush()


def _matching(patterns: Sequence[str]) -> list[str]:
    found = [file for pattern in patterns for file in sorted(glob.glob(pattern, recursive=True))]
    return list(dict.fromkeys(found))


def _version(file: str) -> tuple[int, int, int] | None:
    """What distinguishes a report of this run from one of an earlier run, which says nothing of it."""
    with suppress(OSError):
        status = os.stat(file)
        return status.st_mtime_ns, status.st_ino, status.st_size
    return None
