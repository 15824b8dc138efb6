"""The files that git tracks, from its index: no git process is started, as this is asked for call after call."""

import os
import struct
from functools import lru_cache

from liza.store import files

MOST = 5_000  # files; in a larger work tree a look at each of them costs too much
_LARGEST = 8 << 20  # bytes
_FIXED = 62  # bytes of an entry before its name, in a repository of SHA-1
_EXTENDED = 0x4000


def tracked_files(git: str) -> tuple[str, ...]:
    """The paths in the index of git's folder; none where it is large, or of a form that is not known."""
    path = os.path.join(git, "index")
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ()
    return _read(path, status.st_mtime_ns, status.st_size) if status.st_size <= _LARGEST else ()


@lru_cache(maxsize=32)
def _read(path: str, ns: int, size: int) -> tuple[str, ...]:
    try:
        raw = files.read(path, _LARGEST)
        signature, version, count = struct.unpack_from(">4sII", raw)
        if signature != b"DIRC" or version not in (2, 3) or count > MOST:
            return ()
        found, at = [], 12
        for _ in range(count):
            (flags,) = struct.unpack_from(">H", raw, at + _FIXED - 2)
            start = at + _FIXED + (2 if flags & _EXTENDED else 0)
            end = raw.index(b"\0", start)
            found.append(os.fsdecode(raw[start:end]))
            at += (end - at + 8) & ~7
        return tuple(found)
    except (OSError, ValueError, struct.error):
        return ()
