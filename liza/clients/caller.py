"""Whether liza was called from inside an agent, which must not make the decisions that are a person's.

A guard rail, not a lock: an agent can clear its environment and leave its process group. What it does then without a
terminal is alarmed.
"""

import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from datetime import datetime

from liza.errors import Refused
from liza.store.lock import holder
from liza.store.paths import Paths

# The clients set these for what they start; LIZA_LOOP is that of `liza run`.
VARIABLES = ("CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "QWEN_CODE", "OPENCODE", "LIZA_LOOP")


def require_person(paths: Paths, decision: str) -> None:
    """`Refused` inside an agent; `decision` is the command that a person has to type instead."""
    if (sign := agent_sign(paths)) is not None:
        message = f"{decision} is a person's decision, and this call comes from inside an agent ({sign})"
        raise Refused(message, hint=f"a person runs it in a terminal of their own: {decision}")


def agent_sign(paths: Paths) -> str | None:
    """What shows that an agent is calling: a variable, or the `liza run` above us; None where nothing does."""
    variable = next((name for name in VARIABLES if os.environ.get(name)), None)
    if variable is not None:
        return variable
    run = _run_above(paths)
    return None if run is None else f"started by liza run, process {run}"


def _run_above(paths: Paths) -> int | None:
    """The process above us that runs a loop of this blackboard: it holds the lock of that loop.

    Where the kernel has no /proc only the variables are known.
    """
    above = set(_ancestors())
    with suppress(OSError):
        locks = [entry.path for entry in os.scandir(os.path.join(paths.runs, "loops")) if entry.name.endswith(".lock")]
        return next((pid for pid in map(holder, locks) if pid in above), None)
    return None


def _ancestors() -> Iterator[int]:
    pid = os.getppid()
    with suppress(OSError, ValueError, IndexError):  # one that has ended, or no /proc
        while pid > 1:
            yield pid
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])


def alarm_without_terminal(paths: Paths, decision: str, by: str, now: datetime) -> None:
    """Write an alarm where a person's decision was made without a terminal: an agent may have cleared its traces."""
    if not has_terminal():
        from liza.store import alerts

        text = f"{decision} without a terminal, in the name of {by}: check that a person did it"
        alerts.append_alerts(paths, [("alarm", text)], now, always=True)


def drop_variables(environment: MutableMapping[str, str]) -> None:
    """Forget that an agent started this process: a daemon, or the tests, work for everybody."""
    for name in VARIABLES:
        environment.pop(name, None)


def has_terminal() -> bool:
    """Whether a person may be at this call: one of its streams is a terminal."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return any(stream is not None and not stream.closed and stream.isatty() for stream in streams)
