"""`make demo` runs to its end."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.run import environment
from tests.docs.pages import ROOT

STORY = (
    r"OK: no systemic pattern",
    r"watching in the background",
    r"coder-3 .*for the third time; reports it",
    r"coder-\d +stopped at the gate: .*retry_cluster",
    r"# Circuit Breaker Report",
    r"> +error_pattern: serialization failure",
    r"resolved: retry_cluster",
    r"coder-\d +continues",
    r"coder-3 +imported 3 rows",
    r"breaker: OK",
    r"daemon stopped, process \d+",
    r"liza serve",
)


ALARMED = "resolved without a terminal"


@pytest.fixture
def terminal() -> Iterator[int]:
    """A person's shell has this as its standard input."""
    person, program = os.openpty()
    yield program
    os.close(person)
    os.close(program)


def demo(tmp_path: Path, stdin: int) -> str:
    (tmp_path / "tmp").mkdir()
    ran = subprocess.run(
        ["sh", ROOT / "docs" / "demo" / "run.sh"],
        env=environment(tmp_path, TMPDIR=str(tmp_path / "tmp")),
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout + ran.stderr
    assert re.search(".*".join(f"(?:{line})" for line in STORY), ran.stdout, re.DOTALL), ran.stdout
    assert ran.stdout.count("stopped at the gate") == ran.stdout.count("continues\n") == 3
    assert list((tmp_path / "tmp").iterdir()) == []
    return ran.stdout


def test_demo_trips_halts_resolves_and_continues(tmp_path: Path, terminal: int) -> None:
    """At a terminal the decision is a person's."""
    output = demo(tmp_path, terminal)
    assert "alarm" not in output.partition("resolved: retry_cluster")[2]


def test_demo_explains_the_alarm_without_a_terminal(tmp_path: Path) -> None:
    output = demo(tmp_path, subprocess.DEVNULL)
    assert re.search(f"without a terminal, so the decision is alarmed.*{ALARMED}", output, re.DOTALL), output
