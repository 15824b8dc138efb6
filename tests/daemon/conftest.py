"""The blackboard of most daemon tests."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.run import installed
from tests.daemon.daemon import Watched


@pytest.fixture
def board(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "team")


@pytest.fixture
def project(folder: Path) -> Iterator[Path]:
    """A repository, whose folder is also the home of its user."""
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    yield folder
    installed(folder, "watch", "--stop")
