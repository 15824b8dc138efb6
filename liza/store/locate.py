"""Where the blackboard is: the folder that was named, else the nearest one upward, also from a linked worktree of git.

Agents' hooks ask before every action, so this imports next to nothing and never starts git: it reads git's own files.
Nothing that it finds is trusted: any file may be missing, odd, huge or a pipe, and is then passed over.
"""

import os
import stat

TYPE_CHECKING = False  # not typing's, which takes as long to import as the whole search
if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = ".liza"
_LONGEST = 4096  # bytes: no path of git's is longer


class Unusable(Exception):
    """There is a blackboard, and it must not be used unasked: why, and what a person can do about it."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


def find(root: str | None = None) -> str | None:
    """The `.liza/` folder of `root`, else of LIZA_ROOT, else the nearest one; None where there is none."""
    root = root or os.environ.get("LIZA_ROOT")
    return find_named(root) if root else find_nearest(os.getcwd())


def find_named(root: str) -> str | None:
    """`root` itself if it is a `.liza/`, else that of the main worktree if `root` is a linked one, else the one in it.

    Looking further up could find another team's. A folder that is named is used, whatever user owns it.
    """
    if os.path.basename(os.path.abspath(root)) == FOLDER and os.path.isdir(root):
        return root
    if (main := main_board(root)) is not None:
        _require_trusted(main)  # it was not named itself
        return main
    folder = os.path.join(root, FOLDER)
    return folder if os.path.isdir(folder) else None


def main_board(root: str) -> str | None:
    """The `.liza/` of the main worktree, where `root` is the top of a linked one."""
    main = main_worktree(root)
    folder = os.path.join(main, FOLDER) if main is not None else None
    return folder if folder is not None and os.path.isdir(folder) else None


def find_nearest(start: str) -> str | None:
    """The nearest `.liza/` upward from `start`; `Unusable` if it is not one to rely on.

    That of another user could say anything, so a person has to trust that user or name the folder. One without a
    state.yaml may have been put there to hide the halt of one further up: it is unclear which blackboard applies.
    """
    found = boards_upward(start)
    first = next(found, None)
    if first is None:
        return None
    _require_trusted(first)
    if not _has_state(first):
        for other in found:
            if _has_state(other):
                raise _hidden(first, other)
    return first


def _has_state(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, "state.yaml"))


def _hidden(inner: str, outer: str) -> Unusable:
    from shlex import quote

    why = f"{inner} has no state.yaml, and hides {outer}: it is unclear which blackboard applies"
    away, made = f"mv {quote(inner)} {quote(inner)}.old", f"liza init --root {quote(os.path.dirname(inner))}"
    return Unusable(why, f"move it away: {away}   (or make it a blackboard of its own: {made})")


def _require_trusted(folder: str) -> None:
    """The owner of the folder, and of a link that leads to it, must be the caller, root, or named in LIZA_TRUST."""
    for uid in (os.lstat(folder).st_uid, os.stat(folder).st_uid):
        if not _is_trusted(uid):
            from shlex import quote

            name = _name_of(uid)
            raise Unusable(
                f"{folder} belongs to another user, {name}, who is not trusted",
                f"if you trust {name}: export LIZA_TRUST={quote(name)}"
                f"   (or name the blackboard: export LIZA_ROOT={quote(os.path.dirname(folder))})",
            )


def _is_trusted(uid: int) -> bool:
    caller = os.geteuid()
    if uid in (0, caller) or (caller == 0 and os.environ.get("SUDO_UID") == str(uid)):
        return True
    trusted = os.environ.get("LIZA_TRUST", "").replace(",", " ").split()
    return bool(trusted) and ("*" in trusted or str(uid) in trusted or _name_of(uid) in trusted)


def _name_of(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def boards_upward(start: str) -> "Iterator[str]":
    """Every `.liza/` folder from `start` to the top, nearest first.

    In a linked worktree of git that of the main one comes first: where `.liza/` is in git, every worktree has a copy
    of it, and agents that each wrote to their own would see neither a pattern nor a halt. A submodule is a folder like
    any other: it sees the blackboard of the project around it.
    """
    folder = start
    while True:
        for found in (main_board(folder), os.path.join(folder, FOLDER)):
            if found is not None and os.path.isdir(found):
                yield found
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def board_of(folder: str) -> str | None:
    """The `.liza/` folder that is used in a folder, without links; None where there is none, or none that is usable."""
    try:
        found = find_nearest(folder)
    except (Unusable, OSError, ValueError):
        return None
    return os.path.realpath(found) if found is not None else None


def passed_over(found: str, root: str | None) -> str | None:
    """The `.liza/` of the linked worktree that led to `found`, if that is how it was found.

    Agents can write the `.git` file that leads to another blackboard, so a halt in this one counts, too.
    """
    folder = root or os.environ.get("LIZA_ROOT") or os.getcwd()
    while (own := os.path.join(folder, FOLDER)) != found:
        if main_board(folder) == found:
            return own
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return None


def main_worktree(folder: str) -> str | None:
    """The main worktree of a repository of which `folder` is the top of a linked one, else None.

    `.git` of a linked worktree is a file that names a folder of the repository, whose `commondir` leads to the main
    `.git`. A submodule has no `commondir`; a bare repository has no main worktree.
    """
    pointer = _line(os.path.join(folder, ".git"))
    if pointer is None or not pointer.startswith("gitdir: "):
        return None
    gitdir = os.path.join(folder, pointer.removeprefix("gitdir: "))
    common = _line(os.path.join(gitdir, "commondir"))
    if not common:
        return None
    top, name = os.path.split(os.path.normpath(os.path.join(gitdir, common)))
    return top if name == ".git" else None


def work_tree(folder: str) -> tuple[str, str] | None:
    """The top of the git working tree that a folder is in, and git's own folder for it; None without git."""
    if not os.path.isabs(folder):
        return None
    while not os.path.lexists(git := os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)
    if not os.path.isdir(git):  # of a linked worktree, or a submodule
        git = os.path.join(folder, (_line(git) or "").removeprefix("gitdir: "))
    return folder, git


def current_branch(folder: str) -> str | None:
    """The branch of the working tree that a folder is in; None for a detached HEAD, or without git."""
    found = work_tree(folder)
    head, start = (_line(os.path.join(found[1], "HEAD")) or "") if found else "", "ref: refs/heads/"
    return head.removeprefix(start) if head.startswith(start) else None


def _line(path: str) -> str | None:
    """What is in a small regular file, without the end of its line; None where it is anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LONGEST:
                return None
            return os.fsdecode(os.read(fd, _LONGEST)).rstrip("\r\n")
        finally:
            os.close(fd)
    except (OSError, ValueError):  # a NUL in a path is the latter
        return None
