"""A session that went silent raises an alarm, but not one that is held or waits for its subagent."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import installed, liza
from tests.clients.hook import SESSION, event, run, spooled

CHILD = "a1b2c3d4e5f6"
LONG_AGO = time.time() - 2_400  # 40 minutes
CALL: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": "made"}


def work(folder: Path, at: float, **of: str) -> None:
    """One call that ended at that time."""
    before = set(spooled(folder))
    assert run(folder, "after", event("PostToolUse", tool_use_id=f"t{at}{of}", **CALL, **of)).code == 0
    (name,) = set(spooled(folder)) - before
    os.utime(folder / ".liza" / "spool" / name, (at, at))


def alarmed(folder: Path) -> set[str]:
    """The sessions of which the daemon says that they are silent."""
    lines = [line for line in installed(folder, "watch", "--once").out.splitlines() if " alarm " in line]
    return {name for name in (SESSION, CHILD) if any(f": {name}: " in line for line in lines)}


def test_session_without_a_call_for_long_is_alarmed(folder: Path) -> None:
    work(folder, LONG_AGO)
    assert alarmed(folder) == {SESSION}


@pytest.mark.parametrize(("at", "silent"), [(time.time(), set()), (LONG_AGO + 60, {CHILD})], ids=["works", "silent"])
def test_session_that_waits_for_its_subagent_is_not_silent(folder: Path, at: float, silent: set[str]) -> None:
    """If anyone is, it is the subagent."""
    work(folder, LONG_AGO)
    work(folder, at, agent_id=CHILD)
    assert alarmed(folder) == silent


def test_subagent_that_is_held_with_its_parent_is_not_silent(folder: Path) -> None:
    work(folder, LONG_AGO)
    work(folder, LONG_AGO, agent_id=CHILD)
    installed(folder, "watch", "--once")
    assert liza(folder, "session", "stop", SESSION, "-m", "wrong branch").code == 3
    (folder / ".liza" / "alerts.log").unlink(missing_ok=True)
    (folder / ".liza" / "watch.json").unlink()
    assert alarmed(folder) == set()
