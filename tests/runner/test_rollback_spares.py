"""What a rollback leaves alone: files that git is told not to look at, of which nothing could be saved."""

import os
import subprocess
from pathlib import Path

import pytest

from liza.runner import rollback
from tests.runner.repositories import SETTINGS, git, repository
from tests.runner.slices import Begun


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return repository(tmp_path / "repo", code="1\n", assumed="as committed\n", skipped="as committed\n")


@pytest.mark.parametrize("by_hand", [False, True])
def test_files_that_git_is_told_not_to_look_at_stay_as_they_are_and_so_marked(folder: Path, by_hand: bool) -> None:
    git(folder, "update-index", "--assume-unchanged", "assumed")
    git(folder, "update-index", "--skip-worktree", "skipped")
    for name in ("assumed", "skipped"):
        (folder / name).write_text("a person's own settings\n")
    marks = git(folder, "ls-files", "-v")
    begun = Begun(folder)
    (folder / "code").write_text("2\n")
    plan = begun.plan()
    if by_hand:
        script = "\n".join(rollback.commands(plan))
        subprocess.run(["sh", "-euc", script], check=True, env={**os.environ, **SETTINGS}, stdout=subprocess.DEVNULL)
    else:
        rollback.carry_out(plan)
    assert [(folder / name).read_text() for name in ("code", "assumed", "skipped")] == [
        "1\n", "a person's own settings\n", "a person's own settings\n",
    ]  # fmt: skip
    assert git(folder, "ls-files", "-v") == marks
    assert "assumed is left as it is: git is told not to look at it" in plan.notes
