"""A blackboard with slices for each test; liza is loaded once for all tests of a worker, and forked for each call."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.breaker.served import Server
from tests.protocols.attempts.run import Slices


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as serving:
        yield serving


@pytest.fixture
def slices(tmp_path: Path, server: Server) -> Slices:
    return Slices(tmp_path / "team", server)
