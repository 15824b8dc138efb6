"""`liza watch` as a separate process, and a blackboard that others write meanwhile."""

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.cli.run import Result, served
from tests.daemon.writers import save, text_of
from tests.scopes.sprint.run import Board, record
from tests.served import Started, server

PATIENCE = 20.0  # seconds; only a failing test waits this long
TICK = 0.05

# The list is the last section, so that a shell script can append to it. Nothing in it is worth an alarm.
STATE = """\
# a team's board
version: 1
tasks:
  - {id: task-1,   status: CLAIMED, spec_ref: 'specs/a.md'}
  - id: task-2
    status:   CLAIMED
sprint:
  id: sprint-4
  timeline: {started: 2025-01-18T09:00:00Z}
config:
  max_review_cycles:   5
circuit_breaker:  # liza's own
  last_check: null
  status: OK  # OK, TRIGGERED
  current_trigger: null
  history: []
anomalies:
  - {timestamp: 2025-01-18T10:00:00Z, task: task-1, reporter: coder-1, type: note, details: {what: began}}
"""
RETRIES = tuple(
    record("retry_loop", f"task-{n}", f"2025-01-18T1{n}:00:00Z", count=3, error_pattern="no route to the database")
    for n in (1, 2, 3)
)
OUTAGE = tuple(
    record("external_blocker", f"task-{n}", f"2025-01-18T1{n}:30:00Z", blocker_service="payments") for n in (1, 2)
)


def until(holds: Callable[[], Any], what: str = "it holds", patience: float = PATIENCE) -> Any:
    """Wait until something holds, and return it; fail with an assertion if it never does."""
    end = time.monotonic() + patience
    while True:
        with suppress(FileNotFoundError, json.JSONDecodeError):
            if found := holds():
                return found
        assert time.monotonic() < end, f"waited {patience:g} s in vain until {what}"
        time.sleep(0.003)


def environment(root: Path) -> dict[str, str]:
    """A person's environment without liza's variables, and without a desktop to notify."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LIZA_", "DBUS_"))}
    return {**clean, "XDG_STATE_HOME": str(root / "state"), "XDG_RUNTIME_DIR": str(root / "none")}


class Watched(Board):
    """A blackboard that is saved while a daemon watches."""

    def __init__(self, root: Path, text: str = STATE, rules: str = "") -> None:
        super().__init__(root, text)
        if rules:
            self.rules.write_text(rules, encoding="utf-8")
        self.alerts_log = self.folder / "alerts.log"
        self.watch_json = self.folder / "watch.json"
        self.watch_lock = self.folder / "watch.lock"
        self.escalation = self.folder / "ESCALATION"

    def save(self, text: str) -> None:
        """A new file, moved over the old one."""
        save(self.state, text)

    def report_anomalies(self, *records: Any) -> None:
        """Append records, as agents do."""
        self.save(self.text + text_of(records))

    @property
    def facts(self) -> dict[str, Any]:
        """The daemon's own status file."""
        found = json.loads(self.watch_json.read_text(encoding="utf-8"))
        assert isinstance(found, dict)
        return found

    @property
    def alerts(self) -> list[str]:
        """The lines of alerts.log, each as kind and text."""
        lines = self.alerts_log.read_text(encoding="utf-8").splitlines() if self.alerts_log.exists() else []
        for line in lines:
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  [a-z]+ +\S.*", line), line
        return [" ".join(line.split()[1:]) for line in lines]

    def halted(self) -> dict[str, str]:
        """Wait for a halt and for its paperwork; the lines of CHECKPOINT."""
        until(lambda: self.checkpoint.exists() and self.halt, "the agents are halted")
        self.halt_is_logged()
        return self.halt

    def halt_is_logged(self) -> None:
        until(lambda: self.logged, "the trip is in the log")

    def beats(self, number: int = 8) -> None:
        """Wait for this many ticks of the daemon."""
        for _ in range(number):
            until(partial(self._beat_after, self.watch_lock.stat().st_mtime_ns), "the daemon ticks")

    def _beat_after(self, last: int) -> bool:
        return self.watch_lock.stat().st_mtime_ns != last

    def versions(self) -> dict[str, tuple[int, int, bytes]]:
        """Every file of the board but the heartbeat and files being written, with what a write would change."""
        return {
            path.name: (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes())
            for path in sorted(self.folder.rglob("*"))
            if path.name != "watch.lock" and not path.name.endswith(".new") and path.is_file()
        }

    def everywhere(self) -> str:
        """All text in the files beside state.yaml and rules.yaml."""
        kept = {self.state, self.rules}
        return "\n".join(
            path.read_text(encoding="utf-8", errors="replace")
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path not in kept
        )


class Daemon:
    """A daemon in the foreground. Left behind by a failing test, it is killed where its `with` ends."""

    def __init__(
        self,
        root: Path,
        *arguments: str,
        wait: str = "checked",
        env: dict[str, str] | None = None,
        program: Sequence[str | Path] = (),
    ) -> None:
        """`program` is started instead of a liza that is loaded already."""
        words = ("watch", str(root), "--json", "--interval", str(TICK), *arguments)
        within = {**environment(root), **(env or {})}
        self.process: Started | subprocess.Popen[bytes]
        if program:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                [*program, *words], env=within, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
            )
        else:
            self.process = server().start_piped(words, Path.cwd(), within)
        self._unread = b""
        self.printed: list[str] = []
        self.events: list[tuple[str, str]] = []  # kind and text, in order
        self._taken = 0
        self._wait = wait

    @property
    def pid(self) -> int:
        return self.process.pid

    def _read(self, seconds: float) -> bool:
        """Read more output; False at its end."""
        assert self.process.stdout is not None
        if self.process.stdout.closed:
            return False
        if not select.select([self.process.stdout], [], [], max(seconds, 0.0))[0]:
            return True
        piece = os.read(self.process.stdout.fileno(), 1 << 16)
        *lines, self._unread = (self._unread + piece).split(b"\n")
        for line in lines:
            self.printed.append(line.decode())
            event = json.loads(line)
            self.events.append((event["status"], event.get("text", "")))
        return bool(piece)

    def wait_for(self, kind: str, text: str = "") -> str:
        """Wait for the next such event that this test has not waited for yet; its text."""
        end = time.monotonic() + PATIENCE
        while True:
            for at, (status, words) in enumerate(self.events[self._taken :], self._taken):
                if status == kind and text in words:
                    self._taken = at + 1
                    return words
            assert time.monotonic() < end, f"no event {kind} {text!r}; only {self.events}"
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"it ended with {self.process.wait()}: {self.errors()}; events: {self.events}")

    def reported(self, kind: str) -> list[str]:
        """The texts of all events of that kind so far."""
        self._read(0.0)
        return [words for status, words in self.events if status == kind]

    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it kindly; its exit code."""
        self.process.send_signal(number)
        end = time.monotonic() + PATIENCE
        while self._read(end - time.monotonic()):
            assert time.monotonic() < end, "it does not end"
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        try:
            if self._wait:
                self.wait_for(self._wait)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.kill()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


@contextmanager
def in_background(board: Watched | Path, *arguments: str) -> Iterator[Result]:
    """A detached daemon, ended in any case."""
    root = board if isinstance(board, Path) else board.root
    started = run(root, "watch", "--background", "--interval", str(TICK), *arguments)
    try:
        yield started
    finally:
        run(root, "watch", "--stop")


def run(root: Path, *arguments: str, env: dict[str, str] | None = None) -> Result:
    """`liza` in a folder that need not have a blackboard."""
    return served(arguments, root, {**environment(root), **(env or {})}, limit=PATIENCE)
