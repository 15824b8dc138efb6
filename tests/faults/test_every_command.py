"""Every command on a disk that is full, read-only, forbidden or out of open files, from any step on.

Each ends with what docs/operations.md says: a refusal that changed nothing, or what could be done and a line for each
thing that could not. None ends as a bug, none reports success, and once the cause is fixed the same command
completes what was begun.
"""

import contextlib
import errno
import io
import os
import signal
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from liza import templates
from liza.cli import main
from liza.daemon import alarm_causes, escalation_page, watch_lock
from liza.scopes import rules_file
from liza.scopes.slices import diagnostic_reports
from liza.store import backups
from tests.cli.run import BIN
from tests.daemon.daemon import RETRIES, Watched
from tests.daemon.stepped import SteppedWatcher
from tests.faults import steps
from tests.faults.children import Child
from tests.scopes.sprint.cases import RETRY
from tests.scopes.sprint.run import NOW, Board, state, unharmed

LATER = ("--now", "2025-01-18T18:00:00Z")
ANOMALY = ("log", "anomaly", "--type", "spec_gap", "--task", "task-1", "--reporter", "b", "spec_ref=x")
RECORDING = {
    "log": ANOMALY,
    "loop": ("loop", "record", "nightly", "--files-changed", "0"),
    "claim": ("claim", "round", "C-1", "--objection", "no", "--response", "why"),
    "attempt": ("attempt", "fail", "--slice", "S-1", "--test", "test_a", "--files", "x"),
    "silence": ("silence", "add", "retry_cluster", "--all", "--for", "1h", "-m", "known"),
}
HALTING = {
    "analyze": ("analyze", "--now", NOW),
    "trip": ("trip", "-m", "the sandbox is down", "--now", NOW),
    "watch": ("watch", "--once"),
}
RESOLVE = ("resolve", "-m", "ADR-003 created", "--by", "alice", *LATER)
CLAIMS = "claims:\n  C-1: {text: it holds}\n"

_MAKING = {"open to write", "write", "fsync", "rename", "link", "exchange", "mkdir", "makedirs"}
# Which steps fail for which reason; and all of them from the first one on, as with real disks.
REASONS: dict[int, set[str]] = {
    errno.ENOSPC: _MAKING,
    errno.EROFS: {*_MAKING, "unlink", "utime", "fchmod", "replace"} - {"write", "fsync"},
    errno.EACCES: {"open to write", "rename", "link", "exchange", "mkdir", "makedirs", "unlink", "replace"},
    errno.EMFILE: {"open to write", "open", "open file", "listdir", "scandir"},
}
# A write stays although a step after it failed: the error says that it was made, or what was not done.
_STAYS = ("recorded", "written, but", "was added, but", "could not be")
CODES = pytest.mark.parametrize("code", REASONS, ids=errno.errorcode.get)


@pytest.fixture(autouse=True)
def _more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    more = (
        *steps.BREAKER,
        backups,
        rules_file,
        diagnostic_reports,
        alarm_causes,
        escalation_page,
        watch_lock,
        templates,
    )
    monkeypatch.setattr(steps, "MODULES", (*steps.MODULES, *more))


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def called(board: Board, arguments: tuple[str, ...], around: steps.Around = steps.untouched) -> Ended:
    """The command in this process, with something around each of its steps."""
    os.chdir(board.root)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), steps.around_each(around):
        code = main.run(list(arguments))
    return Ended(code, out.getvalue(), err.getvalue())


class Failing:
    """From the step of that number on, of those that can, all fail; the first is number 1."""

    def __init__(self, first: int, code: int) -> None:
        self.first, self.code, self.seen = first, code, 0

    def __call__(self, step: steps.Step, call: Callable[[], Any]) -> Any:
        to_write = step.name == "open" and step.arguments[1] & (os.O_WRONLY | os.O_RDWR)
        to_write = to_write or (step.name == "open file" and {*"wax"} & {*(step.arguments[1:2] or ("r",))[0]})
        if ("open to write" if to_write else step.name) in REASONS[self.code]:
            self.seen += 1
            if self.seen >= self.first:
                raise OSError(self.code, os.strerror(self.code), *map(str, step.arguments[:1]))
        return call()


Assessment = Callable[[Board, bytes, Ended], None]


def try_each_step(folder: Path, tripped: bool, arguments: tuple[str, ...], code: int, assess: Assessment) -> None:
    """Fail from each step on, one after the other; reports every failed assertion."""

    def work() -> list[str]:
        os.environ.clear()
        os.environ.update({"PATH": os.defpath, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "bugs")})
        wrong: list[str] = []
        for first in count(1):
            board = Board(folder / str(first), state(RETRY.records) + CLAIMS)
            if tripped:
                assert called(board, HALTING["analyze"]).code == 3
            before, failing = board.state.read_bytes(), Failing(first, code)
            ended = called(board, arguments, failing)
            if failing.seen < first:
                assert first > 1, "there was no step that could fail"
                return wrong
            try:
                assert ended.code in (0, 1, 3, 4), ended
                assert "hint:" in ended.err or "degraded" in ended.out or ended.code not in (1, 4), ended
                assess(board, before, ended)
            except AssertionError as error:
                wrong.append(f"from step {first} on: {error}"[:600])
        return wrong

    with Child(work) as child:
        wrong = child.result()
    assert not wrong, "\n" + "\n".join(wrong)


@CODES
@pytest.mark.parametrize("name", RECORDING)
def test_record_that_cannot_be_written_is_refused_without_changes(tmp_path: Path, name: str, code: int) -> None:
    def assess(board: Board, before: bytes, ended: Ended) -> None:
        changed = board.state.read_bytes() != before
        if ended.code == 0:
            assert changed, "it reported a write that it had not made"
        elif changed:  # a write stays; the steps that failed after it are reported
            assert any(word in ended.err for word in _STAYS), ended
        if not changed:
            assert called(board, RECORDING[name]).code == 0, "it is fixed, and still refused"

    try_each_step(tmp_path, False, RECORDING[name], code, assess)


@CODES
@pytest.mark.parametrize("name", HALTING)
def test_halt_is_made_or_its_failure_reported(tmp_path: Path, name: str, code: int) -> None:
    def assess(board: Board, before: bytes, ended: Ended) -> None:
        unharmed(before, board.state.read_bytes())
        printed = ended.out + ended.err
        assert ended.code != 0, "a matching pattern was not reported"
        assert board.checkpoint.exists() or "could not be halted" in printed or ended.code in (1, 4), ended
        assert board.section["status"] == "OK" or board.checkpoint.exists(), "it is open but the agents are not halted"
        called(board, HALTING["analyze"])
        assert (board.section["status"], board.checkpoint.exists(), len(board.trips)) == ("TRIGGERED", True, 1)

    try_each_step(tmp_path, False, HALTING[name], code, assess)


@CODES
def test_decision_is_entered_and_completed_or_the_rest_reported(tmp_path: Path, code: int) -> None:
    def assess(board: Board, before: bytes, ended: Ended) -> None:
        unharmed(before, board.state.read_bytes())
        if ended.code == 0:
            assert (board.section["status"], board.checkpoint.exists()) == ("OK", False)
        elif board.section["status"] == "OK":
            assert any(word in ended.err for word in _STAYS), ended
        else:
            assert board.checkpoint.exists(), "nothing is decided but the agents are not halted"
        called(board, RESOLVE)
        assert (board.section["status"], board.checkpoint.exists()) == ("OK", False)
        assert [trip["resolution"] for trip in board.trips] == ["ADR-003 created"]

    try_each_step(tmp_path, True, RESOLVE, code, assess)


@CODES
def test_daemon_on_a_failing_disk_reports_it_and_halts_later(tmp_path: Path, code: int) -> None:
    board = Watched(tmp_path / "team")
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        with steps.around_each(Failing(1, code)):
            board.report_anomalies(*RETRIES)
            stepped.ticks(6)
        assert stepped.reported("degraded"), stepped.events
        assert not board.checkpoint.exists()
        stepped.ticks(6, 10)
        assert (board.checkpoint.exists(), board.section["status"]) == (True, "TRIGGERED")
        assert len(stepped.reported("recovered")) >= 1


@pytest.mark.parametrize("name", [*RECORDING, *HALTING])
def test_signals_at_every_moment_disturb_nothing(tmp_path: Path, name: str) -> None:
    """A call that a signal interrupts (EINTR) is made again; here one comes every third of a millisecond."""
    board = Board(tmp_path / "board", state(RETRY.records) + CLAIMS)

    def work() -> tuple[Ended, int]:
        seen = count()
        signal.signal(signal.SIGALRM, lambda *_: next(seen))
        signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
        ended = called(board, {**RECORDING, **HALTING}[name])
        signal.setitimer(signal.ITIMER_REAL, 0)
        return ended, next(seen)

    with Child(work) as child:
        ended, signals = child.result()
    assert (ended.code, ended.err) == (3 if name in HALTING else 0, "")
    assert signals > 3


# --- a real disk ----------------------------------------------------------------------------------------------------

_ON_A_DISK_OF_ITS_OWN = """
set -e
mount -t tmpfs -o size=256k tmpfs "$DISK"
cp -r "$BOARD/.liza" "$DISK/.liza"
cd "$DISK"
if [ "$KIND" = full ]; then cat /dev/zero > filler 2> /dev/null || true; else mount -o remount,ro "$DISK"; fi
set +e
for words in "$@"; do
    sh -c "$LIZA $words" > /dev/null 2> "$BOARD/err"; echo $?
    tail -n 1 "$BOARD/err" >&2
done
"$LIZA" watch --once > /dev/null 2>&1; echo $?
"$LIZA" resolve -m decided > /dev/null 2>&1; echo $?
test -e .liza/CHECKPOINT && echo halted
cmp .liza/state.yaml "$BOARD/.liza/state.yaml" && echo unchanged
grep -c 0000000000 .liza/log.yaml  # half of the entry that did not fit
ls -A .liza | grep -e new -e swap
exit 0
"""


@pytest.mark.parametrize(("kind", "codes", "halted"), [("full", [1, 1, 1, 1, 1, 3, 3, 3, 1], True),
                                                       ("read-only", [1, 1, 1, 1, 1, 3, 3, 1, 1], False)])  # fmt: skip
def test_real_full_or_read_only_disk(tmp_path: Path, kind: str, codes: list[int], halted: bool) -> None:
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a disk on this system")
    board = Board(tmp_path / "project", state(RETRY.records) + CLAIMS)
    (tmp_path / "disk").mkdir()
    (board.folder / "state.yaml.lock").touch()
    board.log.write_text("- {timestamp: 2025-01-18T14:00:00Z, agent: a, action: began}\n")
    env = {**board.environment(), "DISK": str(tmp_path / "disk"), "BOARD": str(board.root), "KIND": kind}
    words = ["log anomaly --type spec_gap --task t --reporter b spec_ref=x",
             "log entry --agent a --action b --detail $(printf '%05000d' 0)", "loop record nightly --files-changed 0",
             "claim round C-1 --objection no --response why", "attempt fail --slice S-1 --test t --files x",
             "trip -m down", "analyze"]  # fmt: skip
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", _ON_A_DISK_OF_ITS_OWN, "sh", *words],
        env={**env, "LIZA": str(BIN / "liza")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    expected = [*map(str, codes), *(["halted"] if halted else []), "unchanged", "0"]
    assert done.stdout.split() == expected, done
    assert all(line.startswith("  hint: ") for line in done.stderr.splitlines()), done.stderr
