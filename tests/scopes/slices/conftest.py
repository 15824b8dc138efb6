"""A blackboard with slices for each test; liza is loaded once per worker, and forked for each call."""

from pathlib import Path

import pytest

from tests.scopes.slices.run import Slices


@pytest.fixture
def slices(tmp_path: Path) -> Slices:
    return Slices(tmp_path / "team")
