"""A blackboard with loops for each test."""

from pathlib import Path

import pytest

from tests.scopes.loops.run import Loops
from tests.served import Server


@pytest.fixture
def loops(tmp_path: Path, server: Server) -> Loops:
    return Loops(tmp_path / "team", server)
