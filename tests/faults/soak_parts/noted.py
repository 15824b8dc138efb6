"""`liza` that logs how it replaces state.yaml: `python -m tests.faults.soak_parts.noted FOLDER VARIANT ARGUMENTS...`.

A line is added to `FOLDER/replaced` for each replacement that liza calls done, and for each newest version of another
program that it deletes. The others publish the version in place in shared numbers. All else is as in `liza`.
"""

import os
import re
import sys
import zlib
from typing import NamedTuple

from liza.cli import main as command_line
from liza.store import filesystem, versions
from liza.store import replace as storage
from tests.faults import race
from tests.faults.children import Counter

_MARKER = re.compile(rb"^marker: (\d+)$", re.MULTILINE)
FILES = 4  # that it has open for its notes
VARIANTS = {each.__name__: each for each in (race.as_it_is, race.check_then_rename, race.exchange_without_inspection)}


class Shared:
    """The shared state of the daemon and the programs that replace the file."""

    def __init__(self, folder: str) -> None:
        self.announced = Counter(os.path.join(folder, "announced"))  # the version that is about to be saved
        self.in_place = Counter(os.path.join(folder, "in-place"))  # the version that was saved
        self.attempts = Counter(os.path.join(folder, "attempts"))  # the replacement that liza has begun


class Replaced(NamedTuple):
    """One replacement that liza calls done."""

    base: int  # the marker of the version it was made from
    in_place: int  # the newest marker that was in place just before
    label: int  # of the bytes that it put there


def marker_of(raw: bytes) -> int:
    found = _MARKER.search(raw)
    return int(found[1]) if found else -1


def label_of(raw: bytes) -> int:
    return zlib.crc32(raw)


def read_notes(folder: str) -> tuple[list[Replaced], list[str]]:
    """The replacements, and the versions deleted though nothing newer was there."""
    try:
        with open(os.path.join(folder, "replaced"), encoding="ascii") as file:
            lines = [line.split() for line in file]
    except FileNotFoundError:
        return [], []
    thrown_away = [f"version {words[1]} was deleted, and nothing newer was there" for words in lines if words[0] == "!"]
    return [Replaced(*map(int, words)) for words in lines if words[0] != "!"], thrown_away


def _note(folder: str) -> None:
    """Wrap the functions that replace, and log what they do."""
    shared = Shared(folder)
    notes = os.open(os.path.join(folder, "replaced"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    real_replace, real_exchange, real_unlink = storage.replace, filesystem.exchange, storage._unlink
    base: list[int] = []  # of the replacement in hand
    newest: list[int] = []  # at each of its exchanges: the first is what counts, the others only undo it

    def replace(path: str, seen: versions.Reading, raw: bytes) -> None:
        base[:], newest[:] = [marker_of(seen.raw)], []
        shared.attempts.value += 1
        try:
            real_replace(path, seen, raw)
            os.write(notes, f"{base[0]} {newest[0]} {label_of(raw)}\n".encode())
        finally:
            base.clear()

    def exchange(one: str, other: str) -> bool:
        newest.append(shared.in_place.value)
        return real_exchange(one, other)

    def unlink(path: str) -> None:
        if base and path.endswith(".swap") and os.path.exists(path):
            with open(path, "rb") as file:
                going = marker_of(file.read())
            if going >= shared.announced.value and going != base[0]:
                os.write(notes, f"! {going}\n".encode())
        real_unlink(path)

    storage.replace, filesystem.exchange, storage._unlink = replace, exchange, unlink


def main(folder: str, variant: str, arguments: list[str]) -> int:
    sys.argv = ["liza", *arguments]
    with VARIANTS[variant]():
        _note(folder)
        return command_line.main()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
