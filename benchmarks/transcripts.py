"""Transcripts: what it takes to ingest them, and what the daemon takes that follows them.

The ratio of ingesting is its processor time divided by that of a plain `json.loads` of every line.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.command import Failed
from benchmarks.tables import Figure, Figures, Target
from liza.store.paths import Paths

_TRANSCRIPTS = 1_000
_CALLS = 40  # of each
_OLD = 10_000  # transcripts of other times that the daemon passes over
_HUGE = 1 << 30
_TIMED = "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL); " \
    "used = resource.getrusage(resource.RUSAGE_CHILDREN); " \
    "print(code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"  # fmt: skip


def run(folder: str, quick: bool) -> list[Figures]:
    """`quick` takes a tenth of the transcripts, and leaves out the one of a gigabyte."""
    paths, home = Paths(folder), Path(folder).parent / "home"
    Path(paths.state).write_text("version: 1\nanomalies: []\n")
    count = _TRANSCRIPTS // 10 if quick else _TRANSCRIPTS
    made = [_write(home / "made" / f"{number}.jsonl", f"session-{number}", _CALLS) for number in range(count)]
    found = [_ingest(paths, home, made)]
    if not quick:
        found.append(_ingest_huge(paths, home))
    return [*found, _follow(paths, home, 5.0 if quick else 30.0)]


def _write(file: Path, session: str, calls: int, text: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as stream:
        for number in range(calls):
            stream.writelines(_call(session, number, text))
    return file


def _call(session: str, number: int, text: str = "") -> Iterator[str]:
    """One call with its result, as Claude Code writes them."""
    moment = f"2026-11-18T{9 + number // 3600 % 10:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
    common = {"timestamp": moment, "cwd": "/home/dev/shop", "sessionId": session, "version": "2.1.197"}
    use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"pytest -q tests/{number}"}}
    usage = {"input_tokens": 1200 + number, "output_tokens": 40}
    answer = {"id": f"m{number}", "model": "model-a", "content": [use], "stop_reason": "tool_use", "usage": usage}
    output = f"Exit code 1\nE   ModuleNotFoundError: No module named 'shop_{number % 7}'\n{'.' * 400}{text}"
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": True}
    yield json.dumps({"type": "assistant", **common, "message": answer}) + "\n"
    yield json.dumps({"type": "user", **common, "message": {"content": [result]}, "toolUseResult": output}) + "\n"


# --- ingesting --------------------------------------------------------------------------------------------------------


def _ingest(paths: Paths, home: Path, made: list[Path]) -> Figures:
    plain = _plain_seconds(made)
    first, peak = _timed(paths, home, str(home / "made"))
    again, _ = _timed(paths, home, str(home / "made"))
    steps = sum(file.read_bytes().count(b'"call": ') for file in Path(paths.steps).iterdir())
    if steps != len(made) * _CALLS:
        raise Failed(f"{steps} steps of {len(made) * _CALLS} calls")
    size = sum(file.stat().st_size for file in made) / 1e6
    rows = [
        Figure("processor seconds", first, digits=2),
        Figure("the same again: nothing is new", again, digits=2),
        Figure("ratio to json.loads", first / plain, target=Target(60), digits=1),
        Figure("peak memory, MB", peak, target=Target(150), digits=0),
    ]
    return Figures(f"ingest {len(made):,} transcripts", rows, f"{_CALLS} calls each, {size:.0f} MB together")


def _ingest_huge(paths: Paths, home: Path) -> Figures:
    file = _write(home / "huge.jsonl", "huge", 2_600, "y" * 200_000)
    seconds, peak = _timed(paths, home, str(file))
    rows = [
        Figure("processor seconds", seconds, digits=1),
        Figure("peak memory, MB", peak, target=Target(250), digits=0),
    ]
    size = file.stat().st_size / 1e9
    file.unlink()
    return Figures("ingest one large transcript", rows, f"{size:.2f} GB, 2,600 calls")


def _plain_seconds(made: list[Path]) -> float:
    started = time.process_time()
    for file in made:
        for line in file.read_bytes().splitlines():
            json.loads(line)
    return time.process_time() - started


def _timed(paths: Paths, home: Path, place: str) -> tuple[float, float]:
    """The processor seconds and the peak memory of one `liza ingest`."""
    command = (_liza(), "ingest", place, "--root", os.path.dirname(paths.folder))
    done = subprocess.run(
        [sys.executable, "-c", _TIMED, *command], env=_environment(home), capture_output=True, text=True, check=True
    )
    code, seconds, peak = done.stdout.split()
    if code != "0":
        raise Failed(f"liza ingest: exit code {code}: {done.stderr}")
    return float(seconds), float(peak)


# --- following --------------------------------------------------------------------------------------------------------


def _follow(paths: Paths, home: Path, seconds: float) -> Figures:
    """An idle daemon beside thousands of old transcripts, and beside none."""
    alone, begun = _idle(paths, home / "none", seconds)
    projects = home / ".claude" / "projects"
    for number in range(_OLD):
        file = projects / f"-home-dev-{number % 50}" / f"{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('{"type": "summary"}\n')
        os.utime(file, (1_700_000_000 + number,) * 2)
    beside, begun_beside = _idle(paths, home, seconds)
    rows = [
        Figure("start-up, seconds of the processor", begun_beside, begun, digits=2),
        Figure("idle, milliseconds of the processor a second", 1000 * beside, 1000 * alone, Target(20), digits=2),
    ]
    return Figures(f"the daemon beside {_OLD:,} old transcripts", rows, "beside it: without any", "none")


def _idle(paths: Paths, home: Path, seconds: float) -> tuple[float, float]:
    """Processor seconds a second of a daemon that has nothing to do, and those of its start."""
    with _daemon(paths, home) as pid:
        time.sleep(2)
        begun = _processor_seconds(pid)
        time.sleep(seconds)
        return (_processor_seconds(pid) - begun) / seconds, begun


@contextmanager
def _daemon(paths: Paths, home: Path) -> Iterator[int]:
    home.mkdir(parents=True, exist_ok=True)
    command = (_liza(), "watch", "--root", os.path.dirname(paths.folder))
    process = subprocess.Popen(command, env=_environment(home), stdout=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _liza() -> str:
    return os.path.join(os.path.dirname(sys.executable), "liza")


def _environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
