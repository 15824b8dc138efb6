"""Detect that an agent is calling, and refuse decisions that belong to a person.

A guard rail, not a lock: an agent can clear its environment and leave its process group. A decision without a terminal
is therefore alarmed.
"""

import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from datetime import datetime

from liza.errors import Refused
from liza.store.lock import holder
from liza.store.paths import Paths

# The clients set these for their child processes; `liza run` sets LIZA_LOOP.
VARIABLES = ("CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "QWEN_CODE", "OPENCODE", "LIZA_LOOP")


def require_person(paths: Paths, decision: str) -> None:
    """Raise `Refused` inside an agent; `decision` is the command that a person has to run instead."""
    if (sign := agent_sign(paths)) is not None:
        message = f"{decision} is a person's decision; this call comes from inside an agent ({sign})"
        raise Refused(message, hint=f"ask a person to run it in their own terminal: {decision}")


def agent_sign(paths: Paths) -> str | None:
    """The sign that an agent is calling: a variable, or a parent `liza run`; None without one."""
    variable = next((name for name in VARIABLES if os.environ.get(name)), None)
    if variable is not None:
        return variable
    run = _parent_run(paths)
    return None if run is None else f"started by liza run, process {run}"


def _parent_run(paths: Paths) -> int | None:
    """The ancestor process that runs a loop of this blackboard, known by the loop's lock; None without /proc."""
    above = set(_ancestors())
    with suppress(OSError):
        locks = [entry.path for entry in os.scandir(os.path.join(paths.runs, "loops")) if entry.name.endswith(".lock")]
        return next((pid for pid in map(holder, locks) if pid in above), None)
    return None


def _ancestors() -> Iterator[int]:
    pid = os.getppid()
    with suppress(OSError, ValueError, IndexError):  # the process has ended, or there is no /proc
        while pid > 1:
            yield pid
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])


def alarm_if_no_terminal(paths: Paths, decision: str, by: str, now: datetime) -> None:
    """Write an alarm if a decision is made without a terminal: an agent may have cleared its environment."""
    if not has_terminal():
        from liza.store import alerts

        text = f"{decision} without a terminal, in the name of {by}: check that a person did it"
        alerts.append_alerts(paths, [("alarm", text)], now, always=True)


def drop_variables(environment: MutableMapping[str, str]) -> None:
    """Remove the agents' variables, for a process that works for everyone, such as the daemon."""
    for name in VARIABLES:
        environment.pop(name, None)


def has_terminal() -> bool:
    """Whether one of the standard streams is a terminal."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return any(stream is not None and not stream.closed and stream.isatty() for stream in streams)
