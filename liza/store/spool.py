"""What clients' hooks have put into `.liza/spool/`, until the daemon has made steps of it.

The hook is a shell script that never looks into an event: it writes it whole under a hidden name, and renames it to
`CLIENT-KIND-RANDOM`. The order is that of the files' times. Agents can write here, so a name, a size and a content may
be anything: what cannot be read is put into `aside/`, and so is what is in the way of files of liza's.
"""

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from liza.store import files
from liza.store.paths import Paths

LARGEST = 16 << 20  # bytes of one event that are read; of a larger one only its ends
MOST = 2_000  # events that are taken at once
ASIDE = "aside"
_MOST_ASIDE = 1_000  # files that are kept there
_DRAFT = 86_400.0  # seconds after which a hook no longer writes an event

TRANSCRIPT = "transcript"  # instead of a kind, in the names of lines of transcripts

_NAME = re.compile(r"([a-z]{1,20})-([a-z]{1,20})-[A-Za-z0-9]{6,40}")


class Spooled(NamedTuple):
    name: str
    client: str
    kind: str
    ns: int  # when it was written
    size: int


class Listing(NamedTuple):
    """The oldest events that wait, how many there are in all, and what is there and can be none."""

    events: tuple[Spooled, ...] = ()
    total: int = 0
    odd: tuple[str, ...] = ()


def is_from_hook(name: str) -> bool:
    """Whether an event of this name came from a hook, and not from a transcript."""
    return name.split("-", 2)[1:2] != [TRANSCRIPT]


def list_spool(paths: Paths) -> Listing:
    """The spool without a look into its files; empty where there is none."""
    try:
        folder = _opened(paths)
    except FileNotFoundError:
        return Listing()
    found: list[Spooled] = []
    odd: list[str] = []
    with folder:
        for name in os.listdir(folder.fd):
            if name.startswith(".") or name == ASIDE:
                continue  # a hook is writing it
            match = _NAME.fullmatch(name)
            try:
                status = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if match is None:
                odd.append(name)
            else:
                found.append(Spooled(name, match[1], match[2], status.st_mtime_ns, status.st_size))
    found.sort(key=lambda each: (each.ns, each.name))
    return Listing(tuple(found[:MOST]), len(found), tuple(sorted(odd)))


def read_event(paths: Paths, event: Spooled) -> bytes:
    """The bytes of an event; OSError where it cannot be read."""
    with _opened(paths) as folder, open(folder.open(event.name), "rb") as file:
        return file.read(LARGEST)


def read_ends(paths: Paths, event: Spooled, first: int, last: int) -> tuple[bytes, bytes]:
    with _opened(paths) as folder, open(folder.open(event.name), "rb") as file:
        head = file.read(first)
        file.seek(max(event.size - last, 0))
        return head, file.read(last)


def remove_events(paths: Paths, names: Iterable[str]) -> None:
    """Take events away that were entered."""
    with _opened(paths) as folder:
        for name in names:
            folder.remove(name)


def _opened(paths: Paths) -> files.Folder:
    return files.Folder(paths.spool, listed=True)


# --- what was put aside -----------------------------------------------------------------------------------------------


def put_aside(paths: Paths, folder: str, name: str) -> None:
    """Move what cannot be used, whatever it is, from that folder to where it is in no one's way; OSError if not."""
    for path in (paths.spool, aside := _aside(paths)):
        if not os.path.isdir(path):
            files.make_folder(path)
    with files.Folder(folder) as source, files.Folder(aside) as target:
        os.rename(name, f"{name[:80]}-{os.urandom(4).hex()}", src_dir_fd=source.fd, dst_dir_fd=target.fd)


def list_aside(paths: Paths) -> list[str]:
    """The names of what was put aside; a person deletes it."""
    try:
        with files.Folder(_aside(paths), listed=True) as folder:
            return sorted(os.listdir(folder.fd))
    except OSError:
        return []


def _aside(paths: Paths) -> str:
    return os.path.join(paths.spool, ASIDE)


def prune(paths: Paths, *, days: float) -> None:
    """Delete what was put aside long ago, or is too much, and events that hooks left half written."""
    now = time.time()
    with suppress(OSError), _opened(paths) as folder:
        for name, at in _times(folder.fd):
            if name.startswith(".") and now - at > _DRAFT:
                folder.remove(name)
    with suppress(OSError), files.Folder(_aside(paths), listed=True) as folder:
        newest = sorted(_times(folder.fd), key=lambda each: each[1], reverse=True)
        for number, (name, at) in enumerate(newest):
            if number >= _MOST_ASIDE or now - at > days * 86_400:
                with suppress(OSError):  # a folder, for example
                    folder.remove(name)


def _times(fd: int) -> list[tuple[str, float]]:
    """When each was last moved or changed: that cannot be set."""
    return [(name, os.stat(name, dir_fd=fd, follow_symlinks=False).st_ctime) for name in os.listdir(fd)]
