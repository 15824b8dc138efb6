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
from tests.faults.soak_parts import agents
from tests.faults.soak_parts.figures import Figures
from tests.faults.soak_parts.halts import Halt, HaltObserver
from tests.faults.soak_parts.scenario import Scenario, is_readable, put_aside
from tests.faults.soak_parts.supervisor import LIZA, DaemonRun, Supervisor
from tests.faults.soak_parts.traces import daemon_figures, leftovers

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
    supervisor, observer = Supervisor(), HaltObserver()
    scenario = Scenario(board, supervisor, chance, figures)
    with ExitStack() as stack:
        stack.enter_context(observer.observing(board.checkpoint))
        other = random.Random(chance.getrandbits(32))
        stack.enter_context(supervisor.at_work(board.root, folder / "notes", other, *backend, command=command))
        began = time.monotonic()
        scenario.trip()  # only beside reports of earlier trips is a missing section known to be missing
        scenario.resolve()
        while time.monotonic() < began + seconds and not scenario.wrong:
            _one_fault(scenario)
        agents.by_command(board.root, agents.harmless(1, "coder-0"))  # cleans up after a killed daemon
        daemons = supervisor.ended()
        halts = observer.ended()
    daemon_figures(daemons, figures)
    figures.add(rounds_of_broken_files=1, trips=scenario.trips)
    return [*scenario.wrong, *_unexplained_trips(scenario, halts, daemons), *leftovers(board)]


def _one_fault(scenario: Scenario) -> None:
    fault = scenario.chance.choice(FAULTS)
    scenario.fault = fault.__name__
    if scenario.chance.random() < 0.4:
        scenario.trip()
    fault(scenario)
    scenario.figures.add(**{f"faults:_{fault.__name__}": 1})
    scenario.expect_recovery(fault.__name__)
    if not scenario.is_open and scenario.chance.random() < 0.5:
        scenario.trip()
    if scenario.is_open:
        scenario.resolve()


def _unexplained_trips(scenario: Scenario, halts: Sequence[Halt], daemons: Sequence[DaemonRun]) -> list[str]:
    """Halts, entries and messages that no outage and no decision accounts for."""
    trips = scenario.board.trips
    known = {trip["trip_id"] for trip in trips}
    found = [f"daemon {number}: {each}" for number, daemon in enumerate(daemons) for each in daemon.wrong]
    if len(trips) != scenario.trips or len(known) != len(trips):
        found.append(f"{scenario.trips} outages, but {len(trips)} trips in the history, of which {len(known)} differ")
    found += [
        f"the agents were halted by {halt.trip}, which is in no history" for halt in halts if halt.trip not in known
    ]
    for number, daemon in enumerate(daemons):
        for kind, text in daemon.events:
            if _TRUE.get(kind, "") not in text:
                found.append(f"daemon {number} reported what never was: {kind} {text}")
    return found


# --- torn -----------------------------------------------------------------------------------------------------------


def half_a_save(scenario: Scenario) -> None:
    """In place, and the writer pauses in the middle: the file is cut off there."""
    _in_two_halves(scenario, scenario.board.text + scenario.note(), truncates=True)


def new_head_on_an_old_tail(scenario: Scenario) -> None:
    """In place over the old text, as `yq` writes: until it is done, the file is a mixture."""
    head, section, records = _taken_apart(scenario.board.text)
    lines = records.splitlines(keepends=True)
    lines.insert(scenario.chance.randint(1, len(lines)), scenario.note())
    _in_two_halves(scenario, head + section + "".join(lines), truncates=False)


def _taken_apart(text: str) -> tuple[str, str, str]:
    """The text before the breaker's section, that section, and the records after it."""
    head, _, rest = text.partition(_BEGIN)
    section, _, records = rest.partition(_END)
    return head, _BEGIN + section, _END + records


def _in_two_halves(scenario: Scenario, text: str, *, truncates: bool) -> None:
    board, raw = scenario.board, text.encode()
    cut = scenario.chance.randint(0, len(raw))
    fd = os.open(board.state, os.O_WRONLY | (os.O_TRUNC if truncates else 0))
    try:
        os.write(fd, raw[:cut])
        unreadable = not is_readable(board.state.read_bytes())
        scenario.persists(_while(scenario), f"cut at {cut} of {len(raw)}", unreadable=unreadable)
        os.write(fd, raw[cut:])
        os.ftruncate(fd, len(raw))
    finally:
        os.close(fd)
    _expect_kept(scenario, text)


def _expect_kept(scenario: Scenario, text: str) -> None:
    """The text written in place is on the board, or was kept aside by a daemon that was killed at that moment."""

    def found(text_there: str) -> bool:
        return _taken_apart(text_there)[::2] == _taken_apart(text)[::2]

    with scenario.supervisor.without_kills():
        try:
            until(lambda: found(scenario.board.text), "it is there", patience=3.0)
        except AssertionError:
            kept = [path.read_text() for path in (scenario.board.folder / "backups").glob("*")]
            kept += [path.read_text() for path in scenario.board.folder.glob(".state.yaml.*.swap")]
            scenario.expect(any(map(found, kept)), "the text written in place is neither on the board nor kept aside")
            scenario.figures.add(versions_kept_aside_after_a_kill=1)
            save(scenario.board.state, text)


def half_an_entry_in_the_log(scenario: Scenario) -> None:
    """The log ends in the middle of a word: a trip is made nevertheless, and logged when the log is whole again."""
    log, before = scenario.board.log, scenario.board.log.read_bytes()
    half = b'- {"timestamp": "2025-01-18T12:00:00Z", "agent": "coder-'
    with log.open("ab") as file:
        file.write(half)
    if not scenario.is_open:
        save(scenario.board.state, scenario.board.text + scenario.pair())
        scenario.expect_soon(scenario.board.checkpoint.exists, "the agents are halted beside a torn log")
        scenario.trips += 1
        scenario.is_open = True
    scenario.persists(_while(scenario) / 2, "half an entry in the log", unreadable=False)
    scenario.expect(log.read_bytes() == before + half, "something was written after half an entry")
    os.truncate(log, len(before))
    scenario.expect_soon(scenario._is_entered, f"trip {scenario.trips} is entered and logged")


def torn_rules(scenario: Scenario) -> None:
    scenario.board.rules.write_text("rules:\n  - {name: retry_cluster, condi")
    with scenario.supervisor.without_kills():
        scenario.expect_soon(lambda: scenario.facts().get("health") == "degraded", "torn rules are reported")
    scenario.persists(_while(scenario) / 2, "torn rules", unreadable=False)
    scenario.board.rules.unlink()


# --- gone, or something else ----------------------------------------------------------------------------------------


def garbage(scenario: Scenario) -> None:
    text = scenario.board.text
    # Without the section an open trip is not unreadable: it is completed from CHECKPOINT.
    bad = scenario.chance.choice([*_GARBAGE, *([] if scenario.is_open else [_without_section(text)])])
    save(scenario.board.state, bad)
    _persist_unreadable(scenario, f"the text {bad[:20]!r}")
    save(scenario.board.state, text)


def _without_section(text: str) -> str:
    head, _, records = _taken_apart(text)
    return head + records


def a_deleted_file(scenario: Scenario) -> None:
    text = scenario.board.text
    scenario.board.state.unlink()
    _persist_unreadable(scenario, "no file")
    save(scenario.board.state, text)


def a_file_moved_away(scenario: Scenario) -> None:
    """And back, with the time that it had."""
    away = put_aside(scenario.board.state)
    _persist_unreadable(scenario, "a file moved away")
    away.rename(scenario.board.state)


def not_a_file(scenario: Scenario) -> None:
    state = scenario.board.state
    away = put_aside(state)
    kinds: tuple[Callable[[Path], None], ...] = (Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere"))
    scenario.chance.choice(kinds)(state)
    _persist_unreadable(scenario, "not a file")
    if state.is_dir():
        state.rmdir()
    else:
        state.unlink()
    away.rename(state)


def a_folder_moved_away(scenario: Scenario) -> None:
    """All of the blackboard, and back."""
    scenario.is_away = True
    away = put_aside(scenario.board.folder)
    scenario.persists(_while(scenario), "no folder", unreadable=False)
    if scenario.board.folder.exists():
        made = sorted(path.name for path in scenario.board.folder.iterdir())
        scenario.wrong.append(f"the folder was made again, with {made}")
        shutil.rmtree(scenario.board.folder)
    away.rename(scenario.board.folder)
    scenario.is_away = False


def _persist_unreadable(scenario: Scenario, what: str) -> None:
    if scenario.chance.random() < 0.5:
        scenario.expect_degraded(what)
    scenario.persists(_while(scenario), what, unreadable=True)


def _while(scenario: Scenario) -> float:
    """As long as a save takes, or as a person takes to notice."""
    return scenario.chance.choice([0.0, 0.02, scenario.chance.random(), scenario.chance.uniform(1, 4), 7.0])


# --- clocks ---------------------------------------------------------------------------------------------------------


def clocks_of_agents(scenario: Scenario) -> None:
    """All records count, whatever their timestamp: after one of this sprint, none belongs to an earlier one."""
    if scenario.is_open:
        scenario.resolve()
    save(scenario.board.state, scenario.board.text + scenario.note())
    stamps = ("1999-12-31T23:59:59Z", "2099-01-01T00:00:00Z", "9999-12-31T23:59:59-05:00", "soon", None, 17, "")
    scenario.trip(timestamp=scenario.chance.choice(stamps))


def clocks_of_files(scenario: Scenario) -> None:
    """Every save has the same time, be it past or future, and the same length; a draft may get an inode of before."""
    at = scenario.chance.choice([_LONG_AGO, _FAR_AHEAD])
    text = scenario.board.text
    quiet, loud = scenario.note(), scenario.pair()
    quiet += f"  #{'.' * (len(loud) - len(quiet) - 4)}\n"

    def write(state: Path, added: str) -> None:
        draft = state.with_name("draft-of-a-test")
        draft.write_text(text + added, encoding="utf-8")
        os.utime(draft, (at, at))
        os.replace(draft, state)

    write(scenario.board.state, quiet)
    with scenario.supervisor.without_kills():
        scenario.expect_soon(lambda: scenario.facts().get("seen") == at * 10**9, "a file with an odd time is seen")
        if scenario.is_open:
            return
        write(scenario.board.state, quiet.replace("note", "done"))
        write(scenario.board.state, loud)
        scenario.expect_halt()


def clocks_of_the_rest(scenario: Scenario) -> None:
    """The times of files of which only the age matters: the heartbeat, the log, the halt."""
    at = scenario.chance.choice([_LONG_AGO, _FAR_AHEAD])
    for path in (scenario.board.watch_lock, scenario.board.log, scenario.board.checkpoint):
        if path.exists():
            os.utime(path, (at, at))
    scenario.persists(_while(scenario) / 2, "odd times beside the blackboard", unreadable=False)


FAULTS: tuple[Callable[[Scenario], None], ...] = (
    half_a_save, half_a_save, new_head_on_an_old_tail, new_head_on_an_old_tail, half_an_entry_in_the_log, torn_rules,
    garbage, garbage, a_deleted_file, a_file_moved_away, not_a_file, a_folder_moved_away,
    clocks_of_agents, clocks_of_files, clocks_of_files, clocks_of_the_rest,
)  # fmt: skip
