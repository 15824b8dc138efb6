"""The hook of coding agents: what it costs an agent, and what the daemon does with fifty of them.

The events are those of Claude Code, given to the hook script as clients do. A step is evaluated in the same look that
writes it, so what is timed is from the start of the hook until the step is in its file, and to the halt file for
sessions that end stuck. That each step is there exactly once is not a figure: if not, it is an error.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.command import _ENVIRONMENT, Failed, _process
from benchmarks.tables import Figure, Figures, Row, Table, Target
from benchmarks.timing import Contestant, race
from benchmarks.watch import _until
from liza.store.paths import Paths

_ROUNDS = 150
_AGENTS = 50
_PER_SECOND = 2  # calls of each
_SECONDS = 60
_STUCK = 5  # of the agents: their last calls are the same failing one
_REPEATS = 5  # which is what stops a session
_LOOKS = 0.01  # seconds between two looks at what the daemon has written
_SESSIONS, _STEPS = 250, 4_000  # on disk: a million steps
_RULES = "keep_steps: {megabytes: 4000}\n"


def run(folder: str, quick: bool) -> list[Table | Figures]:
    """`quick` drives the load for five seconds, and has a tenth of the steps on disk."""
    project = Path(folder).parent
    paths = Paths(folder)
    Path(paths.state).write_text("version: 1\nanomalies: []\n")
    Path(paths.rules).write_text(_RULES)
    script = project / "data" / "hook.sh"
    script.parent.mkdir()
    shutil.copy(Path(__file__).parent.parent / "templates" / "hook.sh", script)
    (script.parent / "program").write_text(os.path.join(os.path.dirname(sys.executable), "liza") + "\n")
    found: list[Table | Figures] = [_cost(paths, script)]
    found.append(_load(paths, script, 5 if quick else _SECONDS))
    found.append(_start(paths, script, _SESSIONS // 10 if quick else _SESSIONS))
    return found


def _event(name: str, session: str, call: str, **more: object) -> bytes:
    common = {"session_id": session, "cwd": "/home/dev/shop", "hook_event_name": name, "tool_name": "Bash"}
    return json.dumps({**common, "tool_use_id": call, **more}).encode()


def _done(session: str, call: str) -> bytes:
    """A command that went well."""
    response = {"stdout": f"{call}: ok\n" * 20, "stderr": "", "interrupted": False, "isImage": False}
    return _event("PostToolUse", session, call, tool_input={"command": f"make {call}"}, tool_response=response)


def _failed(session: str, call: str) -> bytes:
    """The same failure as ever of this session; equal ones of several sessions would halt everyone."""
    error = f"Exit code 1\nE   ModuleNotFoundError: No module named '{session.replace('-', '_')}'\n1 failed in 0.03s"
    return _event("PostToolUseFailure", session, call, tool_input={"command": "pytest -q"}, error=error)


# --- what it costs an agent -------------------------------------------------------------------------------------------


def _cost(paths: Paths, script: Path) -> Table:
    given = script.with_name("event.json")
    given.write_bytes(_done("session-1", "call-1"))
    cat = (shutil.which("cat") or "cat", str(given))

    def empty() -> None:
        shutil.rmtree(paths.spool, ignore_errors=True)

    contestants = [
        Contestant("python -c pass", lambda: _process((sys.executable, "-c", "pass"))),
        Contestant("cat", partial(_process, cat)),
        Contestant("the hook before a call", partial(_hook, paths, script, "before", given)),
        Contestant("the hook after a call", partial(_hook, paths, script, "after", given), after=empty),
    ]
    bare, *others = race(contestants, _ROUNDS)
    targets = {"the hook before a call": Target(0.5), "the hook after a call": Target(0.5)}
    rows = [Row(bare), *(Row(each, each.seconds / bare.seconds, targets.get(each.name)) for each in others)]
    return Table("the hook of a client, no agent halted", "the hook / python -c pass", rows)


def _hook(paths: Paths, script: Path, kind: str, given: Path) -> None:
    _, status = os.waitpid(_spawned(paths, script, kind, given), 0)
    if status:
        raise Failed(f"the hook {kind} a call refused it: exit code {os.waitstatus_to_exitcode(status)}")


def _spawned(paths: Paths, script: Path, kind: str, given: Path) -> int:
    """The process of a hook that was started."""
    sh = shutil.which("sh") or "/bin/sh"
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, str(given), os.O_RDONLY, 0),
        *((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)),
    ]
    environment = {**_ENVIRONMENT, "LIZA_ROOT": os.path.dirname(paths.folder), "LIZA_ON_HALT": "block"}
    return os.posix_spawn(sh, (sh, str(script), "claude", kind), environment, file_actions=streams)


# --- fifty agents -----------------------------------------------------------------------------------------------------


def _load(paths: Paths, script: Path, seconds: int) -> Figures:
    """The hooks of all agents, each at its time, and meanwhile a look now and then at what the daemon has written."""
    calls = seconds * _PER_SECOND
    plan = sorted(
        (number / _PER_SECOND + agent / _AGENTS / _PER_SECOND, agent, number)
        for agent in range(_AGENTS)
        for number in range(calls)
    )
    started: dict[str, float] = {}
    seen = _Seen(paths)
    hooks: set[int] = set()
    late = 0.0
    with _daemon(paths) as pid:
        busy, begin = _processor_seconds(pid), time.perf_counter()
        for at, agent, number in plan:
            while (now := time.perf_counter() - begin) < at:
                seen.look()
                _reap(hooks)
                time.sleep(min(_LOOKS, max(at - (time.perf_counter() - begin), 0.0)))
            late = max(late, now - at)
            session, call = f"agent-{agent:02}", f"agent-{agent:02}-{number}"
            is_stuck = agent < _STUCK and number >= calls - _REPEATS
            given = script.with_name(f"{call}.json")
            given.write_bytes((_failed if is_stuck else _done)(session, call))
            started[call] = time.perf_counter()
            hooks.add(_spawned(paths, script, "after", given))
        _until(lambda: seen.look() >= len(started) and seen.stopped() >= _STUCK, pause=_LOOKS, patience=60)
        took = time.perf_counter() - begin
        share, peak = (_processor_seconds(pid) - busy) / took, _peak_megabytes(pid)
    _until(lambda: not _reap(hooks))
    _check_once(paths, started)
    steps = sorted(seen.steps[call] - at for call, at in started.items())
    halts = sorted(at - started[f"{name}-{calls - 1}"] for name, at in seen.halts.items())
    rows = [
        Figure("calls, each with one step", len(started), digits=0),
        Figure("the largest delay of the driver itself, ms", late * 1000, digits=0),
        Figure("from the call to its step, p50, ms", _percentile(steps, 50) * 1000, digits=0),
        Figure("from the call to its step, p99, ms", _percentile(steps, 99) * 1000, digits=0),
        Figure("from the call that stops a session to its halt file, the slowest, ms", halts[-1] * 1000, digits=0),
        Figure("the daemon's share of a core", share, digits=2),
        Figure("the daemon's peak memory, MB", peak, digits=0),
    ]
    title = f"{_AGENTS} agents with {_PER_SECOND} calls a second each, for {seconds} s"
    return Figures(title, rows, "with the hook script and a daemon as they are installed")


class _Seen:
    """What the daemon has written, and when it was seen for the first time."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._read: dict[str, int] = {}  # bytes of each file
        self.steps: dict[str, float] = {}
        self.halts: dict[str, float] = {}

    def look(self) -> int:
        """Read what is new; the number of steps so far."""
        for name in os.listdir(self._paths.steps) if os.path.isdir(self._paths.steps) else ():
            path, known = os.path.join(self._paths.steps, name), self._read.get(name, 0)
            if os.stat(path).st_size > known:
                with open(path, "rb") as file:
                    file.seek(known)
                    raw = file.read()
                whole, now = raw[: raw.rfind(b"\n") + 1], time.perf_counter()
                self._read[name] = known + len(whole)
                for step in filter(_is_step, map(json.loads, whole.splitlines())):
                    self.steps.setdefault(str(step["id"]), now)
        self.stopped()
        return len(self.steps)

    def stopped(self) -> int:
        """The number of halt files of sessions."""
        for name in os.listdir(self._paths.stopped) if os.path.isdir(self._paths.stopped) else ():
            if not name.startswith("."):
                self.halts.setdefault(name, time.perf_counter())
        return len(self.halts)


def _is_step(line: Mapping[str, Any]) -> bool:
    """Other lines of a session's file say that it was warned, for example."""
    return "tool" in line


def _reap(hooks: set[int]) -> set[int]:
    """The hooks that still run."""
    for pid in list(hooks):
        if os.waitpid(pid, os.WNOHANG)[0]:
            hooks.discard(pid)
    return hooks


def _check_once(paths: Paths, calls: dict[str, float]) -> None:
    found: Counter[str] = Counter()
    for path in Path(paths.steps).glob("*.jsonl"):
        lines = map(json.loads, path.read_bytes().splitlines())
        found.update(str(step["id"]) for step in filter(_is_step, lines))
    wrong = [call for call in calls if found[call] != 1] + [call for call in found if call not in calls]
    if wrong:
        example = f"{wrong[0]}, which is there {found[wrong[0]]} times"
        raise Failed(f"{len(wrong)} calls do not have exactly one step, such as {example}")


def _percentile(times: list[float], percent: int) -> float:
    return times[-(-len(times) * percent // 100) - 1]


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


@contextmanager
def _daemon(paths: Paths) -> Iterator[int]:
    liza = os.path.join(os.path.dirname(sys.executable), "liza")
    command = (liza, "watch", "--root", os.path.dirname(paths.folder))
    process = subprocess.Popen(command, env=_ENVIRONMENT, stdout=subprocess.DEVNULL)
    try:
        _until(lambda: os.path.exists(paths.watch_json))
        yield process.pid
    finally:
        process.terminate()
        process.wait()
        os.unlink(paths.watch_json)


# --- a million steps on disk ------------------------------------------------------------------------------------------


def _start(paths: Paths, script: Path, sessions: int) -> Figures:
    """How long a daemon that starts takes until the step of an event that waits is in its file."""
    shutil.rmtree(paths.stopped, ignore_errors=True)
    shutil.rmtree(paths.steps)
    alone = _first_step(paths, script, "alone")
    line = Path(paths.steps, "alone.jsonl").read_text()
    size = 0
    for number in range(sessions):
        name = f"old-{number:03}"
        text = "".join(line.replace("alone-call", f"{name}-{at}").replace("alone", name) for at in range(_STEPS))
        size += Path(paths.steps, f"{name}.jsonl").write_text(text)
    rows = [
        Figure("with one step of one session, s", alone, digits=2),
        Figure(
            f"with {sessions * _STEPS:,} steps of {sessions} sessions, s", _first_step(paths, script, "late"), digits=2
        ),
        Figure("size of the steps, MB", size / 1e6, digits=0),
    ]
    return Figures("the start of the daemon, until the first step is in its file", rows, "files read before or not")


def _first_step(paths: Paths, script: Path, session: str) -> float:
    given = script.with_name("first.json")
    given.write_bytes(_done(session, f"{session}-call"))
    _hook(paths, script, "after", given)
    started = time.perf_counter()
    with _daemon(paths):
        _until(lambda: os.path.exists(os.path.join(paths.steps, f"{session}.jsonl")), patience=120)
        return time.perf_counter() - started
