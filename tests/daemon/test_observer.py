"""liza observes: a trip with all its follow-up starts no program and writes only liza's own files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import LIZA, installed
from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, run
from tests.scopes.sprint.run import unharmed

# Python reads this at its start; from then on every new process is recorded before it begins.
HOOK = """\
import os, sys
WAYS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "pty.spawn")
kept = open(os.environ["STARTED"], "a", buffering=1)
kept.write("ready\\n")
sys.addaudithook(lambda event, _: kept.write(event + "\\n") if event in WAYS else None)
"""
# As in DESIGN: the halt, the page, the log, the alerts, and the daemon's own files.
OURS = {
    ".liza/state.yaml", ".liza/state.yaml.lock", ".liza/log.yaml", ".liza/CHECKPOINT", ".liza/alerts.log",
    ".liza/circuit_breaker_report.md", ".liza/reports", ".liza/watch.lock", ".liza/watch.json", "notices.jsonl",
}  # fmt: skip
RULES = "notify: {desktop: true, file: notices.jsonl}\n"  # other tools start a program to notify a desktop

Check = Callable[[Watched, dict[str, str]], None]


def check_once(board: Watched, env: dict[str, str]) -> None:
    assert installed(board.root, "analyze", **env).code == 3


def check_by_daemon(board: Watched, env: dict[str, str]) -> None:
    with Daemon(board.root, wait="tripped", env=env, program=[LIZA]) as daemon:
        board.halted()
        board.beats(3)
        assert daemon.stop() == 0


CHECKS = pytest.mark.parametrize("check", [check_once, check_by_daemon])


@pytest.fixture
def board(tmp_path: Path) -> Watched:
    """A project with code and specs, and a pattern that matches on its blackboard."""
    text = STATE.replace("anomalies:", "# behind the section\nanomalies:")
    board = Watched(tmp_path / "project", text, RULES)
    board.report_anomalies(*RETRIES)
    for name in ("specs/a.md", "src/main.py", ".git/HEAD", ".liza/PAUSE"):
        (board.root / name).parent.mkdir(exist_ok=True)
        (board.root / name).write_text(f"{name}, as a person wrote it\n")
    return board


def everything(board: Watched) -> dict[str, tuple[int, int]]:
    """The version of each file in the project, which is the home of the user as well."""
    kept = {path: path.lstat() for path in board.root.rglob("*") if not path.is_dir()}
    return {str(path.relative_to(board.root)): (at.st_mtime_ns, at.st_ino) for path, at in kept.items()}


@CHECKS
def test_trip_starts_no_program(board: Watched, tmp_path: Path, check: Check) -> None:
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HOOK)
    check(board, {"PYTHONPATH": str(tmp_path / "hook"), "STARTED": str(tmp_path / "started")})
    assert (tmp_path / "started").read_text().splitlines() == ["ready"]


@CHECKS
def test_trip_writes_only_own_files(board: Watched, check: Check) -> None:
    before = everything(board)
    check(board, {"HOME": str(board.root)})
    changed = {name for name, version in everything(board).items() if before.get(name) != version}
    assert {
        name for name in changed if name not in OURS and not name.startswith((".liza/reports/", "state/liza/"))
    } == set()
    assert before.keys() - everything(board).keys() == set()
    assert {".liza/CHECKPOINT", ".liza/circuit_breaker_report.md", ".liza/log.yaml", ".liza/state.yaml"} <= changed


@CHECKS
def test_trip_keeps_every_other_byte_of_the_blackboard(board: Watched, check: Check) -> None:
    before = board.state.read_bytes()
    check(board, {})
    after = board.state.read_bytes()
    assert b"status: TRIGGERED" in after
    unharmed(before, after)


@CHECKS
def test_all_evaluated_facts_are_on_the_blackboard(board: Watched, tmp_path: Path, check: Check) -> None:
    """The file alone, in another place, gives the same result: nothing is kept anywhere else."""
    check(board, {})
    alone = Watched(tmp_path / "alone", board.text)
    here, there = (run(each.root, "status", "--json").json for each in (board, alone))
    assert there["trigger"] == here["trigger"]
    assert there["trigger"]["pattern"] == "retry_cluster"
    assert run(alone.root, "resolve", "-m", "decided elsewhere").code == 0
    board.save(alone.text)
    board.checkpoint.unlink()
    assert run(board.root, "analyze").code == 0, "a decision made elsewhere counts here"
