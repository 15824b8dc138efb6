"""Fixtures of the tests that read and replace files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.files import public_folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.yaml"


@pytest.fixture
def public() -> Iterator[Path]:
    with public_folder() as folder:
        yield folder
