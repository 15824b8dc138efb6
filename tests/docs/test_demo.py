"""`make demo` tells its story to the end."""

import re
import subprocess
from pathlib import Path

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
    r"process \d+ has ended",
)


def test_the_demo_trips_halts_resolves_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    demo = subprocess.run(
        ["sh", ROOT / "docs" / "demo" / "run.sh"],
        env=environment(tmp_path, TMPDIR=str(tmp_path / "tmp")),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (demo.returncode, demo.stderr) == (0, ""), demo.stdout + demo.stderr
    assert re.search(".*".join(f"(?:{line})" for line in STORY), demo.stdout, re.DOTALL), demo.stdout
    assert demo.stdout.count("stopped at the gate") == demo.stdout.count("continues\n") == 3
    assert list((tmp_path / "tmp").iterdir()) == []
