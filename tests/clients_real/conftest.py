"""The labs of the tests with real clients."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients_real.lab import Lab
from tests.clients_real.packages import PROGRAMS
from tests.clients_real.table import keep, outcomes_of
from tests.tools import needs


@pytest.fixture(params=["claude", "codex", "gemini", "qwen", "opencode"])
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session", autouse=True)
def _installed() -> None:
    needs("node")
    if not PROGRAMS.is_dir():
        pytest.skip("the clients are not installed; to install and test them: make clients")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    made.close()


_reports: dict[str, list[pytest.TestReport]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _reports.setdefault(report.nodeid.rpartition("::")[2], []).append(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep what was seen, for the table in docs/agents.md."""
    if not hasattr(session.config, "workerinput") and PROGRAMS.is_dir() and _reports:
        keep(outcomes_of(_reports))
