"""liza is loaded once for all tests of a worker, and forked for each call."""

from collections.abc import Iterator

import pytest

from tests.breaker.served import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as serving:
        yield serving
