"""Agents that write a blackboard under its lock until a stop signal, by liza's commands and by scripts."""

import json
import random
import subprocess
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.run import BIN
from tests.daemon.daemon import environment
from tests.daemon.writers import text_of
from tests.faults.children import Counter

_REWRITE = 'text=$(cat "$FILE") && { printf "%s\\n" "$text"; cat; } > "$FILE"'


def _run(root: Path, *command: str | Path, stdin: str, **settings: str) -> None:
    env = {**environment(root), "LIZA_LOCK_TIMEOUT": "60", **settings}
    done = subprocess.run(command, cwd=root, env=env, input=stdin.encode(), check=False, capture_output=True)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stderr.decode()}"


# --- ways to add a record under the lock ----------------------------------------------------------------------------


def by_command(root: Path, record: Mapping[str, Any]) -> None:
    _run(root, BIN / "liza", "log", "anomaly", "--json", stdin=json.dumps(record))


def by_script(root: Path, record: Mapping[str, Any]) -> None:
    """flock(1), then `>>`."""
    _locked(root, 'cat >> "$FILE"', root / ".liza" / "state.yaml", text_of([record]))


def by_rewriting_script(root: Path, record: Mapping[str, Any]) -> None:
    """flock(1), then the whole text again over the old one."""
    _locked(root, _REWRITE, root / ".liza" / "state.yaml", text_of([record]))


def _locked(root: Path, script: str, file: Path, text: str) -> None:
    lock = root / ".liza" / "state.yaml.lock"
    _run(root, "flock", "-x", str(lock), "sh", "-c", script, stdin=text, FILE=str(file))


def entry_by_command(root: Path, entry: Mapping[str, Any]) -> None:
    _run(root, BIN / "liza", "log", "entry", "--json", stdin=json.dumps(entry))


def entry_by_script(root: Path, entry: Mapping[str, Any]) -> None:
    _locked(root, 'cat >> "$FILE"', root / ".liza" / "log.yaml", f"- {json.dumps(entry)}\n")


Way = Callable[[Path, Mapping[str, Any]], None]
WAYS: tuple[Way, ...] = (by_command, by_script, by_rewriting_script)
ENTRY_WAYS: tuple[Way, ...] = (entry_by_command, entry_by_script)


# --- agents ---------------------------------------------------------------------------------------------------------


def stamp() -> str:
    return f"{datetime.now(UTC):%FT%TZ}"


def outage(service: str, number: int, reporter: str) -> dict[str, Any]:
    """The first or the second report that a service is out; two are a pattern."""
    details = {"blocker_service": service, "number": number}
    return {
        "timestamp": stamp(),
        "task": f"task-{number}",
        "reporter": reporter,
        "type": "external_blocker",
        "details": details,
    }


def harmless(number: int, reporter: str) -> dict[str, Any]:
    """A record that is similar to no other."""
    details = {"spec_ref": f"specs/{reporter}.md#{number}", "question": "may it be empty?", "number": number}
    return {"timestamp": stamp(), "task": "task-1", "reporter": reporter, "type": "spec_gap", "details": details}


class Written(NamedTuple):
    """The acknowledged records of an agent."""

    anomalies: int
    entries: int


def chatter(root: Path, name: str, chance: random.Random, stop: Counter) -> Written:
    """An agent whose reports match no rule."""
    anomalies = entries = 0
    while not stop.value:
        if chance.random() < 0.6:
            anomalies += 1
            chance.choice(WAYS)(root, harmless(anomalies, name))
        else:
            entries += 1
            entry = {"timestamp": stamp(), "agent": name, "action": "worked", "detail": f"number {entries}"}
            chance.choice(ENTRY_WAYS)(root, entry)
        time.sleep(chance.random() ** 2 * 0.3)
    return Written(anomalies, entries)


class Pair(NamedTuple):
    """Two reports that are a pattern together."""

    service: str
    began: float  # monotonic; before the second was written
    written: float  # when it had been


def tripper(root: Path, name: str, chance: random.Random, stop: Counter, kill_cues: Counter) -> list[Pair]:
    """An agent that meets one outage after the other."""
    pairs: list[Pair] = []
    while not stop.value:
        service = f"{name}-outage-{len(pairs) + 1}"
        chance.choice(WAYS)(root, outage(service, 1, name))
        began = time.monotonic()
        chance.choice(WAYS)(root, outage(service, 2, name))
        pairs.append(Pair(service, began, time.monotonic()))
        kill_cues.value += 1
        time.sleep(chance.choice([0.0, chance.random(), chance.uniform(1, 4)]))
    return pairs


def resolver(root: Path, chance: random.Random, stop: Counter, kill_cues: Counter) -> list[str]:
    """A person who decides on each halt; the trips that the command reported as resolved."""
    resolved: list[str] = []
    checkpoint = root / ".liza" / "CHECKPOINT"
    command = [str(BIN / "liza"), "resolve", "--by", "alice", "--json", "-m"]
    while not stop.value:
        if not checkpoint.exists():
            time.sleep(0.01)
            continue
        time.sleep(chance.choice([0.0, chance.uniform(0, 0.1), chance.uniform(0, 1)]))
        words = [*command, f"decision {len(resolved) + 1}"]
        done = subprocess.run(words, cwd=root, env=environment(root), check=False, capture_output=True)
        assert done.returncode == 0, f"liza resolve ended with {done.returncode}: {done.stderr.decode()}"
        outcome = json.loads(done.stdout)
        if outcome["status"] == "resolved":
            resolved.append(outcome["trigger"]["trip_id"])
            kill_cues.value += 1
    return resolved
