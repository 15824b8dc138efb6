"""A supervisor that starts the daemon of a blackboard, kills it with -9 every few seconds, and starts it again.

Meanwhile it samples the daemon's open files, and afterwards reads its output. It is a separate process, so that no
work of the round delays a kill.
"""

import ctypes
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.cli.run import BIN
from tests.daemon.daemon import PATIENCE, TICK, environment
from tests.faults.children import Child, Counter
from tests.faults.soak_parts.processes import Sample, grown, leaks, open_files, sample

LIZA = (str(BIN / "liza"),)
# Files that an idle daemon has open: three streams, its lock, and for inotify a descriptor and a pipe. Its
# threads are itself, three of the observer's, and one for each notification target.
REST = (7, 5)
_WARM = 1.0  # seconds after which a daemon has imported its modules
_LOOK = 0.1  # seconds between two samples
_PR_SET_PDEATHSIG = 1


class DaemonRun(NamedTuple):
    """One daemon, from its start to its end."""

    pid: int
    began: float  # monotonic
    ended: float
    megabytes: float  # at most
    grown: float  # megabytes, from the middle of its life to the end
    events: tuple[tuple[str, str], ...]  # kind and text
    wrong: tuple[str, ...]


def _dies_with_its_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def started(
    root: Path, output: Path, *options: str, command: Sequence[str] = LIZA
) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon in the foreground with its output in files; it is ended, at the latest, when its `with` ends."""
    with output.with_suffix(".out").open("wb") as out, output.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen(
            [*command, "watch", str(root), "--json", *options],
            env=environment(root),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            preexec_fn=_dies_with_its_parent,  # noqa: PLW1509 - no thread runs here
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


class Supervisor:
    """The supervisor of the daemon, as the round uses it."""

    def __init__(self) -> None:
        self.pid = Counter()  # of the present daemon
        self.since = Counter()  # nanoseconds, monotonic
        self.kill_cues = Counter()  # goes up at a moment after which a kill is interesting
        self.rest = REST
        self.no_kills = Counter()  # while this is not 0, the daemon is left alive
        self._stop = Counter()
        self._child: Child | None = None

    @contextmanager
    def at_work(
        self, root: Path, notes: Path, chance: random.Random, *options: str, command: Sequence[str] = LIZA
    ) -> Iterator[None]:
        """Inside, there is nearly always a daemon. `ended` must be called before the end."""
        notes.mkdir()
        with Child(lambda: self._supervise(root, notes, chance, options, command)) as self._child:
            yield

    def ended(self) -> list[DaemonRun]:
        """End the last daemon with SIGTERM; all daemons that there were."""
        assert self._child is not None
        self._stop.value = 1
        daemons = self._child.result()
        assert isinstance(daemons, list)
        return daemons

    def age(self) -> float:
        """For how long the present daemon has been there."""
        return time.monotonic() - self.since.value / 1e9

    @contextmanager
    def without_kills(self) -> Iterator[None]:
        """Inside, the daemon is not killed: a promise that needs some seconds can be checked."""
        before, self.no_kills.value = self.no_kills.value, 1
        try:
            yield
        finally:
            self.no_kills.value = before

    # --- in the other process ---------------------------------------------------------------------------------------

    def _supervise(
        self, root: Path, notes: Path, chance: random.Random, options: Sequence[str], command: Sequence[str]
    ) -> list[DaemonRun]:
        daemons: list[DaemonRun] = []
        while not self._stop.value:
            output = notes / f"daemon-{len(daemons)}"
            began = time.monotonic()
            with started(root, output, "--interval", str(TICK), *options, command=command) as process:
                self.since.value, self.pid.value = time.monotonic_ns(), process.pid
                samples = self._wait(process, chance)
                names = open_files(process.pid) if process.poll() is None else {}
                wrong = _end(process, kindly=bool(self._stop.value))
            at_most = max((each.megabytes for each in samples), default=0.0)
            events, odd = _events_of(output)
            wrong += [*odd, *leaks(samples, self.rest, names)]
            daemons.append(
                DaemonRun(process.pid, began, time.monotonic(), at_most, grown(samples), events, tuple(wrong))
            )
        return daemons

    def _wait(self, process: "subprocess.Popen[bytes]", chance: random.Random) -> list[Sample]:
        """Wait until it is time for a kill; the samples of the daemon meanwhile."""
        end = time.monotonic() + chance.choice([chance.uniform(0.05, 1), chance.uniform(1, 4), chance.uniform(4, 8)])
        aims = chance.random() < 0.4
        at, samples = self.kill_cues.value, list[Sample]()
        while process.poll() is None and not self._stop.value:
            now = time.monotonic()
            if not self.no_kills.value and now >= end:
                break
            if aims and not self.no_kills.value and self.kill_cues.value != at and self.age() > 0.3:
                time.sleep(chance.uniform(0, 0.08))
                break
            if self.age() > _WARM and (not samples or now - samples[-1].at > _LOOK):
                found = sample(process.pid, now)
                samples += [found] if found is not None else []
            time.sleep(0.002)
        return samples


def _end(process: "subprocess.Popen[bytes]", kindly: bool) -> list[str]:
    if process.poll() is not None:
        return [f"the daemon ended by itself with {process.returncode}"]
    process.send_signal(signal.SIGTERM if kindly else signal.SIGKILL)
    try:
        code = process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        return [f"the daemon did not end within {PATIENCE:g} s of SIGTERM"]
    # One that has not yet begun to watch ends by the signal itself.
    return [f"the daemon ended with {code}"] if kindly and code not in (0, -signal.SIGTERM) else []


def _events_of(output: Path) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """The events that a daemon printed, and their faults. The last line of a killed one may be half a line."""
    events, wrong = [], []
    *lines, _ = output.with_suffix(".out").read_bytes().split(b"\n")
    for line in lines:
        event = json.loads(line)
        events.append((event["status"], event.get("text", "")))
        if "a bug in liza" in events[-1][1]:
            wrong.append(events[-1][1])
    if errors := output.with_suffix(".err").read_text(encoding="utf-8", errors="replace"):
        wrong.append(f"on standard error: {errors[-2000:]}")
    os.unlink(output.with_suffix(".err"))
    return tuple(events), wrong
