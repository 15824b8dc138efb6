"""Waiting records with kill -9 at every step, many writers, a held lock: each is entered once."""

import itertools
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from liza.check import check
from liza.scopes.claims.change import Context
from liza.scopes.claims.objections import Objection
from liza.scopes.claims.record import record_round
from liza.scopes.claims.states import Round
from liza.scopes.inbox import apply_waiting, read_waiting, record_anomaly, record_or_queue
from liza.scopes.loops import evaluate
from liza.scopes.loops.record import Iteration, record_iteration
from liza.scopes.rules_file import read_rules
from liza.scopes.slices.record import record_attempts
from liza.scopes.slices.states import Attempt
from liza.store import inbox as files
from liza.store.board import Board
from liza.store.document import parse
from liza.store.inbox import NotEvaluated
from liza.store.paths import Paths
from tests.faults import boards, steps
from tests.faults.children import Child, Counter
from tests.faults.holders import held_by_flock

NOW = datetime(2025, 1, 18, 15, tzinfo=UTC)
STATE = boards.STATE.replace(
    "circuit_breaker:", "claims:\n  C-1:\n    text: it rains\n    status: OPEN\ncircuit_breaker:", 1
)


@pytest.fixture(autouse=True)
def _more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MODULES", (*steps.MODULES, files))
    monkeypatch.setenv("LIZA_LOCK_TIMEOUT", "0.05")


def an_anomaly(paths: Paths, number: int = 1, reporter: str = "liza") -> None:
    record_anomaly(Board(paths), boards.anomaly(reporter, number))


def an_iteration(paths: Paths, number: int = 1) -> None:
    rules, settings = evaluate.load_rules(paths)
    iteration = Iteration(progress=number, files_changed=1)
    record_or_queue(record_iteration(Board(paths), "coder-1", iteration, rules, settings, NOW))


def an_attempt(paths: Paths, number: int = 1) -> None:
    rules = read_rules(None, protocol="attempts")
    attempt = Attempt("test_x", "failed", said=f"number {number}")
    record_or_queue(record_attempts(Board(paths), "S-1", [attempt], rules, NOW))


def a_round(paths: Paths, number: int = 1) -> None:
    context = Context(Board(paths), read_rules(None, protocol="disputes"), NOW)
    given = Round((Objection("no control group", "there is none"),), (f"number {number}",))
    record_or_queue(record_round(context, "C-1", given))


Make = Callable[..., None]


def recorded(paths: Paths) -> dict[Make, int]:
    """How many records of each kind are on the blackboard, apart from the initial ones."""
    data = parse(Path(paths.state).read_bytes(), paths.state).data
    return {
        an_anomaly: len(boards.anomalies(paths)) - 1,
        an_iteration: len(data.get("loops", {}).get("coder-1", {}).get("iterations", ())),
        an_attempt: len(data.get("slices", {}).get("S-1", {}).get("attempts", ())),
        a_round: len(data.get("claims", {}).get("C-1", {}).get("rounds", ())),
    }


def made_to_wait(paths: Paths, *makes: Callable[[Paths], None]) -> None:
    """Record while the blackboard cannot be read."""
    whole = Path(paths.state).read_bytes()
    Path(paths.state).write_bytes(b"anomalies: [\n")
    for make in makes:
        with suppress(NotEvaluated):
            make(paths)
    Path(paths.state).write_bytes(whole)
    os.utime(paths.state, (1e9, 1e9))


EACH = pytest.mark.parametrize("make", [an_anomaly, an_iteration, an_attempt, a_round])


# --- kill -9 ----------------------------------------------------------------------------------------------------------


def dying_at(number: int, *passed_over: str) -> steps.Around:
    """Killed just before the step of that number, of those that change anything and are not to be passed over."""
    count = itertools.count(1)

    def around(step: steps.Step, call: Callable[[], Any]) -> Any:
        if step.name not in {*steps.LOOKING, *passed_over} and next(count) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return call()

    return around


def checked(paths: Paths) -> None:
    check(Board(paths), read_rules(None), NOW)


def each_death(folder: Path, prepare: Callable[[Paths], None], work: Callable[[Paths], None]) -> Any:
    """A blackboard for each step of the work at which its process was killed."""
    for number in itertools.count(1):
        paths = boards.make(folder / str(number), STATE)
        prepare(paths)
        if not steps.killed(partial(work, paths), dying_at(number)):
            assert number > 4, "hardly a step was counted"
            return
        yield number, paths


@EACH
def test_killed_entry_is_completed_once(tmp_path: Path, make: Make) -> None:
    """Two records wait; the process that enters them is killed at each step in turn, and the next one does the rest."""
    for number, paths in each_death(
        tmp_path, lambda paths: made_to_wait(paths, make, partial(make, number=2)), enter_all
    ):
        checked(paths)
        assert recorded(paths)[make] == 2, f"killed at step {number}"
        assert os.listdir(paths.inbox) == [], f"killed at step {number}"
        assert not boards.leftovers(paths), f"killed at step {number}"


def enter_all(paths: Paths) -> None:
    apply_waiting(Board(paths))


@EACH
def test_killed_writer_leaves_a_whole_record_or_none(tmp_path: Path, make: Make) -> None:
    counts = set()
    for number, paths in each_death(tmp_path, lambda paths: None, lambda paths: made_to_wait(paths, make)):
        Path(paths.state).write_text(STATE)
        os.utime(paths.state, (1e9, 1e9))
        assert read_waiting(Board(paths)).problems == (), f"killed at step {number}"
        waiting = read_waiting(Board(paths)).records
        checked(paths)
        assert recorded(paths)[make] == waiting, f"killed at step {number}"
        assert not os.path.exists(paths.inbox) or os.listdir(paths.inbox) == [], f"killed at step {number}"
        counts.add(waiting)
    assert counts == {0, 1}


def test_two_kills_in_a_row_enter_nothing_twice(tmp_path: Path) -> None:
    """Killed before the first file is deleted, and again before the second one is."""
    paths = boards.make(tmp_path)
    made_to_wait(paths, an_anomaly, partial(an_anomaly, number=2), partial(an_anomaly, number=3))

    def before_unlink(step: steps.Step, call: Callable[[], Any]) -> Any:
        if step.name == "unlink" and str(step.arguments[0]).endswith(".json") and recorded(paths)[an_anomaly] > done:
            os.kill(os.getpid(), signal.SIGKILL)
        return call()

    for done in range(3):
        assert steps.killed(partial(enter_all, paths), before_unlink)
        assert recorded(paths)[an_anomaly] == done + 1
    checked(paths)
    assert [each["details"]["number"] for each in boards.anomalies(paths)[1:]] == [1, 2, 3]


# --- many at once -----------------------------------------------------------------------------------------------------


def crowd(paths: Paths, writers: int, records: int) -> list[Child]:
    def write(name: str) -> None:
        for number in range(1, records + 1):
            an_anomaly(paths, number, name)

    return [Child(partial(write, f"writer-{each}")) for each in range(writers)]


def in_order(paths: Paths, writers: int, records: int) -> None:
    found = [(each["reporter"], each["details"].get("number")) for each in boards.anomalies(paths)[1:]]
    for writer in range(writers):
        mine = [number for name, number in found if name == f"writer-{writer}"]
        assert mine == list(range(1, records + 1)), f"writer-{writer}"
    assert len(found) == writers * records
    assert os.listdir(paths.inbox) == []


def ended(children: list[Child]) -> None:
    for child in children:
        with child:
            child.result()


def test_eight_writers_lose_nothing_while_the_lock_is_held(tmp_path: Path) -> None:
    """All have to wait at first, and enter the waiting records themselves once the lock is free."""
    paths = boards.make(tmp_path)
    with held_by_flock(paths):
        first = crowd(paths, 8, 3)
        ended(first)
        assert read_waiting(Board(paths)).records == 24
        assert len(boards.anomalies(paths)) == 1
    checked(paths)
    in_order(paths, 8, 3)


def test_eight_simultaneous_checks_enter_each_record_once(tmp_path: Path) -> None:
    paths = boards.make(tmp_path)
    with held_by_flock(paths):
        ended(crowd(paths, 8, 3))
    os.environ["LIZA_LOCK_TIMEOUT"] = "60"  # restored with the environment of the test
    ended([Child(partial(checked, paths)) for _ in range(8)])
    in_order(paths, 8, 3)


def test_killed_writers_and_checks_lose_no_kept_record(tmp_path: Path) -> None:
    """Eight writers at once, each killed at another step; then check after check, each killed one step later."""
    paths = boards.make(tmp_path)
    kept = [Counter() for _ in range(8)]  # how many records of each were acknowledged

    def write(writer: int) -> None:
        # A process that waits for a lock opens it again and again, so these would be nearly all of the steps.
        with steps.around_each(dying_at(5 * writer + 3, "open")):
            for number in range(1, 7):
                an_anomaly(paths, number, f"writer-{writer}")
                kept[writer].value = number

    with held_by_flock(paths):
        children = [Child(partial(write, each)) for each in range(8)]
        codes = {child.wait() for child in children}
        for child in children:
            child.__exit__(None, None, None)
        assert -signal.SIGKILL in codes, "no writer was killed"
        waiting = read_waiting(Board(paths)).records
        assert waiting > 8, "hardly a record was kept"
    deaths = itertools.takewhile(lambda at: steps.killed(partial(checked, paths), dying_at(at)), itertools.count(1))
    assert sum(1 for _ in deaths) > 8, "hardly a check was killed"
    found = [(each["reporter"], each["details"].get("number")) for each in boards.anomalies(paths)[1:]]
    assert len(found) == waiting
    assert os.listdir(paths.inbox) == []
    for writer in range(8):
        mine = [number for name, number in found if name == f"writer-{writer}"]
        assert mine == list(range(1, len(mine) + 1)), f"writer-{writer}"
        assert len(mine) - kept[writer].value in (0, 1), f"writer-{writer}"  # killed before the acknowledgement


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_lock_held_for_a_minute_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the default lock timeout: eight writers record all through the minute and after it."""
    monkeypatch.delenv("LIZA_LOCK_TIMEOUT")
    paths = boards.make(tmp_path)
    with held_by_flock(paths):
        children = crowd(paths, 8, 6)
        ended(children)  # six times ten seconds
    checked(paths)
    in_order(paths, 8, 6)
