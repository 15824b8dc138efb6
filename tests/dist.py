"""Check the packages as their users will get them: `make dist` calls `python -m tests.dist FOLDER`.

The sdist holds what git has and nothing else, and its tests can be run; the wheel works in an empty venv elsewhere.
"""

import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.test_install import ROOT, holds_everything, installed, run, works

NOT_SHIPPED = {".ci/run"}  # needed only to develop liza
GENERATED = {"PKG-INFO"}


def holds_what_git_has(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = run("git", "ls-files", folder=ROOT).stdout.splitlines()
    known = {name for name in listed if (ROOT / name).exists()} - NOT_SHIPPED | GENERATED
    assert names == known, f"not in the sdist: {sorted(known - names)}; not in git: {sorted(names - known)}"


def has_tests_that_run(sdist: Path, folder: Path) -> None:
    """All of them are collected, and those that read other files of the sdist find these."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    words = [sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-p", "no:cacheprovider"]
    run(*words, "--collect-only", "--strict-markers", folder=source)
    run(*words, "tests/test_layers.py", "tests/docs/test_words.py", folder=source)
    run(*words, "tests/docs/test_pages.py", "-k", "link or says_what_it_is or README", folder=source)


def main(folder: Path) -> None:
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    holds_what_git_has(sdist)
    holds_everything(wheel)
    with TemporaryDirectory() as name:
        has_tests_that_run(sdist, Path(name))
    with TemporaryDirectory() as name:
        works(installed(wheel, Path(name)), Path(name))
    print(f"{wheel.name} and {sdist.name} are as they should be")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
