"""`.ci/run` with a stand-in for apt-get: it installs what it may, and sets CI=true only where every tool is there."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.tools import TOOLS

USED = ("bash", "cat", "chmod", "dirname", "env", "timeout", "tr")  # by the script and the stand-ins
INSTALL = 'for tool in $TOOLS; do printf "#!/bin/sh\\n" > "$BIN/$tool"; chmod +x "$BIN/$tool"; done'
APT_GET = {
    "installs": f'case "$1" in install) {INSTALL};; esac',
    "needs an update": f'case "$1" in update) echo > "$BIN/up";; install) [ -e "$BIN/up" ] && {INSTALL};; esac',
    "fails": "exit 100",
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with the script, and one with the only programs on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in USED:
        (folder / name).symlink_to(str(shutil.which(name)))
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    stand_in(tmp_path, "make", 'echo "$* with CI=${CI-unset}"')
    stand_in(tmp_path, "id", "echo 0")
    return tmp_path


def stand_in(machine: Path, name: str, script: str) -> None:
    path = machine / "bin" / name
    path.write_text(f"#!/usr/bin/env bash\n{script}\n")
    path.chmod(0o755)


def run(machine: Path, **env: str) -> str:
    """The last line: the arguments `make` was called with."""
    env |= {"PATH": str(machine / "bin"), "BIN": str(machine / "bin"), "TOOLS": " ".join(TOOLS)}
    ran = subprocess.run(["bash", machine / ".ci" / "run"], env=env, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize(("how", "ci"), [("installs", "true"), ("needs an update", "true"), ("fails", "unset")])
def test_ci_is_true_only_with_all_tools(machine: Path, how: str, ci: str) -> None:
    stand_in(machine, "apt-get", APT_GET[how])
    assert run(machine) == f"test with CI={ci}"


@pytest.mark.parametrize("lacks", ["root", "apt-get"])
def test_nothing_is_installed_without_permission(machine: Path, lacks: str) -> None:
    if lacks == "root":
        stand_in(machine, "apt-get", APT_GET["installs"])
        stand_in(machine, "id", "echo 1000")
    assert run(machine) == "test with CI=unset"
    assert not {*TOOLS} & {*os.listdir(machine / "bin")}


def test_apt_get_is_not_called_when_nothing_is_missing(machine: Path) -> None:
    for tool in TOOLS:
        stand_in(machine, tool, "true")
    stand_in(machine, "apt-get", 'echo > "$BIN/asked"')
    assert run(machine) == "test with CI=true"
    assert not (machine / "bin" / "asked").exists()


def test_inherited_ci_is_dropped_when_a_tool_is_missing(machine: Path) -> None:
    """Every CI service sets CI=true; the tests that need the tool are then skipped and listed instead of failing."""
    stand_in(machine, "apt-get", APT_GET["fails"])
    assert run(machine, CI="true") == "test with CI=unset"
