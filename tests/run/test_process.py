"""One run of a command: real processes, ended in every way there is."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from liza.run import process
from liza.run.interrupts import Interrupts
from liza.run.kept_output import HEAD, TAIL
from liza.run.process import Limits, Outlet, Ran, run
from tests.daemon.daemon import until
from tests.run.projects import alive


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as held:
        yield held


class Runner:
    """Runs scripts in a folder, with nothing of their output lost."""

    def __init__(self, folder: Path, interrupts: Interrupts) -> None:
        self.folder, self.interrupts = folder, interrupts
        self.seen = b""

    def show(self, piece: bytes) -> None:
        self.seen += piece

    def sh(self, script: str, total: float | None = 20, idle: float | None = None, through: int | None = None) -> Ran:
        return run(
            ["sh", "-c", script],
            cwd=str(self.folder),
            env=dict(os.environ),
            log=str(self.folder / "output.log"),
            limits=Limits(total, idle),
            interrupts=self.interrupts,
            outlet=Outlet(through, self.show),
        )

    @property
    def log(self) -> bytes:
        return (self.folder / "output.log").read_bytes()

    def pids(self, number: int) -> list[int]:
        """The process ids that a script has recorded, once there are that many."""
        until(lambda: len(self.recorded_pids()) >= number, "the processes run")
        return self.recorded_pids()

    def recorded_pids(self) -> list[int]:
        return [int(each) for each in (self.folder / "pids").read_text().split()]

    def wait_until_gone(self, number: int) -> None:
        for pid in self.pids(number):
            until(lambda pid=pid: not alive(pid), f"process {pid} has ended")  # type: ignore[misc]


@pytest.fixture
def runner(tmp_path: Path, interrupts: Interrupts) -> Runner:
    return Runner(tmp_path, interrupts)


# --- how it ends ----------------------------------------------------------------------------------------------------


def test_output_and_errors_are_kept_in_order_and_passed_on(runner: Runner) -> None:
    ran = runner.sh("echo one; echo two >&2; printf three")
    assert (ran.outcome, ran.code, ran.note, ran.output, ran.size) == ("ok", 0, None, "one\ntwo\nthree", 13)
    assert runner.log == runner.seen == b"one\ntwo\nthree"


def test_nonzero_exit_code_is_an_error(runner: Runner) -> None:
    ran = runner.sh("exit 7")
    assert (ran.outcome, ran.code) == ("error", 7)


def test_death_by_a_signal_is_a_crash(runner: Runner) -> None:
    ran = runner.sh("kill -SEGV $$")
    assert (ran.outcome, ran.code, ran.note) == ("crash", None, "killed by SIGSEGV")


def test_missing_command_is_an_error(runner: Runner) -> None:
    ran = run(
        [str(runner.folder / "nowhere")], cwd=str(runner.folder), env={}, log=str(runner.folder / "output.log"),
        limits=Limits(), interrupts=runner.interrupts, outlet=Outlet(),
    )  # fmt: skip
    assert ran.outcome == "error"
    assert "could not be started: No such file or directory" in ran.output


def test_standard_input_is_empty(runner: Runner) -> None:
    assert runner.sh("cat; echo end").output == "end\n"


def test_command_has_its_own_session(runner: Runner) -> None:
    assert int(runner.sh("ps -o sid= -p $$").output) != os.getsid(0)


# --- limits ---------------------------------------------------------------------------------------------------------

STUBBORN = "trap '' TERM; "
FAMILY = "echo $$ >> pids; (echo $$; sh -c 'echo $$ >> pids; exec sleep 100' & wait) & wait"


@pytest.mark.parametrize("script", [FAMILY, STUBBORN + FAMILY])
def test_timeout_kills_the_whole_group(runner: Runner, script: str) -> None:
    started = time.monotonic()
    ran = runner.sh(f"echo begun; {script}", total=0.3)
    assert (ran.outcome, ran.code) == ("timeout", None)
    assert ran.output.startswith("begun\n")
    assert time.monotonic() - started < 5
    runner.wait_until_gone(2)


def test_silence_is_a_timeout_and_output_is_not(runner: Runner) -> None:
    assert runner.sh("echo a; sleep 100", idle=0.3).outcome == "timeout"
    assert runner.sh("for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done", idle=0.45).outcome == "ok"


def test_command_that_closes_its_output_and_hangs_times_out(runner: Runner) -> None:
    assert runner.sh("exec >&- 2>&-; sleep 100", idle=0.3).outcome == "timeout"
    assert runner.sh("exec >&- 2>&-; sleep 100", total=0.3).outcome == "timeout"


def test_output_after_sigterm_is_kept(runner: Runner) -> None:
    ran = runner.sh("trap 'echo last words; exit 0' TERM; echo begun; sleep 100 & wait", total=0.4)
    assert (ran.outcome, ran.output) == ("timeout", "begun\nlast words\n")


# --- children left behind -------------------------------------------------------------------------------------------


def test_child_that_keeps_the_output_open_is_killed(runner: Runner) -> None:
    started = time.monotonic()
    ran = runner.sh("sh -c 'echo $$ >> pids; exec sleep 100' & while ! [ -s pids ]; do :; done; echo begun")
    assert (ran.outcome, ran.output) == ("ok", "begun\n")
    assert time.monotonic() - started < 5
    runner.wait_until_gone(1)


def test_last_output_is_kept_while_a_child_lives_on(runner: Runner) -> None:
    ran = runner.sh("sleep 100 & yes 0123456789 | head -c 300000")
    assert ran.size == len(runner.seen) == 300_000


def test_child_in_its_own_session_is_left_running(runner: Runner) -> None:
    runner.sh("setsid sh -c 'echo $$ >> pids; exec sleep 100' >/dev/null 2>&1 & while ! [ -s pids ]; do :; done")
    (pid,) = runner.pids(1)
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


# --- interruptions --------------------------------------------------------------------------------------------------


def interrupt_when(number: int, ready: Callable[[], object]) -> threading.Thread:
    """Send this process a signal once a condition holds."""

    def wait() -> None:
        until(ready)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("script", [FAMILY, STUBBORN + FAMILY], ids=["kind", "stubborn"])
def test_signal_stops_the_whole_group_within_a_second(runner: Runner, number: int, script: str) -> None:
    thread = interrupt_when(number, lambda: len(runner.recorded_pids()) == 2)
    ran = runner.sh(f"echo begun; {script}")
    thread.join()
    assert (ran.outcome, ran.stopped, runner.interrupts.number) == ("interrupted", True, number)
    assert ran.output.startswith("begun\n")
    runner.wait_until_gone(2)


def test_signal_stops_a_command_whose_output_is_not_read(runner: Runner) -> None:
    reading, writing = os.pipe()
    thread = interrupt_when(signal.SIGTERM, lambda: len(runner.log) > 100_000)
    ran = runner.sh("exec yes", through=writing)
    thread.join()
    assert (ran.outcome, ran.stopped) == ("interrupted", True)
    os.close(reading)
    os.close(writing)


def test_time_limit_applies_while_the_output_is_not_read(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_DRAIN", 0.1)
    reading, writing = os.pipe()
    ran = runner.sh("exec yes", total=0.3, idle=0.1, through=writing)
    assert ran.outcome == "timeout"
    assert ran.seconds >= 0.3  # unread output is not silence of the command
    os.close(reading)
    os.close(writing)


def test_closed_output_pipe_stops_the_command(runner: Runner) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = runner.sh("exec yes", through=writing)
    os.close(writing)
    assert (ran.outcome, ran.stopped) == ("interrupted", True)


def test_signal_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts() as held:
        os.kill(os.getpid(), signal.SIGTERM)
        assert held.wait(5)
    assert signal.getsignal(signal.SIGTERM) is before


# --- much output ----------------------------------------------------------------------------------------------------


def test_slow_reader_gets_all_output(runner: Runner) -> None:
    reading, writing = os.pipe()
    taken = bytearray()

    def read_slowly() -> None:
        while piece := os.read(reading, 3000):
            taken.extend(piece)
            time.sleep(0.0005)

    thread = threading.Thread(target=read_slowly)
    thread.start()
    ran = runner.sh("yes 0123456789 | head -c 500000", through=writing)
    os.close(writing)
    thread.join()
    os.close(reading)
    assert ran.outcome == "ok"
    assert bytes(taken) == runner.log
    assert len(taken) == 500_000


def test_head_and_tail_of_long_output_stay_in_memory(runner: Runner) -> None:
    size = HEAD + TAIL + 5_000_000
    ran = run(
        [sys.executable, "-c", f"import sys; sys.stdout.write('first\\n' + 'x' * {size} + '\\nlast')"],
        cwd=str(runner.folder), env=dict(os.environ), log=str(runner.folder / "output.log"),
        limits=Limits(), interrupts=runner.interrupts, outlet=Outlet(),
    )  # fmt: skip
    assert ran.size == size + 11 == len(runner.log)
    assert ran.output.startswith("first\n")
    assert ran.output.endswith("\nlast")
    assert "bytes left out" in ran.output
    assert len(ran.output) < HEAD + TAIL + 100


@pytest.mark.parametrize("size", [HEAD - 1, HEAD, HEAD + 1, HEAD + 70_000])
def test_output_within_the_limit_is_kept_whole(runner: Runner, size: int) -> None:
    ran = runner.sh(f"yes 012345678 | head -c {size}")
    assert ran.output.encode() == runner.log
    assert ran.size == size


def test_unwritable_log_is_noted_and_the_command_goes_on(runner: Runner) -> None:
    (runner.folder / "output.log").mkdir()
    ran = runner.sh("echo a")
    assert (ran.outcome, ran.output) == ("ok", "a\n")
    assert ran.note == "the output could not be kept: it is a folder"


def test_non_text_bytes_are_accepted(runner: Runner) -> None:
    ran = runner.sh("printf '\\377\\000\\033[31mred'")
    assert runner.log == runner.seen == b"\xff\x00\x1b[31mred"
    assert ran.output == "�\x00\x1b[31mred"
