"""Without --files-changed, a git worktree is measured between the ends of two iterations."""

import pytest

from tests.run.repositories import git
from tests.scopes.loops.run import Loops


@pytest.fixture
def repository(loops: Loops) -> Loops:
    git(loops.root, "init")
    (loops.root / "a.txt").write_text("one\n")
    git(loops.root, "add", "a.txt")
    git(loops.root, "commit", "-m", "first")
    loops.record()
    return loops


def measured(loops: Loops) -> int | None:
    loops.record()
    found: int | None = loops.at()["iterations"][-1].get("files_changed")
    return found


def test_first_iteration_has_no_baseline(repository: Loops) -> None:
    assert "files_changed" not in repository.at()["iterations"][0]


def test_idle_iteration_after_commit_changed_nothing(repository: Loops) -> None:
    (repository.root / "a.txt").write_text("two\n")
    git(repository.root, "commit", "-am", "second")
    assert measured(repository) == 1
    assert measured(repository) == 0


def test_tree_dirty_before_is_not_progress(repository: Loops) -> None:
    (repository.root / "a.txt").write_text("two\n")
    assert measured(repository) == 1
    assert measured(repository) == 0


def test_three_idle_iterations_trip(repository: Loops) -> None:
    assert [repository.record().code for _ in range(3)] == [0, 0, 3]


def test_change_before_unmeasured_iteration_is_not_counted_later(repository: Loops) -> None:
    (repository.root / "b.txt").write_text("new\n")
    repository.record("--files-changed", "1")
    assert measured(repository) is None
    assert measured(repository) == 0


def test_other_worktrees_have_no_baseline(repository: Loops) -> None:
    (repository.root / "two").mkdir()
    git(repository.root / "two", "init")
    (repository.root / "two" / "x").write_text("there from the start\n")
    repository.record("--workdir", "two")
    assert "files_changed" not in repository.at()["iterations"][-1]


def test_missing_worktree_is_refused(repository: Loops) -> None:
    ran = repository.record("--workdir", "nowhere")
    assert (ran.code, "--workdir nowhere: not a folder" in ran.err) == (1, True)
    assert repository.at()["loop_count"] == 1


def test_long_names_have_separate_baselines(repository: Loops) -> None:
    one, other = ("日本語" * 20 + each for each in "ab")
    for name in (one, other, one):
        repository.record(name=name)
    (repository.root / "b.txt").write_text("new\n")
    assert [repository.record(name=name).code for name in (one, other)] == [0, 0]
    assert [repository.at(name)["iterations"][-1].get("files_changed") for name in (one, other)] == [1, 1]


def test_without_git_changes_are_unknown(loops: Loops) -> None:
    assert [loops.record().code for _ in range(5)] == [0] * 5
    assert all("files_changed" not in each for each in loops.at()["iterations"])


def test_several_worktrees_are_measured_together(loops: Loops) -> None:
    for name in ("one", "two"):
        (loops.root / name).mkdir()
        git(loops.root / name, "init")
    words = ("--workdir", "one", "--workdir", "two")
    loops.record(*words)
    for name in ("one", "two"):
        (loops.root / name / "x").write_text(name)
    loops.record(*words)
    assert loops.at()["iterations"][-1]["files_changed"] == 2
