"""A blackboard with injected faults, and what must be true of the daemon before, during and after each."""

import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ruamel.yaml.error import YAMLError

from tests.daemon.daemon import Watched, run, until
from tests.daemon.writers import save, text_of
from tests.faults.soak_parts.agents import outage
from tests.faults.soak_parts.figures import Figures
from tests.faults.soak_parts.supervisor import Supervisor
from tests.store.oracle import ruamel_value

PATIENCE = 30.0  # seconds in which something must happen, though the daemon is killed again and again
SOON = 5.0  # a daemon that has run for this long must know facts that are as old


class Scenario:
    """One blackboard, the supervisor of its daemon, and all failures so far."""

    def __init__(self, board: Watched, supervisor: Supervisor, chance: random.Random, figures: Figures) -> None:
        self.board = board
        self.supervisor = supervisor
        self.chance = chance
        self.figures = figures
        self.wrong: list[str] = []
        self.fault = "at the beginning"
        self.trips = 0
        self.notes = 0
        self.is_open = False  # whether the agents must be halted
        self.is_away = False  # whether the folder is, and CHECKPOINT with it

    # --- other programs ---

    def note(self) -> str:
        """A record that no rule matches, as a line of state.yaml."""
        self.notes += 1
        fields: dict[str, Any] = {"timestamp": "2025-01-18T12:00:00Z", "task": "task-1", "reporter": "coder-1"}
        return text_of([{**fields, "type": "note", "details": {"what": f"note {self.notes}"}}])

    def pair(self, **fields: Any) -> str:
        """Two records that are a pattern, unless their fields prevent it."""
        service = f"service {self.trips + 1} {self.chance.getrandbits(32):x}"
        return text_of([_with(outage(service, number, "coder-1"), fields) for number in (1, 2)])

    def trip(self, write: Callable[[Path, str], None] = save, **fields: Any) -> None:
        """An agent meets an outage: the agents must be halted, once."""
        write(self.board.state, self.board.text + self.pair(**fields))
        self.expect_halt()

    def expect_halt(self) -> None:
        written = time.monotonic()
        self.supervisor.kill_cues.value += 1
        self.trips += 1
        self.expect_soon(self.board.checkpoint.exists, "the agents are halted")
        self.figures.took("halts after an outage between the faults", time.monotonic() - written)
        self.is_open = True
        self.expect_soon(self._is_entered, f"trip {self.trips} is entered and logged")

    def _is_entered(self) -> bool:
        tripped = [line for line in self.board.logged if line.startswith("tripped")]
        return self.board.section["status"] == "TRIGGERED" and len(self.board.trips) == len(tripped) == self.trips

    def resolve(self) -> None:
        self.is_open = False
        decided = run(self.board.root, "resolve", "--by", "alice", "-m", f"decision {self.trips}")
        self.expect(decided.code == 0, f"liza resolve ended with {decided.code}: {decided.err}")
        self.expect(not self.board.checkpoint.exists(), "a resolution left the agents halted")

    # --- expectations ---

    def expect(self, holds: bool, what: str) -> None:
        if not holds:
            self.wrong.append(f"{self.fault}: {what}")

    def expect_soon(self, holds: Callable[[], Any], what: str, patience: float = PATIENCE) -> bool:
        try:
            until(lambda: _without_errors(holds), what, patience)
        except AssertionError as error:
            self.wrong.append(f"{self.fault}: {error}")
            return False
        return True

    def facts(self) -> Mapping[str, Any]:
        """The status file of the present daemon; empty if it has not written it yet."""
        with suppress(OSError, ValueError):
            found = self.board.facts
            if found.get("pid") == self.supervisor.pid.value:
                return found
        return {}

    def persists(self, seconds: float, what: str, *, unreadable: bool) -> None:
        """The fault persists for a while: it may neither halt nor release the agents, and no daemon may report OK."""
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            halted = self.board.checkpoint.exists()
            self.expect(halted == self.is_open or self.is_away, f"{what}: {'halted' if halted else 'released'}")
            if unreadable and min(self.supervisor.age(), time.monotonic() - began) > SOON:
                pid, health = self.supervisor.pid.value, self.facts().get("health")
                same = pid == self.supervisor.pid.value
                self.expect(health == "degraded" or not same, f"{what}: the daemon says {health}")
            if len(self.wrong) > 20:
                return
            time.sleep(0.005)

    def expect_degraded(self, what: str) -> None:
        """Both the daemon and the command must report the blackboard as degraded."""
        with self.supervisor.without_kills():
            seen = self.expect_soon(lambda: self.facts().get("health") == "degraded", f"{what}: the daemon is degraded")
            self.expect(not seen or bool(self.facts().get("last_error")), f"{what}: the daemon gives no reason")
        asked = run(self.board.root, "status", "--json")
        self.expect(asked.code == 4, f"{what}: liza status ended with {asked.code}: {asked.out}")
        self.figures.add(faults_reported_by_daemon_and_status=1)

    def expect_recovery(self, what: str) -> None:
        """The daemon recovers by itself, and the breaker is as it was."""
        with self.supervisor.without_kills():
            self.expect_soon(lambda: self.facts().get("health") == "ok", f"after {what}: the daemon has recovered")
        self.expect(self.board.checkpoint.exists() == self.is_open, f"after {what}: the halt is not as it was")
        asked = run(self.board.root, "status", "--json")
        self.expect(asked.code == (3 if self.is_open else 0), f"after {what}: liza status ended with {asked.code}")


def _with(record: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A record with other fields; None takes one away."""
    return {name: value for name, value in {**record, **fields}.items() if value is not None}


def _without_errors(holds: Callable[[], Any]) -> Any:
    """A file that cannot be read at this moment means that the condition does not hold yet."""
    with suppress(OSError, ValueError, YAMLError, KeyError, TypeError):
        return holds()
    return False


def is_readable(raw: bytes) -> bool:
    """Whether a text is a blackboard that has tripped before, as another YAML library reads it."""
    try:
        found = ruamel_value(raw)
    except (YAMLError, ValueError):
        return False
    return isinstance(found, dict) and "circuit_breaker" in found and isinstance(found.get("anomalies", []), list)


def put_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.name}-aside")
    os.rename(path, aside)
    return aside
