"""A blackboard with claims for each test."""

from pathlib import Path

import pytest

from tests.scopes.claims.run import Claims


@pytest.fixture
def lab(tmp_path: Path) -> Claims:
    return Claims(tmp_path / "lab")
