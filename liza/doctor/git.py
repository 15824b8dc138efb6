"""Which files of the blackboard git tracks, and which blackboard a linked worktree of git uses."""

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from fnmatch import fnmatchcase

from liza.doctor.finding import Finding, Level
from liza.git.command import ask
from liza.store.create import HARMFUL, IGNORED, gitignore
from liza.store.files import open_fd
from liza.store.locate import FOLDER, main_board, work_tree
from liza.store.paths import Paths
from liza.text import shell_quoted, some_of

_SHOWN = 20  # names in one command; the next call lists the rest


def git(paths: Paths, now: datetime) -> Iterator[Finding]:
    """Whether a halt or a lock is in git, or another machine-local file, and whether `.liza/.gitignore` is there."""
    project = paths.project
    if work_tree(project) is None:
        yield Finding("git", Level.OK, f"{project} is not in a git worktree")
        return
    found = [*_tracked(project), *_gitignore(paths), *_linked(paths, project)]
    yield from found or [Finding("git", Level.OK, "no machine-local file of .liza/ is tracked")]


def _tracked(project: str) -> Iterator[Finding]:
    answer = ask(project, "ls-files", "-z", "--", FOLDER)
    if answer is None:
        text = "git failed, so which files of the blackboard it tracks is unknown"
        yield Finding("git", Level.WARNING, text, f"git -C {shell_quoted(project)} ls-files {FOLDER}")
        return
    names = [os.fsdecode(name).removeprefix(f"{FOLDER}/") for name in answer.split(b"\0") if name]
    harmful = [name for name in names if _matches(name, HARMFUL)]
    others = [name for name in names if _matches(name, IGNORED) and name not in harmful]
    if harmful:
        text = f"git tracks {_listed(harmful)}: it would halt or lock every clone"
        yield Finding("git", Level.ERROR, text, _removal(project, harmful), os.path.join(project, FOLDER, harmful[0]))
    if others:
        text = f"git tracks {_listed(others)}: local to this machine"
        yield Finding("git", Level.WARNING, text, _removal(project, others), os.path.join(project, FOLDER, others[0]))


def _matches(name: str, patterns: Iterable[str]) -> bool:
    """As git understands the lines of `.liza/.gitignore`, of which each is anchored and at most a folder deep."""
    return any(
        name.startswith(each) if each.endswith("/") else fnmatchcase(name.partition("/")[0], each) for each in patterns
    )


def _listed(names: list[str]) -> str:
    return some_of([f"{FOLDER}/{name}" for name in names], 3)


def _removal(project: str, names: list[str]) -> str:
    """The files stay where they are: a halt is not lifted by this."""
    files = " ".join(shell_quoted(f"{FOLDER}/{name}") for name in names[:_SHOWN])
    return f"git -C {shell_quoted(project)} rm --cached -- {files}   (then commit; the files stay)"


def _gitignore(paths: Paths) -> Iterator[Finding]:
    file = os.path.join(paths.folder, ".gitignore")
    if os.path.lexists(file):
        return

    def fix() -> str:
        with open(file, "xb", opener=open_fd) as new:
            new.write(gitignore())
        return f"wrote {file}"

    text = "missing: git would track halts, locks and temporary files"
    yield Finding("git", Level.WARNING, text, "liza doctor --fix", file, fix=fix)


def _linked(paths: Paths, project: str) -> Iterator[Finding]:
    """A linked worktree whose own `.liza/` was named, and not that of the main one."""
    if (main := main_board(project)) is not None:
        text = f"this linked worktree has a blackboard of its own; agents here do not see {main}"
        yield Finding(
            "git", Level.WARNING, text, f"export LIZA_ROOT={shell_quoted(os.path.dirname(main))}", paths.folder
        )
