"""Torn files, vanished files and wrong clocks, beside a daemon that is killed every few seconds.

None of it may halt or release the agents, an unreadable board must be DEGRADED and never OK, and recovery is
automatic. Between the faults there are real outages, which must halt the agents as usual.
"""

import os
import random
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.daemon.daemon import Watched, until
from tests.daemon.writers import save
from tests.faults.soaking import agents
from tests.faults.soaking.figures import Figures
from tests.faults.soaking.halts import Halt, Onlooker
from tests.faults.soaking.keeper import LIZA, Keeper, Life
from tests.faults.soaking.ordeal import Ordeal, is_readable, put_aside
from tests.faults.soaking.traces import leftovers, life_figures

_BEGIN, _END = "circuit_breaker:", "anomalies:"
_GARBAGE = (
    "",
    "{}\n",
    "[]\n",
    "null\n",
    "just words\n",
    "anomalies: [\n",
    "\x00\x01",
    "a: 1\na: 2\n",
    "%YAML 9\n---\n",
)
_TRUE = {"tripped": "outage", "resolved": "by alice: decision"}  # in the text of every such event
_LONG_AGO, _FAR_AHEAD = 1_000_000_000, 4_000_000_000  # 2001 and 2096


def broken_files(
    folder: Path, chance: random.Random, seconds: float, figures: Figures, command: Sequence[str] = LIZA
) -> list[str]:
    board = Watched(folder / "team")
    backend = chance.choice([(), ("--poll",)])
    keeper, onlooker = Keeper(), Onlooker()
    ordeal = Ordeal(board, keeper, chance, figures)
    with ExitStack() as stack:
        stack.enter_context(onlooker.observing(board.checkpoint))
        other = random.Random(chance.getrandbits(32))
        stack.enter_context(keeper.at_work(board.root, folder / "notes", other, *backend, command=command))
        began = time.monotonic()
        ordeal.trip()  # only beside reports of earlier trips is a missing section known to be missing
        ordeal.resolve()
        while time.monotonic() < began + seconds and not ordeal.wrong:
            _one_fault(ordeal)
        agents.by_command(board.root, agents.harmless(1, "coder-0"))  # cleans up after a killed daemon
        lives = keeper.ended()
        halts = onlooker.ended()
    life_figures(lives, figures)
    figures.add(rounds_of_broken_files=1, trips=ordeal.trips)
    return [*ordeal.wrong, *_unexplained_trips(ordeal, halts, lives), *leftovers(board)]


def _one_fault(ordeal: Ordeal) -> None:
    fault = ordeal.chance.choice(FAULTS)
    ordeal.fault = fault.__name__
    if ordeal.chance.random() < 0.4:
        ordeal.trip()
    fault(ordeal)
    ordeal.figures.add(**{f"faults:_{fault.__name__}": 1})
    ordeal.expect_recovery(fault.__name__)
    if not ordeal.is_open and ordeal.chance.random() < 0.5:
        ordeal.trip()
    if ordeal.is_open:
        ordeal.resolve()


def _unexplained_trips(ordeal: Ordeal, halts: Sequence[Halt], lives: Sequence[Life]) -> list[str]:
    """Halts, entries and messages that no outage and no decision accounts for."""
    trips = ordeal.board.trips
    known = {trip["trip_id"] for trip in trips}
    found = [f"daemon {number}: {each}" for number, life in enumerate(lives) for each in life.wrong]
    if len(trips) != ordeal.trips or len(known) != len(trips):
        found.append(f"{ordeal.trips} outages, but {len(trips)} trips in the history, of which {len(known)} differ")
    found += [
        f"the agents were halted by {halt.trip}, which is in no history" for halt in halts if halt.trip not in known
    ]
    for number, life in enumerate(lives):
        for kind, text in life.events:
            if _TRUE.get(kind, "") not in text:
                found.append(f"daemon {number} reported what never was: {kind} {text}")
    return found


# --- torn -----------------------------------------------------------------------------------------------------------


def half_a_save(ordeal: Ordeal) -> None:
    """In place, and the writer pauses in the middle: the file is cut off there."""
    _in_two_halves(ordeal, ordeal.board.text + ordeal.note(), truncates=True)


def new_head_on_an_old_tail(ordeal: Ordeal) -> None:
    """In place over the old text, as `yq` writes: until it is done, the file is a mixture."""
    head, section, records = _taken_apart(ordeal.board.text)
    lines = records.splitlines(keepends=True)
    lines.insert(ordeal.chance.randint(1, len(lines)), ordeal.note())
    _in_two_halves(ordeal, head + section + "".join(lines), truncates=False)


def _taken_apart(text: str) -> tuple[str, str, str]:
    """The text before the breaker's section, that section, and the records after it."""
    head, _, rest = text.partition(_BEGIN)
    section, _, records = rest.partition(_END)
    return head, _BEGIN + section, _END + records


def _in_two_halves(ordeal: Ordeal, text: str, *, truncates: bool) -> None:
    board, raw = ordeal.board, text.encode()
    cut = ordeal.chance.randint(0, len(raw))
    fd = os.open(board.state, os.O_WRONLY | (os.O_TRUNC if truncates else 0))
    try:
        os.write(fd, raw[:cut])
        unreadable = not is_readable(board.state.read_bytes())
        ordeal.persists(_while(ordeal), f"cut at {cut} of {len(raw)}", unreadable=unreadable)
        os.write(fd, raw[cut:])
        os.ftruncate(fd, len(raw))
    finally:
        os.close(fd)
    _expect_kept(ordeal, text)


def _expect_kept(ordeal: Ordeal, text: str) -> None:
    """The text written in place is on the board, or was kept aside by a daemon that was killed at that moment."""

    def found(text_there: str) -> bool:
        return _taken_apart(text_there)[::2] == _taken_apart(text)[::2]

    with ordeal.keeper.sparing():
        try:
            until(lambda: found(ordeal.board.text), "it is there", patience=3.0)
        except AssertionError:
            kept = [path.read_text() for path in (ordeal.board.folder / "backups").glob("*")]
            kept += [path.read_text() for path in ordeal.board.folder.glob(".state.yaml.*.swap")]
            ordeal.expect(any(map(found, kept)), "the text written in place is neither on the board nor kept aside")
            ordeal.figures.add(versions_kept_aside_after_a_kill=1)
            save(ordeal.board.state, text)


def half_an_entry_in_the_log(ordeal: Ordeal) -> None:
    """The log ends in the middle of a word: a trip is made nevertheless, and logged when the log is whole again."""
    log, before = ordeal.board.log, ordeal.board.log.read_bytes()
    half = b'- {"timestamp": "2025-01-18T12:00:00Z", "agent": "coder-'
    with log.open("ab") as file:
        file.write(half)
    if not ordeal.is_open:
        save(ordeal.board.state, ordeal.board.text + ordeal.pair())
        ordeal.expect_soon(ordeal.board.checkpoint.exists, "the agents are halted beside a torn log")
        ordeal.trips += 1
        ordeal.is_open = True
    ordeal.persists(_while(ordeal) / 2, "half an entry in the log", unreadable=False)
    ordeal.expect(log.read_bytes() == before + half, "something was written after half an entry")
    os.truncate(log, len(before))
    ordeal.expect_soon(ordeal._is_entered, f"trip {ordeal.trips} is entered and logged")


def torn_rules(ordeal: Ordeal) -> None:
    ordeal.board.rules.write_text("rules:\n  - {name: retry_cluster, condi")
    with ordeal.keeper.sparing():
        ordeal.expect_soon(lambda: ordeal.facts().get("health") == "degraded", "torn rules are reported")
    ordeal.persists(_while(ordeal) / 2, "torn rules", unreadable=False)
    ordeal.board.rules.unlink()


# --- gone, or something else ----------------------------------------------------------------------------------------


def garbage(ordeal: Ordeal) -> None:
    text = ordeal.board.text
    # Without the section an open trip is not unreadable: it is completed from CHECKPOINT.
    bad = ordeal.chance.choice([*_GARBAGE, *([] if ordeal.is_open else [_without_section(text)])])
    save(ordeal.board.state, bad)
    _persist_unreadable(ordeal, f"the text {bad[:20]!r}")
    save(ordeal.board.state, text)


def _without_section(text: str) -> str:
    head, _, records = _taken_apart(text)
    return head + records


def a_deleted_file(ordeal: Ordeal) -> None:
    text = ordeal.board.text
    ordeal.board.state.unlink()
    _persist_unreadable(ordeal, "no file")
    save(ordeal.board.state, text)


def a_file_moved_away(ordeal: Ordeal) -> None:
    """And back, with the time that it had."""
    away = put_aside(ordeal.board.state)
    _persist_unreadable(ordeal, "a file moved away")
    away.rename(ordeal.board.state)


def not_a_file(ordeal: Ordeal) -> None:
    state = ordeal.board.state
    away = put_aside(state)
    kinds: tuple[Callable[[Path], None], ...] = (Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere"))
    ordeal.chance.choice(kinds)(state)
    _persist_unreadable(ordeal, "not a file")
    if state.is_dir():
        state.rmdir()
    else:
        state.unlink()
    away.rename(state)


def a_folder_moved_away(ordeal: Ordeal) -> None:
    """All of the blackboard, and back."""
    ordeal.is_away = True
    away = put_aside(ordeal.board.folder)
    ordeal.persists(_while(ordeal), "no folder", unreadable=False)
    if ordeal.board.folder.exists():
        made = sorted(path.name for path in ordeal.board.folder.iterdir())
        ordeal.wrong.append(f"the folder was made again, with {made}")
        shutil.rmtree(ordeal.board.folder)
    away.rename(ordeal.board.folder)
    ordeal.is_away = False


def _persist_unreadable(ordeal: Ordeal, what: str) -> None:
    if ordeal.chance.random() < 0.5:
        ordeal.expect_degraded(what)
    ordeal.persists(_while(ordeal), what, unreadable=True)


def _while(ordeal: Ordeal) -> float:
    """As long as a save takes, or as a person takes to notice."""
    return ordeal.chance.choice([0.0, 0.02, ordeal.chance.random(), ordeal.chance.uniform(1, 4), 7.0])


# --- clocks ---------------------------------------------------------------------------------------------------------


def clocks_of_agents(ordeal: Ordeal) -> None:
    """All records count, whatever their timestamp: after one of this sprint, none belongs to an earlier one."""
    if ordeal.is_open:
        ordeal.resolve()
    save(ordeal.board.state, ordeal.board.text + ordeal.note())
    stamps = ("1999-12-31T23:59:59Z", "2099-01-01T00:00:00Z", "9999-12-31T23:59:59-05:00", "soon", None, 17, "")
    ordeal.trip(timestamp=ordeal.chance.choice(stamps))


def clocks_of_files(ordeal: Ordeal) -> None:
    """Every save has the same time, be it past or future, and the same length; a draft may get an inode of before."""
    at = ordeal.chance.choice([_LONG_AGO, _FAR_AHEAD])
    text = ordeal.board.text
    quiet, loud = ordeal.note(), ordeal.pair()
    quiet += f"  #{'.' * (len(loud) - len(quiet) - 4)}\n"

    def write(state: Path, added: str) -> None:
        draft = state.with_name("draft-of-a-test")
        draft.write_text(text + added, encoding="utf-8")
        os.utime(draft, (at, at))
        os.replace(draft, state)

    write(ordeal.board.state, quiet)
    with ordeal.keeper.sparing():
        ordeal.expect_soon(lambda: ordeal.facts().get("seen") == at * 10**9, "a file with an odd time is seen")
        if ordeal.is_open:
            return
        write(ordeal.board.state, quiet.replace("note", "done"))
        write(ordeal.board.state, loud)
        ordeal.expect_halt()


def clocks_of_the_rest(ordeal: Ordeal) -> None:
    """The times of files of which only the age matters: the heartbeat, the log, the halt."""
    at = ordeal.chance.choice([_LONG_AGO, _FAR_AHEAD])
    for path in (ordeal.board.watch_lock, ordeal.board.log, ordeal.board.checkpoint):
        if path.exists():
            os.utime(path, (at, at))
    ordeal.persists(_while(ordeal) / 2, "odd times beside the blackboard", unreadable=False)


FAULTS: tuple[Callable[[Ordeal], None], ...] = (
    half_a_save, half_a_save, new_head_on_an_old_tail, new_head_on_an_old_tail, half_an_entry_in_the_log, torn_rules,
    garbage, garbage, a_deleted_file, a_file_moved_away, not_a_file, a_folder_moved_away,
    clocks_of_agents, clocks_of_files, clocks_of_files, clocks_of_the_rest,
)  # fmt: skip
