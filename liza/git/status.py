"""The paths of a working tree that differ from its commit or index, as `git status` lists them."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from liza.git.command import ask, run

_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
_FIELDS = {b"1": 8, b"2": 9, b"u": 10}  # of a status line, before its path


class Differing(NamedTuple):
    name: str
    is_repository: bool  # a repository inside the working tree
    is_tracked: bool
    is_gone: bool = False  # from the working tree, or from the index and listed once more as untracked


def differing_paths(top: str) -> list[Differing] | None:
    """All paths that differ, repositories inside included; None if git cannot list them."""
    answer = ask(top, *_STATUS)
    return None if answer is None else list(_parse(answer))


def require_differing_paths(top: str) -> list[Differing]:
    """The same for a caller that must know them: it waits longer, and `Refused` if git fails."""
    return list(_parse(os.fsencode(run(top, *_STATUS))))


def _parse(answer: bytes) -> Iterator[Differing]:
    lines = iter(answer.split(b"\0"))
    for line in lines:
        kind = line[:1]
        if kind == b"?":
            name = line[2:]
            yield Differing(os.fsdecode(name.rstrip(b"/")), name.endswith(b"/"), False)
        elif kind in _FIELDS:
            parts = line.split(b" ", _FIELDS[kind])
            is_gone = kind == b"1" and b"D" in parts[1]
            yield Differing(os.fsdecode(parts[-1]), parts[2].startswith(b"S"), True, is_gone)
            if kind == b"2":
                yield Differing(os.fsdecode(next(lines)), False, True)


def submodules(top: str) -> Iterator[str]:
    """The paths of repositories inside a working tree of which its index has a commit.

    Git is never asked for changes inside them: it would start another git there, with the filters of that one.
    """
    for line in (ask(top, "ls-files", "--stage", "-z") or b"").split(b"\0"):
        if line.startswith(b"160000 "):
            yield os.fsdecode(line.partition(b"\t")[2])
