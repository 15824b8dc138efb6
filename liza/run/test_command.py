"""Run tests: the command as given, its output passed on, and the report that it writes."""

import glob
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

from liza.errors import Refused
from liza.run.interrupts import Interrupts
from liza.store.versions import identity_at
from liza.text import escape_surrogates
from liza.toolerrors import junit, printed_failures, results
from liza.toolerrors.results import Report

PLACE = "{report}"  # in a word of the command: the path of the report
VARIABLE = "LIZA_JUNIT"  # the same for a script
TAIL = 20_000  # bytes of the end of the output that are kept
LINGER = 2.0  # seconds for the output of processes that the command leaves running
_TICK = 0.1
_PATIENCE = 10.0  # seconds that a command has to end by itself after a signal
_OPTIONS = {
    "pytest": ("--junitxml={report}",),
    "py.test": ("--junitxml={report}",),
    "gotestsum": ("--junitfile={report}",),
    "vitest": ("--reporter=default", "--reporter=junit", "--outputFile.junit={report}"),
}


class Ran(NamedTuple):
    code: int
    tail: str  # of the output
    reports: tuple[str, ...]  # written by this run
    folder: TemporaryDirectory[str]  # holds one of them, and is deleted with this object


def run(command: Sequence[str], written_to: Sequence[str], out: BinaryIO) -> Ran:
    """Run a command and pass on its output; `Refused` if it cannot be started.

    `written_to` are the files, or patterns of files, to which it writes reports by itself; only those written by this
    run count. Without any, it gets a path for one.
    """
    with Interrupts() as interrupts:
        return _run(command, written_to, out, interrupts)


def _run(command: Sequence[str], written_to: Sequence[str], out: BinaryIO, interrupts: Interrupts) -> Ran:
    folder = TemporaryDirectory(prefix="liza-report-")
    report = os.path.join(folder.name, "report.xml")
    words = command if written_to else with_report_option(command)
    words = [word.replace(PLACE, report) for word in words]
    before = {file: identity_at(file) for file in _matching(written_to)}
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, VARIABLE: report},
            process_group=0,  # so that a signal reaches all of it, once, no matter where it came from
        )
    except (OSError, ValueError) as error:
        folder.cleanup()
        why = getattr(error, "strerror", None) or str(error)
        hint = "give the test command after --, as you would type it"
        raise Refused(f"{words[0]} could not be started: {why}", hint=hint) from None
    try:
        tail = _passed_on(process, out, interrupts)
    except KeyboardInterrupt:
        folder.cleanup()
        raise
    code = process.wait()
    named = _matching(written_to) if written_to else [report]
    written = [file for file in named if identity_at(file) not in (None, before.get(file))]
    return Ran(code, tail.decode("utf-8", "backslashreplace"), tuple(written), folder)


def with_report_option(command: Sequence[str]) -> list[str]:
    """The command with the option that makes a known runner write a report."""
    words = list(command)
    if any(PLACE in word for word in words):
        return words
    names = [os.path.basename(word) for word in words]
    for name, options in _OPTIONS.items():
        if name not in names[:4]:  # also behind python -m, npx or uv run
            continue
        if any(word.split("=")[0] == options[-1].split("=")[0] for word in words):
            hint = "name the report that it writes with --report FILE"
            raise Refused(f"the command already sets where {name} writes its report", hint=hint)
        at = words.index("--") if "--" in words and name == "gotestsum" else len(words)
        return [*words[:at], *options, *words[at:]]
    return words


def _passed_on(process: "subprocess.Popen[bytes]", out: BinaryIO, interrupts: Interrupts) -> bytes:
    """Copy the output to `out` and return its end. A signal ends the command, and raises KeyboardInterrupt.

    A server that the tests leave running may keep the output open for ever; that is not waited for.
    """
    tail = b""
    ended = None
    assert process.stdout is not None
    with process.stdout as stream:
        while True:
            ready = select.select([stream.fileno(), interrupts.wakes], [], [], _TICK)[0]
            if interrupts.number is not None:
                _end(process, interrupts.number)
                raise KeyboardInterrupt
            if ended is None and process.poll() is not None:
                ended = time.monotonic()
            if ended is not None and (not ready or time.monotonic() - ended > LINGER):
                return tail
            if not ready:
                continue
            piece = os.read(stream.fileno(), 1 << 16)
            if not piece:
                return tail
            tail = (tail + piece)[-TAIL:]
            with suppress(OSError):  # its reader has gone; the tests still run
                out.write(piece)
                out.flush()


def _end(process: "subprocess.Popen[bytes]", number: int) -> None:
    """Send the signal on to the command and all that it started; what does not end by it is killed."""
    for each, patience in ((number, _PATIENCE), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, each)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            return


def _matching(patterns: Sequence[str]) -> list[str]:
    found = [file for pattern in patterns for file in sorted(glob.glob(pattern, recursive=True))]
    return list(dict.fromkeys(found))


def report_of(ran: Ran, names: Sequence[str], counted: Sequence[str], every: bool, written_to: Sequence[str]) -> Report:
    """What the reports of a run say; without a usable one, what it printed says whether a test failed.

    A run that shows no failed assertion, and has no report with a test in it, could not be run.
    """
    why = f"the command ended with exit code {ran.code} and wrote no report: {_missing(written_to)}"
    if ran.reports:
        try:
            report = junit.read(ran.reports, names, every=every)
            if ran.code == 0 or report.found or report.several or report.others.all or report.broken:
                return report
            why = f"the command ended with exit code {ran.code}, and no test is in its report"
        except Refused as error:
            why = f"the command ended with exit code {ran.code}, and its report cannot be used: {error.message}"
    if ran.code != 0:
        found = printed_failures.read(ran.tail, ran.code, names, counted, every=every)
        if found is not None:
            return found._replace(note=f"{why}; what it printed counts")
    return Report({}, {}, results.Totals(), (), (f"{why}\n{ran.tail}",), note=why)


def _missing(written_to: Sequence[str]) -> str:
    """The report that was expected, and how to get one."""
    if written_to:
        return f"nothing new at {', '.join(escape_surrogates(each) for each in written_to)}"
    return "nothing at $LIZA_JUNIT; put {report} into the command, or name the report: --report FILE"
