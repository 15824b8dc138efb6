"""The fixture of an attack, and the table of `make attack`."""

import os
from pathlib import Path

import pytest

from tests.security.attack import Attack


@pytest.fixture
def attack(tmp_path: Path) -> Attack:
    """A blackboard to attack; a test sets `attack.effect` to the verified effect, for the table."""
    return Attack(tmp_path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Put the cost of the attack into its report, which also comes from other workers."""
    under = getattr(item, "funcargs", {}).get("attack")
    if call.when == "call" and isinstance(under, Attack):
        item.user_properties += [(name, getattr(under, name)) for name in ("effect", "seconds", "megabytes")]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One row an attack; asked for by the Makefile, so that `make test` prints none."""
    if not os.environ.get("LIZA_ATTACK_TABLE"):
        return
    terminalreporter.write_line(f"{'attack':<76} {'result':<7} {'s':>5} {'MB':>5}  effect")
    for report in (each for outcome in ("passed", "failed") for each in terminalreporter.getreports(outcome)):
        known = dict(report.user_properties)
        if report.outcome == "passed" and not known.get("effect"):
            continue  # not an attack: it tests what the others rely on
        name = report.nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")
        size = known.get("megabytes") or None  # not measured for a daemon or a test without a command
        cost = f"{known.get('seconds') or report.duration:5.1f} {'-' if size is None else f'{size:.0f}':>5}"
        terminalreporter.write_line(f"{name[:76]:<76} {report.outcome:<7} {cost}  {known.get('effect', '')}")
