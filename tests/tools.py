"""Programs that tests use and a machine may not have.

What starts such a program asks `needs` first: without it the test is skipped, and listed by name at the end of the run.
With CI=true it fails instead, so that what is shown there is shown whole.
"""

import os
import re
from shutil import which

import pytest

TOOLS = ("git", "jq", "flock", "vim", "tmux", "dbus-daemon")


def needs(*tools: str) -> None:
    """Skip the test that runs now where one of these is not installed."""
    missing = [tool for tool in tools if which(tool) is None]
    if missing:
        said = f"not installed: {', '.join(missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{said} (CI=true, so that is a failure)", pytrace=False)
        pytest.skip(said)


def needs_all_in(script: str) -> None:
    """The same for every program that a shell script calls; `yq` calls `jq`."""
    words = set(re.findall(r"[\w-]+", script))
    needs(*(tool for tool in TOOLS if tool in words or (tool == "jq" and "yq" in words)))
