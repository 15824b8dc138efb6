"""Files that a rollback leaves alone: those hidden from git, and those ignored when the slice began."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from liza.git import rollback
from tests.run.repositories import SETTINGS, commit, git, repository
from tests.run.slices import StartedSlice

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", code="1\n", assumed="as committed\n", skipped="as committed\n")


def go_back(plan: rollback.Plan, by_hand: bool) -> None:
    if by_hand:
        script = "\n".join(rollback.shell_commands(plan))
        subprocess.run(["sh", "-euc", script], check=True, env={**os.environ, **SETTINGS}, stdout=subprocess.DEVNULL)
    else:
        rollback.roll_back(plan)


@pytest.mark.parametrize("by_hand", [False, True])
def test_files_hidden_from_git_keep_content_and_marks(folder: Path, by_hand: bool) -> None:
    git(folder, "update-index", "--assume-unchanged", "assumed")
    git(folder, "update-index", "--skip-worktree", "skipped")
    for name in ("assumed", "skipped"):
        (folder / name).write_text("a person's own settings\n")
    marks = git(folder, "ls-files", "-v")
    begun = StartedSlice(folder)
    (folder / "code").write_text("2\n")
    plan = begun.plan()
    go_back(plan, by_hand)
    assert [(folder / name).read_text() for name in ("code", "assumed", "skipped")] == [
        "1\n", "a person's own settings\n", "a person's own settings\n",
    ]  # fmt: skip
    assert git(folder, "ls-files", "-v") == marks
    assert any(note.startswith("assumed is left unchanged: ") for note in plan.notes)


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("committed", [False, True])
def test_files_ignored_at_the_start_are_left_alone(folder: Path, committed: bool, by_hand: bool) -> None:
    (folder / ".gitignore").write_text("/.env\nnode_modules/\n")
    (folder / "data").mkdir()
    (folder / "data" / ".gitignore").write_text("*.db\n")
    (folder / "gone").mkdir()
    (folder / "gone" / ".gitignore").write_text("*\n!.gitignore\n")
    commit(folder)
    kept = {folder / ".env", folder / "node_modules" / "a" / "b.js", folder / "data" / "users.db"}
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a person's own\n")
    begun = StartedSlice(folder)
    (folder / ".gitignore").unlink()
    (folder / "data" / ".gitignore").write_text("")
    (folder / "new").mkdir()
    (folder / "new" / ".env").write_text("an agent's\n")
    shutil.rmtree(folder / "gone")
    (folder / "gone").write_text("a file where a folder was\n")
    (folder / "code").unlink()
    (folder / "code").mkdir()
    (folder / "code" / ".gitignore").mkdir()
    (folder / "code" / ".gitignore" / "x").write_text("a folder where a file was\n")
    if committed:
        commit(folder)
    plan = begun.plan()
    go_back(plan, by_hand)
    assert {path for path in kept if path.read_text() == "a person's own\n"} == kept
    assert not (folder / "new").exists()
    assert (git(folder, "status", "--porcelain"), git(folder, "rev-parse", "HEAD").strip()) == ("", plan.target.commit)
    assert set(plan.notes) == {
        f"{path} is left unchanged: git ignored it when the slice began"
        for path in (".env", "node_modules", "data/users.db")
    }
