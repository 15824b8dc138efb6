"""Budgets: `make test` looks at some dozens of generated cases a property, always the same ones, so that it fails for a
reason and never by chance; `make faults` explores many hundreds. Skipped tests are listed by name at the end."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
for name, examples in {"quick": 40, "thorough": 1_500}.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        suppress_health_check=_SLOW_IS_FINE,
        print_blob=True,
        derandomize=name == "quick",
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A shell that runs the tests in the background ignores these, and every process that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """The workers of one run share a PostgreSQL server; it is started when the first test needs it."""
    if not hasattr(config, "workerinput"):
        from tests.team.postgres import begin_run

        begin_run()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        from tests.team.postgres import end_run

        end_run()


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a blackboard that holds nothing yet."""
    from tests.cli.run import new_board  # here: what it imports asks for the profile that is loaded above

    project = tmp_path / "shop"
    new_board(project)
    return project


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Each skipped test with the reason: what is not installed here is not tested here."""
    skipped = terminalreporter.getreports("skipped")
    if skipped:
        terminalreporter.write_sep("=", f"skipped: {len(skipped)}")
    for report in skipped:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.write_line(f"{report.nodeid}: {why.removeprefix('Skipped: ')}")
