"""Files of a blackboard in git, in real repositories."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from liza.doctor.checks import apply_fixes
from liza.doctor.finding import Finding, Level
from tests.cli.run import installed, liza, new_board
from tests.doctor.findings import board, found, is_well, wrong
from tests.run.repositories import SETTINGS, commit, git, repository


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a blackboard as `liza init` makes it, all of it committed."""
    repository(tmp_path / "project")
    assert liza(tmp_path / "project", "init").code == 0
    commit(tmp_path / "project")
    return tmp_path / "project"


def run(hint: str | None) -> None:
    """A hint is a command; the brackets behind it are not part of it."""
    assert hint is not None
    subprocess.run(hint.partition("   (")[0], shell=True, check=True, env={**os.environ, **SETTINGS}, stdout=-3)


def test_board_of_init_is_ok_in_git(project: Path) -> None:
    assert is_well(project, "git")


def test_board_without_git_is_ok(tmp_path: Path) -> None:
    board(tmp_path)
    assert is_well(tmp_path, "git")


@pytest.mark.parametrize("name", ["CHECKPOINT", "state.yaml.lock", "watch.lock", "stopped/s-1", "PAUSE"])
def test_halt_or_lock_in_git_is_an_error_with_a_fix(project: Path, name: str) -> None:
    file = project / ".liza" / name
    file.parent.mkdir(exist_ok=True)
    file.touch()
    assert is_well(project, "git"), "not in git yet"
    git(project, "add", "-f", f".liza/{name}")
    commit(project)
    finding = wrong(project, "git")
    assert (finding.level, finding.file) == (Level.ERROR, str(file))
    run(finding.hint)
    assert is_well(project, "git")
    assert file.exists(), "a halt is not lifted by it"
    assert git(project, "status", "--porcelain").split() == ["D", f".liza/{name}"]


def test_doctor_exits_with_1_if_a_checkpoint_is_in_git(project: Path) -> None:
    (project / ".liza" / "CHECKPOINT").touch()
    git(project, "add", "-f", ".liza/CHECKPOINT")
    result = installed(project, "doctor", "--json")
    (problem,) = [each for each in result.json["problems"] if "rm --cached" in (each["hint"] or "")]
    assert (result.code, problem["level"]) == (1, "error")


def test_other_local_files_in_git_are_a_warning(project: Path) -> None:
    for name in ("steps", "backups"):
        (project / ".liza" / name).mkdir()
        (project / ".liza" / name / "it's one").touch()
    git(project, "add", "-f", ".liza")
    finding = wrong(project, "git")
    assert finding.level is Level.WARNING
    run(finding.hint)
    assert is_well(project, "git")


def test_fix_adds_a_missing_gitignore(tmp_path: Path) -> None:
    repository(tmp_path)
    new_board(tmp_path)
    missing = wrong(tmp_path, "git")
    assert (missing.level, missing.hint) == (Level.WARNING, "liza doctor --fix")
    (fixed,) = apply_fixes([missing])
    assert fixed.level is Level.FIXED
    assert is_well(tmp_path, "git")
    (tmp_path / ".liza" / "CHECKPOINT").touch()
    assert "CHECKPOINT" not in git(tmp_path, "status", "--porcelain", "-uall")


def test_own_gitignore_of_a_person_is_kept(tmp_path: Path) -> None:
    repository(tmp_path)
    folder = new_board(tmp_path).parent
    (folder / ".gitignore").symlink_to("nowhere")
    assert is_well(tmp_path, "git")
    assert not (folder / "nowhere").exists()


def test_linked_worktree_with_its_own_board_is_a_warning(project: Path, tmp_path: Path) -> None:
    git(project, "worktree", "add", "-q", "../linked")
    finding = wrong(tmp_path / "linked" / ".liza", "git")
    assert (finding.level, finding.hint) == (Level.WARNING, f"export LIZA_ROOT={project}")


def test_failing_git_is_a_warning(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git" / "index").write_bytes(b"not an index")
    answer: list[Finding] = found(project, "git", datetime.now(UTC))
    assert [each.level for each in answer] == [Level.WARNING]
    monkeypatch.setenv("PATH", "/nonexistent")
    assert [each.level for each in found(project, "git")] == [Level.WARNING]
