"""The hook script as a client runs it, with events of the form that Claude Code sends."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.run import LIZA, Result, environment
from tests.docs.pages import ROOT

SCRIPT = ROOT / "templates" / "hook.sh"
SESSION = "7c1f2a90-55aa-4c1e-9d7b-0a1b2c3d4e5f"


def event(name: str, session: str = SESSION, **fields: Any) -> dict[str, Any]:
    """One event of a session."""
    return {"session_id": session, "cwd": "/home/dev/shop", "hook_event_name": name, **fields}


def failing(call: str, session: str = SESSION, command: str = "pytest -q") -> dict[str, Any]:
    """A command that failed with an error."""
    error = "Exit code 1\nE   ModuleNotFoundError: No module named 'shop.orders'\n1 failed in 0.03s"
    return event(
        "PostToolUseFailure", session, tool_name="Bash", tool_input={"command": command}, tool_use_id=call, error=error
    )


def run(folder: Path, kind: str, payload: dict[str, Any] | bytes, client: str = "claude", **env: str) -> Result:
    """Run the hook in a folder; the program liza is the one under test."""
    given = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    data = folder.parent / f"{folder.name}.data"
    (data / "liza").mkdir(parents=True, exist_ok=True)
    if not (data / "liza" / "program").exists():
        (data / "liza" / "program").write_text(f"{LIZA}\n")
    shell = {**environment(folder), "PATH": "/usr/bin:/bin", "XDG_DATA_HOME": str(data), **env}
    done = subprocess.run(
        ["sh", str(SCRIPT), client, kind],
        cwd=folder, env=shell, input=given, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def spooled(folder: Path) -> list[str]:
    """The events that wait."""
    spool = folder / ".liza" / "spool"
    return sorted(os.listdir(spool)) if spool.is_dir() else []
