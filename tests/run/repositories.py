"""Real git repositories for the tests, with nothing of the machine's own settings in them."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from liza.git import snapshot as measure
from tests.tools import needs

SETTINGS = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(folder: Path, *words: str) -> str:
    """Run git there; what it says."""
    needs("git")
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        env={**os.environ, **SETTINGS},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def repository(folder: Path, **files: str) -> Path:
    """A repository with one commit of these files; a name is written with __ for the dot."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name, text in (files or {"a__txt": "one\n"}).items():
        (folder / name.replace("__", ".")).write_text(text)
    commit(folder)
    return folder


def commit(folder: Path, *words: str) -> None:
    """All that is there, committed."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "more", *words)


def names(folder: Path, work: Callable[[], object], *more: Path, exclude: tuple[str, ...] = ()) -> set[str] | None:
    """The paths below `folder` that are different after some work; None where nobody can know."""
    roots = [str(folder), *map(str, more)]
    before = measure.snapshot(roots, exclude)
    work()
    after = measure.snapshot(roots, exclude)
    found = measure.changed(before, after)
    return None if found is None else {os.path.relpath(path, folder) for path in found}


def nothing() -> None:
    pass
