"""Here liza is served from one process that has loaded it."""

from collections.abc import Iterator

import pytest

from tests.breaker import run
from tests.breaker.served import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as serving:
        yield serving


@pytest.fixture(autouse=True)
def _served(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SERVER", server)
