"""Systems other than Linux: macOS by its fallbacks, each of them switched on here, and Windows by a refusal.

On macOS there is no /proc, no renameat2, no file lease, no inotify, before Python 3.13 no waitid, and flock(1) only
if it was installed. The commands run as processes that lack all of these.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import environment
from tests.store.oracle import libyaml_value
from tests.tools import needs

_MACOS = """
import _ctypes, fcntl, os, sys
find = _ctypes.dlsym
def dlsym(library, name):
    if name == "renameat2":
        raise OSError("undefined symbol: renameat2")
    return find(library, name)
_ctypes.dlsym = dlsym
for module, name in [(fcntl, "F_SETLEASE"), (fcntl, "F_GETLEASE"), (fcntl, "F_SETSIG"), (os, "O_PATH")]:
    delattr(module, name)
if hasattr(os, "waitid"):
    del os.waitid
for name in ("watchdog.observers.inotify", "watchdog.observers.inotify_c"):
    sys.modules[name] = None
from liza.cli.main import main
sys.exit(main())
"""
_WINDOWS = """
import os, sys
os.name = "nt"
for name in ("fcntl", "termios", "pwd", "grp", "resource"):
    sys.modules[name] = None
for name in ("getuid", "geteuid", "fork", "killpg"):
    delattr(os, name)
"""
_THREE_ALIKE = """
for task in 1 2 3; do
    liza log anomaly --type retry_loop --reporter a --task $task count=3 error_pattern='connection refused'
done
"""


_WAIT = """
wait_for() {
    for tick in $(seq 60); do
        eval "$1" && return
        sleep 0.5
    done
    return 1
}
"""


def run_on_macos(folder: Path, script: str) -> list[str]:
    """The lines that a shell script prints where `liza` has none of the facilities of Linux."""
    needs("git")
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("/proc cannot be hidden on this system")
    programs, prelude = folder / "bin", folder / "macos.py"
    programs.mkdir()
    for name in ("sh", "git", "mount", "ls", "sleep", "sed", "date", "env", "tee", "grep", "seq"):  # no flock
        (programs / name).symlink_to(str(shutil.which(name)))
    prelude.write_text(_MACOS)
    project = folder / "project"
    project.mkdir()
    whole = (
        f"{_WAIT}mount -t tmpfs none /proc || exit 99\nliza() {{ '{sys.executable}' '{prelude}' \"$@\"; }}\n{script}"
    )
    done = subprocess.run(
        [str(shutil.which("unshare")), "-Urm", "sh", "-c", whole],
        cwd=project, env=environment(project, PATH=str(programs)), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.splitlines()


def board_in(folder: Path) -> Any:
    return libyaml_value((folder / "project" / ".liza" / "state.yaml").read_bytes())


def test_trip_and_resolution_work_without_linux(tmp_path: Path) -> None:
    codes = run_on_macos(
        tmp_path,
        f"""
        liza init > out
        {_THREE_ALIKE.replace("refused'", "refused' >> out")}
        liza analyze >> out; echo analyze $?
        liza gate 2>> out; echo gate $?
        CLAUDECODE=1 liza resolve -m no 2>> out; echo agent $?
        liza resolve -m 'moved the port' >> out; echo resolve $?
        liza gate; echo gate $?
        ls -A .liza | sed -n '/swap$/p'
        """,
    )
    assert codes == ["analyze 3", "gate 2", "agent 1", "resolve 0", "gate 0"]
    breaker = board_in(tmp_path)["circuit_breaker"]
    assert (breaker["status"], breaker["history"][-1]["resolution"]) == ("OK", "moved the port")


def test_daemon_polls_and_halts_without_linux(tmp_path: Path) -> None:
    """Its process is proved by /proc alone, so `watch --stop` refuses to signal the one that watch.json names."""
    *shown, stop, status = run_on_macos(
        tmp_path,
        f"""
        liza init > out
        liza watch --background >> out || exit
        pid=$(sed -n 's/.*"pid": \\([0-9]*\\).*/\\1/p' .liza/watch.json)
        trap 'kill $pid 2> out' EXIT
        {_THREE_ALIKE.replace("refused'", "refused' >> out")}
        wait_for '[ -e .liza/CHECKPOINT ]'
        liza watch --status --json
        liza watch --stop 2>> out; echo stop $?
        kill $pid
        wait_for '! kill -0 $pid 2> out'
        liza watch --status >> out; echo status $?
        """,
    )
    facts = json.loads("\n".join(shown))
    assert (stop, status) == ("stop 1", "status 1")
    assert facts["daemon"]["backend"].startswith("polling"), facts
    assert board_in(tmp_path)["circuit_breaker"]["current_trigger"]["pattern"] == "retry_cluster"


def test_run_measures_its_agent_without_linux(tmp_path: Path) -> None:
    """The run's own log is left out by its inode; the reader of a pipe is unknown, so what it writes counts."""
    run_on_macos(
        tmp_path,
        """
        git init -q
        liza init > /dev/null
        agent='date +%N > a; echo mark; until grep -q mark tee.log; do sleep 0.1; done'
        liza run --max 1 --loop file -- sh -c 'date +%N > a' > run.log 2>&1 || true
        liza run --max 1 --loop pipe -- sh -c "$agent" 2>&1 | tee tee.log > /dev/null
        """,
    )
    loops = board_in(tmp_path)["loops"]
    measured = {name: loop["iterations"][0]["files_changed"] for name, loop in loops.items()}
    assert measured == {"file": 1, "pipe": 2}


@pytest.mark.parametrize(
    ("entry", "words", "code"),
    [("main", ("status",), 1), ("main", ("--help",), 1), ("main", (), 1), ("main", ("gate",), 2), ("gate", (), 2)],
)
def test_windows_is_refused_in_one_sentence(tmp_path: Path, entry: str, words: tuple[str, ...], code: int) -> None:
    script = f"{_WINDOWS}\nfrom liza.cli.{entry} import main\nsys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=tmp_path, env={**os.environ}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    first, *rest = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (code, "")
    assert "Windows" in first
    assert [line.startswith("  hint: ") for line in rest] == [True]


def test_windows_is_refused_by_the_functions(tmp_path: Path) -> None:
    script = f"{_WINDOWS}\nimport liza\nliza.gate()"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("liza.errors.Refused: ")
