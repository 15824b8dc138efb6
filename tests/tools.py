"""Programs that tests use and a machine may not have.

A test that starts such a program calls `needs` first: without it the test is skipped, and listed by name at the end.
With CI=true it fails instead, so that nothing is missed there.
"""

import os
import re
from shutil import which

import pytest

TOOLS = ("git", "jq", "flock", "vim", "tmux", "dbus-daemon", "chromium")


def needs(*tools: str) -> None:
    """Skip the running test if one of these is not installed."""
    missing = [tool for tool in tools if which(tool) is None]
    if missing:
        message = f"not installed: {', '.join(missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{message} (CI=true, so that is a failure)", pytrace=False)
        pytest.skip(message)


def needs_all_in(script: str) -> None:
    """The same for every program that a shell script calls; `yq` calls `jq`."""
    words = set(re.findall(r"[\w-]+", script))
    needs(*(tool for tool in TOOLS if tool in words or (tool == "jq" and "yq" in words)))
