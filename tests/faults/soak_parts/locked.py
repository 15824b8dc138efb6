"""Writers that all take the lock, people who decide, and a daemon that is killed every few seconds.

No record may be lost, every pattern must halt the agents, and each trip must be in the history exactly once. The
history, the log, the archive of reports, the commands that resolved, and the observer of CHECKPOINT must all have the
same trips.
"""

import random
import time
from collections import Counter as Tally
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from liza.rules.fingerprints import fingerprint
from liza.schema.snapshot import take_snapshot
from liza.store.document import parse
from liza.store.paths import Paths
from tests.daemon.daemon import Watched, until
from tests.faults.boards import anomalies, entries
from tests.faults.children import Child, Counter
from tests.faults.soak_parts import agents
from tests.faults.soak_parts.agents import Pair, Written
from tests.faults.soak_parts.figures import Figures
from tests.faults.soak_parts.halts import Halt, HaltObserver
from tests.faults.soak_parts.supervisor import LIZA, DaemonRun, Supervisor
from tests.faults.soak_parts.traces import daemon_figures, leftovers, repeated_trip_messages

PATIENCE = 30.0  # seconds in which a halt must come, though the daemon is killed again and again
RULES = "notify:\n  file: notices.jsonl\n"


class Round(NamedTuple):
    """The observations of all participants at the end."""

    board: Watched
    written: dict[str, Written]
    pairs: list[Pair]
    resolved: list[str]
    halts: list[Halt]
    daemons: list[DaemonRun]


def locked_writers(
    folder: Path, chance: random.Random, seconds: float, figures: Figures, command: Sequence[str] = LIZA
) -> list[str]:
    board = Watched(folder / "team", rules=RULES)
    backend = chance.choice([(), ("--poll",)])
    supervisor, observer = Supervisor(), HaltObserver()
    enough, decided = Counter(), Counter()
    with ExitStack() as stack:
        stack.enter_context(observer.observing(board.checkpoint))
        stack.enter_context(supervisor.at_work(board.root, folder / "notes", _other(chance), *backend, command=command))

        def child(work: Any, *arguments: Any) -> Child:
            return stack.enter_context(Child(partial(work, board.root, *arguments)))

        chatters = {name: child(agents.chatter, name, _other(chance), enough) for name in ("coder-1", "coder-2")}
        trippers = [
            child(agents.tripper, name, _other(chance), enough, supervisor.kill_cues) for name in ("red", "blue")
        ]
        person = child(agents.resolver, _other(chance), decided, supervisor.kill_cues)
        time.sleep(seconds)
        enough.value = 1
        written = {name: each.result() for name, each in chatters.items()}
        pairs = [pair for each in trippers for pair in each.result()]
        late = _wait_for_all(board, supervisor)
        decided.value = 1
        resolved = person.result()
        agents.by_command(board.root, agents.harmless(0, "coder-0"))  # cleans up after a killed daemon
        daemons = supervisor.ended()
        halts = observer.ended()
    done = Round(board, written, pairs, resolved, halts, daemons)
    _count(done, figures)
    (folder / "witnesses.txt").write_text("\n".join(map(repr, (*pairs, *halts, *daemons, *resolved))))
    return [*late, *violations(done)]


def _other(chance: random.Random) -> random.Random:
    return random.Random(chance.getrandbits(32))


def _wait_for_all(board: Watched, supervisor: Supervisor) -> list[str]:
    """Wait until nothing is open any more; what is missing."""
    with supervisor.without_kills():  # a pattern that has not halted the agents yet has all the time it needs
        try:
            until(lambda: _all_is_decided(board), "every pattern has tripped and is decided", PATIENCE)
        except AssertionError as error:
            return [str(error)]
    return []


def _all_is_decided(board: Watched) -> bool:
    return not board.checkpoint.exists() and board.section["status"] == "OK" and not _waiting(board)


def _waiting(board: Watched) -> list[str]:
    """The services whose second report has not been part of any trip yet, by the fingerprints in the history."""
    raw = board.state.read_bytes()
    known = Tally(" ".join(trip["evidence"].get("external_service_outage", "") for trip in board.trips).split())
    records = take_snapshot(parse(raw, str(board.state))).records("anomalies")
    outages = [record for record in records if record.get("type") == "external_blocker"]
    services = Tally(str(record.get("blocker_service")) for record in outages)
    return [
        str(record.get("blocker_service"))
        for record in outages
        if fingerprint(record) not in known and services[str(record.get("blocker_service"))] == 2
    ]


# --- violations -----------------------------------------------------------------------------------------------------


def violations(done: Round) -> list[str]:
    board = done.board
    found = [f"{service} never halted the agents" for service in sorted(set(_waiting(board)))]
    found += _lost(done)
    found += _not_once(done)
    found += _not_halted(done.pairs, done.halts)
    found += repeated_trip_messages(board.root / "notices.jsonl")
    found += [f"daemon {number}: {each}" for number, daemon in enumerate(done.daemons) for each in daemon.wrong]
    return found + leftovers(board)


def _lost(done: Round) -> list[str]:
    """Records and entries that are not there exactly once and in order, as two YAML libraries read them."""
    paths = Paths(str(done.board.folder))
    there: dict[str, list[Any]] = {}
    for record in anomalies(paths):
        there.setdefault(f"{record['reporter']}: {record['type']}", []).append(record["details"].get("number"))
    for entry in entries(paths):
        if entry["agent"] in done.written:
            there.setdefault(f"{entry['agent']}: log", []).append(int(entry["detail"].split()[1]))
    wanted = {f"{name}: spec_gap": list(range(1, each.anomalies + 1)) for name, each in done.written.items()}
    wanted |= {f"{name}: log": list(range(1, each.entries + 1)) for name, each in done.written.items()}
    wanted |= {f"{name}: external_blocker": [] for name in ("red", "blue")}
    for pair in done.pairs:
        wanted[f"{pair.service.split('-')[0]}: external_blocker"] += [1, 2]
    return [
        f"{name}: wrote {len(numbers)}, there are {len(there.get(name, []))}, or they are out of order"
        for name, numbers in wanted.items()
        if there.get(name, []) != numbers
    ]


def _not_once(done: Round) -> list[str]:
    """Trips that are not exactly once in every source."""
    board = done.board
    history = [trip["trip_id"] for trip in board.trips]
    logged = {word: [line.split()[-1] for line in board.logged if line.startswith(word)] for word in _WORDS}
    witnesses = {
        "the history": history,
        "the log of trips": logged["tripped"],
        "the log of decisions": logged["resolved"],
        # A page that a kill kept from being archived is kept as an edited one, under the same id.
        "the reports": [p.stem.rpartition("-")[2] for p in board.archived if not p.match("*.edited.md")],
        "the commands that resolved": done.resolved,
    }
    found = [
        f"{name}: {trip} is there {count} times"
        for name, trips in witnesses.items()
        for trip, count in Tally(trips).items()
        if count != 1
    ]
    for name, trips in {**witnesses, "CHECKPOINT": _halted_by(done.halts, set(history))}.items():
        found += [f"{name} does not have {trip}" for trip in set(history) - set(trips)]
        found += [f"{name} has {trip}, the history does not" for trip in set(trips) - set(history)]
    found += [f"{trip['trip_id']} has no decision" for trip in board.trips if not trip.get("resolution")]
    again = Tally(halt.trip for halt in done.halts)
    return found + [f"CHECKPOINT of {trip} came back after its decision" for trip in again if again[trip] > 1]


_WORDS = ("tripped", "resolved")


def _halted_by(halts: Sequence[Halt], known: set[str]) -> list[str]:
    """The trips that CHECKPOINT named. One that others overtook before it was entered goes on under their name: its
    evidence is theirs, and the agents were not released in between."""
    followed = {(halt.trip, halt.ended) for halt, later in pairwise(halts) if halt.ended == later.began}
    return [halt.trip for halt in halts if halt.trip in known or (halt.trip, halt.ended) not in followed]


def _not_halted(pairs: Sequence[Pair], halts: Sequence[Halt]) -> list[str]:
    """Patterns after whose second report no halt was seen; by the clock alone."""
    return [
        f"{pair.service}: no CHECKPOINT was seen within {PATIENCE:g} s after it"
        for pair in pairs
        if not any(
            halt.began < pair.written + PATIENCE and (halt.ended is None or halt.ended > pair.began) for halt in halts
        )
    ]


# --- figures --------------------------------------------------------------------------------------------------------


def _count(done: Round, figures: Figures) -> None:
    figures.add(
        rounds_of_locked_writers=1,
        anomalies_under_the_lock=sum(each.anomalies for each in done.written.values()) + 2 * len(done.pairs),
        log_entries_under_the_lock=sum(each.entries for each in done.written.values()),
        patterns_under_the_lock=len(done.pairs),
        trips=len(done.board.trips),
        resolutions=len(done.resolved),
    )
    daemon_figures(done.daemons, figures)
    for pair in done.pairs:
        if any(halt.began < pair.written and (halt.ended is None or halt.ended > pair.written) for halt in done.halts):
            continue  # they were halted already, or before the writer had ended
        at = min((halt.began for halt in done.halts if halt.began >= pair.written), default=None)
        if at is not None:
            was_running = any(daemon.began < pair.began - 1 and at < daemon.ended for daemon in done.daemons)
            figures.took(f"halts {'beside a running daemon' if was_running else 'after a restart'}", at - pair.written)
