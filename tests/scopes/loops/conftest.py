"""A blackboard with loops for each test."""

from pathlib import Path

import pytest

from tests.scopes.loops.run import Loops


@pytest.fixture
def loops(tmp_path: Path) -> Loops:
    return Loops(tmp_path / "team")
