"""What a host of a team keeps in `.liza/team/`: who it is, the team's records, and how the other hosts are.

The records are those of all hosts in the order of the server, one JSON object a line, only ever added to. The daemon
writes them; every check reads them, so a check needs no database. Agents can write here too: what vanishes is read
from the server again.
"""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.model import FROM_HOST, mappings_in
from liza.store import files
from liza.store.paths import Paths
from liza.text import value_text

ROLES = ("agent", "human")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_IGNORED = b"# Written by liza: what is here belongs to this machine.\n*\n"


class Host(NamedTuple):
    """Which host of which team this blackboard is."""

    host: str
    instance: str  # tells two blackboards apart that were given the same name
    role: str | None = None  # that `liza team join` was given; None: what the database allows
    url: str | None = None
    team: str | None = None


class Shared(NamedTuple):
    """A record of the team."""

    seq: int
    stream: str
    key: str
    host: str  # that sent it first
    fields: dict[str, Any]


def is_team_named(paths: Paths, blocks: Mapping[str, Any]) -> bool:
    """Whether this blackboard may belong to a team; reads no more than it must."""
    return bool(os.environ.get("LIZA_TEAM") or blocks.get("team") or os.path.isdir(paths.team))


def host_name(text: str) -> str:
    """A name for a host that can be shown and stored anywhere; `Refused` for any other."""
    if _HOST.fullmatch(text) is None:
        raise Refused(f"invalid host name {value_text(text)}", hint="letters, digits, dots and dashes: --host build-1")
    return text


def read_host(paths: Paths) -> Host | None:
    """None where there is none, or what is there cannot be used."""
    found = _read_json(os.path.join(paths.team, "host.json"))
    known = {name: text for name in Host._fields if isinstance(text := found.get(name), str)}
    if _HOST.fullmatch(known.get("host", "")) is None or not known.get("instance"):
        return None
    return Host(**known)


def write_host(paths: Paths, host: Host) -> None:
    make_folder(paths)
    _write_json(os.path.join(paths.team, "host.json"), {k: v for k, v in host._asdict().items() if v is not None})


def make_folder(paths: Paths) -> None:
    files.make_folder(paths.team)
    ignore = os.path.join(paths.team, ".gitignore")
    if not os.path.lexists(ignore):
        files.write_atomically(ignore, _IGNORED)


def forget(paths: Paths) -> None:
    """Take away all that a team has left here."""
    with suppress(FileNotFoundError):
        for name in os.listdir(paths.team):
            files.remove(os.path.join(paths.team, name))
        os.rmdir(paths.team)


def read_view(paths: Paths) -> dict[str, Any]:
    """How the daemon last saw the team, for `status`: its contact, and the other hosts."""
    return _read_json(os.path.join(paths.team, "view.json"))


def require_may_resolve(paths: Paths) -> None:
    """`Refused` on a host that joined its team as agent: a resolution here would be undone."""
    host, view = read_host(paths), read_view(paths)
    if (host is not None and host.role == "agent") or view.get("may_resolve") is False:
        others = [str(each.get("host")) for each in mappings_in(view.get("hosts")) if _may_resolve(each)]
        where = f"on {', '.join(others)}" if others else "on a host that joined with --role human"
        text = "this host joined its team as agent, and a team's trip is resolved by people"
        raise Refused(text, hint=f"run it {where}: liza resolve -m '...'")


def _may_resolve(host: Mapping[str, Any]) -> bool:
    facts = host.get("facts")
    return isinstance(facts, Mapping) and facts.get("may_resolve") is True


def write_view(paths: Paths, view: dict[str, Any]) -> None:
    _write_json(os.path.join(paths.team, "view.json"), view, durable=False)


def _read_json(path: str) -> dict[str, Any]:
    try:
        found = json.loads(files.read(path, 1 << 24))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_json(path: str, value: dict[str, Any], *, durable: bool = True) -> None:
    files.write_atomically(path, json.dumps(value, indent=1).encode(), durable=durable)


class Mirror:
    """The team's records as this host has them; `refresh` reads only what was added since."""

    def __init__(self, paths: Paths) -> None:
        self.path = os.path.join(paths.team, "records.jsonl")
        self.reset()

    def reset(self) -> None:
        self.records: list[Shared] = []
        self.keys: set[tuple[str, str]] = set()
        self.generation = getattr(self, "generation", 0) + 1  # another one: records are no longer only added
        self._seen: tuple[int, int] = (0, 0)  # inode, and bytes that were read
        self.last = 0

    def refresh(self) -> None:
        try:
            fd = files.open_fd(self.path)
        except OSError:
            if self._seen != (0, 0):
                self.reset()
            return
        try:
            status = os.fstat(fd)
            inode, offset = self._seen
            if status.st_ino != inode or status.st_size < offset:
                self.reset()
                offset = 0
            if status.st_size == offset:
                self._seen = (status.st_ino, offset)
                return
            raw = _read_from(fd, offset)
        finally:
            os.close(fd)
        whole = raw.rfind(b"\n") + 1  # a line that is being written is read the next time
        for line in raw[:whole].splitlines():
            self._add(line)
        self._seen = (status.st_ino, offset + whole)

    def _add(self, line: bytes) -> None:
        try:
            found = json.loads(line)
            shared = Shared(
                int(found["seq"]), str(found["stream"]), str(found["key"]), str(found["host"]), found["body"]
            )
        except (ValueError, TypeError, LookupError, RecursionError):
            return  # not liza's line; the record is read from the server again with the next reset
        if (shared.stream, shared.key) in self.keys or not isinstance(shared.fields, dict):
            return
        shared.fields[FROM_HOST] = shared.host  # whatever its author wrote there
        self.keys.add((shared.stream, shared.key))
        self.records.append(shared)
        self.last = max(self.last, shared.seq)

    def append(self, records: list[Shared]) -> None:
        """Add records that the server sent. A half line that a crash has left is ended first."""
        self.refresh()
        new = [each for each in records if (each.stream, each.key) not in self.keys]
        if not new:
            return
        lines = b"".join(
            json.dumps({"seq": e.seq, "stream": e.stream, "key": e.key, "host": e.host, "body": e.fields}).encode()
            + b"\n"
            for e in new
        )
        fd = files.open_fd(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            if (size := os.fstat(fd).st_size) and os.pread(fd, 1, size - 1) != b"\n":
                lines = b"\n" + lines
            files.write_all(fd, lines)
        finally:
            os.close(fd)
        self.refresh()

    def clear(self) -> None:
        """Forget everything: the server has other records than it had."""
        files.remove(self.path)
        self.reset()


def _read_from(fd: int, offset: int) -> bytes:
    parts: list[bytes] = []
    while piece := os.pread(fd, 1 << 20, offset):
        parts.append(piece)
        offset += len(piece)
    return b"".join(parts)
