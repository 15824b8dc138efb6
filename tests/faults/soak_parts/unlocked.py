"""Programs that replace state.yaml by rename without the lock, and a daemon that is killed while it writes beside them.

None of their versions may be overwritten unseen. Each of them brings a new pattern, so that the daemon has something to
write on each, and each knows nothing of the daemon's writes. If the daemon is killed between its exchange and its
check of the displaced version, that version is kept aside, and people are notified of it.

The detectors: the programs themselves, which take out the version they replace, and pause now and then until their
version is evaluated; and, in every other round, the daemon's own notes.
"""

import fcntl
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from liza.store.paths import Paths
from tests.daemon.daemon import Watched
from tests.faults.children import Child, Counter
from tests.faults.rival import exchange, write_file
from tests.faults.soak_parts import agents
from tests.faults.soak_parts.figures import Figures
from tests.faults.soak_parts.noted import FILES, Shared, label_of, marker_of, read_notes
from tests.faults.soak_parts.supervisor import LIZA, REST, Supervisor
from tests.faults.soak_parts.traces import daemon_figures, leftovers

PATIENCE = 30.0  # seconds in which a version must be evaluated, though the daemon is killed again and again
_HEAD = """\
# saved by a program that does not know of the lock
version: 1
marker: {number}
"""
_SECTION = """\
circuit_breaker:
  status: OK  # that program's state
  current_trigger: null
  history: []
"""
_TAIL = """\
anomalies:
- {{task: task-1, reporter: {name}, type: external_blocker, details: {{blocker_service: service {number}}}}}
- {{task: task-2, reporter: {name}, type: external_blocker, details: {{blocker_service: service {number}}}}}
"""


def version(number: int, name: str) -> str:
    return _HEAD.format(number=number) + _SECTION + _TAIL.format(number=number, name=name)


class TakenOut(NamedTuple):
    """The version that a program displaced with its own."""

    newest: int  # the newest that any of them had put there
    marker: int
    label: int


class Saved(NamedTuple):
    """The actions and observations of one program."""

    saves: int
    rests: int  # times that it paused until its version was evaluated
    rescued: int  # times that its version had been kept aside by then
    taken_out: list[TakenOut]
    wrong: list[str]


def a_long_run(folder: Path, chance: random.Random, seconds: float, figures: Figures) -> list[str]:
    """The same with one daemon that is not killed: its resources must not grow, however often it trips."""
    return unlocked_writers(folder, chance, seconds, figures, kills=False)


def unlocked_writers(
    folder: Path,
    chance: random.Random,
    seconds: float,
    figures: Figures,
    variant: str = "as_it_is",
    *,
    kills: bool = True,
) -> list[str]:
    board = Watched(folder / "team", version(0, "coder-0"))
    noted = variant != "as_it_is" or (kills and chance.random() < 0.5)
    notes = folder / "notes-of-the-daemon"
    notes.mkdir()
    command = (sys.executable, "-m", "tests.faults.soak_parts.noted", str(notes), variant) if noted else LIZA
    shared, supervisor, enough = Shared(str(notes)), Supervisor(), Counter()
    supervisor.no_kills.value = 0 if kills else 1
    supervisor.rest = (REST[0] + noted * FILES, REST[1])
    with ExitStack() as stack:
        stack.enter_context(supervisor.at_work(board.root, folder / "notes", _other(chance), command=command))
        rivals = [
            stack.enter_context(
                Child(partial(rival, board, name, shared, _other(chance), enough, supervisor.kill_cues))
            )
            for name in ("editor", "script")
        ]
        time.sleep(seconds)
        enough.value = 1
        saved = [each.result() for each in rivals]
        with supervisor.without_kills():
            last = wait_for_evaluation(board, shared.in_place.value)
        agents.by_command(board.root, agents.harmless(1, "coder-0"))  # cleans up after a killed daemon
        daemons = supervisor.ended()
    replaced, thrown_away = read_notes(str(notes))
    labels = {each.label for each in replaced}
    daemon_figures(daemons, figures)
    if not kills:
        figures.at_most("MB by which a daemon grew in a long run", max(each.grown for each in daemons))
    figures.add(
        rounds_of_unlocked_writers=int(kills),
        rounds_of_a_long_run=int(not kills),
        versions_saved_without_the_lock=sum(each.saves for each in saved),
        versions_waited_for=sum(each.rests for each in saved),
        versions_kept_aside_after_a_kill=len(list((board.folder / "backups").glob("*"))),
        replacements_noted_by_the_daemon=len(replaced),
        versions_met_while_undone=sum(each.marker < each.newest for one in saved for each in one.taken_out),
    )
    return [
        *(each for one in saved for each in one.wrong),
        *([last] if last not in ("evaluated", "kept aside") else []),
        *(
            f"the daemon's version on {each.marker} was in place after {each.newest}"
            for one in saved
            for each in one.taken_out
            if each.marker < each.newest and each.label in labels
        ),
        *(
            f"version {each.base} was written over {each.in_place}"
            for each in replaced
            if each.base < each.in_place
        ),
        *thrown_away,
        *(f"daemon {number}: {each}" for number, daemon in enumerate(daemons) for each in daemon.wrong),
        *leftovers(board),
    ]  # fmt: skip


def _other(chance: random.Random) -> random.Random:
    return random.Random(chance.getrandbits(32))


# --- the programs ---------------------------------------------------------------------------------------------------


def rival(
    board: Watched, name: str, shared: Shared, chance: random.Random, enough: Counter, kill_cues: Counter
) -> Saved:
    """Save one version after the other. They take turns among themselves, so that there is always a newest version."""
    saves = rests = rescued = 0
    taken_out: list[TakenOut] = []
    wrong: list[str] = []
    draft = str(board.root / f"draft-of-{name}")
    while not enough.value:
        with _turn(board.root / "turn"):
            number = shared.in_place.value + 1
            write_file(draft, version(number, name))
            shared.announced.value = number
            exchange(draft, str(board.state))
            shared.in_place.value = number
            raw = Path(draft).read_bytes()
            os.unlink(draft)
            taken_out.append(TakenOut(number - 1, marker_of(raw), label_of(raw)))
            wrong += _touched(raw)
            saves += 1
            kill_cues.value += chance.random() < 0.1
            if chance.random() < 0.04:
                rests += 1
                outcome = wait_for_evaluation(board, number)
                rescued += outcome == "kept aside"
                wrong += [outcome] if outcome not in ("evaluated", "kept aside") else []
        _aim(shared.attempts, chance)
    return Saved(saves, rests, rescued, taken_out, wrong)


@contextmanager
def _turn(file: Path) -> Iterator[None]:
    with file.open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _aim(attempts: Counter, chance: random.Random) -> None:
    """Do nothing, so that several saves come in a row; or wait for a random moment, also of the next replacement."""
    way = chance.random()
    if way < 0.2:
        return
    begun, end = attempts.value, time.monotonic() + (0.1 * chance.random() if way < 0.5 else 0.5)
    while time.monotonic() < end and (way < 0.5 or attempts.value == begun):
        time.sleep(0.0002)
    time.sleep(chance.random() * 0.005)


def _touched(raw: bytes) -> list[str]:
    """Bytes outside of the breaker's section that are not as they were saved."""
    text, number = raw.decode(), marker_of(raw)
    ours = any(
        text.startswith(_HEAD.format(number=number)) and text.endswith(_TAIL.format(number=number, name=name))
        for name in ("editor", "script", "coder-0")
    )
    return [] if ours else [f"version {number} was taken out as something else: {text[:300]!r}"]


# --- conditions during a pause --------------------------------------------------------------------------------------


def wait_for_evaluation(board: Watched, number: int) -> str:
    """Wait for the daemon to evaluate that version: "evaluated", or "kept aside" if it is only found there."""
    return _wait_until_evaluated(lambda: _is_evaluated(board, number), board, number)


def _wait_until_evaluated(holds: Callable[[], bool], board: Watched, number: int) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if holds():
            return "evaluated"
        if _is_kept_aside(board, number):
            return "kept aside"
        time.sleep(0.01)
    there = marker_of(board.state.read_bytes())
    return f"version {number} was not evaluated within {PATIENCE:g} s; on the board is {there}, {_folder(board.folder)}"


def _is_evaluated(board: Watched, number: int) -> bool:
    raw = board.state.read_bytes()
    return marker_of(raw) == number and b"status: TRIGGERED" in raw and board.checkpoint.exists()


def _is_kept_aside(board: Watched, number: int) -> bool:
    folder = Path(Paths(str(board.folder)).backups)
    kept = sorted(folder.glob("state.yaml.rescued-*"))
    return any(marker_of(path.read_bytes()) == number for path in kept)


def _folder(folder: Path) -> Sequence[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
