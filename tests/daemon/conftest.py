"""The blackboard of most daemon tests."""

from pathlib import Path

import pytest

from tests.daemon.daemon import Watched


@pytest.fixture
def board(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "team")
