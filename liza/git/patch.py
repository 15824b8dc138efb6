"""The changes of an iteration as a patch for people: `changes.patch`.

It is the difference between the commit at the iteration's start and the files at its end, for the paths that the
iteration changed. For a file that was dirty before, it includes the earlier changes, because the old content is not
kept. Untracked files are included whole.
"""

import os
import stat
from collections.abc import Iterator, Sequence

from liza.git.command import ask
from liza.git.snapshot import Snapshot, changed
from liza.store.files import open_in_place

LARGEST = 2_000_000  # bytes
_AT_ONCE = 200  # paths in one question to git
_ESCAPED = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def patch(
    before: Snapshot | None, after: Snapshot | None, paths: frozenset[str] | None = None, largest: int = LARGEST
) -> bytes:
    """The known changes from one snapshot to the other, cut at `largest` bytes; with `paths`, only in those."""
    paths = changed(before, after) if paths is None else paths
    if before is None or after is None or not paths:
        return b""
    pieces: list[bytes] = []
    room = largest
    for piece in _pieces(before, after, paths, largest):
        pieces.append(piece[:room])
        room -= len(piece)
        if room <= 0:
            return b"".join([*pieces, b"\n# the rest is left out: this is a patch to look at, and it is long\n"])
    return b"".join(pieces)


def _pieces(before: Snapshot, after: Snapshot, paths: frozenset[str], largest: int) -> Iterator[bytes]:
    tops = sorted({**before.trees, **after.trees}, key=lambda top: (-len(top), top))  # one inside another comes first
    for top in tops:
        names = sorted(path[len(top) + 1 :] for path in paths if path.startswith(top + "/"))
        paths -= {os.path.join(top, name) for name in names}
        if names and len(tops) > 1:
            yield b"# " + os.fsencode(_quoted(top)) + b"\n"
        tree = before.trees.get(top)
        yield from _of_tree(top, tree.commit if tree else None, names, largest)


def _of_tree(top: str, commit: str | None, names: Sequence[str], largest: int) -> Iterator[bytes]:
    for at in range(0, len(names), _AT_ONCE):
        some = names[at : at + _AT_ONCE]
        start = commit or (ask(top, "hash-object", "-t", "tree", "/dev/null") or b"").decode().strip()
        plainly = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--no-color", "--no-renames")
        if start and (answer := ask(top, "diff", *plainly, start, "--", *some, limit=largest)):
            yield answer
        known = set((ask(top, "ls-files", "-z", "--", *some) or b"").split(b"\0"))
        yield from (_added(top, name, largest) for name in some if os.fsencode(name) not in known)


def _added(top: str, name: str, largest: int) -> bytes:
    """An untracked file as a patch. Not by git, which reads it whole: 3 GB of memory for a file of 270 MB."""
    path = os.path.join(top, name)
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            mode, content = "120000", os.fsencode(os.readlink(path))
        elif stat.S_ISREG(status.st_mode):
            mode = "100755" if status.st_mode & stat.S_IXUSR else "100644"
            with open(path, "rb", opener=open_in_place) as file:
                content = file.read(largest)
        else:
            return b""
    except OSError:
        return b""  # gone, or not readable
    old, new = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    head = os.fsencode(f"diff --git {old} {new}\nnew file mode {mode}\n")
    if b"\0" in content[:8000]:
        return head + os.fsencode(f"Binary files /dev/null and {new} differ\n")
    if not content:
        return head
    lines = content.split(b"\n")
    last = lines.pop()
    count = len(lines) + bool(last)
    body = b"".join(b"+" + line + b"\n" for line in lines)
    body += b"+" + last + b"\n\\ No newline at end of file\n" if last else b""
    return head + os.fsencode(f"--- /dev/null\n+++ {new}\n@@ -0,0 +1,{count} @@\n") + body


def _quoted(name: str) -> str:
    """A name as git writes it in a patch: in quotes if it has special characters."""
    escaped = "".join(_ESCAPED.get(c, c if c >= " " and c != "\x7f" else f"\\{ord(c):03o}") for c in name)
    return name if escaped == name else f'"{escaped}"'
