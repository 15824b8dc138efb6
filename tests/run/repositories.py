"""Real git repositories for the tests, without the machine's own settings."""

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
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
    """Run git there and return its output."""
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
    given = files or {"a__txt": "one\n"}
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        return _made(folder, given)
    shutil.copytree(_original(tuple(given.items())), folder, ignore=_SAMPLES, symlinks=True, dirs_exist_ok=True)
    git(folder, "update-index", "--refresh")  # which knows each file by its inode and its times
    return folder


_SAMPLES = shutil.ignore_patterns("*.sample")  # the inactive hooks that git puts there


@cache
def _original(files: tuple[tuple[str, str], ...]) -> Path:
    """A repository of these files, made once and then copied."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    return _made(folder, dict(files))


def _made(folder: Path, files: dict[str, str]) -> Path:
    git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    commit(folder)
    return folder


def commit(folder: Path, *words: str) -> None:
    """Commit everything."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "more", *words)


def names(folder: Path, work: Callable[[], object], *more: Path) -> set[str] | None:
    """The paths below `folder` that are different after some work; None where it is unknown."""
    roots = [str(folder), *map(str, more)]
    before = measure.snapshot(roots)
    work()
    after = measure.snapshot(roots)
    found = measure.changed(before, after)
    return None if found is None else {os.path.relpath(path, folder) for path in found}


def nothing() -> None:
    pass
